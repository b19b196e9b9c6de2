#include "core/ops/constant_column.h"

#include <type_traits>
#include <variant>

#include "core/chunk/buffer_builder.h"

namespace feedmill {
namespace {

template <class T>
Column OneItem(DType dtype, T value) {
  BufferBuilder values;
  values.Push(value);
  return Column{dtype, {}, std::move(values).Freeze(), {}, {}, {}};
}

}  // namespace

Column ConstantColumn(const Expr::Literal& literal) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return OneItem<uint8_t>(DType::kBool, value ? 1 : 0);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return OneItem(DType::kInt64, value);
        } else if constexpr (std::is_same_v<T, uint64_t>) {
          return OneItem(DType::kUInt64, value);
        } else if constexpr (std::is_same_v<T, double>) {
          return OneItem(DType::kFloat64, value);
        } else {
          BufferBuilder values;
          values.Append(value.data(), value.size());
          BufferBuilder offsets;
          offsets.Push(int64_t{0});
          offsets.Push(static_cast<int64_t>(value.size()));
          return Column{DType::kBytes,
                        {},
                        std::move(values).Freeze(),
                        std::move(offsets).Freeze(),
                        {},
                        {}};
        }
      },
      literal.value);
}

}  // namespace feedmill
