#include "core/formats/columnar_source.h"
#include "feedmill/dataset_options.h"

namespace feedmill {
namespace {

struct ParquetFormat
    : ColumnarSourceOf<ParquetSource, ColumnarFormat::kParquet> {
  static constexpr std::string_view kName = "parquet";
  static constexpr std::string_view kSummary =
      "Reads the rows of Parquet files, their columns by name.";
};

}  // namespace

const SourceKind& ParquetKind() {
  static const FileSourceOf<ParquetFormat> kind;
  return kind;
}

}  // namespace feedmill
