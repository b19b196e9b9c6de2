#include "core/io/glob.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/glob_part.h"
#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/file_list.h"
#include "core/io/file_systems.h"
#include "core/io/key_glob.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

// Most folders above a file: links can make infinite trees.
constexpr size_t kDepthMax = 32;

// Returns the folder in which a pattern's parts are looked up: "/",
// "s3://bucket/".
std::string RootOf(const std::string& pattern) {
  const size_t scheme = SchemeOf(pattern).size();
  const size_t begin = scheme == 0 ? 0 : scheme + 3;
  return pattern.substr(
      0, std::min(pattern.find('/', begin), pattern.size() - 1) + 1);
}

// Returns a path without empty parts: "a//b/" → "a/b".
std::string WithoutEmptyParts(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  }
  if (out.ends_with('/')) out.pop_back();
  return out;
}

// Lists the folders below `top` as a store lists keys.
class FolderListing {
 public:
  FolderListing(const FileSystem& files, const std::string& top)
      : files_(files), top_(top), root_(top.ends_with('/') ? top : top + "/") {}

  std::string NameOf(const std::string& key) const { return root_ + key; }

  absl::Status operator()(std::span<const ListTask> tasks,
                          const TakePage& take) const {
    for (size_t k = 0; k < tasks.size(); ++k) {
      const ListTask& task = tasks[k];
      const auto take_page = [&](ListPage page) {
        return take(k, std::move(page));
      };
      const size_t folder = task.prefix.rfind('/') + 1;  // 0: none
      FM_RETURN_IF_ERROR(
          task.is_name ? Look(task.prefix, take_page)
                       : List(task, task.prefix.substr(0, folder), take_page));
    }
    return absl::OkStatus();
  }

 private:
  using Take = std::function<absl::Status(ListPage page)>;

  // A name that is not there does not match. One that cannot be looked at may.
  static absl::Status UnlessMissing(const absl::Status& status) {
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }

  absl::Status Look(const std::string& key, const Take& take) const {
    const auto stat = files_.Stat(NameOf(key));
    if (!stat.ok()) return UnlessMissing(stat.status());
    ListPage page;
    if (stat->directory) {
      page.prefixes.push_back(key + "/");
    } else {
      page.objects.push_back({key, stat->identity});
    }
    return take(std::move(page));
  }

  // Lists a folder, "" or with a '/' at its end, and those below if the task is
  // deep.
  absl::Status List(const ListTask& task, const std::string& folder,
                    const Take& take) const {
    const std::string path =
        folder.empty() ? top_ : NameOf(folder.substr(0, folder.size() - 1));
    FM_RETURN_IF_ERROR(ReadStop::Check(path));
    if (std::ranges::count(folder, '/') > static_cast<ptrdiff_t>(kDepthMax)) {
      return ResourceExhausted(
          "{}: more than {} folders deep (a link to a folder above itself?)",
          path, kDepthMax);
    }
    auto entries = files_.List(path);
    if (!entries.ok()) return UnlessMissing(entries.status());
    ListPage page;
    for (FileSystem::Entry& entry : *entries) {
      std::string key = folder + entry.name;
      if (!key.starts_with(task.prefix) || IsLeftOut(task, entry.name)) {
        continue;
      }
      if (entry.directory) {
        page.prefixes.push_back(std::move(key) + "/");
      } else {
        page.objects.push_back(
            {std::move(key),
             std::move(entry.identity).value_or(FileIdentity{})});
      }
    }
    if (!task.deep) return take(std::move(page));
    const std::vector<std::string> below = std::move(page.prefixes);
    FM_RETURN_IF_ERROR(take(std::move(page)));
    for (const std::string& each : below) {
      FM_RETURN_IF_ERROR(List(task, each, take));
    }
    return absl::OkStatus();
  }

  static bool IsLeftOut(const ListTask& task, std::string_view name) {
    return task.deep && IsHiddenName(name) &&
           std::ranges::none_of(task.hidden, [&](const std::string& part) {
             return PartMatches(part, name);
           });
  }

  const FileSystem& files_;
  const std::string top_;
  const std::string root_;  // with a '/' at its end
};

}  // namespace

absl::StatusOr<std::vector<FoundFile>> GlobByListing(
    const FileSystem& files, const std::string& pattern) {
  // "[*]" is the file "*", even if a file has the name "[*]".
  std::string name = LiteralPattern(pattern).value_or(pattern);
  auto literal = files.Stat(name);
  if (name != pattern && absl::IsNotFound(literal.status())) {
    name = pattern;
    literal = files.Stat(name);
  }
  if (!literal.ok() && !absl::IsNotFound(literal.status())) {
    return literal.status();
  }
  if (literal.ok() && !literal->directory) {
    return std::vector<FoundFile>{{name, literal->identity}};
  }
  const std::string root = RootOf(pattern);
  const std::string below = WithoutEmptyParts(pattern.substr(root.size()));
  if (!literal.ok() && (!HasWildcard(pattern) || below.empty())) {
    return std::vector<FoundFile>();
  }
  const FolderListing listing(files, literal.ok() ? name : root);
  FM_ASSIGN_OR_RETURN(auto found, literal.ok() ? KeysBelow("", listing)
                                               : GlobKeys(below, listing));
  std::vector<FoundFile> out;
  out.reserve(found.size());
  for (ListedObject& object : found) {
    out.push_back({listing.NameOf(object.key)});
    if (KnowsSizeOnly(object.identity)) continue;
    out.back().identity = std::move(object.identity);
  }
  return out;
}

namespace {

absl::Status CheckPattern(const std::string& pattern) {
  if (pattern.empty()) return InvalidArgument("an empty file name");
  if (pattern.find('\0') != std::string::npos) {
    return InvalidArgument("a file name with a zero byte");
  }
  return absl::OkStatus();
}

// Returns the part of a name that orders it: a URL without its query, which is
// the same for all files of a pattern.
std::string_view PathOfName(const std::string& name) {
  return std::string_view(name).substr(
      0, SchemeOf(name).empty() ? name.size() : name.rfind('?'));
}

// Sorts the files that a pattern matches, each once. NotFound if there are
// none.
absl::StatusOr<std::vector<FoundFile>> Sorted(const FileSystem& files,
                                              const std::string& pattern,
                                              std::vector<FoundFile> found) {
  const auto by_name = [](const FoundFile& a, const FoundFile& b) {
    return PathOfName(a.name) < PathOfName(b.name);
  };
  const auto same_name = [](const FoundFile& a, const FoundFile& b) {
    return a.name == b.name;
  };
  std::sort(found.begin(), found.end(), by_name);
  found.erase(std::unique(found.begin(), found.end(), same_name), found.end());
  if (!found.empty()) return found;
  const std::string name = LiteralPattern(pattern).value_or(pattern);
  const auto stat = files.Stat(name);
  if (stat.ok() && stat->directory) {
    return NotFound(
        "{}: the folder has no files (hidden files, as those whose names begin "
        "with '.', do not count)",
        name);
  }
  return NotFound("{}: no such file, and nothing matches it", name);
}

// True if the pattern has a range of numbers and is not the name of a file.
bool StandsForNumbers(const FileSystem& files, const std::string& pattern) {
  if (!FindNumbersInName(pattern)) return false;
  return !SchemeOf(pattern).empty() || !files.Stat(pattern).ok();
}

// Returns the files of all names that a pattern with ranges of numbers stands
// for.
absl::StatusOr<std::vector<FoundFile>> FilesOfNumbers(
    const std::string& pattern) {
  constexpr size_t kNumbersMax = 1'000'000;
  const auto names = ExpandNumbersInName(pattern, kNumbersMax);
  if (!names) {
    return InvalidArgument(
        "{}: a range of numbers ends before it begins, or stands for more than "
        "{} names",
        pattern, kNumbersMax);
  }
  FM_ASSIGN_OR_RETURN(auto all, FindAllFiles(*names));
  std::vector<FoundFile> files;
  for (auto& found : all) {
    std::move(found.begin(), found.end(), std::back_inserter(files));
  }
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<FoundFile>>> FindAllFiles(
    std::span<const std::string> patterns) {
  std::vector<std::vector<FoundFile>> all;
  all.reserve(patterns.size());
  while (all.size() < patterns.size()) {
    const std::string& first = patterns[all.size()];
    FM_RETURN_IF_ERROR(CheckPattern(first));
    if (const auto list = FileListOf(first); !list.empty()) {
      FM_ASSIGN_OR_RETURN(all.emplace_back(), ReadFileList(std::string(list)));
      continue;
    }
    FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(first));
    if (StandsForNumbers(*files, first)) {
      FM_ASSIGN_OR_RETURN(all.emplace_back(), FilesOfNumbers(first));
      continue;
    }
    // Local patterns one by one: the first error ends the walk.
    size_t count = 1;
    if (const auto scheme = SchemeOf(first); !scheme.empty()) {
      const auto rest = patterns.subspan(all.size());
      while (count < rest.size() && SchemeOf(rest[count]) == scheme &&
             !FindNumbersInName(rest[count])) {
        ++count;
      }
    }
    const auto together = patterns.subspan(all.size(), count);
    for (const std::string& pattern : together) {
      FM_RETURN_IF_ERROR(CheckPattern(pattern));
    }
    std::vector<absl::StatusOr<std::vector<FoundFile>>> found =
        files->GlobAll(together);
    for (size_t k = 0; k < count; ++k) {
      FM_RETURN_IF_ERROR(found[k].status());
      FM_ASSIGN_OR_RETURN(all.emplace_back(),
                          Sorted(*files, together[k], *std::move(found[k])));
    }
  }
  return all;
}

absl::StatusOr<std::vector<FoundFile>> FindFiles(const std::string& pattern) {
  FM_ASSIGN_OR_RETURN(auto all, FindAllFiles({&pattern, 1}));
  return std::move(all.front());
}

absl::StatusOr<FoundFile> FindOneFile(const std::string& pattern) {
  FM_RETURN_IF_ERROR(CheckPattern(pattern));
  if (const auto list = FileListOf(pattern); !list.empty()) {
    return FirstOfFileList(std::string(list));
  }
  const std::string_view scheme = SchemeOf(pattern);
  if (scheme.empty() || scheme == "file") {
    FM_ASSIGN_OR_RETURN(auto found, FindFiles(pattern));
    return std::move(found.front());
  }
  if (const auto numbers = FindNumbersInName(pattern)) {
    std::string first = std::to_string(numbers->first);
    first.insert(0, numbers->digits - std::min(numbers->digits, first.size()),
                 '0');
    return FindOneFile(pattern.substr(0, numbers->begin) + first +
                       pattern.substr(numbers->end));
  }
  if (!HasWildcard(pattern)) return FoundFile{pattern};
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(pattern));
  FM_ASSIGN_OR_RETURN(std::string one, files->FindOne(pattern));
  return FoundFile{std::move(one)};
}

absl::StatusOr<std::vector<std::string>> ResolveGlob(
    const std::string& pattern) {
  FM_ASSIGN_OR_RETURN(std::vector<FoundFile> found, FindFiles(pattern));
  std::vector<std::string> names;
  names.reserve(found.size());
  for (FoundFile& file : found) names.push_back(std::move(file.name));
  return names;
}

}  // namespace feedmill
