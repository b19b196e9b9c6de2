#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/formats/array_record_index.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"

namespace feedmill {
namespace {

// True for "train.array_record" and "mnist-train.array_record-00000-of-00002".
bool IsArrayRecordName(const FoundFile& file) {
  const std::string_view name = file.name;
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return last.find(".array_record") != last.npos ||
         last.find(".arrayrecord") != last.npos;
}

struct ArrayRecordFormat {
  using Options = ArrayRecordSource;
  static constexpr std::string_view kName = "array_record";
  static constexpr std::array<std::string_view, 2> kEndings = {".array_record",
                                                               ".arrayrecord"};
  // The hash in the first block header of a Riegeli file.
  static bool Begins(std::string_view head) {
    return head.starts_with("\x83\xaf\x70\xd1\x0d\x88\x4a\x3f");
  }
  static constexpr Description kDescription = {
      .summary =
          "Reads ArrayRecord files: one unnamed bytes component a record.",
      .yaml = "array_record: words.array_record",
      .element = "one unnamed bytes component",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged file and one whose writer was not closed.",
      .example = R"(
>>> next(fm.Dataset.array_record("words.array_record").read())
b'dfccacegbfggdfhaeedaafd'
)"};

  static FieldList Fields(ArrayRecordSource& s) {
    return {FilesField(s.files)};
  }
  static SourceProperties Properties(const ArrayRecordSource&) { return {}; }
  static absl::StatusOr<ElementSpec> Output(const ArrayRecordSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files));
    return UnnamedSpec(DType::kBytes);
  }
  // Leaves out the JSON files beside the ArrayRecord files of TensorFlow
  // Datasets. If no file is named like an ArrayRecord file, all files are read.
  static absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string&, std::vector<FoundFile> found) {
    if (std::ranges::any_of(found, IsArrayRecordName)) {
      std::erase_if(found, [](const FoundFile& file) {
        return !IsArrayRecordName(file);
      });
    }
    return found;
  }
  static absl::StatusOr<uint64_t> CountRecords(const ArrayRecordSource&,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    FM_ASSIGN_OR_RETURN(const ArrayRecordIndex index,
                        ReadArrayRecordIndex(file, size));
    return index.records();
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const ArrayRecordSource&, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>&) {
    return MakeArrayRecordSource(std::move(manifest));
  }
};

}  // namespace

const SourceKind& ArrayRecordKind() { return FileKindOf<ArrayRecordFormat>(); }

}  // namespace feedmill
