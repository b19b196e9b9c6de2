#include "core/io/key_glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

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

bool IsHiddenPart(std::string_view part) { return part.starts_with('.'); }

bool PartMatches(const std::string& pattern, const std::string& part) {
  if (const auto literal = LiteralPattern(pattern)) return part == *literal;
  return fnmatch(pattern.c_str(), part.c_str(), FNM_PERIOD) == 0;
}

// True if parts [at, …) of a key match those of a pattern, [own, …).
bool PathMatches(std::span<const std::string> parts, size_t at,
                 std::span<const std::string> pattern, size_t own) {
  const std::span<const std::string> rest = parts.subspan(at);
  if (own == pattern.size()) {
    return std::none_of(rest.begin(), rest.end(), IsHiddenPart);
  }
  if (rest.empty()) return false;
  if (pattern[own] == "**") {
    if (own + 1 == pattern.size()) {
      return std::none_of(rest.begin(), rest.end(), IsHiddenPart);
    }
    for (size_t skipped = 0;; ++skipped) {
      if (PathMatches(parts, at + skipped, pattern, own + 1)) return true;
      if (skipped + 1 >= rest.size() || IsHiddenPart(rest[skipped])) {
        return false;
      }
    }
  }
  return PartMatches(pattern[own], parts[at]) &&
         PathMatches(parts, at + 1, pattern, own + 1);
}

// Returns the common beginning of all names that a part of a pattern matches.
std::string_view LiteralBeginning(std::string_view part) {
  return part.substr(0, part.find_first_of("*?["));
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
      if (PathMatches(rest, 0, parts_, folder.part)) {
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
  return KeyWalk(PartsOf(WithoutSlashes(pattern)), list, /*one=*/false).Run();
}

absl::StatusOr<std::string> FindOneKey(const std::string& pattern,
                                       const ListKeys& list) {
  FM_ASSIGN_OR_RETURN(
      const auto found,
      KeyWalk(PartsOf(WithoutSlashes(pattern)), list, /*one=*/true).Run());
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
      if (std::none_of(rest.begin(), rest.end(), IsHiddenPart)) {
        found.push_back(std::move(object));
      }
    }
    return found.size() <= kObjectsMax
               ? absl::OkStatus()
               : ResourceExhausted("more than {} objects in one folder",
                                   kObjectsMax);
  }));
  return found;
}

}  // namespace feedmill
