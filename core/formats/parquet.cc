#include <array>
#include <string_view>

#include "core/formats/columnar_source.h"
#include "feedmill/dataset_options.h"

namespace feedmill {
namespace {

struct ParquetFormat
    : ColumnarSourceOf<ParquetSource, ColumnarFormat::kParquet> {
  static constexpr std::string_view kName = "parquet";
  static constexpr std::array<std::string_view, 2> kEndings = {".parquet",
                                                               ".pq"};
  static bool Begins(std::string_view head) { return head.starts_with("PAR1"); }
  static constexpr Description kDescription = {
      .summary = "Reads the rows of Parquet files, their columns by name.",
      .yaml = R"(parquet: table.parquet
parquet: {files: table/, columns: [text, label]})",
      .element =
          "its columns by name, `a.b` for the member b of a struct, or of "
          "structs in a list",
      .details =
          "Maps and deeper lists are JSON text. It needs the plugin "
          "`libfeedmill_arrow.so` (docs/steps.md).",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged file, FailedPreconditionError without the plugin.",
      .example = R"(
>>> fm.Dataset.parquet("table.parquet", columns=["text"])
<feedmill.Dataset parquet(table.parquet, columns: [text]): schema not known yet>
)"};
};

}  // namespace

const SourceKind& ParquetKind() { return FileKindOf<ParquetFormat>(); }

}  // namespace feedmill
