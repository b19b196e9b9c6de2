#include "core/io/key_glob.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/glob_part.h"
#include "core/base/glob_pattern.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Most objects that one pattern may match.
constexpr size_t kObjectsMax = size_t{1} << 24;

std::vector<std::string_view> PartsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string_view WithoutSlashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// Compares the parts of a key with the parts of a pattern.
class PathMatch {
 public:
  // Both outlive this.
  PathMatch(std::span<const std::string_view> parts,
            std::span<const std::string> pattern)
      : parts_(parts), pattern_(pattern) {}

  // True if the key's parts [at, …) match the pattern's, [own, …).
  bool From(size_t at, size_t own) {
    const std::span<const std::string_view> rest = parts_.subspan(at);
    if (own == pattern_.size()) return NoneHidden(rest);
    if (rest.empty()) return false;
    if (pattern_[own] == "**") return FromStars(at, own);
    return PartMatches(pattern_[own], parts_[at]) && From(at + 1, own + 1);
  }

 private:
  static bool NoneHidden(std::span<const std::string_view> parts) {
    return std::none_of(parts.begin(), parts.end(), IsHiddenName);
  }

  // Tries each place at most once for each "**", however many there are.
  bool FromStars(size_t at, size_t own) {
    if (own + 1 == pattern_.size()) return NoneHidden(parts_.subspan(at));
    if (tried_.empty()) tried_.resize(parts_.size() * pattern_.size());
    for (;; ++at) {
      const size_t place = own * parts_.size() + at;
      if (tried_[place]) return false;
      tried_[place] = true;
      if (From(at, own + 1)) return true;
      if (at + 1 >= parts_.size() || IsHiddenName(parts_[at])) return false;
    }
  }

  const std::span<const std::string_view> parts_;
  const std::span<const std::string> pattern_;
  std::vector<bool> tried_;  // by "**" of the pattern and place in the key
};

// Returns the common beginning of all names that a part of a pattern matches.
std::string_view LiteralBeginning(std::string_view part) {
  return part.substr(0, part.find_first_of("*?["));
}

std::vector<std::string> PartsOfPattern(std::string_view pattern) {
  const auto split = PartsOf(WithoutSlashes(pattern));
  std::vector<std::string> parts(split.begin(), split.end());
  JoinStarParts(parts);
  return parts;
}

// Drops empty objects "d" beside objects "d/…": tools mark folders by them.
void DropFolderMarks(std::vector<ListedObject>& found) {
  std::set<std::string, std::less<>> empty;
  for (const ListedObject& object : found) {
    if (object.is_empty()) empty.insert(object.key);
  }
  if (empty.empty()) return;
  std::set<std::string, std::less<>> marks;
  for (const ListedObject& object : found) {
    const std::string_view key = object.key;
    for (size_t at = key.find('/'); at != key.npos;
         at = key.find('/', at + 1)) {
      const auto mark = empty.find(key.substr(0, at));
      if (mark != empty.end()) marks.insert(empty.extract(mark));
    }
  }
  std::erase_if(found, [&](const ListedObject& object) {
    return marks.contains(object.key);
  });
}

class KeyWalk {
 public:
  // `one`: ends at the first page with an object that matches.
  // `parts`: of the pattern; none for all keys below `folder`.
  KeyWalk(std::vector<std::string> parts, const ListKeys& list, bool one,
          const std::string& folder = "")
      : parts_(std::move(parts)),
        list_(list),
        one_(one),
        level_({{folder, 0}}) {}

  absl::StatusOr<std::vector<ListedObject>> Run() && {
    while (!level_.empty()) {
      std::vector<ListTask> tasks;
      for (Folder& folder : level_) tasks.push_back(TaskOf(folder));
      std::vector<Folder> next;
      const absl::Status listed =
          list_(tasks, [&](size_t task, ListPage page) -> absl::Status {
            FM_RETURN_IF_ERROR(
                Take(level_[task], tasks[task], std::move(page), next));
            if (!one_ || found_.empty()) return absl::OkStatus();
            return absl::CancelledError("one was found");
          });
      if (one_ && !found_.empty()) break;
      FM_RETURN_IF_ERROR(listed);
      level_ = std::move(next);
    }
    DropFolderMarks(found_);
    return std::move(found_);
  }

 private:
  // A folder in which the parts [part, …) are looked up.
  struct Folder {
    std::string prefix;
    size_t part = 0;
  };

  // Walks down the parts without wildcards first: they need no listing.
  ListTask TaskOf(Folder& folder) const {
    while (folder.part + 1 < parts_.size()) {
      const auto literal = LiteralPattern(parts_[folder.part]);
      if (!literal) break;
      folder.prefix += *literal + "/";
      ++folder.part;
    }
    if (folder.part == parts_.size() || parts_[folder.part] == "**") {
      ListTask task{.prefix = folder.prefix, .deep = true};
      std::ranges::copy_if(
          std::span(parts_).subspan(folder.part),
          std::back_inserter(task.hidden),
          [](const std::string& part) { return IsHiddenName(part); });
      return task;
    }
    const std::string& part = parts_[folder.part];
    const auto literal = LiteralPattern(part);
    return {
        .prefix = folder.prefix +
                  (literal ? *literal : std::string(LiteralBeginning(part))),
        .is_name = literal.has_value()};
  }

  absl::Status Take(const Folder& folder, const ListTask& task, ListPage page,
                    std::vector<Folder>& next) {
    for (ListedObject& object : page.objects) {
      if (object.key.ends_with('/') || object.key.size() < folder.prefix.size())
        continue;
      const auto rest =
          PartsOf(std::string_view(object.key).substr(folder.prefix.size()));
      if (PathMatch(rest, parts_).From(0, folder.part)) {
        found_.push_back(std::move(object));
      }
    }
    if (found_.size() > kObjectsMax) {
      return ResourceExhausted("{}: more than {} files in one pattern",
                               folder.prefix, kObjectsMax);
    }
    if (task.deep || page.deep) return absl::OkStatus();
    for (const std::string& prefix : page.prefixes) {
      if (prefix.size() <= folder.prefix.size()) continue;
      const std::string name = prefix.substr(
          folder.prefix.size(), prefix.size() - folder.prefix.size() - 1);
      if (PartMatches(parts_[folder.part], name)) {
        next.push_back({prefix, folder.part + 1});
      }
    }
    return absl::OkStatus();
  }

  const std::vector<std::string> parts_;
  const ListKeys& list_;
  const bool one_;
  std::vector<Folder> level_;
  std::vector<ListedObject> found_;
};

}  // namespace

absl::StatusOr<std::vector<ListedObject>> GlobKeys(const std::string& pattern,
                                                   const ListKeys& list) {
  return KeyWalk(PartsOfPattern(pattern), list, /*one=*/false).Run();
}

absl::StatusOr<std::string> FindOneKey(const std::string& pattern,
                                       const ListKeys& list) {
  FM_ASSIGN_OR_RETURN(
      const auto found,
      KeyWalk(PartsOfPattern(pattern), list, /*one=*/true).Run());
  if (!found.empty()) return found.front().key;
  return NotFound("{}: no object matches it", pattern);
}

absl::StatusOr<std::vector<ListedObject>> KeysBelow(const std::string& prefix,
                                                    const ListKeys& list) {
  return KeyWalk({}, list, /*one=*/false, prefix).Run();
}

absl::StatusOr<std::vector<FoundFile>> FilesOfObjects(
    std::vector<ListedObject> objects,
    const std::function<std::string(const std::string& key)>& name_of,
    const std::function<absl::StatusOr<std::string>(const std::string& name)>&
        key_of) {
  std::vector<FoundFile> files;
  files.reserve(objects.size());
  for (ListedObject& object : objects) {
    FoundFile& file = files.emplace_back();
    file.name = name_of(object.key);
    file.written_ns = object.written_ns;
    if (!KnowsSizeOnly(object.identity)) {
      file.identity = std::move(object.identity);
    }
    const auto key = key_of(file.name);
    if (key.ok() && *key == object.key) continue;
    return InvalidArgument(
        "{}: the object's key ends like options of a URL, and cannot be named; "
        "give it another",
        file.name);
  }
  return files;
}

void AddEntries(const std::string& prefix, ListPage page,
                std::vector<FileSystem::Entry>& entries) {
  std::string last_folder;
  for (ListedObject& object : page.objects) {
    const std::string below = object.key.substr(prefix.size());
    const size_t slash = below.find('/');
    if (slash == std::string::npos && !below.empty()) {
      entries.push_back({below, false});
      if (KnowsSizeOnly(object.identity)) continue;
      entries.back().identity = std::move(object.identity);
    } else if (page.deep && below.substr(0, slash) != last_folder) {
      // Keys come in the order of their bytes.
      last_folder = below.substr(0, slash);
      entries.push_back({last_folder, true});
    }
  }
  for (const std::string& each : page.prefixes) {
    entries.push_back(
        {each.substr(prefix.size(), each.size() - prefix.size() - 1), true});
  }
}

bool StandsForFile(const std::string& pattern, std::string_view name) {
  constexpr size_t kNumbersMax = 10'000;
  const auto patterns = ExpandNumbersInName(pattern, kNumbersMax);
  if (!patterns) return false;
  const std::vector<std::string_view> parts = PartsOf(name);
  return std::ranges::any_of(*patterns, [&](const std::string& one) {
    return PathMatch(parts, PartsOfPattern(one)).From(0, 0);
  });
}

}  // namespace feedmill
