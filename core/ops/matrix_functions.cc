#include <type_traits>
#include <vector>

#include "core/base/status.h"
#include "core/ops/convert_items.h"
#include "core/ops/function_families.h"
#include "core/ops/promotion.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

// Returns the dims of a product, or InvalidArgument. Dims are unknown only when
// the expression is compiled.
absl::StatusOr<Shape> ProductDims(std::span<const int64_t> a,
                                  std::span<const int64_t> b) {
  const int64_t left = a.back();
  const int64_t right = b[0];
  if (left != right && left != kUnknownDim && right != kUnknownDim) {
    return InvalidArgument(
        "matmul: the shapes {} and {} do not fit: {} columns, {} rows",
        ShapeToString({a.begin(), a.end()}),
        ShapeToString({b.begin(), b.end()}), left, right);
  }
  Shape dims(a.begin(), a.end() - 1);
  dims.insert(dims.end(), b.begin() + 1, b.end());
  return dims;
}

absl::StatusOr<DType> ProductDType(const ValueType& a, const ValueType& b) {
  const ValueType* both[] = {&a, &b};
  FM_ASSIGN_OR_RETURN(const DType dtype, CommonDType("matmul", both));
  if (dtype != DType::kBool) return dtype;
  return InvalidArgument("matmul is not defined for bool");
}

absl::StatusOr<ValueType> InferMatmul(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("matmul", given.size(), 2));
  ValueType result;
  FM_ASSIGN_OR_RETURN(result.dtype, ProductDType(given[0], given[1]));
  const size_t rank = given[1].shape.size();
  if (given[0].shape.empty() || rank == 0 || rank > 2) {
    return InvalidArgument(
        "matmul takes an array and a matrix or a vector, not {}{} and {}{}",
        DTypeName(given[0].dtype), ShapeToString(given[0].shape),
        DTypeName(given[1].dtype), ShapeToString(given[1].shape));
  }
  FM_ASSIGN_OR_RETURN(result.shape,
                      ProductDims(given[0].shape, given[1].shape));
  return result;
}

// The items of an argument as T.
template <class T>
class ItemsAs {
 public:
  explicit ItemsAs(const Column& from) : items_(from.values.As<T>().data()) {
    constexpr DType kWanted = DTypeOf<T>();
    if (from.dtype == kWanted) return;
    converted_.resize(from.values.size() / ItemSize(from.dtype));
    ConvertItems(from.dtype, from.values.data(), kWanted, converted_.data(),
                 converted_.size());
    items_ = converted_.data();
  }
  const T* at(int64_t item) const { return items_ + item; }

 private:
  std::vector<T> converted_;
  const T* items_;
};

// Sums wrap.
template <class T>
T AddProduct(T sum, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(sum) +
                          static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return sum + a * b;
  }
}

// Multiplies `rows` rows of `depth` items with a matrix of `depth` rows. Each
// sum is in the order of the depth.
template <class T>
void Multiply(const T* a, size_t rows, size_t depth, const T* b, size_t columns,
              T* to) {
  for (size_t row = 0; row < rows; ++row, a += depth, to += columns) {
    for (size_t j = 0; j < columns; ++j) to[j] = T{0};
    for (size_t k = 0; k < depth; ++k) {
      const T factor = a[k];
      const T* const line = b + k * columns;
      for (size_t j = 0; j < columns; ++j) {
        to[j] = AddProduct(to[j], factor, line[j]);
      }
    }
  }
}

template <class T>
absl::Status ComputeAs(std::span<const Argument> arguments, size_t rows,
                       const ValueType& type, OutputColumn& out) {
  const Column& left = *arguments[0].column;
  const Column& right = *arguments[1].column;
  const bool varies = left.ragged() || right.ragged();
  const bool ragged = varies && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  using C = ComputeType<T>;
  const ItemsAs<C> a(left);
  const ItemsAs<C> b(right);
  std::vector<C> scratch;  // of a row, where sums are rounded at the end
  size_t lines = 0;
  size_t depth = 0;
  size_t columns = 0;
  for (size_t row = 0; row < rows; ++row) {
    const size_t a_row = RowOf(arguments[0], row);
    const size_t b_row = RowOf(arguments[1], row);
    if (row == 0 || varies) {
      const auto outer = left.RowDims(a_row);
      const auto inner = right.RowDims(b_row);
      auto dims = ProductDims(outer, inner);
      if (!dims.ok()) {
        out.failed_row = row;
        return AsDataLoss(dims.status());
      }
      lines = static_cast<size_t>(Product(outer.first(outer.size() - 1)));
      depth = static_cast<size_t>(inner[0]);
      columns = static_cast<size_t>(Product(inner.subspan(1)));
      if (ragged) {
        EndRaggedRow(*dims, out);
      } else if (row == 0) {
        out.shape = *std::move(dims);
      }
    }
    const size_t items = lines * columns;
    T* const to = reinterpret_cast<T*>(out.values.Extend(items * sizeof(T)));
    C* computed = nullptr;
    if constexpr (std::is_same_v<C, T>) {
      computed = to;
    } else {
      scratch.resize(items);
      computed = scratch.data();
    }
    Multiply(a.at(left.RowStart(a_row)), lines, depth,
             b.at(right.RowStart(b_row)), columns, computed);
    std::copy_n(scratch.data(), scratch.size(), to);
  }
  return absl::OkStatus();
}

absl::Status ComputeMatmul(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  return VisitNumeric(type.dtype, [&](auto zero) {
    return ComputeAs<decltype(zero)>(arguments, rows, type, out);
  });
}

}  // namespace

void AddMatrixFunctions(FunctionRegistry& registry) {
  registry.Add("matmul", {InferMatmul, ComputeMatmul});
  registry.Describe({{"matmul"},
                     "`a @ b`",
                     "NumPy's matmul of an array and a matrix or a vector; "
                     "sums are in order in the common dtype"});
}

}  // namespace feedmill
