#include <string_view>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/ops/function_families.h"
#include "core/ops/map_bytes.h"
#include "core/ops/unicode_case.h"

// Functions of characters: texts are UTF-8, and other bytes are a data error.

namespace feedmill {
namespace {

using std::string_view;

absl::Status NotUtf8(string_view function, string_view text, string_view rest) {
  return DataLoss("{}: byte {} is not UTF-8 (0x{:02x})", function,
                  text.size() - rest.size(),
                  static_cast<unsigned char>(rest[0]));
}

// Calls ascii(part) for each run of ASCII and character(code) for each other
// character.
template <class Ascii, class Character>
absl::Status ForEachCharacter(string_view function, string_view text,
                              const Ascii& ascii, const Character& character) {
  string_view rest = text;
  while (!rest.empty()) {
    size_t run = 0;
    while (run < rest.size() && static_cast<signed char>(rest[run]) >= 0) ++run;
    if (run > 0) {
      ascii(rest.substr(0, run));
      rest.remove_prefix(run);
      continue;
    }
    const auto found = FirstUtf8(rest);
    if (!found) return NotUtf8(function, text, rest);
    character(found->code);
    rest.remove_prefix(found->bytes);
  }
  return absl::OkStatus();
}

// ---- utf8_length

absl::StatusOr<ValueType> InferLength(const std::vector<ValueType>& given) {
  FM_RETURN_IF_ERROR(ExpectArguments("utf8_length", given.size(), 1));
  return BytesLike("utf8_length", given[0], DType::kInt64);
}

absl::Status ComputeLength(std::span<const Argument> arguments, size_t rows,
                           const ValueType& type, OutputColumn& out) {
  return MapBytesTo<int64_t>(
      arguments[0], rows, type, out, [](string_view text, int64_t& to) {
        int64_t count = 0;
        absl::Status status = ForEachCharacter(
            "utf8_length", text,
            [&](string_view run) { count += static_cast<int64_t>(run.size()); },
            [&](uint32_t) { ++count; });
        to = count;
        return status;
      });
}

// ---- utf8_lower, utf8_upper

// Writes a character; returns the end.
unsigned char* PutCharacter(uint32_t code, unsigned char* to) {
  if (code < 0x80) {
    *to++ = static_cast<unsigned char>(code);
    return to;
  }
  const uint32_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const uint32_t lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
  *to++ = static_cast<unsigned char>(lead | code >> (6 * more));
  for (uint32_t k = more; k-- > 0;) {
    *to++ = static_cast<unsigned char>(0x80 | (code >> (6 * k) & 0x3f));
  }
  return to;
}

// Writes ASCII with the letters [first, first + 26) in the other case.
unsigned char* PutAscii(string_view run, char first, unsigned char* to) {
  for (const char c : run) {
    const bool letter = static_cast<unsigned char>(c - first) < 26;
    *to++ = static_cast<unsigned char>(c ^ (letter ? 0x20 : 0));
  }
  return to;
}

// Bytes of a text in the other case, for each byte: "\u0390" becomes three
// characters of its size.
constexpr size_t kGrowthMax = 3;

using ChangeCase = size_t (*)(uint32_t code, uint32_t* to);

FunctionRegistry::Function MakeCase(string_view name, char first,
                                    ChangeCase change) {
  FunctionRegistry::Function function;
  function.infer =
      [name](const std::vector<ValueType>& given) -> absl::StatusOr<ValueType> {
    FM_RETURN_IF_ERROR(ExpectArguments(name, given.size(), 1));
    return BytesLike(name, given[0], DType::kBytes);
  };
  function.compute = [name, first, change](std::span<const Argument> arguments,
                                           size_t rows, const ValueType& type,
                                           OutputColumn& out) {
    return MapBytesToBytes(
        arguments[0], rows, type, out,
        [&](string_view text, BufferBuilder& to) {
          const size_t begin = to.size();
          to.Extend(kGrowthMax * text.size());
          auto* at = to.As<unsigned char>() + begin;
          absl::Status status = ForEachCharacter(
              name, text,
              [&](string_view run) { at = PutAscii(run, first, at); },
              [&](uint32_t code) {
                uint32_t made[3];
                const size_t count = change(code, made);
                for (size_t k = 0; k < count; ++k) {
                  at = PutCharacter(made[k], at);
                }
              });
          to.Truncate(static_cast<size_t>(at - to.As<unsigned char>()));
          return status;
        });
  };
  return function;
}

}  // namespace

void AddUnicodeFunctions(FunctionRegistry& registry) {
  registry.Add("utf8_length", {InferLength, ComputeLength});
  registry.Add("utf8_lower", MakeCase("utf8_lower", 'A', LowerCase));
  registry.Add("utf8_upper", MakeCase("utf8_upper", 'a', UpperCase));
  registry.Describe({{"utf8_lower", "utf8_upper"},
                     "`utf8_lower(s)` `utf8_upper(s)`",
                     "Unicode's full case as Python's str, but \"Σ\" is always "
                     "\"σ\"; bytes that are no UTF-8 are a data error"});
  registry.Describe({{"utf8_length"},
                     "`utf8_length(s)`",
                     "int64: characters (code points), as Python's len of a "
                     "str; no UTF-8 is a data error"});
}

}  // namespace feedmill
