#include "core/chunk/jsonl.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/chunk/validity.h"

namespace feedmill {
namespace {

// Writes the digits of a float as "1.5e+18", correctly rounded, and as few as
// mean it. Returns their end.
template <class T>
char* ShortestDigits(T value, char* begin, char* end) {
  if constexpr (kIsFloat16<T>) {
    constexpr int kDigitsMax = 4;  // behind the point
    for (int digits = 0;; ++digits) {
      char* const stop = std::to_chars(begin, end, float{value},
                                       std::chars_format::scientific, digits)
                             .ptr;
      double meant = 0;
      std::from_chars(begin, stop, meant);
      if (digits == kDigitsMax || T(meant) == value) return stop;
    }
  } else {
    return std::to_chars(begin, end, value, std::chars_format::scientific).ptr;
  }
}

// Writes the shortest digits that round-trip as Python's repr does: plain from
// 1e-4 to below 1e16, else with an exponent of at least two digits.
template <class T>
void AppendFloat(T value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char text[40];  // "-d.dddddddddddddddde-308"
  const char* const end = ShortestDigits(value, text, text + sizeof(text));
  std::string_view all(text, static_cast<size_t>(end - text));
  if (all[0] == '-') {
    out.push_back('-');
    all.remove_prefix(1);
  }
  const size_t mark = all.find('e');
  const int exponent = std::atoi(std::string(all.substr(mark + 1)).c_str());
  if (exponent < -4 || exponent >= 16) {
    out += all;  // to_chars writes at least two digits, as Python does
    return;
  }
  char digits[24];
  size_t count = 0;
  for (char c : all.substr(0, mark)) {
    if (c != '.') digits[count++] = c;
  }
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out.append(digits, count);
    return;
  }
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (count <= whole) {
    out.append(digits, count);
    out.append(whole - count, '0');
    out += ".0";
    return;
  }
  out.append(digits, whole);
  out.push_back('.');
  out.append(digits + whole, count - whole);
}

// True if `text` is well-formed by the Unicode standard (and Python's strict
// decoder): no surrogates, no overlong forms, nothing above U+10FFFF.
bool IsUtf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = at + text.size();
  while (at < end) {
    const unsigned char lead = *at++;
    if (lead < 0x80) continue;
    size_t more = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf) {
      more = 1;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      more = 2;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      more = 3;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else {
      return false;
    }
    if (static_cast<size_t>(end - at) < more) return false;
    for (; more > 0; --more) {
      if (*at < low || *at > high) return false;
      ++at;
      low = 0x80;
      high = 0xbf;
    }
  }
  return true;
}

void AppendEscape(unsigned char c, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out.push_back(kDigits[c >> 4]);
      out.push_back(kDigits[c & 15]);
  }
}

void AppendString(std::string_view text, std::string& out) {
  out.push_back('"');
  size_t plain = 0;  // where the current run of unescaped characters began
  for (size_t k = 0; k < text.size(); ++k) {
    const auto c = static_cast<unsigned char>(text[k]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, plain, k - plain);
    AppendEscape(c, out);
    plain = k + 1;
  }
  out.append(text, plain);
  out.push_back('"');
}

void AppendBytes(std::string_view bytes, std::string& out) {
  if (IsUtf8(bytes)) {
    AppendString(bytes, out);
    return;
  }
  absl::StrAppend(&out, "{\"base64\":\"",
                  absl::Base64Escape({bytes.data(), bytes.size()}), "\"}");
}

// Writes one value as nested lists of `dims`; `item` advances past it.
template <class F>
void AppendNested(std::span<const int64_t> dims, int64_t& item,
                  const F& append_item, std::string& out) {
  if (dims.empty()) {
    append_item(item++);
    return;
  }
  out.push_back('[');
  for (int64_t k = 0; k < dims[0]; ++k) {
    if (k > 0) out.push_back(',');
    AppendNested(dims.subspan(1), item, append_item, out);
  }
  out.push_back(']');
}

template <class T>
void AppendNumber(T value, std::string& out) {
  if constexpr (kIsFloat<T>) {
    AppendFloat(value, out);
  } else {
    char text[24];
    out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }
}

// Writes items as nested lists of `dims`, from `item` on.
void AppendNestedItems(const Column& column, std::span<const int64_t> dims,
                       int64_t item, std::string& out) {
  if (column.dtype == DType::kBytes) {
    AppendNested(
        dims, item, [&](int64_t k) { AppendBytes(column.BytesAt(k), out); },
        out);
    return;
  }
  if (column.dtype == DType::kBool) {
    const auto items = column.values.As<uint8_t>();
    AppendNested(
        dims, item,
        [&](int64_t k) {
          out += items[static_cast<size_t>(k)] != 0 ? "true" : "false";
        },
        out);
    return;
  }
  VisitNumeric(column.dtype, [&]<class T>(T) {
    const auto items = column.values.As<T>();
    AppendNested(
        dims, item,
        [&](int64_t k) { AppendNumber(items[static_cast<size_t>(k)], out); },
        out);
  });
}

void AppendColumn(const Column& column, size_t row, std::string& out) {
  AppendNestedItems(column, column.RowDims(row), column.RowStart(row), out);
}

// Writes a row of single values that may be null, or of batches of them.
void AppendNullable(const Column& column, const Column& validity, size_t row,
                    std::string& out) {
  const auto valid = validity.values.As<uint8_t>();
  const auto dims = column.RowDims(row);
  const size_t outer = validity.RowDims(row).size();
  int64_t each = 1;
  for (const int64_t dim : dims.subspan(outer)) each *= dim;
  int64_t item = column.RowStart(row);
  int64_t place = validity.RowStart(row);
  AppendNested(
      dims.first(outer), place,
      [&](int64_t k) {
        if (valid[static_cast<size_t>(k)] != 0) {
          AppendNestedItems(column, dims.subspan(outer), item, out);
        } else {
          out += "null";
        }
        item += each;
      },
      out);
}

}  // namespace

void AppendJson(const Chunk& chunk, size_t row, std::string& out) {
  const auto& components = chunk.spec->components;
  if (components.size() == 1 && components[0].name.empty()) {
    AppendColumn(chunk.columns[0], row, out);
    return;
  }
  out.push_back('{');
  for (size_t c = 0; c < components.size(); ++c) {
    if (c > 0) out.push_back(',');
    AppendString(components[c].name, out);
    out.push_back(':');
    if (MayBeNull(std::span(components), c)) {
      AppendNullable(chunk.columns[c], chunk.columns[c + 1], row, out);
      ++c;
    } else {
      AppendColumn(chunk.columns[c], row, out);
    }
  }
  out.push_back('}');
}

void AppendJson(std::string_view bytes, std::string& out) {
  AppendBytes(bytes, out);
}

void AppendJsonItem(const Column& column, int64_t item, std::string& out) {
  AppendNestedItems(column, {}, item, out);
}

void AppendJson(const std::vector<RecordOrigin>& records, std::string& out) {
  out += '[';
  for (const RecordOrigin& origin : records) {
    if (out.back() != '[') out += ',';
    out += '{';
    if (!origin.file.empty()) {
      out += "\"file\":";
      AppendJson(origin.file, out);
      out += ',';
    }
    if (origin.offset > 0) out += fmt::format("\"offset\":{},", origin.offset);
    out +=
        fmt::format(R"("record":{},"epoch":{}}})", origin.record, origin.epoch);
  }
  out += ']';
}

}  // namespace feedmill
