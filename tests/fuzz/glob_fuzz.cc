// A pattern (the first line) and names of files (the other lines). Folders that
// are walked and keys that are listed give the same files, and a pattern that
// escapes a name finds it.

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/glob_pattern.h"
#include "core/io/glob.h"
#include "core/io/key_glob.h"
#include "tests/unit/io/memory_files.h"

namespace feedmill {
namespace {

constexpr std::string_view kBucket = "mem://b/";
constexpr size_t kNamesMax = 20;
constexpr size_t kPatternMax = 200;
constexpr size_t kNameMax = 40;  // fewer folders than a walk goes down

// A folder cannot have the name of a file, and a name has no empty part.
bool IsName(std::string_view name, const std::set<std::string>& others) {
  if (name.empty() || name.front() == '/' || name.back() == '/' ||
      name.find("//") != name.npos || name.find('\0') != name.npos) {
    return false;
  }
  return std::none_of(others.begin(), others.end(),
                      [&](const std::string& other) {
                        return name.starts_with(other + "/") ||
                               other.starts_with(std::string(name) + "/");
                      });
}

// A listing of these keys as a store gives it: in one page for each task.
ListKeys ListingOf(const std::set<std::string>& keys) {
  return [&keys](std::span<const ListTask> tasks, const TakePage& take) {
    for (size_t task = 0; task < tasks.size(); ++task) {
      ListPage page;
      std::set<std::string> prefixes;
      for (const std::string& key : keys) {
        if (!key.starts_with(tasks[task].prefix)) continue;
        const size_t slash = key.find('/', tasks[task].prefix.size());
        if (tasks[task].deep || slash == key.npos) {
          page.objects.push_back({key});
        } else {
          prefixes.insert(key.substr(0, slash + 1));
        }
      }
      page.prefixes.assign(prefixes.begin(), prefixes.end());
      FM_RETURN_IF_ERROR(take(task, std::move(page)));
    }
    return absl::OkStatus();
  };
}

std::set<std::string> Listed(const std::string& pattern,
                             const std::set<std::string>& keys) {
  const auto found = GlobKeys(pattern, ListingOf(keys));
  FM_CHECK(found.ok());
  std::set<std::string> names;
  for (const ListedObject& object : *found) {
    FM_CHECK(keys.contains(object.key));
    FM_CHECK(names.insert(object.key).second);
  }
  const auto one = FindOneKey(pattern, ListingOf(keys));
  FM_CHECK(one.ok() ? names.contains(*one)
                    : names.empty() && absl::IsNotFound(one.status()));
  return names;
}

std::set<std::string> Walked(const std::string& pattern,
                             const MemoryFiles& files) {
  const auto found = GlobByListing(files, std::string(kBucket) + pattern);
  FM_CHECK(found.ok());
  std::set<std::string> names;
  for (const FoundFile& file : *found) {
    FM_CHECK(file.name.starts_with(kBucket));
    names.insert(file.name.substr(kBucket.size()));
  }
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() <= kNamesMax) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.empty() || lines[0].size() > kPatternMax) return 0;
  const std::string& pattern = lines[0];
  std::set<std::string> keys;
  MemoryFiles files;
  for (size_t k = 1; k < lines.size(); ++k) {
    if (lines[k].size() > kNameMax || !IsName(lines[k], keys)) continue;
    keys.insert(lines[k]);
    files.Write(std::string(kBucket) + lines[k], "x");
  }
  for (const std::string& key : keys) {
    const std::set<std::string> itself = {key};
    FM_CHECK(Listed(EscapedPattern(key), keys) == itself);
    FM_CHECK(Walked(EscapedPattern(key), files) == itself);
  }
  if (!IsName(pattern, {})) return 0;
  // A file or folder of this name is taken literally by a walk.
  if (files.Stat(std::string(kBucket) + pattern).ok()) return 0;
  if (!HasWildcard(pattern)) return 0;
  FM_CHECK(Listed(pattern, keys) == Walked(pattern, files));
  return 0;
}

}  // namespace feedmill
