#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/mds_shard.h"
#include "core/io/file_errors.h"
#include "core/io/file_systems.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kIndexBytesMax = uint64_t{256} << 20;
constexpr std::string_view kIndexName = "index.json";

// True for "a.mds" and for compressed shards, such as "a.mds.zstd".
bool IsShardName(std::string_view name) {
  const std::string_view last = LastPartOfName(name);
  const size_t at = last.find(".mds");
  return at != last.npos && (at + 4 == last.size() || last[at + 4] == '.');
}

// The files of a pattern, by name.
using FilesByName = std::map<std::string_view, const FoundFile*>;

// True if the file is a compressed shard that also exists plain.
bool ExistsPlain(std::string_view name, const FilesByName& found) {
  const std::string_view path = PathOfName(name);
  const size_t end = path.rfind(".mds.");
  if (end == path.npos) return false;
  const std::string plain =
      fmt::format("{}{}", path.substr(0, end + 4), OptionsOfName(name));
  return found.contains(plain);
}

// True for a name of a file below a folder: "shard.00000.mds", "3/a.mds".
bool IsBelow(std::string_view name) {
  if (name.find('\0') != name.npos) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

// Returns the name of the shard's file under `key`, raw_data or zip_data; "" if
// there is none.
std::string BasenameOf(const Json& shard, const char* key) {
  const Json data = shard.value(key, Json());
  if (!data.is_object() || !data.contains("basename") ||
      !data["basename"].is_string()) {
    return "";
  }
  return data["basename"].get<std::string>();
}

class IndexReader {
 public:
  IndexReader(const std::string& index, const FilesByName& found)
      : index_(index),
        folder_(FolderOfName(index)),
        options_(OptionsOfName(index)),
        found_(found) {}

  // Returns the shards in the order of the index.
  absl::StatusOr<std::vector<FoundFile>> Shards() const {
    FM_ASSIGN_OR_RETURN(const Json json, Read());
    if (!json.is_object() || !json.contains("shards") ||
        !json["shards"].is_array()) {
      return InvalidArgument(
          "{}: it is no index of MDS shards; name the shards, as in \"*.mds\"",
          index_);
    }
    std::vector<FoundFile> files;
    for (const Json& shard : json["shards"]) {
      auto file = FileOf(shard);
      if (!file.ok()) {
        return Annotate(file.status(),
                        fmt::format("{}: shard {}", index_, files.size()));
      }
      files.push_back(*std::move(file));
    }
    if (files.empty()) return NotFound("{}: it lists no shards", index_);
    // If the pattern is the index itself, nothing is known of its shards.
    if (found_.size() > 1) FM_RETURN_IF_ERROR(CheckOthers(files));
    return files;
  }

 private:
  absl::StatusOr<Json> Read() const {
    FM_ASSIGN_OR_RETURN(const auto file, OpenFile(index_));
    FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
    if (identity.size > kIndexBytesMax) {
      return InvalidArgument("{}: an index of more than 256 MiB", index_);
    }
    const auto text = ReadWhole(*file, 0, identity.size);
    if (!text.ok()) return NameFile(text.status(), index_);
    return Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  }

  absl::StatusOr<FoundFile> FileOf(const Json& shard) const {
    if (!shard.is_object()) return InvalidArgument("it is no JSON object");
    const std::string format = shard.value("format", Json("mds")).dump();
    if (format != "\"mds\"") {
      return InvalidArgument("its format is {}; only \"mds\" can be read",
                             Shown(format));
    }
    const std::string plain = BasenameOf(shard, "raw_data");
    const std::string packed = BasenameOf(shard, "zip_data");
    const bool by_plain = packed.empty() || found_.contains(NameOf(plain));
    const std::string& name = by_plain ? plain : packed;
    if (!IsBelow(name)) {
      return InvalidArgument(
          "its name is \"{}\", where MDS writes one below the folder of the "
          "index",
          Shown(name));
    }
    const auto known = found_.find(NameOf(name));
    return known == found_.end() ? FoundFile{NameOf(name)} : *known->second;
  }

  // Checks that the shards exist that the pattern does not match.
  absl::Status CheckOthers(std::vector<FoundFile>& files) const {
    std::vector<FoundFile*> others;
    std::vector<std::string> names;
    for (FoundFile& file : files) {
      if (found_.contains(file.name)) continue;
      others.push_back(&file);
      names.push_back(file.name);
    }
    FM_ASSIGN_OR_RETURN(const FileSystem* const system, FileSystemOf(index_));
    const auto stats = system->StatAll(names);
    for (size_t k = 0; k < others.size(); ++k) {
      if (absl::IsNotFound(stats[k].status())) {
        return DataLoss(
            "{}: it lists {}, which does not exist; to read the other shards, "
            "name them, as in \"*.mds\"",
            index_, names[k]);
      }
      FM_RETURN_IF_ERROR(stats[k].status());
      others[k]->identity = stats[k]->identity;
    }
    return absl::OkStatus();
  }

  std::string NameOf(const std::string& basename) const {
    return fmt::format("{}{}{}", folder_, basename, options_);
  }

  const std::string& index_;
  const std::string_view folder_;
  const std::string_view options_;
  const FilesByName& found_;
};

// Returns the folders with an index that are in no other one.
std::set<std::string_view> IndexedFolders(const FilesByName& found) {
  std::set<std::string_view> all;
  for (const auto& [name, file] : found) {
    if (IsMdsIndex(name)) all.insert(FolderOfName(name));
  }
  std::set<std::string_view> outermost;  // a folder stands before those in it
  for (const std::string_view folder : all) {
    if (outermost.empty() || !folder.starts_with(*outermost.rbegin())) {
      outermost.insert(folder);
    }
  }
  return outermost;
}

}  // namespace

bool IsMdsIndex(std::string_view name) {
  return LastPartOfName(name) == kIndexName;
}

absl::StatusOr<std::vector<FoundFile>> FindMdsShards(
    const std::string& pattern, std::vector<FoundFile> found) {
  FilesByName by_name;
  for (const FoundFile& file : found) by_name.emplace(file.name, &file);
  const std::set<std::string_view> indexed = IndexedFolders(by_name);
  std::set<std::string_view> done;
  std::vector<FoundFile> shards;
  for (const FoundFile& file : found) {
    const auto after = indexed.upper_bound(file.name);
    if (after != indexed.begin() && file.name.starts_with(*std::prev(after))) {
      const std::string_view folder = *std::prev(after);
      if (!done.insert(folder).second) continue;
      const std::string index =
          fmt::format("{}{}{}", folder, kIndexName, OptionsOfName(file.name));
      FM_ASSIGN_OR_RETURN(const auto listed,
                          IndexReader(index, by_name).Shards());
      shards.insert(shards.end(), listed.begin(), listed.end());
    } else if (IsShardName(file.name) && !ExistsPlain(file.name, by_name)) {
      shards.push_back(file);
    }
  }
  if (!shards.empty()) return shards;
  return NotFound("{}: there are no MDS shards (*.mds) in it", pattern);
}

}  // namespace feedmill
