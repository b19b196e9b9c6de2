#include "core/io/key_glob.h"

#include <algorithm>
#include <functional>
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

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
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
  PathMatch(std::span<const std::string> parts,
            std::span<const std::string> pattern)
      : parts_(parts), pattern_(pattern) {}

  // True if the key's parts [at, …) match the pattern's, [own, …).
  bool From(size_t at, size_t own) {
    const std::span<const std::string> rest = parts_.subspan(at);
    if (own == pattern_.size()) return NoneHidden(rest);
    if (rest.empty()) return false;
    if (pattern_[own] == "**") return FromStars(at, own);
    return PartMatches(pattern_[own], parts_[at]) && From(at + 1, own + 1);
  }

 private:
  static bool NoneHidden(std::span<const std::string> parts) {
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

  const std::span<const std::string> parts_;
  const std::span<const std::string> pattern_;
  std::vector<bool> tried_;  // by "**" of the pattern and place in the key
};

// Returns the common beginning of all names that a part of a pattern matches.
std::string_view LiteralBeginning(std::string_view part) {
  return part.substr(0, part.find_first_of("*?["));
}

std::vector<std::string> PartsOfPattern(std::string_view pattern) {
  std::vector<std::string> parts = PartsOf(WithoutSlashes(pattern));
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
  KeyWalk(std::vector<std::string> parts, const ListKeys& list, bool one)
      : parts_(std::move(parts)), list_(list), one_(one) {}

  absl::StatusOr<std::vector<ListedObject>> Run() && {
    level_.push_back({"", 0});
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
      return {folder.prefix, true};
    }
    const std::string& part = parts_[folder.part];
    const auto literal = LiteralPattern(part);
    return {folder.prefix +
                (literal ? *literal : std::string(LiteralBeginning(part))),
            false};
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
      return ResourceExhausted("more than {} objects in one pattern",
                               kObjectsMax);
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

absl::StatusOr<std::vector<ListedObject>> KeysBelow(
    std::span<const std::string> folders, const ListKeys& list) {
  std::vector<ListTask> tasks;
  for (const std::string& folder : folders) tasks.push_back({folder, true});
  std::vector<ListedObject> found;
  FM_RETURN_IF_ERROR(list(tasks, [&](size_t task, ListPage page) {
    for (ListedObject& object : page.objects) {
      if (object.key.ends_with('/')) continue;
      const auto rest =
          PartsOf(std::string_view(object.key).substr(folders[task].size()));
      if (std::none_of(rest.begin(), rest.end(), IsHiddenName)) {
        found.push_back(std::move(object));
      }
    }
    return found.size() <= kObjectsMax
               ? absl::OkStatus()
               : ResourceExhausted("more than {} objects in one folder",
                                   kObjectsMax);
  }));
  DropFolderMarks(found);
  return found;
}

bool StandsForFile(const std::string& pattern, std::string_view name) {
  constexpr size_t kNumbersMax = 10'000;
  const auto patterns = ExpandNumbersInName(pattern, kNumbersMax);
  if (!patterns) return false;
  const std::vector<std::string> parts = PartsOf(name);
  return std::ranges::any_of(*patterns, [&](const std::string& one) {
    return PathMatch(parts, PartsOfPattern(one)).From(0, 0);
  });
}

}  // namespace feedmill
