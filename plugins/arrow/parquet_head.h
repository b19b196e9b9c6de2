#ifndef FEEDMILL_PLUGINS_ARROW_PARQUET_HEAD_H_
#define FEEDMILL_PLUGINS_ARROW_PARQUET_HEAD_H_

#include <arrow/io/interfaces.h>
#include <parquet/arrow/reader.h>
#include <parquet/metadata.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Bytes of a store that the first rows of a row group need. A dictionary and a
// page may have 1 MiB each in every column, and a few rows need only the
// beginnings of both.
class ParquetHead {
 public:
  // `leaves`: the columns that are read.
  ParquetHead(std::shared_ptr<parquet::FileMetaData> metadata, int group,
              std::span<const int> leaves, int64_t rows);

  // The ranges to fetch, from the last one to the first.
  std::vector<arrow::io::ReadRange> Ranges() const;
  // True if the beginnings of its pages are fetched, and not whole pages.
  bool HasBeginning(int leaf) const;
  // Makes a reader for the columns with HasBeginning. It may fail where whole
  // pages can be read; e.g. the rows may need other items of a dictionary.
  absl::StatusOr<std::unique_ptr<parquet::arrow::FileReader>> MakeReader(
      std::shared_ptr<arrow::io::RandomAccessFile> file,
      const parquet::ArrowReaderProperties& properties) const;

 private:
  // The bytes of a column in the group.
  struct Chunk {
    int64_t begin = 0;
    int64_t dictionary = 0;  // bytes before the first page with values
    int64_t pages = 0;       // bytes of all pages with values
    // A guess of the bytes of the first page: from … to ….
    int64_t page_least = 0;
    int64_t page_most = 0;
    bool beginning = false;
  };

  bool FitsBeginning(int leaf) const;

  const std::shared_ptr<parquet::FileMetaData> metadata_;
  const int group_;
  const int64_t rows_;
  int64_t part_ = 0;  // bytes that are fetched of the beginning of a page
  std::map<int, Chunk> chunks_;  // by leaf
};

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_PARQUET_HEAD_H_
