#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/status.h"
#include "core/ops/convert_items.h"
#include "core/ops/function_families.h"
#include "core/ops/promotion.h"
#include "core/ops/row_items.h"

// Functions that compare the items of a row with each other or with a list.

namespace feedmill {
namespace {

using std::string_view;

// A NaN is greater than all numbers, and equal to a NaN.
template <class T>
bool IsLess(const T& a, const T& b) {
  if constexpr (kIsFloat<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

// Sorts; -0.0 comes before 0.0.
template <class T>
void Sort(T* begin, T* end) {
  std::sort(begin, end, [](const T& a, const T& b) {
    if constexpr (kIsFloat<T>) {
      if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
    }
    return IsLess(a, b);
  });
}

// Sorts and removes items that equal an earlier one. Returns the new end.
template <class T>
T* SortUnique(T* begin, T* end) {
  Sort(begin, end);
  return std::unique(begin, end, [](const T& a, const T& b) {
    return !IsLess(a, b) && !IsLess(b, a);
  });
}

// Calls visit(T{}) with the C++ type of the items, string_view for kBytes.
template <class F>
decltype(auto) VisitItems(DType dtype, F&& visit) {
  if (dtype == DType::kBytes) return visit(string_view());
  return VisitNumeric(dtype, std::forward<F>(visit));
}

// Copies `count` items from `begin` on to `items`.
template <class T>
void CopyItems(const Column& from, int64_t begin, size_t count,
               std::vector<T>& items) {
  items.resize(count);
  for (size_t k = 0; k < count; ++k) {
    const int64_t item = begin + static_cast<int64_t>(k);
    if constexpr (std::is_same_v<T, string_view>) {
      items[k] = from.BytesAt(item);
    } else {
      items[k] = from.values.As<T>()[static_cast<size_t>(item)];
    }
  }
}

template <class T>
void AppendItemsOf(std::span<const T> items, OutputColumn& out) {
  if constexpr (std::is_same_v<T, string_view>) {
    for (const string_view text : items) {
      out.values.Append(text.data(), text.size());
      out.offsets.Push(static_cast<int64_t>(out.values.size()));
    }
  } else {
    out.values.Append(items.data(), items.size_bytes());
  }
}

// ---- sort, argsort: each line along the last axis

absl::StatusOr<ValueType> InferSort(string_view function, bool places,
                                    const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments(function, given.size(), 1));
  if (given[0].shape.empty()) {
    return InvalidArgument("{}: a scalar {} has no items", function,
                           DTypeName(given[0].dtype));
  }
  ValueType result;
  result.dtype = places ? DType::kInt64 : given[0].dtype;
  result.shape = given[0].shape;
  return result;
}

// Calls line(first item, number of items) for each line of all rows.
template <class F>
void ForEachLine(const Argument& argument, size_t rows, const F& line) {
  const Column& from = *argument.column;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(argument, row);
    const int64_t length = from.RowDims(from_row).back();
    const int64_t start = from.RowStart(from_row);
    const int64_t end = start + from.RowItems(from_row);
    for (int64_t at = start; at < end; at += length) {
      line(at, static_cast<size_t>(length));
    }
  }
}

absl::Status ComputeSort(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  CopyRowShapes(arguments[0], rows, type, out);
  const Column& from = *arguments[0].column;
  VisitItems(from.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> items;
    ForEachLine(arguments[0], rows, [&](int64_t begin, size_t count) {
      CopyItems(from, begin, count, items);
      Sort(items.data(), items.data() + count);
      AppendItemsOf(std::span<const T>(items), out);
    });
  });
  return absl::OkStatus();
}

absl::Status ComputeArgSort(std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  CopyRowShapes(arguments[0], rows, type, out);
  const Column& from = *arguments[0].column;
  VisitItems(from.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> items;
    ForEachLine(arguments[0], rows, [&](int64_t begin, size_t count) {
      CopyItems(from, begin, count, items);
      auto* const places = reinterpret_cast<int64_t*>(
          out.values.Extend(count * sizeof(int64_t)));
      std::iota(places, places + count, int64_t{0});
      std::sort(places, places + count, [&](int64_t a, int64_t b) {
        const T& left = items[static_cast<size_t>(a)];
        const T& right = items[static_cast<size_t>(b)];
        return IsLess(left, right) || (a < b && !IsLess(right, left));
      });
    });
  });
  return absl::OkStatus();
}

// ---- unique

absl::StatusOr<ValueType> InferUnique(const std::vector<ValueType>& given) {
  FM_ASSIGN_OR_RETURN(ValueType result, InferSort("unique", false, given));
  result.shape = {kUnknownDim};
  return result;
}

absl::Status ComputeUnique(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  StartRows(type, /*ragged=*/true, out);
  const Column& from = *arguments[0].column;
  VisitItems(from.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> items;
    for (size_t row = 0; row < rows; ++row) {
      const size_t from_row = RowOf(arguments[0], row);
      CopyItems(from, from.RowStart(from_row),
                static_cast<size_t>(from.RowItems(from_row)), items);
      T* const end = SortUnique(items.data(), items.data() + items.size());
      const int64_t count = end - items.data();
      AppendItemsOf(std::span<const T>(items).first(static_cast<size_t>(count)),
                    out);
      EndRaggedRow({&count, 1}, out);
    }
  });
  return absl::OkStatus();
}

// ---- isin, bucketize: each item beside a list

// Returns the dtype in which the items of `x` and of `list` are compared. The
// constants of a list adapt to x, as in x == 0.5.
absl::StatusOr<DType> DTypeBeside(string_view function, const ValueType& x,
                                  const ValueType& list) {
  if (x.dtype == DType::kBytes && list.dtype == DType::kBytes) {
    return DType::kBytes;
  }
  const ValueType* both[] = {&x, &list};
  FM_ASSIGN_OR_RETURN(const DType common, CommonDType(function, both));
  return IsFloat(x.dtype) && !list.constants.empty() ? x.dtype : common;
}

// Returns the items of a run in the dtype T. `scratch` is memory.
template <class T>
std::span<const T> ItemsAs(const Column& from, int64_t begin, size_t count,
                           std::vector<T>& scratch) {
  if constexpr (std::is_same_v<T, string_view>) {
    CopyItems(from, begin, count, scratch);
  } else {
    const auto first = static_cast<size_t>(begin);
    if (from.dtype == DTypeOf<T>()) {
      return from.values.As<T>().subspan(first, count);
    }
    scratch.resize(count);
    ConvertItems(from.dtype, from.values.data() + first * ItemSize(from.dtype),
                 DTypeOf<T>(), scratch.data(), count);
  }
  return scratch;
}

// Shorter lists are compared item by item.
constexpr size_t kFewItems = 16;

template <class T>
void FindIn(std::span<const T> items, std::span<const T> sorted, uint8_t* to) {
  if (sorted.size() > kFewItems) {
    for (const T& item : items) {
      const auto at = std::lower_bound(sorted.begin(), sorted.end(), item);
      *to++ = at != sorted.end() && *at == item ? 1 : 0;
    }
    return;
  }
  std::fill_n(to, items.size(), uint8_t{0});
  for (const T& one : sorted) {
    for (size_t k = 0; k < items.size(); ++k) {
      to[k] = static_cast<uint8_t>(to[k] | (items[k] == one ? 1 : 0));
    }
  }
}

// Counts the boundaries that are not greater than each item; a NaN is above
// all.
template <class T>
void FindBuckets(std::span<const T> items, std::span<const T> boundaries,
                 int64_t* to) {
  if (boundaries.size() > kFewItems) {
    for (const T& item : items) {
      *to++ = std::upper_bound(boundaries.begin(), boundaries.end(), item,
                               IsLess<T>) -
              boundaries.begin();
    }
    return;
  }
  std::fill_n(to, items.size(), int64_t{0});
  for (const T& one : boundaries) {
    for (size_t k = 0; k < items.size(); ++k) to[k] += items[k] < one ? 0 : 1;
  }
}

// Calls beside(items, list's row) for runs of items that have one list: once
// for all rows if the list is constant.
template <class F>
absl::Status ForEachList(std::span<const Argument> arguments, size_t rows,
                         OutputColumn& out, const F& beside) {
  const Column& x = *arguments[0].column;
  if (rows == 0) return absl::OkStatus();
  const auto run = [&](size_t from_row, size_t count, size_t list_row) {
    const int64_t begin = x.RowStart(from_row);
    const size_t last = from_row + count - 1;
    const int64_t end = x.RowStart(last) + x.RowItems(last);
    return beside(begin, static_cast<size_t>(end - begin), list_row);
  };
  if (arguments[1].constant && !arguments[0].constant) return run(0, rows, 0);
  for (size_t row = 0; row < rows; ++row) {
    absl::Status status =
        run(RowOf(arguments[0], row), 1, RowOf(arguments[1], row));
    if (status.ok()) continue;
    out.failed_row = row;
    return status;
  }
  return absl::OkStatus();
}

// ---- isin

// Integers compare exactly. Signed ones and uint64 have no common dtype: the
// list is converted to 64 bits of x's kind.
absl::StatusOr<DType> IsInDType(const ValueType& x, const ValueType& list) {
  FM_ASSIGN_OR_RETURN(const DType dtype, DTypeBeside("isin", x, list));
  if (IsFloat(x.dtype) || IsFloat(list.dtype) || !IsFloat(dtype)) return dtype;
  return IsSigned(x.dtype) ? DType::kInt64 : DType::kUInt64;
}

absl::StatusOr<ValueType> InferIsIn(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("isin", given.size(), 2));
  FM_RETURN_IF_ERROR(IsInDType(given[0], given[1]).status());
  ValueType result;
  result.dtype = DType::kBool;
  result.shape = given[0].shape;
  return result;
}

// Sets `list` to the items of a list in the dtype T, but those that 64 bits of
// the other sign cannot hold.
template <class T>
void CopyList(const Column& from, size_t row, std::vector<T>& scratch,
              std::vector<T>& list) {
  const auto items =
      ItemsAs<T>(from, from.RowStart(row),
                 static_cast<size_t>(from.RowItems(row)), scratch);
  list.assign(items.begin(), items.end());
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    const bool other_sign =
        IsInteger(from.dtype) && IsSigned(from.dtype) != std::is_signed_v<T>;
    if (!other_sign) return;
    std::erase_if(list, [](T item) { return static_cast<int64_t>(item) < 0; });
  }
}

absl::Status ComputeIsIn(std::span<const Argument> arguments, size_t rows,
                         const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(const DType dtype,
                      IsInDType(*arguments[0].type, *arguments[1].type));
  const int64_t total = CopyRowShapes(arguments[0], rows, type, out);
  auto* to =
      reinterpret_cast<uint8_t*>(out.values.Extend(static_cast<size_t>(total)));
  return VisitItems(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> scratch;
    std::vector<T> list;
    return ForEachList(
        arguments, rows, out,
        [&](int64_t begin, size_t count, size_t list_row) {
          CopyList(*arguments[1].column, list_row, scratch, list);
          if (list.size() > kFewItems) {
            Sort(list.data(), list.data() + list.size());
          }
          FindIn<T>(ItemsAs(*arguments[0].column, begin, count, scratch), list,
                    to);
          to += count;
          return absl::OkStatus();
        });
  });
}

// ---- bucketize

template <class T>
bool Increases(std::span<const T> boundaries) {
  for (size_t k = 1; k < boundaries.size(); ++k) {
    if (!(boundaries[k - 1] <= boundaries[k])) return false;
  }
  return true;
}

absl::StatusOr<ValueType> InferBucketize(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("bucketize", given.size(), 2));
  const ValueType& boundaries = given[1];
  if (boundaries.shape.size() != 1) {
    return InvalidArgument("bucketize: the boundaries are {}{}, not a list",
                           DTypeName(boundaries.dtype),
                           ShapeToString(boundaries.shape));
  }
  FM_ASSIGN_OR_RETURN(const DType dtype,
                      DTypeBeside("bucketize", given[0], boundaries));
  if (dtype == DType::kBytes) {
    return InvalidArgument("bucketize takes numbers, not bytes");
  }
  if (!Increases<double>(boundaries.constants)) {
    return InvalidArgument("bucketize: the boundaries do not increase");
  }
  ValueType result;
  result.shape = given[0].shape;
  return result;
}

absl::Status ComputeBucketize(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  FM_ASSIGN_OR_RETURN(
      const DType dtype,
      DTypeBeside("bucketize", *arguments[0].type, *arguments[1].type));
  const auto total =
      static_cast<size_t>(CopyRowShapes(arguments[0], rows, type, out));
  auto* to =
      reinterpret_cast<int64_t*>(out.values.Extend(total * sizeof(int64_t)));
  const Column& from = *arguments[1].column;
  return VisitNumeric(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> scratch;
    std::vector<T> of_list;
    return ForEachList(
        arguments, rows, out,
        [&](int64_t begin, size_t count, size_t row) -> absl::Status {
          const std::span<const T> boundaries =
              ItemsAs(from, from.RowStart(row),
                      static_cast<size_t>(from.RowItems(row)), of_list);
          if (!Increases(boundaries)) {
            return DataLoss("bucketize: the boundaries do not increase");
          }
          FindBuckets<T>(ItemsAs(*arguments[0].column, begin, count, scratch),
                         boundaries, to);
          to += count;
          return absl::OkStatus();
        });
  });
}

FunctionRegistry::Function MakeSort(string_view name, bool places) {
  return {[name, places](const std::vector<ValueType>& given) {
            return InferSort(name, places, given);
          },
          places ? ComputeArgSort : ComputeSort};
}

}  // namespace

void AddOrderingFunctions(FunctionRegistry& registry) {
  registry.Add("sort", MakeSort("sort", /*places=*/false));
  registry.Add("argsort", MakeSort("argsort", /*places=*/true));
  registry.Add("unique", {InferUnique, ComputeUnique});
  registry.Add("isin", {InferIsIn, ComputeIsIn});
  registry.Add("bucketize", {InferBucketize, ComputeBucketize});
  registry.Describe({{"sort", "argsort"},
                     "`sort(a)` `argsort(a)`",
                     "along the last axis, in increasing order; NaN is last, "
                     "−0.0 before 0.0, bytes are compared bytewise. `argsort` "
                     "is stable, int64; `sort(a)[::-1]` decreases"});
  registry.Describe({{"unique"},
                     "`unique(a)`",
                     "the different items of all axes, sorted; rank 1, with at "
                     "most one NaN"});
  registry.Describe({{"isin"},
                     "`isin(a, list)`",
                     "bool: a == v for any item v of a list of constants or of "
                     "an array; integers compare exactly"});
  registry.Describe({{"bucketize"},
                     "`bucketize(a, boundaries)`",
                     "int64: how many boundaries are not above the item, as "
                     "NumPy's digitize and TensorFlow's bucketize; NaN is "
                     "above all. Boundaries increase, else a data error"});
}

}  // namespace feedmill
