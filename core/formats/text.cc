#include <array>
#include <span>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/sources/indexed_records.h"
#include "core/sources/line_framing.h"

namespace feedmill {
namespace {

struct TextFormat {
  using Options = TextSource;
  static constexpr std::string_view kName = "text";
  static constexpr std::array<std::string_view, 1> kEndings = {".txt"};
  static constexpr Description kDescription = {
      .summary =
          "Reads lines: one unnamed bytes component each, without its line "
          "end.",
      .yaml = R"(text: notes.txt
text: ["a/*.txt", b.txt])",
      .element = "one unnamed bytes component, a line",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged compressed file.",
      .example = R"(
>>> list(fm.Dataset.text("notes.txt").read())
[b'first line', b'second line', b'third line']
)"};

  static FieldList Fields(TextSource& s) {
    return {FilesField(s.files), CompressionField(s.compression, s.files),
            WindowLogField(s.zstd_window_log)};
  }
  static SourceProperties Properties(const TextSource& s) {
    return {.positions =
                FilesIfCompressed(s.compression, s.files, Positions::kBlocks),
            .lines = true};
  }
  static absl::StatusOr<ElementSpec> Output(const TextSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression, s.zstd_window_log));
    return UnnamedSpec(DType::kBytes);
  }
  static std::shared_ptr<const Framing> MakeFraming(const TextSource&) {
    return std::make_shared<LineFraming>(LineFraming::Lines::kAll);
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const TextSource&, const std::vector<bool>&) {
    return MakeBytesDecoder();
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeCounted(
      const TextSource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>&) {
    return MakeIndexedRecords(MakeFraming(s), std::move(manifest));
  }
};

}  // namespace

const SourceKind& TextKind() { return FileKindOf<TextFormat>(); }

}  // namespace feedmill
