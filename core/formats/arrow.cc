#include "core/formats/columnar_source.h"
#include "feedmill/dataset_options.h"

namespace feedmill {
namespace {

struct ArrowFormat : ColumnarSourceOf<ArrowSource, ColumnarFormat::kArrowIpc> {
  static constexpr std::string_view kName = "arrow";
  static constexpr std::string_view kSummary =
      "Reads the rows of Arrow IPC files (Feather) and streams, their columns "
      "by name.";
};

}  // namespace

const SourceKind& ArrowKind() {
  static const FileSourceOf<ArrowFormat> kind;
  return kind;
}

}  // namespace feedmill
