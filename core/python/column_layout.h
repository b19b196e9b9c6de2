#ifndef FEEDMILL_CORE_PYTHON_COLUMN_LAYOUT_H_
#define FEEDMILL_CORE_PYTHON_COLUMN_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/function_registry.h"
#include "feedmill/element.h"

// Columns in memory that is shared with a process of feedmill_process. Buffers
// are 64-byte-aligned, positions are relative to the memory's begin.
//
//   request  int64: the number of rows; for each column: rank, 1 if ragged,
//            position of values, number of items, positions of offsets, shapes
//            and starts (-1: none), the dimensions. Then the buffers.
//   result   int64: the row that is being made; for each column: bytes of
//            values, positions of values, offsets and shapes (-1: none).

namespace feedmill {

// Rows [begin, begin + rows) of columns, as a request.
class RequestLayout {
 public:
  // REQUIRES: the columns outlive this object.
  RequestLayout(std::span<const Column* const> columns, size_t begin,
                size_t rows);

  size_t bytes() const { return bytes_; }
  // Writes bytes() bytes.
  void WriteTo(std::byte* to) const;

 private:
  struct Copy {
    const std::byte* from;
    size_t size;
    size_t to;
  };
  // Integers that differ from the column's by `less`.
  struct Rebased {
    std::span<const int64_t> from;
    int64_t less;
    size_t to;
  };

  void Add(const Column& column, size_t begin, size_t rows);
  size_t Place(size_t size);
  int64_t PlaceRebased(std::span<const int64_t> from);

  std::vector<int64_t> words_;
  std::vector<Copy> copies_;
  std::vector<Rebased> rebased_;
  size_t bytes_ = 0;  // of the buffers; at the end, of all
};

// Rows of one component, gathered from results.
class ResultRows {
 public:
  // Empties it for rows of that component, which `out` receives. A null `out`
  // drops them.
  void Begin(const ComponentSpec& component, OutputColumn* out);
  // Appends `rows` rows of column `index` of a result. Internal error if the
  // result breaks the layout.
  absl::Status Append(std::span<const std::byte> memory, size_t index,
                      size_t rows);
  // Sets the shapes of the output.
  void Finish();

 private:
  absl::Status AppendItems(std::span<const std::byte> memory,
                           std::span<const int64_t> head, int64_t items);

  const ComponentSpec* component_ = nullptr;
  OutputColumn* out_ = nullptr;
  bool fixed_ = true;  // all dimensions are declared
  size_t rows_ = 0;
  std::vector<int64_t> dims_;  // of each row, unless fixed_
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PYTHON_COLUMN_LAYOUT_H_
