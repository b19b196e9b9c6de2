#include "core/sources/repeated_value.h"

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <variant>

#include "core/dataset/function_registry.h"

namespace feedmill {
namespace {

// Returns the literal of a number of a column.
template <class T>
Expr::Literal LiteralOf(DType dtype, T value) {
  if (dtype == DType::kBool) return {value != T{0}};
  if constexpr (kIsFloat<T>) {
    return {double{value}};
  } else if constexpr (std::is_signed_v<T>) {
    return {static_cast<int64_t>(value)};
  } else {
    return {static_cast<uint64_t>(value)};
  }
}

template <class T>
T ValueOf(const Expr::Literal* literal) {
  if (literal == nullptr) return T{0};
  return std::visit(
      [](const auto& value) -> T {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>,
                                     std::string>) {
          return T{0};
        } else {
          return static_cast<T>(value);
        }
      },
      literal->value);
}

void RepeatBytes(const SourceField& field, const Expr::Literal* value,
                 size_t rows, OutputColumn& out) {
  const std::string* const text =
      value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
  const size_t items = rows * static_cast<size_t>(NumItems(field.shape));
  out.offsets.Push(int64_t{0});
  for (size_t k = 0; k < items; ++k) {
    if (text != nullptr) out.values.Append(text->data(), text->size());
    out.offsets.Push(static_cast<int64_t>(out.values.size()));
  }
}

void RepeatNumber(const SourceField& field, const Expr::Literal* value,
                  size_t rows, OutputColumn& out) {
  VisitNumeric(field.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T number = ValueOf<T>(field.shape.empty() ? value : nullptr);
    const size_t items = rows * static_cast<size_t>(NumItems(field.shape));
    std::byte* to = out.values.Extend(items * sizeof(T));
    for (size_t k = 0; k < items; ++k, to += sizeof(T)) {
      std::memcpy(to, &number, sizeof(T));
    }
  });
}

}  // namespace

Column RepeatedValue(const SourceField& field, const Expr::Literal* value,
                     size_t rows) {
  OutputColumn out;
  out.Reset(field.dtype, field.shape);
  if (field.shape.size() == 1 && field.shape[0] == kUnknownDim) {  // lists
    if (field.dtype == DType::kBytes) out.offsets.Push(int64_t{0});
    std::byte* const starts =
        out.row_starts.Extend((rows + 1) * sizeof(int64_t));
    std::memset(starts, 0, (rows + 1) * sizeof(int64_t));
  } else if (field.dtype == DType::kBytes) {
    RepeatBytes(field, value, rows, out);
  } else {
    RepeatNumber(field, value, rows, out);
  }
  return out.Take();
}

std::optional<ValueRange> OneValue(const Column& column) {
  if (!column.shape.empty()) return std::nullopt;
  if (column.dtype == DType::kBytes) {
    const Expr::Literal text{std::string(column.BytesAt(0))};
    return ValueRange{text, text};
  }
  return VisitNumeric(column.dtype,
                      [&](auto zero) -> std::optional<ValueRange> {
                        using T = decltype(zero);
                        const T value = column.values.As<T>()[0];
                        if constexpr (kIsFloat<T>) {
                          if (std::isnan(value)) return std::nullopt;
                        }
                        const auto literal = LiteralOf(column.dtype, value);
                        return ValueRange{literal, literal};
                      });
}

}  // namespace feedmill
