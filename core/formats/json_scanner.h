#ifndef FEEDMILL_CORE_FORMATS_JSON_SCANNER_H_
#define FEEDMILL_CORE_FORMATS_JSON_SCANNER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// A JSON value as it is written.
struct JsonToken {
  enum class Kind { kNull, kTrue, kFalse, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string_view text;  // a string's lacks its quotes
  bool escaped = false;   // a string with backslashes
};

// Walks over the JSON values of a text and finds where they end, without making
// anything of them. What it accepts is RFC 8259, with NaN, Infinity and
// -Infinity as Python writes them; strings may hold bytes that are no UTF-8.
// At most 500 levels deep. Not thread-safe.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // The value that stands here; DataLoss says what is wrong and where in the
  // text.
  absl::StatusOr<JsonToken> Value() {
    JsonToken token;
    if (!Scan(token, 0)) return Wrong();
    return token;
  }
  // Whether only spaces are left.
  bool AtEnd() {
    SkipSpaces();
    return at_ == text_.size();
  }

  // ---- the members of an object, the items of an array: one after the other
  // Goes into the object or array that stands here.
  bool Enter(char open) {
    SkipSpaces();
    first_ = true;
    return Take(open);
  }
  // Before each item: false at the end of it (or at an error, see failed()).
  bool NextItem(char close) {
    SkipSpaces();
    if (Take(close)) return false;
    if (first_) {
      first_ = false;
      return true;
    }
    if (Take(',')) return true;
    return Fail(close == ']' ? "a comma or ] is missing"
                             : "a comma or } is missing");
  }
  // The key of a member and its colon.
  bool Key(JsonToken& key);
  bool Scan(JsonToken& token, int depth);

  bool failed() const { return what_ != nullptr; }
  absl::Status Wrong() const;

 private:
  void SkipSpaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' ||
                                  text_[at_] == '\r' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Fail(const char* what) {
    if (what_ == nullptr) what_ = what;
    return false;
  }
  bool ScanString(JsonToken& token);
  bool ScanNumber(JsonToken& token);
  bool ScanWord(std::string_view word, JsonToken::Kind kind, JsonToken& token);
  bool ScanItems(char close, JsonToken& token, int depth);

  const std::string_view text_;
  size_t at_ = 0;
  bool first_ = true;
  const char* what_ = nullptr;
};

// What a string token means, as UTF-8. DataLoss for half a surrogate pair.
absl::Status UnescapeJson(std::string_view text, std::string& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_JSON_SCANNER_H_
