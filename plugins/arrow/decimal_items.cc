#include <arrow/array/array_decimal.h>
#include <arrow/type.h>

#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "plugins/arrow/column_items.h"

namespace feedmill {
namespace {

using arrow::Type;

std::string TextOf(const arrow::Array& array, int64_t k) {
  switch (array.type_id()) {
    case Type::DECIMAL32:
      return static_cast<const arrow::Decimal32Array&>(array).FormatValue(k);
    case Type::DECIMAL64:
      return static_cast<const arrow::Decimal64Array&>(array).FormatValue(k);
    case Type::DECIMAL128:
      return static_cast<const arrow::Decimal128Array&>(array).FormatValue(k);
    default:
      return static_cast<const arrow::Decimal256Array&>(array).FormatValue(k);
  }
}

template <class To>
ColumnItems ParseDecimals(const arrow::Array& array, const NullMask& nulls) {
  ColumnItems items{.count = static_cast<size_t>(array.length()),
                    .values = {},
                    .offsets = {}};
  std::vector<To> values(items.count);
  const auto fault = [&](size_t k, RowFault of) {
    if (items.faults.empty()) items.faults.resize(items.count);
    items.faults[k] = of;
  };
  for (size_t k = 0; k < items.count; ++k) {
    if (!nulls.empty() && nulls[k] != 0) {
      if constexpr (kIsFloat<To>) {
        values[k] = std::numeric_limits<ComputeType<To>>::quiet_NaN();
      } else {
        fault(k, RowFault::kNull);
      }
      continue;
    }
    const std::string text = TextOf(array, static_cast<int64_t>(k));
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, values[k]);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      fault(k, RowFault::kInexact);
    }
  }
  items.values = BufferOf(std::move(values));
  return items;
}

ColumnItems DecimalTexts(const arrow::Array& array, const NullMask& nulls) {
  std::vector<char> bytes;
  std::vector<int64_t> offsets(1, 0);
  for (int64_t k = 0; k < array.length(); ++k) {
    if (nulls.empty() || nulls[static_cast<size_t>(k)] == 0) {
      const std::string text = TextOf(array, k);
      bytes.insert(bytes.end(), text.begin(), text.end());
    }
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  return {.count = static_cast<size_t>(array.length()),
          .values = BufferOf(std::move(bytes)),
          .offsets = BufferOf(std::move(offsets))};
}

}  // namespace

absl::StatusOr<ColumnItems> DecimalItems(const arrow::Array& array,
                                         const NullMask& nulls, DType dtype) {
  switch (dtype) {
    case DType::kBytes:
      return DecimalTexts(array, nulls);
    case DType::kFloat32:
      return ParseDecimals<float>(array, nulls);
    case DType::kFloat64:
      return ParseDecimals<double>(array, nulls);
    case DType::kInt64:
      return ParseDecimals<int64_t>(array, nulls);
    default:
      return InvalidArgument("decimals do not become {}", DTypeName(dtype));
  }
}

}  // namespace feedmill
