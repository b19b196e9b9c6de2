// libfeedmill_arrow.so: reads Parquet and Arrow files with Apache Arrow.

#include <utility>

#include "core/formats/columnar_plugin.h"
#ifdef FEEDMILL_ARROW_S3
#include "plugins/arrow/aws_key_chain.h"
#endif
#include "plugins/arrow/cloud_files.h"
#include "plugins/arrow/ipc_file.h"
#include "plugins/arrow/parquet_file.h"

namespace feedmill {
namespace {

class ArrowReader final : public ColumnarReader {
 public:
  absl::StatusOr<std::unique_ptr<const ColumnarFile>> Open(
      ColumnarFormat format, std::shared_ptr<const RandomAccessFile> file,
      uint64_t size, bool memory_map) const override {
    return format == ColumnarFormat::kParquet
               ? OpenParquetFile(std::move(file), size)
               : OpenIpcFile(std::move(file), size, memory_map);
  }
};

const ColumnarReader& Reader() {
  static const ArrowReader reader;
  return reader;
}

#ifdef FEEDMILL_ARROW_S3
constexpr auto kAwsKeys = &AwsKeyChain;
#else
constexpr const AwsKeySource& (*kAwsKeys)() = nullptr;
#endif

}  // namespace
}  // namespace feedmill

extern "C" {
__attribute__((visibility(
    "default"))) extern const FeedmillArrowPlugin feedmill_arrow_plugin;
const FeedmillArrowPlugin feedmill_arrow_plugin{
    feedmill::ColumnarBuild(), &feedmill::Reader, feedmill::kAwsKeys,
    &feedmill::OpenCloudFiles};
}
