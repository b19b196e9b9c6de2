#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/status.h"
#include "core/ops/elementwise.h"
#include "core/ops/function_families.h"
#include "core/ops/loops.h"
#include "core/ops/map_bytes.h"
#include "core/ops/promotion.h"
#include "core/ops/row_items.h"

namespace feedmill {
namespace {

using std::string_view;

// True for white space of Python's bytes.split and bytes.strip.
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

string_view StripLeft(string_view text) {
  size_t begin = 0;
  while (begin < text.size() && IsSpace(text[begin])) ++begin;
  return text.substr(begin);
}
string_view StripRight(string_view text) {
  size_t end = text.size();
  while (end > 0 && IsSpace(text[end - 1])) --end;
  return text.substr(0, end);
}

// ---- functions on single items, with a result of bytes or a number

struct Strip {
  static string_view Apply(string_view s) { return StripLeft(StripRight(s)); }
};
struct LStrip {
  static string_view Apply(string_view s) { return StripLeft(s); }
};
struct RStrip {
  static string_view Apply(string_view s) { return StripRight(s); }
};
struct StartsWith {
  static uint8_t Apply(string_view s, string_view t) {
    return s.starts_with(t) ? 1 : 0;
  }
};
struct EndsWith {
  static uint8_t Apply(string_view s, string_view t) {
    return s.ends_with(t) ? 1 : 0;
  }
};
struct Find {
  static int64_t Apply(string_view s, string_view t) {
    const size_t at = s.find(t);
    return at == string_view::npos ? -1 : static_cast<int64_t>(at);
  }
};

struct Contains {
  static uint8_t Apply(string_view s, string_view t) {
    return s.find(t) != string_view::npos ? 1 : 0;
  }
};
struct Occurrences {
  static int64_t Apply(string_view s, string_view t) {
    if (t.empty()) return static_cast<int64_t>(s.size()) + 1;
    int64_t count = 0;
    for (size_t at = s.find(t); at != string_view::npos;
         at = s.find(t, at + t.size())) {
      ++count;
    }
    return count;
  }
};

// Returns s[start:start + length]; a negative start counts from the end.
string_view Part(string_view s, int64_t start, int64_t length) {
  const auto size = static_cast<int64_t>(s.size());
  if (start < 0) {
    start += size;
    if (start < 0) {
      length = std::max<int64_t>(0, length + start);
      start = 0;
    }
  }
  start = std::min(start, size);
  return s.substr(static_cast<size_t>(start),
                  static_cast<size_t>(std::min(length, size - start)));
}

size_t SubstrLoop(const LoopInputs& in, void* out, size_t n) {
  const auto* s = static_cast<const string_view*>(in.items[0]);
  const auto* start = static_cast<const int64_t*>(in.items[1]);
  const auto* length = static_cast<const int64_t*>(in.items[2]);
  auto* to = static_cast<string_view*>(out);
  for (size_t k = 0; k < n; ++k) {
    const int64_t wanted = in.last_is_scalar ? *length : length[k];
    if (wanted < 0) return k;
    to[k] = Part(s[k], start[k], wanted);
  }
  return n;
}

// Returns the element-wise function of `call`, which broadcasts its arguments.
FunctionRegistry::Function MakeLoopFunction(std::string name, size_t arity,
                                            ElementwiseCall call) {
  FunctionRegistry::Function function;
  function.infer =
      [name, arity,
       call](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_RETURN_IF_ERROR(ExpectArguments(name, given.size(), arity));
    ValueType result;
    result.dtype = call.result;
    for (size_t k = 0; k < arity; ++k) {
      const bool bytes = call.operands[k] == DType::kBytes;
      if (bytes ? given[k].dtype != DType::kBytes
                : !IsInteger(given[k].dtype)) {
        return InvalidArgument("{}: argument {} is {}, not {}", name, k + 1,
                               DTypeName(given[k].dtype),
                               bytes ? "bytes" : "an integer");
      }
      FM_ASSIGN_OR_RETURN(result.shape,
                          BroadcastShapes(result.shape, given[k].shape));
    }
    return result;
  };
  function.compute = [call](std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
    return RunElementwise(call, arguments, rows, type, out);
  };
  return function;
}

ElementwiseCall OneOfBytes(Loop loop) {
  return {{DType::kBytes}, DType::kBytes, loop, ""};
}
ElementwiseCall TwoOfBytes(DType result, Loop loop) {
  return {{DType::kBytes, DType::kBytes}, result, loop, ""};
}

// ---- replace

absl::StatusOr<ValueType> InferReplace(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("replace", given.size(), 3));
  FM_ASSIGN_OR_RETURN(const std::string old,
                      ConstantText("replace: the text to replace", given[1]));
  FM_RETURN_IF_ERROR(
      ConstantText("replace: the replacement", given[2]).status());
  if (old.empty()) {
    return InvalidArgument("replace: the text to replace is empty");
  }
  return BytesLike("replace", given[0], DType::kBytes);
}

absl::Status ComputeReplace(std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  const string_view old =
      std::get<std::string>(arguments[1].type->literal->value);
  const string_view with =
      std::get<std::string>(arguments[2].type->literal->value);
  return MapBytesToBytes(
      arguments[0], rows, type, out,
      [&](string_view text, BufferBuilder& to) -> absl::Status {
        size_t begin = 0;
        for (size_t at = text.find(old); at != string_view::npos;
             at = text.find(old, begin)) {
          to.Append(text.data() + begin, at - begin);
          to.Append(with.data(), with.size());
          begin = at + old.size();
        }
        to.Append(text.data() + begin, text.size() - begin);
        return absl::OkStatus();
      });
}

// ---- hash_bucket

absl::StatusOr<ValueType> InferHashBucket(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("hash_bucket", given.size(), 2));
  FM_ASSIGN_OR_RETURN(
      const int64_t buckets,
      ConstantInteger("hash_bucket: the number of buckets", given[1]));
  if (buckets < 1) return InvalidArgument("hash_bucket: {} buckets", buckets);
  return BytesLike("hash_bucket", given[0], DType::kInt64);
}

absl::Status ComputeHashBucket(std::span<const Argument> arguments, size_t rows,
                               const ValueType& type, OutputColumn& out) {
  const auto buckets = static_cast<uint64_t>(
      std::get<int64_t>(arguments[1].type->literal->value));
  return MapBytesTo<int64_t>(
      arguments[0], rows, type, out,
      [buckets](string_view text, int64_t& to) -> absl::Status {
        to = static_cast<int64_t>(XXH3_64bits(text.data(), text.size()) %
                                  buckets);
        return absl::OkStatus();
      });
}

// ---- hash_uniform

absl::StatusOr<ValueType> InferHashUniform(
    const std::vector<ValueType>& given) {
  if (given.empty()) return InvalidArgument("hash_uniform has no argument");
  for (const ValueType& type : given) {
    if (type.list) return InvalidArgument("hash_uniform takes no list");
  }
  ValueType result;
  result.dtype = DType::kFloat64;
  return result;
}

template <class T>
void AppendAs(const Column& column, size_t row, std::string& to) {
  std::vector<T> items(static_cast<size_t>(column.RowItems(row)));
  ConvertItems(
      column.dtype,
      column.values.data() +
          static_cast<size_t>(column.RowStart(row)) * ItemSize(column.dtype),
      DTypeOf<T>(), items.data(), items.size());
  if constexpr (std::is_floating_point_v<T>) {
    for (T& item : items) {
      if (item == 0) item = 0;  // not -0
      if (std::isnan(item)) item = std::numeric_limits<T>::quiet_NaN();
    }
  }
  to.append(reinterpret_cast<const char*>(items.data()),
            items.size() * sizeof(T));
}

// Appends the items of a row: 8 bytes for a number; for bytes, 8 bytes of their
// number and they themselves.
void AppendHashed(const Column& column, size_t row, std::string& to) {
  if (IsFloat(column.dtype)) return AppendAs<double>(column, row, to);
  if (column.dtype == DType::kUInt64)
    return AppendAs<uint64_t>(column, row, to);
  if (column.dtype != DType::kBytes) return AppendAs<int64_t>(column, row, to);
  const int64_t start = column.RowStart(row);
  for (int64_t k = start; k < start + column.RowItems(row); ++k) {
    const string_view text = column.BytesAt(k);
    const uint64_t size = text.size();
    to.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  }
}

absl::Status ComputeHashUniform(std::span<const Argument> arguments,
                                size_t rows, const ValueType& type,
                                OutputColumn& out) {
  StartRows(type, /*ragged=*/false, out);
  std::string bytes;
  for (size_t row = 0; row < rows; ++row) {
    uint64_t hash = 0;
    for (const Argument& argument : arguments) {
      bytes.clear();
      AppendHashed(*argument.column, RowOf(argument, row), bytes);
      hash = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash);
    }
    out.values.Push(static_cast<double>(hash >> 11) * 0x1p-53);
  }
  return absl::OkStatus();
}

// ---- to_string

absl::StatusOr<ValueType> InferToString(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("to_string", given.size(), 1));
  if (!IsInteger(given[0].dtype)) {
    return InvalidArgument("to_string: {} is not an integer",
                           DTypeName(given[0].dtype));
  }
  ValueType result;
  result.dtype = DType::kBytes;
  result.shape = given[0].shape;
  return result;
}

absl::Status ComputeToString(std::span<const Argument> arguments, size_t rows,
                             const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  CopyRowShapes(arguments[0], rows, type, out);
  VisitNumeric(from.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t row = 0; row < rows; ++row) {
      for (const T item : from.Items<T>(RowOf(arguments[0], row))) {
        char digits[24];
        const char* end = std::to_chars(digits, std::end(digits), item).ptr;
        out.values.Append(digits, static_cast<size_t>(end - digits));
        out.offsets.Push(static_cast<int64_t>(out.values.size()));
      }
    }
  });
  return absl::OkStatus();
}

// ---- split

absl::StatusOr<ValueType> InferSplit(const std::vector<ValueType>& given) {
  if (given.size() != 2) {
    FM_RETURN_IF_ERROR(ExpectArguments("split", given.size(), 1));
  }
  if (given.size() == 2) {
    FM_ASSIGN_OR_RETURN(const std::string separator,
                        ConstantText("split: the separator", given[1]));
    if (separator.empty()) {
      return InvalidArgument("split: the separator is empty");
    }
  }
  FM_ASSIGN_OR_RETURN(ValueType result,
                      BytesLike("split", given[0], DType::kBytes));
  if (!result.shape.empty()) {
    return InvalidArgument("split takes one text a row, not bytes{}",
                           ShapeToString(result.shape));
  }
  result.shape = {kUnknownDim};
  return result;
}

void PushPart(string_view part, OutputColumn& out) {
  out.values.Append(part.data(), part.size());
  out.offsets.Push(static_cast<int64_t>(out.values.size()));
}

int64_t SplitAtSpace(string_view text, OutputColumn& out) {
  int64_t parts = 0;
  while (true) {
    text = StripLeft(text);
    if (text.empty()) return parts;
    size_t end = 1;
    while (end < text.size() && !IsSpace(text[end])) ++end;
    PushPart(text.substr(0, end), out);
    text.remove_prefix(end);
    ++parts;
  }
}

int64_t SplitAt(string_view separator, string_view text, OutputColumn& out) {
  for (int64_t parts = 1;; ++parts) {
    const size_t at = text.find(separator);
    PushPart(text.substr(0, at), out);
    if (at == string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

absl::Status ComputeSplit(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  StartRows(type, /*ragged=*/true, out);
  const Column& from = *arguments[0].column;
  for (size_t row = 0; row < rows; ++row) {
    const string_view text =
        from.BytesAt(from.RowStart(RowOf(arguments[0], row)));
    const int64_t parts =
        arguments.size() == 1
            ? SplitAtSpace(text, out)
            : SplitAt(std::get<std::string>(arguments[1].type->literal->value),
                      text, out);
    EndRaggedRow({&parts, 1}, out);
  }
  return absl::OkStatus();
}

// ---- join

absl::StatusOr<ValueType> InferJoinTexts(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("join", given.size(), 2));
  FM_ASSIGN_OR_RETURN(ValueType result,
                      BytesLike("join", given[0], DType::kBytes));
  if (result.shape.empty()) {
    return InvalidArgument("join takes an array of texts, not one text");
  }
  if (given[1].dtype != DType::kBytes || !given[1].shape.empty()) {
    return InvalidArgument("join: the separator is {}{}, not one text",
                           DTypeName(given[1].dtype),
                           ShapeToString(given[1].shape));
  }
  result.shape.pop_back();
  return result;
}

absl::Status ComputeJoinTexts(std::span<const Argument> arguments, size_t rows,
                              const ValueType& type, OutputColumn& out) {
  const Column& from = *arguments[0].column;
  const Column& separators = *arguments[1].column;
  const bool ragged = from.ragged() && HasUnknownDim(type.shape);
  StartRows(type, ragged, out);
  for (size_t row = 0; row < rows; ++row) {
    const size_t from_row = RowOf(arguments[0], row);
    const auto dims = from.RowDims(from_row);
    const auto outer = dims.first(dims.size() - 1);
    const string_view separator =
        separators.BytesAt(separators.RowStart(RowOf(arguments[1], row)));
    int64_t item = from.RowStart(from_row);
    for (int64_t line = Product(outer); line > 0; --line) {
      for (const int64_t end = item + dims.back(); item < end; ++item) {
        const string_view text = from.BytesAt(item);
        out.values.Append(text.data(), text.size());
        if (item + 1 == end) continue;
        out.values.Append(separator.data(), separator.size());
      }
      out.offsets.Push(static_cast<int64_t>(out.values.size()));
    }
    if (ragged) {
      EndRaggedRow(outer, out);
    } else if (row == 0) {
      out.shape.assign(outer.begin(), outer.end());
    }
  }
  return absl::OkStatus();
}

// ---- zfill

constexpr int64_t kWidthMax = int64_t{1} << 20;

absl::StatusOr<ValueType> InferZFill(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("zfill", given.size(), 2));
  FM_ASSIGN_OR_RETURN(const int64_t width,
                      ConstantInteger("zfill: the width", given[1]));
  if (width > kWidthMax) {
    return InvalidArgument("zfill: the width {} is above {}", width, kWidthMax);
  }
  return BytesLike("zfill", given[0], DType::kBytes);
}

absl::Status ComputeZFill(std::span<const Argument> arguments, size_t rows,
                          const ValueType& type, OutputColumn& out) {
  const int64_t width = std::get<int64_t>(arguments[1].type->literal->value);
  return MapBytesToBytes(
      arguments[0], rows, type, out,
      [width](string_view text, BufferBuilder& to) -> absl::Status {
        const bool sign = text.starts_with('-') || text.starts_with('+');
        to.Append(text.data(), sign ? 1 : 0);
        const int64_t zeros = width - static_cast<int64_t>(text.size());
        if (zeros > 0) {
          const auto count = static_cast<size_t>(zeros);
          std::memset(to.Extend(count), '0', count);
        }
        text.remove_prefix(sign ? 1 : 0);
        to.Append(text.data(), text.size());
        return absl::OkStatus();
      });
}

}  // namespace

void AddStringFunctions(FunctionRegistry& registry) {
  using S = string_view;
  const auto add = [&](const char* name, size_t arity,
                       const ElementwiseCall& call) {
    registry.Add(name, MakeLoopFunction(name, arity, call));
  };
  add("strip", 1, OneOfBytes(UnaryLoop<Strip, S>));
  add("lstrip", 1, OneOfBytes(UnaryLoop<LStrip, S>));
  add("rstrip", 1, OneOfBytes(UnaryLoop<RStrip, S>));
  add("startswith", 2, TwoOfBytes(DType::kBool, BinaryLoop<StartsWith, S>));
  add("endswith", 2, TwoOfBytes(DType::kBool, BinaryLoop<EndsWith, S>));
  add("find", 2, TwoOfBytes(DType::kInt64, BinaryLoop<Find, S>));
  add("contains", 2, TwoOfBytes(DType::kBool, BinaryLoop<Contains, S>));
  add("count", 2, TwoOfBytes(DType::kInt64, BinaryLoop<Occurrences, S>));
  FunctionRegistry::Function substr =
      MakeLoopFunction("substr", 3,
                       {{DType::kBytes, DType::kInt64, DType::kInt64},
                        DType::kBytes,
                        SubstrLoop,
                        "substr: the length is negative"});
  substr.texts = FunctionRegistry::Texts::kBroken;
  registry.Add("substr", std::move(substr));
  registry.Add("replace", {InferReplace, ComputeReplace});
  registry.Add("hash_bucket", {InferHashBucket, ComputeHashBucket});
  registry.Add("hash_uniform", {InferHashUniform, ComputeHashUniform});
  registry.Add("to_string", {InferToString, ComputeToString});
  registry.Add("split", {InferSplit, ComputeSplit});
  registry.Add("join", {InferJoinTexts, ComputeJoinTexts});
  registry.Add("zfill", {InferZFill, ComputeZFill});
  registry.Describe({{"strip", "lstrip", "rstrip"},
                     "`strip(s)` `lstrip(s)` `rstrip(s)`",
                     "ASCII white space, as Python's bytes"});
  registry.Describe({{"startswith", "endswith", "find"},
                     "`startswith(s, t)` `endswith(s, t)` `find(s, t)`",
                     "bool; the first place of t in bytes, or −1 (int64)"});
  registry.Describe(
      {{"contains", "count"},
       "`contains(s, t)` `count(s, t)`",
       "bool; int64: how often t occurs without overlap, as Python's"});
  registry.Describe(
      {{"replace"}, "`replace(s, 'old', 'new')`", "all of them, constants"});
  registry.Describe(
      {{"substr"},
       "`substr(s, start, length)`",
       "s[start:start + length]; a negative start counts from the end; places "
       "outside s are left out; a negative length is a data error"});
  registry.Describe({{"split"},
                     "`split(s)` `split(s, 'sep')`",
                     "of one text: bytes[?], as Python's bytes; at runs of "
                     "ASCII white space, or at each separator"});
  registry.Describe({{"join"},
                     "`join(a, t)`",
                     "the texts along the last axis with t between them, as "
                     "Python's `t.join(a)`"});
  registry.Describe({{"zfill"},
                     "`zfill(s, width)`",
                     "zeros after a sign, as Python's; a constant width"});
  registry.Describe({{"to_string"}, "`to_string(n)`", "of an integer"});
  registry.Describe({{"hash_bucket"},
                     "`hash_bucket(s, n)`",
                     "XXH3-64 with seed 0, modulo n; int64"});
  registry.Describe(
      {{"hash_uniform"},
       "`hash_uniform(x)` `hash_uniform(x, y, …)`",
       "float64 from 0 to below 1, the same for equal values of any dtype: h "
       "div 2^11 · 2^−53, where h is the XXH3-64 of the last argument with the "
       "h of the others as its seed (0 without others). Integers are hashed as "
       "int64 or uint64, floats as float64, bytes with their length before "
       "them"});
}

}  // namespace feedmill
