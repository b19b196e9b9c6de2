#include "stores/http/response_head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/time/civil_time.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kEtagBytesMax = 1024;
constexpr uint64_t kYearMax = 2200;  // nanoseconds since 1970 overflow in 2262

constexpr std::array<std::string_view, 12> kMonths = {
    "Jan", "Feb", "Mar", "Apr", "May", "Jun",
    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu",
                                                   "Fri", "Sat", "Sun"};

// Parses all of `text` as a decimal number.
std::optional<uint64_t> Decimal(std::string_view text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!LowerCase(text.substr(0, kUnit.size())).starts_with(kUnit)) {
    return std::nullopt;
  }
  text = Trimmed(text.substr(kUnit.size()));
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  ContentRange range;
  const std::string_view total = text.substr(slash + 1);
  if (total != "*") {
    range.total = Decimal(total);
    if (!range.total) return std::nullopt;
  }
  text = text.substr(0, slash);
  if (text == "*") return range;
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = Decimal(text.substr(0, dash));
  const auto last = Decimal(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX ||
      (range.total && *last >= *range.total)) {
    return std::nullopt;
  }
  range.begin = *first;
  range.end = *last + 1;
  return range;
}

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  // Format: Sun, 06 Nov 1994 08:49:37 GMT
  if (text.size() != 29 || text.substr(3, 2) != ", " || text[7] != ' ' ||
      text[11] != ' ' || text[16] != ' ' || text[19] != ':' ||
      text[22] != ':' || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  const auto month =
      std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  const auto day = Decimal(text.substr(5, 2));
  const auto year = Decimal(text.substr(12, 4));
  const auto hour = Decimal(text.substr(17, 2));
  const auto minute = Decimal(text.substr(20, 2));
  const auto second = Decimal(text.substr(23, 2));
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second ||
      *year < 1970 || *year > kYearMax || *hour > 23 || *minute > 59 ||
      *second > 60) {
    return std::nullopt;
  }
  const absl::CivilSecond time(static_cast<int64_t>(*year),
                               static_cast<int>(month - kMonths.begin()) + 1,
                               static_cast<int>(*day), static_cast<int>(*hour),
                               static_cast<int>(*minute),
                               static_cast<int>(*second));
  if (time.day() != static_cast<int>(*day)) return std::nullopt;
  return time - absl::CivilSecond(1970, 1, 1);
}

std::string FormatHttpDate(int64_t seconds) {
  const absl::CivilSecond time = absl::CivilSecond(1970, 1, 1) + seconds;
  const auto day = static_cast<size_t>(absl::GetWeekday(absl::CivilDay(time)));
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[day],
                     time.day(), kMonths[static_cast<size_t>(time.month()) - 1],
                     time.year(), time.hour(), time.minute(), time.second());
}

void ResponseHead::TakeLine(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = {};
    const size_t space = std::min(line.find(' '), line.size() - 1);
    const auto status = Decimal(line.substr(space + 1, 3));
    status_ = static_cast<int>(status.value_or(0));
    framed_ = !line.starts_with("HTTP/1");
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  TakeField(LowerCase(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
}

void ResponseHead::TakeField(std::string_view name, std::string_view value) {
  if (name == "content-length") content_length_ = Decimal(value);
  if (name == "content-range") range_ = ParseContentRange(value);
  if (name == "transfer-encoding") {
    framed_ = LowerCase(value).ends_with("chunked");
  }
  if (name == "content-encoding") coding_ = LowerCase(value.substr(0, 64));
  if (name == "x-goog-stored-content-encoding") {
    stored_coding_ = LowerCase(value.substr(0, 64));
    if (stored_coding_ == "identity") stored_coding_.clear();
  }
  if (name == "last-modified") last_modified_ = ParseHttpDate(value);
  if (name == "date") date_ = ParseHttpDate(value);
  if (name == "retry-after") retry_after_ = value.substr(0, 64);
  if (name == "x-amz-bucket-region") bucket_region_ = value.substr(0, 64);
  if (name == "etag" && value.size() <= kEtagBytesMax) etag_ = value;
}

FileIdentity ResponseHead::Version(uint64_t size) const {
  FileIdentity version{size};
  const bool ends = etag_.size() >= 2 && etag_.back() == '"';
  if (ends && (etag_.front() == '"' || etag_.starts_with("W/\""))) {
    version.etag = etag_;
  }
  if (last_modified_ && (version.etag.empty() || IsWeakEtag(version.etag))) {
    version.mtime_ns = *last_modified_ * 1'000'000'000;
  }
  return version;
}

FileIdentity ResponseHead::Identity(uint64_t size) const {
  FileIdentity identity = Version(size);
  if (identity.mtime_ns != 0) identity.etag.clear();
  return identity;
}

std::optional<absl::Duration> ResponseHead::RetryAfter() const {
  if (const auto seconds = Decimal(retry_after_)) {
    return absl::Seconds(
        static_cast<int64_t>(std::min<uint64_t>(*seconds, 1 << 30)));
  }
  // An absolute time, relative to the server's own Date.
  const auto until = ParseHttpDate(retry_after_);
  if (!until || !date_) return std::nullopt;
  return absl::Seconds(std::max<int64_t>(*until - *date_, 0));
}

std::string ConditionOf(const FileIdentity& identity) {
  // A server compares a weak ETag as another version.
  if (!identity.etag.empty() && !IsWeakEtag(identity.etag)) {
    return "If-Match: " + identity.etag;
  }
  if (identity.mtime_ns == 0) return "";
  return "If-Unmodified-Since: " +
         FormatHttpDate(identity.mtime_ns / 1'000'000'000);
}

bool MayPass(int status) {
  return status == 408 || status == 425 || status == 429 ||
         (status >= 500 && status != 501 && status != 505);
}

std::string WordOf(std::string_view answer, std::string_view tag) {
  const std::string open = fmt::format("<{}>", tag);
  const size_t begin = answer.find(open);
  if (begin == std::string_view::npos) return "";
  answer.remove_prefix(begin + open.size());
  const std::string_view word = answer.substr(0, answer.find('<'));
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
           c == '_';
  };
  if (word.size() > 64 || !std::all_of(word.begin(), word.end(), plain)) {
    return "";
  }
  return std::string(word);
}

absl::Status RefusalOf(const std::string& url, int status) {
  switch (status) {
    case 401:
    case 403:
    case 407:
      return FailedPrecondition(
          "{}: the server refuses it ({}): check the login (user:password@ in "
          "the URL, or ~/.netrc), whether a signed URL has expired, and that "
          "the file may be read",
          url, status);
    case 404:
    case 410:
      return NotFound("{}: the server has no such file ({})", url, status);
    default:
      return FailedPrecondition(
          "{}: the server answers {} instead of the file; check the URL", url,
          status);
  }
}

absl::Status ChangedError(const std::string& url) {
  return FailedPrecondition(
      "{}: changed since the job began; restore it, or start a new job", url);
}

}  // namespace feedmill
