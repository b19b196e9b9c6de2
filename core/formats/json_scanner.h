#ifndef FEEDMILL_CORE_FORMATS_JSON_SCANNER_H_
#define FEEDMILL_CORE_FORMATS_JSON_SCANNER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// The text of a JSON value, not decoded.
struct JsonToken {
  enum class Kind { kNull, kTrue, kFalse, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string_view text;  // of a string: without its quotes
  bool escaped = false;   // the string has backslashes
};

// Scans the JSON values of a text and finds their ends, without decoding them.
// Accepts RFC 8259, and NaN, Infinity and -Infinity as Python writes them.
// Strings may contain bytes that are not UTF-8. At most 500 levels deep. Not
// thread-safe.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Scans the next value. DataLoss gives the fault and its offset in the text.
  absl::StatusOr<JsonToken> Value() {
    JsonToken token;
    if (!Scan(token, 0)) return Wrong();
    return token;
  }
  // True if only spaces follow.
  bool AtEnd() {
    SkipSpaces();
    return at_ == text_.size();
  }

  // ---- one after the other: the members of an object, the items of an array
  // Enters the object or array that begins here.
  bool Enter(char open) {
    SkipSpaces();
    first_ = true;
    return Take(open);
  }
  // Call it before each item. False at the end of the object or array, or at an
  // error (see failed()).
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
  // Reads the key of a member and its colon.
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

// Decodes the text of a string token into `out`, as UTF-8. DataLoss for half a
// surrogate pair.
absl::Status UnescapeJson(std::string_view text, std::string& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_JSON_SCANNER_H_
