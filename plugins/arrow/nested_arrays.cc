#include "plugins/arrow/nested_arrays.h"

#include <arrow/array/array_nested.h>
#include <arrow/extension_type.h>

#include "core/base/status.h"

namespace feedmill {
namespace {

using arrow::Type;

template <class List>
ItemRange RangeOf(const arrow::Array& array, int64_t row) {
  const auto& list = static_cast<const List&>(array);
  return {list.value_offset(row), list.value_length(row)};
}

ItemRange RangeOfList(const arrow::Array& array, int64_t row) {
  switch (array.type_id()) {
    case Type::LIST:
    case Type::MAP:
      return RangeOf<arrow::ListArray>(array, row);
    case Type::LARGE_LIST:
      return RangeOf<arrow::LargeListArray>(array, row);
    case Type::LIST_VIEW:
      return RangeOf<arrow::ListViewArray>(array, row);
    default:
      return RangeOf<arrow::LargeListViewArray>(array, row);
  }
}

}  // namespace

std::shared_ptr<arrow::Array> WithoutExtension(
    std::shared_ptr<arrow::Array> array) {
  while (array->type_id() == Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  return array;
}

bool IsAnyLengthList(Type::type type) {
  switch (type) {
    case Type::LIST:
    case Type::MAP:
    case Type::LARGE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW:
      return true;
    default:
      return false;
  }
}

std::shared_ptr<arrow::Array> ValuesOfList(const arrow::Array& array) {
  switch (array.type_id()) {
    case Type::LIST:
    case Type::MAP:
      return static_cast<const arrow::ListArray&>(array).values();
    case Type::LARGE_LIST:
      return static_cast<const arrow::LargeListArray&>(array).values();
    case Type::LIST_VIEW:
      return static_cast<const arrow::ListViewArray&>(array).values();
    default:
      return static_cast<const arrow::LargeListViewArray&>(array).values();
  }
}

absl::StatusOr<std::vector<ItemRange>> RangesOf(const arrow::Array& array,
                                                const NullMask& nulls,
                                                int64_t items) {
  std::vector<ItemRange> ranges(static_cast<size_t>(array.length()));
  for (size_t row = 0; row < ranges.size(); ++row) {
    if (!nulls.empty() && nulls[row] != 0) continue;
    const auto [begin, count] = RangeOfList(array, static_cast<int64_t>(row));
    if (begin < 0 || count < 0 || begin > items || count > items - begin) {
      return DataLoss("the offsets of its lists are damaged");
    }
    ranges[row] = {begin, count};
  }
  return ranges;
}

}  // namespace feedmill
