#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/kinds.h"
#include "core/formats/mds_shard.h"
#include "core/io/file_errors.h"
#include "core/io/file_systems.h"
#include "core/sources/item_records.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kIndexBytesMax = uint64_t{256} << 20;
constexpr std::string_view kIndexName = "index.json";

std::string_view LastPart(std::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

// True for "a.mds" and for compressed shards, such as "a.mds.zstd".
bool IsShardName(std::string_view name) {
  const std::string_view last = LastPart(name);
  const size_t at = last.find(".mds");
  return at != last.npos && (at + 4 == last.size() || last[at + 4] == '.');
}

// Returns the shards that an index.json lists, in its order.
absl::StatusOr<std::vector<FoundFile>> ShardsOf(const std::string& index) {
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(index));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  if (identity.size > kIndexBytesMax) {
    return InvalidArgument("{}: an index of more than 256 MiB", index);
  }
  auto text = ReadWhole(*file, 0, identity.size);
  if (!text.ok()) return NameFile(text.status(), index);
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&](size_t shard) {
    return InvalidArgument("{}: shard {} is none that MDS writes", index,
                           shard);
  };
  if (!json.is_object() || !json.contains("shards") ||
      !json["shards"].is_array()) {
    return InvalidArgument("{}: it is no index of MDS shards", index);
  }
  const std::string folder = index.substr(0, index.rfind('/') + 1);
  std::vector<FoundFile> files;
  for (const Json& shard : json["shards"]) {
    if (!shard.is_object()) return wrong(files.size());
    const bool packed =
        shard.contains("zip_data") && !shard["zip_data"].is_null();
    const Json data = shard.value(packed ? "zip_data" : "raw_data", Json());
    if (!data.is_object() || !data.contains("basename") ||
        !data["basename"].is_string()) {
      return wrong(files.size());
    }
    const auto name = data["basename"].get<std::string>();
    if (name.empty() || name.find('\0') != name.npos ||
        name.find('/') != name.npos) {
      return wrong(files.size());
    }
    files.push_back({folder + name});
  }
  if (!files.empty()) return files;
  return NotFound("{}: it lists no shards", index);
}

struct MdsFormat {
  using Options = MdsSource;
  static constexpr std::string_view kName = "mds";
  static constexpr std::string_view kSummary =
      "Reads the samples of MDS shards (MosaicML Streaming), columns by name.";

  static FieldList Fields(MdsSource& s) {
    return {FilesField(s.files), FieldsField(s.fields)};
  }
  static SourceProperties Properties(const MdsSource&) { return {}; }
  static absl::StatusOr<ElementSpec> Output(const MdsSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files));
    return SpecOfFields(s.fields, FieldShapes::kAny);
  }
  // An index.json stands for the shards that it lists. A folder or a glob
  // stands for its shards. A shard that exists both plain and compressed is
  // read once.
  static absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) {
    if (found.size() == 1 && LastPart(found[0].name) == kIndexName) {
      return ShardsOf(found[0].name);
    }
    if (found.size() == 1 && found[0].name == pattern) return found;
    std::vector<std::string> names;
    for (const FoundFile& file : found) names.push_back(file.name);
    std::sort(names.begin(), names.end());
    std::erase_if(found, [&](const FoundFile& file) {
      if (!IsShardName(file.name)) return true;
      const size_t end = file.name.rfind(".mds.");
      return end != file.name.npos &&
             std::binary_search(names.begin(), names.end(),
                                file.name.substr(0, end + 4));
    });
    if (!found.empty()) return found;
    return NotFound("{}: there are no MDS shards (*.mds) in it", pattern);
  }
  static absl::StatusOr<std::vector<SourceField>> InferFieldsOfFile(
      const MdsSource&, const std::string& path) {
    FM_ASSIGN_OR_RETURN(const auto file, OpenFile(path));
    FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
    auto fields = MdsFields(*file, identity.size);
    if (!fields.ok()) return NameFile(fields.status(), path);
    return fields;
  }
  static absl::StatusOr<uint64_t> CountRecords(const MdsSource&,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    const auto count = CountMdsSamples(file, size);
    if (!count.ok()) return NameFile(count.status(), file.name());
    return count;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const MdsSource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    return MakeItemRecords(OpenMdsShard, s.fields, live, std::move(manifest));
  }
};

}  // namespace

const SourceKind& MdsKind() {
  static const FileSourceOf<MdsFormat> kind;
  return kind;
}

}  // namespace feedmill
