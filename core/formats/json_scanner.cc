#include "core/formats/json_scanner.h"

#include <cstdint>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/base/utf8.h"

namespace feedmill {
namespace {

constexpr int kDepthMax = 500;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the value of the four digits after "\u", or -1 if they are not
// digits.
int64_t HexWord(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return -1;
  int64_t value = 0;
  for (size_t k = at; k < at + 4; ++k) {
    const int digit = HexDigit(text[k]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

absl::Status JsonScanner::Wrong() const {
  return DataLoss("not JSON at byte {} of the record: {}", at_,
                  what_ == nullptr ? "another value was expected" : what_);
}

bool JsonScanner::Key(JsonToken& key) {
  SkipSpaces();
  if (at_ == text_.size() || text_[at_] != '"') {
    return Fail("a member's name in quotes is missing");
  }
  if (!ScanString(key)) return false;
  SkipSpaces();
  return Take(':') || Fail("a colon is missing");
}

bool JsonScanner::Scan(JsonToken& token, int depth) {
  SkipSpaces();
  if (at_ == text_.size()) return Fail("it ends where a value was expected");
  if (depth > kDepthMax) return Fail("it is nested too deeply");
  token.escaped = false;
  switch (text_[at_]) {
    case '"':
      return ScanString(token);
    case '{':
      token.kind = JsonToken::Kind::kObject;
      return ScanItems('}', token, depth);
    case '[':
      token.kind = JsonToken::Kind::kArray;
      return ScanItems(']', token, depth);
    case 't':
      return ScanWord("true", JsonToken::Kind::kTrue, token);
    case 'f':
      return ScanWord("false", JsonToken::Kind::kFalse, token);
    case 'n':
      return ScanWord("null", JsonToken::Kind::kNull, token);
    case 'N':
      return ScanWord("NaN", JsonToken::Kind::kNumber, token);
    case 'I':
      return ScanWord("Infinity", JsonToken::Kind::kNumber, token);
    default:
      return ScanNumber(token);
  }
}

bool JsonScanner::ScanItems(char close, JsonToken& token, int depth) {
  const JsonToken::Kind kind = token.kind;
  const size_t begin = at_++;
  bool first = true;
  while (true) {
    SkipSpaces();
    if (Take(close)) break;
    if (!first && !Take(',')) {
      return Fail(close == ']' ? "a comma or ] is missing"
                               : "a comma or } is missing");
    }
    first = false;
    JsonToken item;
    if (close == '}' && !Key(item)) return false;
    if (!Scan(item, depth + 1)) return false;
  }
  token.kind = kind;
  token.text = text_.substr(begin, at_ - begin);
  token.escaped = false;
  return true;
}

bool JsonScanner::ScanString(JsonToken& token) {
  const size_t begin = ++at_;
  token.kind = JsonToken::Kind::kString;
  token.escaped = false;
  while (at_ < text_.size()) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '"') {
      token.text = text_.substr(begin, at_ - begin);
      ++at_;
      return true;
    }
    if (byte < 0x20) return Fail("a control character in a string");
    if (byte == '\\') {
      token.escaped = true;
      ++at_;
      if (at_ == text_.size()) break;
      if (text_[at_] == 'u') {
        if (HexWord(text_, at_ + 1) < 0) {
          return Fail("\\u without four hexadecimal digits");
        }
        at_ += 4;
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) ==
                 std::string_view::npos) {
        return Fail("a backslash before a character that needs none");
      }
    }
    ++at_;
  }
  return Fail("a string is not closed");
}

bool JsonScanner::ScanNumber(JsonToken& token) {
  const size_t begin = at_;
  const auto digits = [&] {
    const size_t from = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > from;
  };
  if (Take('-') && at_ < text_.size() && text_[at_] == 'I') {
    if (!ScanWord("Infinity", JsonToken::Kind::kNumber, token)) return false;
    token.text = text_.substr(begin, at_ - begin);
    return true;
  }
  if (Take('0')) {
    if (at_ < text_.size() && IsDigit(text_[at_])) {
      return Fail("a number begins with 0");
    }
  } else if (!digits()) {
    return Fail("no value stands here");
  }
  if (Take('.') && !digits()) return Fail("no digit after the point");
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (!Take('+')) Take('-');
    if (!digits()) return Fail("no digit in the exponent");
  }
  token.kind = JsonToken::Kind::kNumber;
  token.text = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonScanner::ScanWord(std::string_view word, JsonToken::Kind kind,
                           JsonToken& token) {
  if (text_.substr(at_, word.size()) != word) {
    return Fail("no value stands here");
  }
  token.kind = kind;
  token.text = text_.substr(at_, word.size());
  at_ += word.size();
  return true;
}

absl::Status UnescapeJson(std::string_view text, std::string& out) {
  out.clear();
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '\\') {
      out += text[k];
      continue;
    }
    const char c = text[++k];
    if (c != 'u') {
      constexpr std::string_view kFrom = "bfnrt";
      constexpr std::string_view kTo = "\b\f\n\r\t";
      const size_t which = kFrom.find(c);
      out += which == std::string_view::npos ? c : kTo[which];
      continue;
    }
    auto point = static_cast<uint32_t>(HexWord(text, k + 1));
    k += 4;
    if (point >= 0xd800 && point < 0xe000) {
      const bool pair = point < 0xdc00 && text.substr(k + 1, 2) == "\\u";
      const int64_t low = pair ? HexWord(text, k + 3) : -1;
      if (low < 0xdc00 || low > 0xdfff) {
        return DataLoss("a string has half a surrogate pair (\\u{:04x})",
                        point);
      }
      point = 0x10000 + ((point - 0xd800) << 10) +
              (static_cast<uint32_t>(low) - 0xdc00);
      k += 6;
    }
    AppendUtf8(point, out);
  }
  return absl::OkStatus();
}

}  // namespace feedmill
