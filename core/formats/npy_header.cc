#include "core/formats/npy_header.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kRankMax = 32;
constexpr size_t kNestingMax = 16;
constexpr size_t kNpyMembersMax = 10'000;
constexpr uint64_t kItemBytesMax = uint64_t{1} << 30;

absl::Status BadHeader() { return DataLoss("its header is damaged"); }

// Reads the literals of Python that NumPy writes.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  // Skips spaces and takes the character `wanted`. False if another one is
  // next.
  bool Take(char wanted) {
    if (!Next(wanted)) return false;
    ++at_;
    return true;
  }
  bool Next(char wanted) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
    return at_ < text_.size() && text_[at_] == wanted;
  }
  bool TakeWord(std::string_view word) {
    Next(word.front());
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  // Reads an integer. Python 2 may write it as 3L.
  std::optional<int64_t> Integer() {
    Next('0');
    int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] =
        std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(stop - begin);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }
  std::optional<std::string> String() {
    char quote = '\'';
    if (!Next('\'')) quote = '"';
    if (!Take(quote)) return std::nullopt;
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') {
        if (!Escape(out)) return std::nullopt;
      } else {
        out += text_[at_++];
      }
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return IsUtf8(out) ? out : FromLatin1(out);
  }

 private:
  // Reads \', \" or \\. Names of members have no other escapes.
  bool Escape(std::string& out) {
    if (at_ + 1 >= text_.size()) return false;
    const char c = text_[at_ + 1];
    if (c != '\'' && c != '"' && c != '\\') return false;
    out += c;
    at_ += 2;
    return true;
  }
  // Versions 1 and 2 of the format have headers in Latin-1.
  static std::string FromLatin1(std::string_view text) {
    std::string out;
    for (const char c : text) AppendUtf8(static_cast<unsigned char>(c), out);
    return out;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

struct NumberType {
  char kind;
  size_t bytes;
  DType dtype;
};
constexpr NumberType kNumberTypes[] = {
    {'b', 1, DType::kBool},     {'i', 1, DType::kInt8},
    {'i', 2, DType::kInt16},    {'i', 4, DType::kInt32},
    {'i', 8, DType::kInt64},    {'u', 1, DType::kUInt8},
    {'u', 2, DType::kUInt16},   {'u', 4, DType::kUInt32},
    {'u', 8, DType::kUInt64},   {'f', 2, DType::kFloat16},
    {'f', 4, DType::kFloat32},  {'f', 8, DType::kFloat64},
    {'V', 2, DType::kBFloat16}, {'M', 8, DType::kInt64},
    {'m', 8, DType::kInt64},
};

// Parses a dtype such as "<f4". Sets the dtype of the member and the bytes of
// its items.
absl::Status ParseTypeCode(std::string_view code, NpyMember& member) {
  std::string_view text = code;
  const bool big = text.starts_with('>');
  if (!text.empty() && std::string_view("<>|=").find(text[0]) != text.npos) {
    text.remove_prefix(1);
  }
  const char kind = text.empty() ? '\0' : text[0];
  uint64_t count = 0;
  const char* const digits = text.data() + 1;
  if (kind == 'O') {
    return DataLoss("its dtype {} cannot be read: objects are pickled", code);
  }
  const auto [stop, error] =
      kind == '\0'
          ? std::from_chars_result{text.data(), std::errc::invalid_argument}
          : std::from_chars(digits, text.data() + text.size(), count);
  const bool whole = stop == text.data() + text.size() || *stop == '[';
  if (error != std::errc() || !whole || count > kItemBytesMax) {
    return DataLoss("its dtype {} is unknown", Shown(code));
  }
  member.item_bytes = kind == 'U' ? 4 * count : count;
  for (const NumberType& type : kNumberTypes) {
    if (type.kind != kind || type.bytes != count) continue;
    // Two bytes of no type, unless ml_dtypes wrote them: those have an order.
    if (kind == 'V' && code.starts_with('|')) continue;
    member.dtype = type.dtype;
    if (kind == 'M' || kind == 'm') member.unit = text;
    member.stored = big && count > 1 ? StoredAs::kSwapped : StoredAs::kNative;
    return absl::OkStatus();
  }
  if (kind == 'S' || kind == 'a' || kind == 'U') {
    member.dtype = DType::kBytes;
    member.stored = kind != 'U' ? StoredAs::kPaddedBytes
                    : big       ? StoredAs::kSwappedUcs4
                                : StoredAs::kUcs4;
    return absl::OkStatus();
  }
  member.unreadable = code;
  return absl::OkStatus();
}

// Reads a tuple of dimensions, or a single dimension.
bool ReadDimensions(LiteralReader& reader, Shape& shape) {
  const auto dim = [&] {
    const auto value = reader.Integer();
    if (!value || *value < 0 || shape.size() == kRankMax) return false;
    shape.push_back(*value);
    return true;
  };
  if (!reader.Take('(')) return dim();
  while (!reader.Next(')')) {
    if (!dim()) return false;
    if (!reader.Take(',') && !reader.Next(')')) return false;
  }
  return reader.Take(')');
}

bool Multiply(uint64_t& bytes, const Shape& shape) {
  for (const int64_t dim : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) {
      return false;
    }
  }
  return true;
}

// Reads a dtype: a code, or the members of a structured one. `outer`: the
// member that contains it. Adds the bytes of the dtype to `offset`.
absl::Status ReadDType(LiteralReader& reader, size_t depth,
                       const NpyMember& outer, uint64_t& offset,
                       std::vector<NpyMember>& members);

// Reads ('name', dtype) or ('name', dtype, shape). The name may be ('title',
// 'name').
absl::Status ReadMember(LiteralReader& reader, size_t depth,
                        const NpyMember& outer, uint64_t& offset,
                        std::vector<NpyMember>& members) {
  if (!reader.Take('(')) return BadHeader();
  const bool titled = reader.Take('(');
  auto name = reader.String();
  if (titled && name) {
    if (!reader.Take(',')) return BadHeader();
    name = reader.String();
    if (!reader.Take(')')) return BadHeader();
  }
  if (!name || !reader.Take(',')) return BadHeader();
  NpyMember member = outer;
  const bool padding = name->empty();
  if (!padding) {
    member.name = outer.name.empty() ? *name : outer.name + "." + *name;
  }
  const size_t before = members.size();
  const uint64_t begin = offset;
  FM_RETURN_IF_ERROR(ReadDType(reader, depth, member, offset, members));
  Shape shape;
  if (reader.Take(',') && !reader.Next(')')) {
    if (!ReadDimensions(reader, shape)) return BadHeader();
  }
  if (!reader.Take(')')) return BadHeader();
  uint64_t bytes = offset - begin;
  if (!Multiply(bytes, shape) || bytes > kItemBytesMax) return BadHeader();
  offset = begin + bytes;
  if (padding) {
    members.resize(before);
    return absl::OkStatus();
  }
  if (shape.empty()) return absl::OkStatus();
  const bool single = members.size() == before + 1 && before < members.size() &&
                      members[before].name == member.name;
  for (size_t k = before; k < members.size(); ++k) {
    members[k].shape.insert(members[k].shape.begin(), shape.begin(),
                            shape.end());
    if (!single) members[k].unreadable = "array of a structured dtype";
  }
  return absl::OkStatus();
}

absl::Status ReadDType(LiteralReader& reader, size_t depth,
                       const NpyMember& outer, uint64_t& offset,
                       std::vector<NpyMember>& members) {
  if (depth > kNestingMax || members.size() > kNpyMembersMax) {
    return BadHeader();
  }
  if (!reader.Take('[')) {
    const auto code = reader.String();
    if (!code) return BadHeader();
    NpyMember member = outer;
    member.within = offset;
    FM_RETURN_IF_ERROR(ParseTypeCode(*code, member));
    offset += member.item_bytes;
    members.push_back(std::move(member));
    return absl::OkStatus();
  }
  while (!reader.Next(']')) {
    FM_RETURN_IF_ERROR(ReadMember(reader, depth + 1, outer, offset, members));
    if (offset > kItemBytesMax) return DataLoss("its items are too large");
    if (!reader.Take(',') && !reader.Next(']')) return BadHeader();
  }
  reader.Take(']');
  return absl::OkStatus();
}

// Parses the dict of a header.
absl::Status ReadDict(std::string_view text, NpyHeader& header) {
  LiteralReader reader(text);
  bool has_dtype = false;
  bool has_order = false;
  bool has_shape = false;
  if (!reader.Take('{')) return BadHeader();
  while (!reader.Next('}')) {
    const auto key = reader.String();
    if (!key || !reader.Take(':')) return BadHeader();
    if (*key == "descr" && !has_dtype) {
      has_dtype = true;
      FM_RETURN_IF_ERROR(
          ReadDType(reader, 0, NpyMember{}, header.item_bytes, header.members));
    } else if (*key == "fortran_order" && !has_order) {
      has_order = true;
      header.fortran = reader.TakeWord("True");
      if (!header.fortran && !reader.TakeWord("False")) return BadHeader();
    } else if (*key == "shape" && !has_shape) {
      has_shape = true;
      if (!reader.Next('(') || !ReadDimensions(reader, header.shape)) {
        return DataLoss("its header has no shape");
      }
    } else {
      return BadHeader();
    }
    if (!reader.Take(',') && !reader.Next('}')) return BadHeader();
  }
  if (!has_shape) return DataLoss("its header has no shape");
  return has_dtype && has_order ? absl::OkStatus() : BadHeader();
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes) {
  if (!bytes.starts_with(kNpyMagic) || bytes.size() < 12) {
    return DataLoss("it is no .npy file");
  }
  const auto version = static_cast<unsigned char>(bytes[6]);
  const size_t begin = version == 1 ? 10 : 12;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, begin - 8);
  if (version < 1 || version > 3 || length > bytes.size() - begin) {
    return DataLoss("its header is of an unknown version, or cut short");
  }
  NpyHeader header;
  FM_RETURN_IF_ERROR(ReadDict(bytes.substr(begin, length), header));
  if (header.shape.empty()) {
    return DataLoss("it is a single value without rows");
  }
  uint64_t all = header.item_bytes;
  if (!Multiply(all, header.shape)) return DataLoss("its shape is too large");
  header.data_offset = begin + length;
  return header;
}

}  // namespace feedmill
