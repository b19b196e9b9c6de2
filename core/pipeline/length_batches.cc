#include "core/pipeline/length_batches.h"

#include <algorithm>

#include "core/base/status.h"

namespace feedmill {

absl::Status LengthOf(const Column& column, size_t row, uint64_t& length) {
  int64_t value = 0;
  if (!column.shape.empty()) {
    value = column.RowDims(row)[0];
  } else if (column.dtype == DType::kBytes) {
    value = static_cast<int64_t>(column.BytesAt(column.RowStart(row)).size());
  } else {
    const std::byte* at =
        column.values.data() +
        static_cast<size_t>(column.RowStart(row)) * ItemSize(column.dtype);
    const auto read = [&]<class T>(T item) {
      __builtin_memcpy(&item, at, sizeof item);
      value = static_cast<int64_t>(std::min<uint64_t>(
          item < T{0} ? 0 : static_cast<uint64_t>(item), INT64_MAX));
      return item < T{0};
    };
    bool negative = false;
    switch (column.dtype) {
      case DType::kInt8:
        negative = read(int8_t{});
        break;
      case DType::kInt16:
        negative = read(int16_t{});
        break;
      case DType::kInt32:
        negative = read(int32_t{});
        break;
      case DType::kInt64:
        negative = read(int64_t{});
        break;
      case DType::kUInt8:
        read(uint8_t{});
        break;
      case DType::kUInt16:
        read(uint16_t{});
        break;
      case DType::kUInt32:
        read(uint32_t{});
        break;
      default:
        read(uint64_t{});
    }
    if (negative) return DataLoss("the length of an element is negative");
  }
  length = static_cast<uint64_t>(value);
  return absl::OkStatus();
}

}  // namespace feedmill
