#include "core/io/glob.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/glob_part.h"
#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/file_list.h"
#include "core/io/file_systems.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

// Bounds of the walk of one pattern: links can make infinite trees.
constexpr size_t kDepthMax = 32;
constexpr size_t kFilesMax = size_t{1} << 24;

std::string Join(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.back() == '/' ? directory + name : directory + "/" + name;
}

// Returns the folder in which a pattern's parts are looked up: "/",
// "s3://bucket/".
std::string RootOf(const std::string& pattern) {
  const size_t scheme = SchemeOf(pattern).size();
  const size_t begin = scheme == 0 ? 0 : scheme + 3;
  return pattern.substr(
      0, std::min(pattern.find('/', begin), pattern.size() - 1) + 1);
}

// Returns the parts of a pattern after its first `begin` bytes.
std::vector<std::string> SplitPattern(const std::string& pattern,
                                      size_t begin) {
  std::vector<std::string> parts;
  while (begin < pattern.size()) {
    const size_t end = std::min(pattern.find('/', begin), pattern.size());
    if (end > begin) parts.push_back(pattern.substr(begin, end - begin));
    begin = end + 1;
  }
  JoinStarParts(parts);
  return parts;
}

class GlobWalk {
 public:
  // `parts`: of the pattern. AddTree needs none.
  GlobWalk(const FileSystem& files, std::vector<std::string> parts)
      : files_(files),
        parts_(std::move(parts)),
        meets_again_(std::ranges::count(parts_, "**") > 1) {}

  // Adds all files below a folder, except hidden ones.
  absl::Status AddTree(const std::string& directory, size_t depth) {
    FM_RETURN_IF_ERROR(CheckBounds(directory, depth));
    if (!trees_.insert(directory).second) return absl::OkStatus();
    FM_ASSIGN_OR_RETURN(const auto entries, files_.List(directory));
    for (const auto& entry : entries) {
      if (IsHiddenName(entry.name)) continue;
      const std::string path = Join(directory, entry.name);
      if (entry.directory) {
        FM_RETURN_IF_ERROR(AddTree(path, depth + 1));
      } else {
        found_.push_back({path, entry.identity});
      }
    }
    return absl::OkStatus();
  }

  // Adds paths below `directory` that match the parts [at, …). "**" is any
  // number of folders.
  absl::Status AddMatches(const std::string& directory, size_t at,
                          size_t depth) {
    FM_RETURN_IF_ERROR(CheckBounds(directory, depth));
    if (meets_again_ && !matched_.emplace(at, directory).second) {
      return absl::OkStatus();
    }
    const std::string& part = parts_[at];
    const bool last = at + 1 == parts_.size();
    if (const auto name = LiteralPattern(part)) {
      const std::string path = Join(directory, *name);
      const auto stat = files_.Stat(path);
      if (!stat.ok()) return UnlessMissing(stat.status());
      return AddMatch({*name, stat->directory, stat->identity}, path, at,
                      depth);
    }
    const bool any_depth = part == "**";
    if (any_depth && !last) {
      FM_RETURN_IF_ERROR(AddMatches(directory, at + 1, depth));
    }
    const auto entries = files_.List(directory);
    if (!entries.ok()) return UnlessMissing(entries.status());
    for (const auto& entry : *entries) {
      const std::string path = Join(directory, entry.name);
      if (any_depth) {
        if (IsHiddenName(entry.name)) continue;
        if (entry.directory) {
          FM_RETURN_IF_ERROR(AddMatches(path, at, depth + 1));
        } else if (last) {
          found_.push_back({path, entry.identity});
        }
      } else if (PartMatches(part, entry.name)) {
        FM_RETURN_IF_ERROR(AddMatch(entry, path, at, depth));
      }
    }
    return absl::OkStatus();
  }

  std::vector<FoundFile> Found() && { return std::move(found_); }

 private:
  absl::Status AddMatch(const FileSystem::Entry& entry, const std::string& path,
                        size_t at, size_t depth) {
    if (at + 1 < parts_.size()) {
      if (!entry.directory) return absl::OkStatus();
      return AddMatches(path, at + 1, depth + 1);
    }
    if (entry.directory) return AddTree(path, depth + 1);
    found_.push_back({path, entry.identity});
    return absl::OkStatus();
  }

  // A name that is not there does not match. One that cannot be looked at may.
  static absl::Status UnlessMissing(const absl::Status& status) {
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }

  absl::Status CheckBounds(const std::string& directory, size_t depth) const {
    FM_RETURN_IF_ERROR(ReadStop::Check(directory));
    if (depth > kDepthMax) {
      return ResourceExhausted(
          "{}: more than {} folders deep (a link to a folder above itself?)",
          directory, kDepthMax);
    }
    if (found_.size() > kFilesMax) {
      return ResourceExhausted("{}: more than {} files in one pattern",
                               directory, kFilesMax);
    }
    return absl::OkStatus();
  }

  const FileSystem& files_;
  const std::vector<std::string> parts_;
  // True if the walk may reach a folder with the same remaining parts on
  // several ways.
  const bool meets_again_;
  std::set<std::pair<size_t, std::string>> matched_;  // if meets_again_
  std::set<std::string> trees_;  // folders that AddTree has added
  std::vector<FoundFile> found_;
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
  if (literal.ok()) {
    if (!literal->directory) {
      return std::vector<FoundFile>{{name, literal->identity}};
    }
    GlobWalk walk(files, {});
    FM_RETURN_IF_ERROR(walk.AddTree(name, 0));
    return std::move(walk).Found();
  }
  if (!absl::IsNotFound(literal.status())) return literal.status();
  const std::string root = RootOf(pattern);
  auto parts = SplitPattern(pattern, root.size());
  if (!HasWildcard(pattern) || parts.empty()) return std::vector<FoundFile>();
  GlobWalk walk(files, std::move(parts));
  FM_RETURN_IF_ERROR(walk.AddMatches(root, 0, 0));
  return std::move(walk).Found();
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
