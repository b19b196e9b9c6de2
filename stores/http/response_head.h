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
  std::optional<uint64_t> total{};  // bytes of the whole file, if known
};

std::optional<ContentRange> ParseContentRange(std::string_view text);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, IMF-fixdate) ↔ seconds since 1970.
// Years from 1970 to 2200; others are no date.
std::optional<int64_t> ParseHttpDate(std::string_view text);
std::string FormatHttpDate(int64_t seconds);

// Status and headers of an answer, as far as reading a file needs them.
class ResponseHead {
 public:
  // A line that the server sent, with or without its line end. A status line
  // begins a new head: only the last answer of a chain of redirects counts.
  void TakeLine(std::string_view line);

  int status() const { return status_; }  // 0: none came
  std::optional<uint64_t> content_length() const { return content_length_; }
  const std::optional<ContentRange>& content_range() const { return range_; }

  // Region of an S3 bucket (x-amz-bucket-region); "" if the server tells none.
  const std::string& bucket_region() const { return bucket_region_; }

  // Identity of the version that the answer is about, whose size is `size`: a
  // strong ETag, else Last-Modified. A weak ETag does not tell bytes apart.
  FileIdentity Identity(uint64_t size) const;

  // Time that the server asks to wait before the next request.
  std::optional<absl::Duration> RetryAfter() const;

 private:
  void TakeField(std::string_view name, std::string_view value);

  int status_ = 0;
  std::optional<uint64_t> content_length_;
  std::optional<ContentRange> range_;
  std::string etag_;
  std::string bucket_region_;
  std::string retry_after_;
  std::optional<int64_t> last_modified_;
  std::optional<int64_t> date_;
};

// Header line that makes a server refuse (412) if it has another version;
// "" if the identity has neither an ETag nor a time.
std::string ConditionOf(const FileIdentity& identity);

// True for an answer that a later request may not get: 408, 425, 429 and 5xx
// but 501 and 505.
bool MayPass(int status);

// The error of an answer that asking again does not change. `url` is in it.
absl::Status RefusalOf(const std::string& url, int status);

// The error of a file that is not the version that was asked for.
absl::Status ChangedError(const std::string& url);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_RESPONSE_HEAD_H_
