#ifndef FEEDMILL_PLUGINS_ARROW_PARQUET_PAGE_H_
#define FEEDMILL_PLUGINS_ARROW_PARQUET_PAGE_H_

#include <arrow/buffer.h>
#include <parquet/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// The header of a page of Parquet. Arrow has no public parser for it.
struct ParquetPageHeader {
  enum Type : int64_t { kData = 0, kDictionary = 2, kDataV2 = 3 };

  int64_t type = -1;
  int64_t uncompressed_size = 0;
  int64_t compressed_size = 0;
  bool has_checksum = false;
  // In the header of a data page or dictionary page.
  int64_t values = 0;
  int64_t encoding = 0;
  int64_t definition_levels = 0;  // their encoding
  int64_t repetition_levels = 0;
};

// Takes a header, which is in Thrift's compact protocol, from the front of
// `bytes`. Returns nullopt if the bytes end before the header does, or have
// another form.
std::optional<ParquetPageHeader> TakeParquetPageHeader(std::string_view& bytes);

// The beginning of a page, decompressed.
struct ParquetPageBeginning {
  ParquetPageHeader header{};
  std::shared_ptr<arrow::Buffer> bytes{};
  bool whole = false;  // `bytes` are all of the page
};

// Parses and decompresses the beginning of a page. FailedPrecondition if that
// needs the whole page: a checksum, or a compression without a beginning.
absl::StatusOr<ParquetPageBeginning> ParsePageBeginning(
    std::string_view bytes, parquet::Compression::type codec);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_PARQUET_PAGE_H_
