#include "core/ops/axis_reductions.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/status.h"
#include "core/ops/convert_items.h"
#include "core/ops/function_families.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

// A row as [outer, count, inner]; the middle axis is folded.
struct Folded {
  size_t outer = 0;
  size_t count = 0;
  size_t inner = 0;
};

Folded FoldedAt(std::span<const int64_t> dims, size_t axis) {
  return {static_cast<size_t>(Product(dims.first(axis))),
          static_cast<size_t>(dims[axis]),
          static_cast<size_t>(Product(dims.subspan(axis + 1)))};
}

struct Plus {
  template <class R>
  static R Apply(R a, R b) {
    if constexpr (kIsFloat<R>) {
      return a + b;
    } else {
      return static_cast<R>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    }
  }
};
struct Times {
  template <class R>
  static R Apply(R a, R b) {
    if constexpr (kIsFloat<R>) {
      return a * b;
    } else {
      return static_cast<R>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
    }
  }
};
struct Least {
  template <class R>
  static R Apply(R a, R b) {
    return a <= b || a != a ? a : b;
  }
};
struct Greatest {
  template <class R>
  static R Apply(R a, R b) {
    return a >= b || a != a ? a : b;
  }
};
struct Either {
  template <class R>
  static R Apply(R a, R b) {
    return static_cast<R>(a | b);
  }
};
struct Both {
  template <class R>
  static R Apply(R a, R b) {
    return static_cast<R>(a & b);
  }
};

// Folds one row: each result folds its items in order, and adjacent results are
// computed together.
template <class Op, class R, class T>
void FoldRow(const T* items, const Folded& shape, R start, bool from_first,
             R* results) {
  const auto to_result = [](T item) {
    if constexpr (std::is_same_v<Op, Either> || std::is_same_v<Op, Both>) {
      return static_cast<R>(item != T{0} ? 1 : 0);
    } else {
      return static_cast<R>(item);
    }
  };
  for (size_t o = 0; o < shape.outer; ++o) {
    const T* from = items + o * shape.count * shape.inner;
    R* to = results + o * shape.inner;
    if (shape.inner == 1) {  // fold in a register
      R result = from_first ? to_result(from[0]) : start;
      for (size_t k = from_first ? 1 : 0; k < shape.count; ++k) {
        result = Op::template Apply<R>(result, to_result(from[k]));
      }
      *to = result;
      continue;
    }
    for (size_t i = 0; i < shape.inner; ++i) {
      to[i] = from_first ? to_result(from[i]) : start;
    }
    for (size_t k = from_first ? 1 : 0; k < shape.count; ++k) {
      const T* line = from + k * shape.inner;
      for (size_t i = 0; i < shape.inner; ++i) {
        to[i] = Op::template Apply<R>(to[i], to_result(line[i]));
      }
    }
  }
}

// Runs row(dims, first item of the row, results) for all rows; results have
// dtype R. If `needs_items`, an empty axis is an error.
template <class R, class RowFunction>
absl::Status ForRows(std::string_view function, bool needs_items,
                     std::span<const Argument> arguments, size_t axis,
                     size_t rows, const ValueType& type, OutputColumn& out,
                     const RowFunction& fold) {
  const Column& from = *arguments[0].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  Shape dims;
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const auto given = from.RowDims(from_row);
    if (row == 0 || from.ragged()) {
      dims.assign(given.begin(), given.end());
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
      if (row == 0 && !ragged) out.shape = dims;
      if (ragged) EndRaggedRow(dims, out);
    }
    const Folded shape = FoldedAt(given, axis);
    if (needs_items && shape.count == 0 && shape.outer * shape.inner > 0) {
      out.failed_row = row;
      return DataLoss("{} of no items", function);
    }
    R* results = reinterpret_cast<R*>(
        out.values.Extend(shape.outer * shape.inner * sizeof(R)));
    fold(shape, static_cast<size_t>(from.RowStart(from_row)), results);
  }
  return absl::OkStatus();
}

template <class Op, class R, class T>
absl::Status Reduce(std::string_view function,
                    std::span<const Argument> arguments, size_t axis,
                    size_t rows, const ValueType& type, OutputColumn& out) {
  constexpr bool kFromFirst =
      std::is_same_v<Op, Least> || std::is_same_v<Op, Greatest>;
  using C = ComputeType<R>;
  constexpr C kStart =
      std::is_same_v<Op, Times> || std::is_same_v<Op, Both> ? C{1} : C{0};
  const T* items = arguments[0].column->values.As<T>().data();
  const bool mean = function == "mean";
  std::vector<C> scratch;  // of a row, where results are rounded at the end
  return ForRows<R>(function, kFromFirst || mean, arguments, axis, rows, type,
                    out, [&](const Folded& shape, size_t start, R* results) {
                      const size_t count = shape.outer * shape.inner;
                      C* computed = nullptr;
                      if constexpr (std::is_same_v<C, R>) {
                        computed = results;
                      } else {
                        scratch.resize(count);
                        computed = scratch.data();
                      }
                      FoldRow<Op, C, T>(items + start, shape, kStart,
                                        kFromFirst, computed);
                      if constexpr (kIsFloat<R>) {
                        const C divisor = static_cast<C>(shape.count);
                        for (size_t k = 0; mean && k < count; ++k) {
                          computed[k] /= divisor;
                        }
                      }
                      std::copy_n(scratch.data(), scratch.size(), results);
                    });
}

// ---- argmin, argmax

template <class T, bool kGreatest>
bool IsBetter(T item, T best) {
  if constexpr (kIsFloat<T>) {
    if (best != best) return false;  // the first NaN wins, as in NumPy
    if (item != item) return true;
  }
  return kGreatest ? item > best : item < best;
}

template <class T, bool kGreatest>
void FindPlaces(const T* items, const Folded& shape, int64_t* results) {
  for (size_t o = 0; o < shape.outer; ++o) {
    for (size_t i = 0; i < shape.inner; ++i) {
      const T* from = items + o * shape.count * shape.inner + i;
      size_t place = 0;
      for (size_t k = 1; k < shape.count; ++k) {
        if (IsBetter<T, kGreatest>(from[k * shape.inner],
                                   from[place * shape.inner])) {
          place = k;
        }
      }
      results[o * shape.inner + i] = static_cast<int64_t>(place);
    }
  }
}

// Computes the places over all items of a row, in order.
template <class T, bool kGreatest>
absl::Status FindPlacesOfRows(std::string_view function,
                              const Argument& argument, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  const Column& from = *argument.column;
  StartRows(type, /*ragged=*/false, out);
  for (size_t row = 0; row < rows; ++row) {
    const std::span<const T> items = from.Items<T>(RowOf(argument, row));
    if (items.empty()) {
      out.failed_row = row;
      return DataLoss("{} of no items", function);
    }
    int64_t place = 0;
    FindPlaces<T, kGreatest>(items.data(), {1, items.size(), 1}, &place);
    out.values.Push(place);
  }
  return absl::OkStatus();
}

absl::Status RefuseBytes(std::string_view function, const ValueType& value) {
  if (value.dtype != DType::kBytes) return absl::OkStatus();
  return InvalidArgument("{} is not defined for bytes", function);
}

template <bool kGreatest>
FunctionRegistry::Function MakePlaceFunction(std::string name) {
  FunctionRegistry::Function function;
  function.infer =
      [name](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    if (given.size() == 2) {
      return InferAxisReduction(name, DType::kInt64, given[0], given[1]);
    }
    FM_RETURN_IF_ERROR(ExpectArguments(name, given.size(), 1));
    FM_RETURN_IF_ERROR(RefuseBytes(name, given[0]));
    ValueType result;
    result.dtype = DType::kInt64;
    return result;
  };
  function.compute = [name](std::span<const Argument> arguments, size_t rows,
                            const ValueType& type,
                            OutputColumn& out) -> absl::Status {
    return VisitNumeric(
        arguments[0].column->dtype, [&](auto zero) -> absl::Status {
          using T = decltype(zero);
          if (arguments.size() == 1) {
            return FindPlacesOfRows<T, kGreatest>(name, arguments[0], rows,
                                                  type, out);
          }
          FM_ASSIGN_OR_RETURN(const size_t axis,
                              ConstantAxis(name, *arguments[1].type,
                                           arguments[0].column->shape.size()));
          const T* items = arguments[0].column->values.As<T>().data();
          return ForRows<int64_t>(
              name, true, arguments, axis, rows, type, out,
              [&](const Folded& shape, size_t start, int64_t* results) {
                FindPlaces<T, kGreatest>(items + start, shape, results);
              });
        });
  };
  return function;
}

// ---- cumsum

absl::StatusOr<ValueType> InferCumSum(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("cumsum", given.size(), 1));
  FM_RETURN_IF_ERROR(RefuseBytes("cumsum", given[0]));
  ValueType result;
  const DType dtype = given[0].dtype;
  result.dtype = IsFloat(dtype)                             ? dtype
                 : dtype == DType::kBool || IsSigned(dtype) ? DType::kInt64
                                                            : DType::kUInt64;
  result.shape = {HasUnknownDim(given[0].shape) ? kUnknownDim
                                                : Product(given[0].shape)};
  return result;
}

absl::Status ComputeCumSum(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  VisitNumeric(type.dtype, [&](auto zero) {
    using R = decltype(zero);
    for (size_t row = 0; row < rows; ++row) {
      const size_t from_row = RowOf(arguments[0], row);
      const int64_t count = from.RowItems(from_row);
      if (ragged) {
        EndRaggedRow({&count, 1}, out);
      } else if (row == 0) {
        out.shape = {count};
      }
      const auto items = static_cast<size_t>(count);
      R* to = reinterpret_cast<R*>(out.values.Extend(items * sizeof(R)));
      const auto start = static_cast<size_t>(from.RowStart(from_row));
      ConvertItems(from.dtype,
                   from.values.data() + start * ItemSize(from.dtype),
                   type.dtype, to, items);
      for (size_t k = 1; k < items; ++k) {
        to[k] = Plus::Apply<R>(to[k - 1], to[k]);
      }
    }
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ValueType> InferAxisReduction(std::string_view function,
                                             DType result_dtype,
                                             const ValueType& value,
                                             const ValueType& axis) {
  FM_RETURN_IF_ERROR(RefuseBytes(function, value));
  FM_ASSIGN_OR_RETURN(const size_t place,
                      ConstantAxis(function, axis, value.shape.size()));
  ValueType result;
  result.dtype = result_dtype;
  result.shape = value.shape;
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(place));
  return result;
}

absl::Status ComputeAxisReduction(std::string_view function,
                                  std::span<const Argument> arguments,
                                  size_t rows, const ValueType& type,
                                  OutputColumn& out) {
  const Column& from = *arguments[0].column;
  FM_ASSIGN_OR_RETURN(
      const size_t axis,
      ConstantAxis(function, *arguments[1].type, from.shape.size()));
  const auto reduce = [&]<class Op, class R, class T>() {
    return Reduce<Op, R, T>(function, arguments, axis, rows, type, out);
  };
  return VisitNumeric(from.dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    if (function == "min") return reduce.template operator()<Least, T, T>();
    if (function == "max") return reduce.template operator()<Greatest, T, T>();
    if (function == "any") {
      return reduce.template operator()<Either, uint8_t, T>();
    }
    if (function == "all") {
      return reduce.template operator()<Both, uint8_t, T>();
    }
    const bool product = function == "prod";
    if constexpr (kIsFloat<T>) {
      if (product) return reduce.template operator()<Times, T, T>();
      return reduce.template operator()<Plus, T, T>();
    } else {
      if (function == "mean") {
        return reduce.template operator()<Plus, double, T>();
      }
      if (type.dtype == DType::kInt64) {
        if (product) return reduce.template operator()<Times, int64_t, T>();
        return reduce.template operator()<Plus, int64_t, T>();
      }
      if (product) return reduce.template operator()<Times, uint64_t, T>();
      return reduce.template operator()<Plus, uint64_t, T>();
    }
  });
}

void AddPlaceFunctions(FunctionRegistry& registry) {
  registry.Add("argmin", MakePlaceFunction<false>("argmin"));
  registry.Add("argmax", MakePlaceFunction<true>("argmax"));
  registry.Add("cumsum", {InferCumSum, ComputeCumSum});
  registry.Describe(
      {{"argmin", "argmax"},
       "`argmin(a)` `argmax(a)`, `(a, axis)`",
       "int64; the first of equals, the first NaN; of no items a data error"});
  registry.Describe({{"cumsum"},
                     "`cumsum(a)`",
                     "of all items in order, rank 1; dtype as `sum`"});
}

}  // namespace feedmill
