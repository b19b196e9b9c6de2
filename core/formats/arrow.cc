#include <array>
#include <string_view>

#include "core/formats/columnar_source.h"
#include "feedmill/dataset_options.h"

namespace feedmill {
namespace {

struct ArrowFormat : ColumnarSourceOf<ArrowSource, ColumnarFormat::kArrowIpc> {
  static constexpr std::string_view kName = "arrow";
  static constexpr std::array<std::string_view, 4> kEndings = {
      ".arrow", ".feather", ".arrows", ".ipc"};
  // An IPC file, or the first message of a stream.
  static bool Begins(std::string_view head) {
    return head.starts_with("ARROW1") || head.starts_with("\xff\xff\xff\xff");
  }
  static constexpr Description kDescription = {
      .summary =
          "Reads the rows of Arrow IPC files (Feather) and streams, their "
          "columns by name.",
      .yaml = R"(arrow: table.arrow
arrow: {files: table.arrow, columns: [text, label], memory_map: true})",
      .element = "the same of Arrow IPC files (Feather) and streams",
      .details =
          "Columns are as in `parquet`. It needs the plugin "
          "`libfeedmill_arrow.so` (docs/steps.md).",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged file, FailedPreconditionError without the plugin.",
      .example = R"(
>>> fm.Dataset.arrow("table.arrow", columns=["text"])
<feedmill.Dataset arrow(table.arrow, columns: [text]): schema not known yet>
)"};
};

}  // namespace

const SourceKind& ArrowKind() { return FileKindOf<ArrowFormat>(); }

}  // namespace feedmill
