#include <span>
#include <string>
#include <type_traits>

#include "core/base/status.h"
#include "core/ops/axis_reductions.h"
#include "core/ops/function_families.h"

namespace feedmill {
namespace {

// Items are folded strictly in order: float results depend on it.
struct Sum {
  static constexpr bool kNeedsItems = false;
  static DType Result(DType dtype) {
    if (IsFloat(dtype)) return dtype;
    return dtype == DType::kBool || IsSigned(dtype) ? DType::kInt64
                                                    : DType::kUInt64;
  }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    using C = ComputeType<R>;
    C sum = 0;
    for (T item : items) sum = Plus(sum, static_cast<C>(item));
    return sum;
  }
  template <class R>
  static R Plus(R a, R b) {
    if constexpr (std::is_floating_point_v<R>) {
      return a + b;
    } else {
      return static_cast<R>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    }
  }
};
struct Product {
  static constexpr bool kNeedsItems = false;
  static DType Result(DType dtype) { return Sum::Result(dtype); }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    ComputeType<R> product = 1;
    for (T item : items) {
      if constexpr (kIsFloat<R>) {
        product *= static_cast<ComputeType<R>>(item);
      } else {
        product = static_cast<R>(static_cast<uint64_t>(product) *
                                 static_cast<uint64_t>(static_cast<R>(item)));
      }
    }
    return product;
  }
};
struct Minimum {
  static constexpr bool kNeedsItems = true;
  static DType Result(DType dtype) { return dtype; }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    T best = items[0];
    for (T item : items) best = best <= item || best != best ? best : item;
    return static_cast<R>(best);
  }
};
struct Maximum {
  static constexpr bool kNeedsItems = true;
  static DType Result(DType dtype) { return dtype; }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    T best = items[0];
    for (T item : items) best = best >= item || best != best ? best : item;
    return static_cast<R>(best);
  }
};
struct Mean {
  static constexpr bool kNeedsItems = true;
  static DType Result(DType dtype) {
    return IsFloat(dtype) ? dtype : DType::kFloat64;
  }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    if constexpr (kIsFloat<R>) {
      using C = ComputeType<R>;
      return Sum::Fold<C, T>(items) / static_cast<C>(items.size());
    } else {
      return R{};  // not a result dtype of Mean
    }
  }
};
struct Any {
  static constexpr bool kNeedsItems = false;
  static DType Result(DType) { return DType::kBool; }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    unsigned any = 0;
    for (T item : items) any |= item != T{0} ? 1U : 0U;
    return static_cast<R>(any);
  }
};
struct All {
  static constexpr bool kNeedsItems = false;
  static DType Result(DType) { return DType::kBool; }
  template <class R, class T>
  static R Fold(std::span<const T> items) {
    unsigned all = 1;
    for (T item : items) all &= item != T{0} ? 1U : 0U;
    return static_cast<R>(all);
  }
};

template <class Op, class R, class T>
absl::Status FoldRows(std::string_view name, const Argument& argument,
                      size_t rows, OutputColumn& out) {
  const Column& column = *argument.column;
  R* results = reinterpret_cast<R*>(out.values.Extend(rows * sizeof(R)));
  const T* values = column.values.As<T>().data();
  for (size_t row = 0; row < rows; ++row) {
    const size_t from = argument.constant ? 0 : row;
    const std::span<const T> items(values + column.RowStart(from),
                                   static_cast<size_t>(column.RowItems(from)));
    if (Op::kNeedsItems && items.empty()) {
      out.failed_row = row;
      return DataLoss("{} of no items", name);
    }
    results[row] = Op::template Fold<R, T>(items);
  }
  return absl::OkStatus();
}

template <class Op>
FunctionRegistry::Function MakeReduction(std::string name) {
  FunctionRegistry::Function function;
  function.infer =
      [name](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    if (given.size() == 2) {
      return InferAxisReduction(name, Op::Result(given[0].dtype), given[0],
                                given[1]);
    }
    FM_RETURN_IF_ERROR(ExpectArguments(name, given.size(), 1));
    if (given[0].dtype == DType::kBytes) {
      return InvalidArgument("{} is not defined for bytes", name);
    }
    ValueType result;
    result.dtype = Op::Result(given[0].dtype);
    return result;
  };
  function.compute = [name](std::span<const Argument> arguments, size_t rows,
                            const ValueType& type,
                            OutputColumn& out) -> absl::Status {
    if (arguments.size() == 2) {
      return ComputeAxisReduction(name, arguments, rows, type, out);
    }
    out.Reset(type.dtype, {});
    if (rows == 0) return absl::OkStatus();
    return VisitNumeric(
        arguments[0].column->dtype, [&](auto item_zero) -> absl::Status {
          using T = decltype(item_zero);
          if constexpr (std::is_same_v<Op, Minimum> ||
                        std::is_same_v<Op, Maximum>) {
            return FoldRows<Op, T, T>(name, arguments[0], rows, out);
          } else if constexpr (std::is_same_v<Op, Any> ||
                               std::is_same_v<Op, All>) {
            return FoldRows<Op, uint8_t, T>(name, arguments[0], rows, out);
          } else if constexpr (kIsFloat<T>) {
            return FoldRows<Op, T, T>(name, arguments[0], rows, out);
          } else if constexpr (std::is_same_v<Op, Mean>) {
            return FoldRows<Op, double, T>(name, arguments[0], rows, out);
          } else if (type.dtype == DType::kInt64) {
            return FoldRows<Op, int64_t, T>(name, arguments[0], rows, out);
          } else {
            return FoldRows<Op, uint64_t, T>(name, arguments[0], rows, out);
          }
        });
  };
  return function;
}

}  // namespace

void AddReductions(FunctionRegistry& registry) {
  registry.Add("sum", MakeReduction<Sum>("sum"));
  registry.Add("prod", MakeReduction<Product>("prod"));
  registry.Add("min", MakeReduction<Minimum>("min"));
  registry.Add("max", MakeReduction<Maximum>("max"));
  registry.Add("mean", MakeReduction<Mean>("mean"));
  registry.Add("any", MakeReduction<Any>("any"));
  registry.Add("all", MakeReduction<All>("all"));
  registry.Describe(
      {{"sum", "prod", "min", "max", "mean", "any", "all"},
       "`sum(a)` `prod(a)` `min(a)` `max(a)` `mean(a)` `any(a)` `all(a)`",
       "over all items of an element, in order; int sums are int64/uint64; "
       "float sums are sequential in their own dtype, of 16 bits in float32; "
       "mean of integers is float64; min, max, mean of no items are a data "
       "error"});
  registry.Describe(
      {{"sum"},
       "`sum(a, axis)` and so on",
       "along one axis, a constant; negative ones count from the end"});
}

}  // namespace feedmill
