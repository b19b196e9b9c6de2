#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/mds_shard.h"
#include "core/io/file_errors.h"
#include "core/io/file_systems.h"
#include "core/sources/item_records.h"

namespace feedmill {
namespace {

struct MdsFormat {
  using Options = MdsSource;
  static constexpr std::string_view kName = "mds";
  static constexpr std::array<std::string_view, 2> kEndings = {".mds",
                                                               "/index.json"};
  static constexpr Description kDescription = {
      .summary =
          "Reads the samples of MDS shards (MosaicML Streaming), columns by "
          "name.",
      .yaml = "mds: shards/",
      .element = "the columns of MDS shards (MosaicML Streaming) by name",
      .details =
          "`files` is the folder of a data set, its `index.json`, or shards.",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged shard.",
      .example = R"(
>>> ds = fm.Dataset.mds("mds", fields={"int": "int64", "str": "bytes"})
>>> next(ds.read())
{'int': np.int64(-5), 'str': b''}
)"};

  static FieldList Fields(MdsSource& s) {
    return {FilesField(s.files), FieldsField(s.fields)};
  }
  static SourceProperties Properties(const MdsSource&) { return {}; }
  static absl::StatusOr<ElementSpec> Output(const MdsSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files));
    return SpecOfFields(s.fields, FieldShapes::kAny);
  }
  // A shard that is named is read with any name.
  static absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) {
    const bool named = found.size() == 1 && found[0].name == pattern;
    return named && !IsMdsIndex(pattern)
               ? found
               : FindMdsShards(pattern, std::move(found));
  }
  // The first shard that has samples gives the fields: MDSWriter writes
  // empty ones before a sample that is larger than its limit.
  static absl::StatusOr<std::vector<SourceField>> InferFieldsOfFiles(
      const MdsSource&, const std::vector<FoundFile>& files) {
    for (const FoundFile& found : files) {
      FM_ASSIGN_OR_RETURN(const auto file, OpenFile(found));
      FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
      auto fields = MdsFields(*file, identity.size);
      if (!fields.ok()) return NameFile(fields.status(), found.name);
      if (!fields->empty()) return fields;
    }
    return DataLoss(
        "{}: no shard has a sample, which would tell the types; declare "
        "`fields`",
        files[0].name);
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

const SourceKind& MdsKind() { return FileKindOf<MdsFormat>(); }

}  // namespace feedmill
