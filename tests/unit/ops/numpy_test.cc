// Every case of numpy_cases.txt (made by make_numpy_cases.py) against the
// built-in functions.

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>

#include "core/ops/builtin_functions.h"
#include "tests/unit/ops/column_fixture.h"

namespace feedmill::testing {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class T>
T ParseItem(std::string_view text) {
  if constexpr (kIsFloat<T>) {
    return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
  } else {
    T value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
}

struct ParsedColumn {
  Column column;
  size_t rows = 0;
};

// "x6162" is "ab".
std::string ParseText(std::string_view text) {
  std::string bytes;
  for (size_t at = 1; at + 1 < text.size(); at += 2) {
    unsigned byte = 0;
    std::from_chars(&text[at], &text[at] + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

Shape ParseDims(std::string_view text) {
  Shape dims;
  for (std::string_view dim : Split(text, ',')) {
    dims.push_back(dim == "?" ? kUnknownDim : ParseItem<int64_t>(dim));
  }
  return dims;
}

// Makes the column ragged, with the dims "2,3|0,3" of its rows.
void SetRowDims(std::string_view text, ParsedColumn& parsed) {
  BufferBuilder shapes;
  BufferBuilder starts;
  int64_t total = 0;
  starts.Push(total);
  for (std::string_view row : Split(text, '|')) {
    const Shape dims = ParseDims(row);
    shapes.Append(dims.data(), dims.size() * sizeof(int64_t));
    total += NumItems(dims);
    starts.Push(total);
    ++parsed.rows;
  }
  parsed.column.row_shapes = std::move(shapes).Freeze();
  parsed.column.row_starts = std::move(starts).Freeze();
}

// "4" rows, or "{…}" as above.
void FinishRows(std::string_view text, ParsedColumn& parsed) {
  if (text.starts_with('{')) {
    SetRowDims(text.substr(1, text.size() - 2), parsed);
  } else {
    parsed.rows = ParseItem<size_t>(text);
  }
}

// "int8[2,3]4:items"
ParsedColumn ParseColumn(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  const size_t colon = text.find(':');
  ParsedColumn parsed;
  const DType dtype = *DTypeFromName(text.substr(0, open));
  const Shape shape = ParseDims(text.substr(open + 1, close - open - 1));
  const std::string_view rows = text.substr(close + 1, colon - close - 1);
  const auto items = Split(text.substr(colon + 1), ',');
  if (dtype == DType::kBytes) {
    std::vector<std::string> values;
    for (std::string_view item : items) values.push_back(ParseText(item));
    parsed.column = BytesColumn(shape, values);
    FinishRows(rows, parsed);
    return parsed;
  }
  VisitNumeric(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values;
    for (std::string_view item : items) values.push_back(ParseItem<T>(item));
    parsed.column = ColumnOf(dtype, shape, values);
  });
  FinishRows(rows, parsed);
  return parsed;
}

Expr::Literal ParseLiteral(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view value = text.substr(colon + 1);
  if (kind == "bool") return {value == "1"};
  if (kind == "float") return {ParseItem<double>(value)};
  const auto large = ParseItem<uint64_t>(value);
  if (large > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return {large};
  }
  return {ParseItem<int64_t>(value)};
}

// True if two numbers differ by at most that many units in the last place.
template <class T>
bool IsNear(T a, T b, int64_t units) {
  using Bits =
      std::conditional_t<sizeof(T) == 2, int16_t,
                         std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
  const auto distance = std::bit_cast<Bits>(a) - std::bit_cast<Bits>(b);
  return std::signbit(a) == std::signbit(b) && distance >= -units &&
         distance <= units;
}

// Returns the first difference of the columns, or nullopt. NaNs are equal,
// zeros of different sign are not. Numbers may differ by `units` in the last
// place.
std::optional<std::string> Difference(const Column& got, const Column& want,
                                      size_t rows, int64_t units) {
  if (got.dtype != want.dtype) {
    return "dtype " + std::string(DTypeName(got.dtype));
  }
  if (rows > 0 && got.shape.size() != want.shape.size()) {
    return "shape " + ShapeToString(got.shape);
  }
  for (size_t row = 0; row < rows; ++row) {
    if (got.RowShape(row) != want.RowShape(row)) {
      return "row of shape " + ShapeToString(got.RowShape(row));
    }
  }
  if (got.dtype == DType::kBytes) {
    if (Strings(got) == Strings(want)) return std::nullopt;
    return "other strings: " + fmt::format("{}", fmt::join(Strings(got), "|"));
  }
  if (got.values.size() != want.values.size()) return "number of items";
  std::optional<std::string> difference;
  VisitNumeric(got.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto a = got.values.As<T>();
    const auto b = want.values.As<T>();
    for (size_t i = 0; i < a.size() && !difference; ++i) {
      bool same = std::memcmp(&a[i], &b[i], sizeof(T)) == 0;
      if constexpr (kIsFloat<T>) {
        same = same || (std::isnan(a[i]) && std::isnan(b[i])) ||
               IsNear(a[i], b[i], units);
      }
      if (!same) {
        difference = "item " + std::to_string(i) + ": got " +
                     std::to_string(a[i]) + ", want " + std::to_string(b[i]);
      }
    }
  });
  return difference;
}

CallArgument ListOf(const Shape& integers) {
  CallArgument list = Constant(ColumnOf(
      DType::kInt64, {static_cast<int64_t>(integers.size())}, integers));
  list.type.list = integers;
  list.type.constants.assign(integers.begin(), integers.end());
  return list;
}

struct Case {
  std::vector<CallArgument> arguments;
  size_t rows = 1;
};

Case ParseCase(const std::vector<std::string_view>& fields) {
  Case parsed;
  for (size_t i = 1; i + 1 < fields.size(); ++i) {
    std::string_view field = fields[i];
    if (field.starts_with("literal ")) {
      parsed.arguments.push_back(LiteralOf(ParseLiteral(field.substr(8))));
    } else if (field.starts_with("dtype ")) {
      parsed.arguments.push_back(LiteralOf({std::string(field.substr(6))}));
    } else if (field.starts_with("text ")) {
      parsed.arguments.push_back(LiteralOf({ParseText(field.substr(5))}));
    } else if (field.starts_with("list ")) {
      parsed.arguments.push_back(ListOf(ParseDims(field.substr(5))));
    } else if (field.starts_with("const ")) {
      parsed.arguments.push_back(Constant(ParseColumn(field.substr(6)).column));
    } else {
      ParsedColumn column = ParseColumn(field);
      parsed.rows = column.rows;
      parsed.arguments.push_back(Of(std::move(column.column)));
    }
  }
  return parsed;
}

std::optional<std::string> Check(const CallResult& result,
                                 std::string_view want, size_t rows) {
  if (want == "build-error") {
    if (absl::IsInvalidArgument(result.built)) return std::nullopt;
    return "is built";
  }
  if (!result.built.ok()) return result.built.ToString();
  if (want.starts_with("data-error ")) {
    if (!absl::IsDataLoss(result.computed)) return "computes";
    if (result.failed_row == ParseItem<size_t>(want.substr(11))) {
      return std::nullopt;
    }
    return "fails at row " + std::to_string(result.failed_row);
  }
  if (!result.computed.ok()) return result.computed.ToString();
  const size_t near = std::min(want.find_first_not_of('~'), size_t{2});
  constexpr int64_t kUnits[] = {0, 4, 4096};
  want.remove_prefix(near);
  return Difference(result.column, ParseColumn(want).column, rows,
                    kUnits[near]);
}

TEST(NumpyTest, EveryCase) {
  const FunctionRegistry registry = BuiltinFunctions();
  std::ifstream file(NUMPY_CASES);
  ASSERT_TRUE(file) << NUMPY_CASES;
  size_t cases = 0;
  size_t failures = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const auto fields = Split(line, '\t');
    ASSERT_GE(fields.size(), 3U) << line;
    const Case parsed = ParseCase(fields);
    const CallResult result =
        Call(registry, fields[0], parsed.arguments, parsed.rows);
    const auto wrong = Check(result, fields.back(), parsed.rows);
    if (wrong && ++failures <= 40) {
      ADD_FAILURE() << line.substr(0, 400) << "\n" << *wrong;
    }
  }
  EXPECT_EQ(failures, 0U);
  EXPECT_GT(cases, 5000U);
}

}  // namespace
}  // namespace feedmill::testing
