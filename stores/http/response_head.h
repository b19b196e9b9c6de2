#ifndef FEEDMILL_STORES_HTTP_RESPONSE_HEAD_H_
#define FEEDMILL_STORES_HTTP_RESPONSE_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/io/file_identity.h"

namespace feedmill {

// "bytes 0-499/1234" of a 206 answer: [begin, end) = [0, 500), total 1234.
// "bytes */1234" of a 416 answer: no range.
struct ContentRange {
  uint64_t begin = 0;
  uint64_t end = 0;                 // 0: no range
  std::optional<uint64_t> total{};  // size of the whole file, if known
};

std::optional<ContentRange> ParseContentRange(std::string_view text);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, IMF-fixdate) ↔ seconds since 1970.
// Accepts the years 1970 to 2200.
std::optional<int64_t> ParseHttpDate(std::string_view text);
std::string FormatHttpDate(int64_t seconds);

// Status and headers of an answer that reading a file needs.
class ResponseHead {
 public:
  // Handles a line from the server, with or without its line end. A status line
  // begins a new head: only the last answer of a chain of redirects counts.
  void TakeLine(std::string_view line);

  int status() const { return status_; }  // 0: no answer
  std::optional<uint64_t> content_length() const { return content_length_; }
  const std::optional<ContentRange>& content_range() const { return range_; }

  // Region of an S3 bucket (x-amz-bucket-region); "" if not given.
  const std::string& bucket_region() const { return bucket_region_; }

  // True if the end of the body is known: by Content-Length, chunks, or the
  // frames of HTTP/2. Otherwise the body ends with the connection, and a broken
  // connection looks like its end.
  bool has_end() const { return content_length_.has_value() || framed_; }
  // The value of Content-Encoding, in lower case.
  const std::string& coding() const { return coding_; }
  // True if the store decoded what it has compressed, as Google's does for
  // objects with Content-Encoding: gzip. It then ignores ranges.
  bool transcoded() const {
    return !stored_coding_.empty() && coding_ != stored_coding_;
  }

  // Returns the identity of the answer's version, whose size is `size`: a
  // strong ETag, else Last-Modified, else a weak ETag.
  FileIdentity Identity(uint64_t size) const;
  // Same, with a weak ETag beside Last-Modified.
  FileIdentity Version(uint64_t size) const;

  // Time that the server asks to wait before the next request.
  std::optional<absl::Duration> RetryAfter() const;

 private:
  void TakeField(std::string_view name, std::string_view value);

  int status_ = 0;
  std::optional<uint64_t> content_length_;
  std::optional<ContentRange> range_;
  bool framed_ = false;
  std::string etag_;
  std::string coding_;
  std::string stored_coding_;  // x-goog-stored-content-encoding
  std::string bucket_region_;
  std::string retry_after_;
  std::optional<int64_t> last_modified_;
  std::optional<int64_t> date_;
};

// Header line that makes a server refuse another version (412); "" if the
// identity has neither an ETag nor a time.
std::string ConditionOf(const FileIdentity& identity);

// True for temporary errors: 408, 425, 429, and 5xx except 501 and 505.
bool MayPass(int status);

// Returns the text of the first element TAG of a store's answer in XML, if it
// is a plain word; else "".
std::string WordOf(std::string_view answer, std::string_view tag);

// Returns the error of an answer that a repeat would not change. The text has
// `url`.
absl::Status RefusalOf(const std::string& url, int status);

// Returns the error of a file whose version has changed.
absl::Status ChangedError(const std::string& url);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_RESPONSE_HEAD_H_
