#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/formats/columnar_source.h"
#include "core/formats/file_checks.h"
#include "core/io/file_list.h"
#include "core/io/file_systems.h"

namespace feedmill {
namespace {

// Most folders in which logs are looked for that the pattern does not match.
constexpr size_t kFoldersMax = 32;

enum class TableKind { kDelta, kIceberg, kHudi, kLance };

struct Table {
  TableKind kind;
  std::string folder;
};

absl::Status Refusal(const Table& table) {
  const auto refusal = [&](std::string_view name, std::string_view source) {
    return InvalidArgument(
        "{}: it is {}, and its folder also has files of other versions, with "
        "deleted and replaced rows; name the Parquet files of one version, "
        "each by its name or in a manifest ({})",
        table.folder, name, source);
  };
  switch (table.kind) {
    case TableKind::kDelta:
      return refusal("a Delta table",
                     "DeltaTable.file_uris() of deltalake lists them");
    case TableKind::kIceberg:
      return refusal("an Iceberg table",
                     "Table.scan().plan_files() of pyiceberg lists them");
    case TableKind::kHudi:
      return refusal("a Hudi table", "write a snapshot query to them");
    case TableKind::kLance:
      return refusal("a Lance table", "write to_table() of lance to them");
  }
  return absl::OkStatus();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// True for "00001-4f….metadata.json" and "v2.metadata.json".
bool IsIcebergMetadata(std::string_view file) {
  return file.ends_with(".metadata.json") &&
         (IsDigit(file[0]) || (file[0] == 'v' && IsDigit(file[1])));
}

// True for "FILE_WRITE_INSTANT.parquet"; INSTANT has 14 or 17 digits.
bool IsHudiFile(std::string_view file) {
  constexpr std::string_view kSuffix = ".parquet";
  if (!file.ends_with(kSuffix)) return false;
  file.remove_suffix(kSuffix.size());
  const size_t at = file.rfind('_');
  if (at == file.npos || file.find('_') == at) return false;
  const std::string_view instant = file.substr(at + 1);
  return (instant.size() == 14 || instant.size() == 17) &&
         std::ranges::all_of(instant, IsDigit);
}

// ---- names of folders, without a '/' at their end

std::string_view Above(std::string_view folder) {
  return folder.substr(0, std::min(folder.rfind('/'), folder.size()));
}

std::string_view LastOf(std::string_view folder) {
  return folder.substr(folder.rfind('/') + 1);
}

// Nothing is above the bucket of a URL.
bool HasAbove(std::string_view folder) {
  const size_t scheme = SchemeOf(folder).size();
  return folder.find('/', scheme == 0 ? 0 : scheme + 3) != folder.npos;
}

// Returns the folder of a file.
std::string_view PlaceOf(const FoundFile& file) {
  return Above(PathOfName(file.name));
}

bool IsLog(std::string_view folder) {
  const std::string_view last = LastOf(folder);
  return last == "_delta_log" || last == "_versions" || last == "metadata";
}

// Returns the kind of the table of whose log the file is a part.
std::optional<TableKind> KindOfLog(const FoundFile& file) {
  const std::string_view folder = LastOf(PlaceOf(file));
  const std::string_view name = LastPartOfName(file.name);
  if (folder == "_delta_log") return TableKind::kDelta;
  if (folder == "metadata" && IsIcebergMetadata(name)) {
    return TableKind::kIceberg;
  }
  if (folder == "_versions" && name.ends_with(".manifest")) {
    return TableKind::kLance;
  }
  return std::nullopt;
}

// Returns a table whose log and data are both among the files.
std::optional<Table> TableInside(std::span<const FoundFile> found) {
  std::map<std::string_view, TableKind> tables;  // by folder
  for (const FoundFile& file : found) {
    if (const auto kind = KindOfLog(file)) {
      tables.emplace(Above(PlaceOf(file)), *kind);
    }
  }
  if (tables.empty()) return std::nullopt;
  for (const FoundFile& file : found) {
    std::string_view folder = PlaceOf(file);
    for (; !IsLog(folder); folder = Above(folder)) {
      const auto table = tables.find(folder);
      if (table != tables.end()) {
        return Table{table->second, std::string(folder)};
      }
      if (!HasAbove(folder)) break;
    }
  }
  return std::nullopt;
}

// Folders that may be tables.
struct Suspects {
  std::set<std::string_view> delta;
  std::set<std::string_view> data;  // folders above one called "data"
  std::set<std::string_view> hudi;  // partitions
};

// Returns folders whose logs would not be among the files. `whole`: a folder of
// which all files were found; "" if there is none.
Suspects SuspectsOf(std::string_view whole, std::span<const FoundFile> found) {
  Suspects out;
  const auto add = [](std::string_view folder,
                      std::set<std::string_view>& folders) {
    if (folders.size() < kFoldersMax) folders.insert(folder);
  };
  const auto add_outside = [&](std::string_view folder,
                               std::set<std::string_view>& folders) {
    const bool inside =
        !whole.empty() && folder.starts_with(whole) &&
        (folder.size() == whole.size() || folder[whole.size()] == '/');
    if (!inside) add(folder, folders);
  };
  for (const FoundFile& file : found) {
    std::string_view folder = PlaceOf(file);
    if (IsHudiFile(LastPartOfName(file.name))) add(folder, out.hudi);
    while (LastOf(folder).find('=') != folder.npos) folder = Above(folder);
    add_outside(folder, out.delta);
    while (HasAbove(folder) && LastOf(folder) != "data") folder = Above(folder);
    if (HasAbove(folder)) add_outside(Above(folder), out.data);
  }
  return out;
}

// True if a file matches the pattern. False, too, if it cannot be looked for.
bool Matches(const FileSystem& files, const std::string& pattern) {
  // FindOne of s3:// ends with the first page that has one.
  if (SchemeOf(pattern) == "s3") return files.FindOne(pattern).ok();
  const auto found = files.Glob(pattern);
  return found.ok() && !found->empty();
}

// Returns a table that has the files but whose log is not among them.
absl::StatusOr<std::optional<Table>> TableAround(const std::string& pattern,
                                                 const Suspects& suspects) {
  FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(pattern));
  const auto has = [&](std::string_view folder, std::string_view log) {
    return Matches(*files, fmt::format("{}/{}{}", EscapedPattern(folder), log,
                                       OptionsOfName(pattern)));
  };
  const auto table = [](TableKind kind, std::string_view folder) {
    return Table{kind, std::string(folder)};
  };
  for (const auto folder : suspects.delta) {
    if (has(folder, "_delta_log/*")) return table(TableKind::kDelta, folder);
  }
  for (const auto folder : suspects.hudi) {
    const std::string metadata = fmt::format("{}/.hoodie_partition_metadata{}",
                                             folder, OptionsOfName(pattern));
    if (files->Stat(metadata).ok()) return table(TableKind::kHudi, folder);
  }
  for (const auto folder : suspects.data) {
    if (has(folder, "metadata/[0-9]*.metadata.json") ||
        has(folder, "metadata/v[0-9]*.metadata.json")) {
      return table(TableKind::kIceberg, folder);
    }
    if (has(folder, "_versions/*.manifest")) {
      return table(TableKind::kLance, folder);
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status RefuseTables(const std::string& pattern,
                          std::span<const FoundFile> found) {
  const bool named = !FileListOf(pattern).empty() ||
                     FindNumbersInName(pattern).has_value() ||
                     (found.size() == 1 && found[0].name == pattern);
  if (named) return absl::OkStatus();
  if (const auto table = TableInside(found)) return Refusal(*table);
  // Files of a log alone: no data.
  if (std::ranges::all_of(
          found, [](const FoundFile& file) { return IsLog(PlaceOf(file)); })) {
    return absl::OkStatus();
  }
  std::string whole;
  if (const auto folder = LiteralPattern(pattern)) {
    whole = PathOfName(*folder);
    while (whole.ends_with('/')) whole.pop_back();
  }
  FM_ASSIGN_OR_RETURN(const auto table,
                      TableAround(pattern, SuspectsOf(whole, found)));
  return table ? Refusal(*table) : absl::OkStatus();
}

}  // namespace feedmill
