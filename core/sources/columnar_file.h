#ifndef FEEDMILL_CORE_SOURCES_COLUMNAR_FILE_H_
#define FEEDMILL_CORE_SOURCES_COLUMNAR_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/fields.h"
#include "core/io/random_access_file.h"
#include "feedmill/chunk.h"

namespace feedmill {

enum class ColumnarFormat {
  kParquet,
  kArrowIpc,  // files (Feather) and streams
};

// One column of a file, as a component. Structs are flattened: the member "b"
// of the struct "a" is the column "a.b".
struct ColumnarColumn {
  SourceField field;
  // Empty, or the type of the file if no component can hold it:
  // "map<string, int64>". Then only the name of `field` counts.
  std::string unreadable{};
};

// Reason why a row has no value in a column.
enum class RowFault : uint8_t {
  kNone,
  kNull,     // null, and the dtype has no stand-in for it
  kInexact,  // not exactly a number of the declared dtype
  kIndex,    // an index outside the dictionary
};

// All rows of a group in one column.
//
//   scalars, fixed shapes  `values`, and for bytes `offsets`, as Column says;
//   lists                  also `row_starts`; `row_shapes` stays empty.
struct DecodedColumn {
  Column column;
  std::vector<RowFault> faults{};  // by row; empty: none
};

// An open file whose rows stand in groups of columns: the row groups of
// Parquet, the record batches of Arrow. libfeedmill_arrow.so implements it.
//
// Errors are DataLoss if the bytes are wrong, and name the column but not the
// file. Errors of the RandomAccessFile are passed on as they are.
//
// Thread-safety: any thread.
class ColumnarFile {
 public:
  virtual ~ColumnarFile() = default;

  virtual const std::vector<ColumnarColumn>& columns() const = 0;
  // Number of rows of each group.
  virtual const std::vector<uint64_t>& group_rows() const = 0;
  // Decodes the columns of the names, dtypes and shapes of `fields`, in their
  // order. Reads only what these need. InvalidArgument if the file lacks one,
  // or has it with a type that does not become that dtype without loss.
  virtual absl::StatusOr<std::vector<DecodedColumn>> ReadGroup(
      size_t group, std::span<const SourceField> fields) const = 0;
};

// Opens files of columns. Thread-safety: any thread.
class ColumnarReader {
 public:
  virtual ~ColumnarReader() = default;

  // Reads the footer, or the metadata of a stream. `size`: bytes of the file.
  virtual absl::StatusOr<std::unique_ptr<const ColumnarFile>> Open(
      ColumnarFormat format, std::shared_ptr<const RandomAccessFile> file,
      uint64_t size) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_COLUMNAR_FILE_H_
