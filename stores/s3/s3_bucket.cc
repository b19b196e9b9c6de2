#include "stores/s3/s3_bucket.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/strings/escaping.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/io/url_options.h"
#include "core/sources/crc32c.h"
#include "stores/http/transfer.h"

namespace feedmill {
namespace {

// SHA-256 of an empty body; signed with the other headers.
constexpr char kEmptyBody[] =
    "x-amz-content-sha256: "
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// The signature leaves out the bytes of a body.
constexpr char kUnsignedBody[] = "x-amz-content-sha256: UNSIGNED-PAYLOAD";

struct CodeAdvice {
  std::string_view code;
  std::string_view advice;
};

// Errors of a request that a repeat may not have.
constexpr std::string_view kPassing[] = {
    "RequestTimeout",       "RequestTimeoutException",
    "IncompleteBody",       "SlowDown",
    "Throttling",           "ThrottlingException",
    "RequestLimitExceeded", "TooManyRequests",
    "InternalError",        "ServiceUnavailable",
    "OperationAborted"};

constexpr CodeAdvice kAdvices[] = {
    {"InvalidAccessKeyId",
     "the store does not know the access key; check AWS_ACCESS_KEY_ID, or the "
     "profile"},
    // versitygw's code for an unknown access key.
    {"XAdminUserNotFound",
     "the store does not know the access key; check AWS_ACCESS_KEY_ID, or the "
     "profile"},
    {"SignatureDoesNotMatch",
     "the secret key does not belong to the access key; check "
     "AWS_SECRET_ACCESS_KEY, or the profile"},
    {"ExpiredToken", "the keys have expired; log in again, then read again"},
    {"TokenRefreshRequired",
     "the keys have expired; log in again, then read again"},
    {"InvalidToken",
     "the session token does not belong to the keys; check AWS_SESSION_TOKEN"},
    {"RequestTimeTooSkewed",
     "the clocks of this machine and the store differ; set this machine's"},
    {"InvalidObjectState", "the object is archived; restore it first"},
    {"AccessDenied",
     "these keys may not read it, or the bucket has no such object and may not "
     "be listed; allow s3:GetObject and s3:ListBucket (a public bucket: "
     "?anonymous=true, one whose readers pay: ?requester_pays=true)"},
};

// A request of a bucket.
class BucketRequest final : public RequestMaker {
 public:
  BucketRequest(std::shared_ptr<S3Bucket> bucket, std::string name,
                std::string path, std::optional<S3Change> change = std::nullopt)
      : bucket_(std::move(bucket)),
        name_(std::move(name)),
        path_(std::move(path)),
        change_(std::move(change)) {}

  absl::Status Prepare() const override {
    return Annotate(bucket_->Prepare(), name_);
  }
  StoreRequest Make() const override {
    return bucket_->Make(path_, change_ ? &*change_ : nullptr);
  }
  absl::Status Refusal(const ResponseHead& head,
                       std::string_view body) const override {
    if (change_ && WordOf(body, "Code") == "AccessDenied") {
      return FailedPrecondition(
          "{}: refused ({} AccessDenied): these keys may not {} it; allow {}",
          name_, head.status(),
          change_->method == "DELETE" ? "remove" : "write",
          change_->method == "DELETE" ? "s3:DeleteObject" : "s3:PutObject");
    }
    return S3Refusal(name_, head, body);
  }

 private:
  const std::shared_ptr<S3Bucket> bucket_;
  const std::string name_;
  const std::string path_;
  const std::optional<S3Change> change_;
};

// Returns "?a=1&b=2"; "" without names.
std::string QueryText(
    const std::vector<std::pair<std::string, std::string>>& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    text += fmt::format("{}{}={}", text.empty() ? '?' : '&', name,
                        PercentEncoded(value));
  }
  return text;
}

// Asks AWS for a bucket's region, which any answer has in a header.
class RegionRequest final : public RequestMaker {
 public:
  explicit RegionRequest(std::string url) : url_(std::move(url)) {}

  absl::Status Prepare() const override { return absl::OkStatus(); }
  StoreRequest Make() const override { return {.url = url_, .is_web = false}; }
  absl::Status Refusal(const ResponseHead& head,
                       std::string_view body) const override {
    return S3Refusal(url_, head, body);
  }

 private:
  const std::string url_;
};

}  // namespace

std::string ChecksumText(std::string_view body) {
  const uint32_t sum = Crc32c(std::as_bytes(std::span(body)));
  const std::array<char, 4> bytes = {
      static_cast<char>(sum >> 24), static_cast<char>(sum >> 16),
      static_cast<char>(sum >> 8), static_cast<char>(sum)};
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::string ChecksumHeader(std::string_view body) {
  return "x-amz-checksum-crc32c: " + ChecksumText(body);
}

absl::Status S3Refusal(const std::string& name, const ResponseHead& head,
                       std::string_view body) {
  const int status = head.status();
  const std::string code = WordOf(body, "Code");
  const std::string& region = head.bucket_region();
  if (status == 301 || status == 307 || code == "PermanentRedirect" ||
      code == "AuthorizationHeaderMalformed") {
    return FailedPrecondition(
        "{}: the bucket is in {} ({} {}): set AWS_REGION, or add ?region=…",
        name,
        region.empty() ? "another region" : fmt::format("region {}", region),
        status, code);
  }
  if (std::ranges::find(kPassing, code) != std::end(kPassing)) {
    return Unavailable("the store answers {} {}", status, code);
  }
  if (code == "NoSuchBucket") {
    return NotFound("{}: there is no such bucket (404 NoSuchBucket)", name);
  }
  for (const CodeAdvice& each : kAdvices) {
    if (code != each.code) continue;
    return FailedPrecondition("{}: refused ({} {}): {}", name, status, code,
                              each.advice);
  }
  if (status == 404 || status == 410) {
    return NotFound("{}: the bucket has no such object ({})", name, status);
  }
  if (status == 401 || status == 403) {
    return FailedPrecondition("{}: refused ({} {}): {}", name, status, code,
                              std::end(kAdvices)[-1].advice);
  }
  return FailedPrecondition(
      "{}: the store answers {} {} instead of the object; check the URL and "
      "the endpoint",
      name, status, code);
}

S3Bucket::S3Bucket(std::string bucket, std::string options, S3Access access,
                   std::shared_ptr<S3Keys> keys,
                   std::shared_ptr<HttpStore> store)
    : bucket_(std::move(bucket)),
      options_(std::move(options)),
      keys_(std::move(keys)),
      store_(std::move(store)),
      access_(std::move(access)) {}

absl::Status S3Bucket::FindRegion() {
  const std::lock_guard finding(finding_);
  S3Access access;
  {
    const std::lock_guard lock(mutex_);
    if (!access_.region.empty()) return absl::OkStatus();
    access = access_;
  }
  access.region = "us-east-1";
  const auto transfer = Transfer::Whole(
      {NameOf(""), std::make_shared<RegionRequest>(BucketUrl(bucket_, access) +
                                                   "?list-type=2&max-keys=0")},
      std::nullopt, store_->options);
  const absl::Status status = store_->Run(transfer);
  if (absl::IsCancelled(status) || absl::IsUnavailable(status)) return status;
  const std::string region = transfer->head().bucket_region();
  if (region.empty() && !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  access_.region = region.empty() ? "us-east-1" : region;
  return absl::OkStatus();
}

absl::Status S3Bucket::Prepare() {
  bool has_region;
  bool anonymous;
  {
    const std::lock_guard lock(mutex_);
    has_region = !access_.region.empty();
    anonymous = access_.anonymous;
  }
  if (!has_region) FM_RETURN_IF_ERROR(FindRegion());
  if (anonymous) return absl::OkStatus();
  return keys_->Prepare();
}

StoreRequest S3Bucket::Make(const std::string& path,
                            const S3Change* change) const {
  S3Access access;
  {
    const std::lock_guard lock(mutex_);
    access = access_;
  }
  StoreRequest request{.url = BucketUrl(bucket_, access) + path,
                       .is_web = false};
  if (change != nullptr) {
    request.method = change->method;
    request.headers = change->headers;
    request.body = change->body;
    if (change->sends_checksum) {
      request.headers.push_back(ChecksumHeader(*change->body));
    }
  }
  if (access.requester_pays) {
    request.headers.push_back("x-amz-request-payer: requester");
  }
  const auto keys = access.anonymous ? nullptr : keys_->keys();
  if (keys == nullptr) return request;
  if (!keys->session_token.empty()) {
    request.headers.push_back("x-amz-security-token: " + keys->session_token);
  }
  request.headers.push_back(request.body == nullptr ? kEmptyBody
                                                    : kUnsignedBody);
  request.signature = fmt::format("aws:amz:{}:s3", access.region);
  request.access_key = keys->access_key;
  request.secret_key = keys->secret_key;
  return request;
}

std::string S3Bucket::NameOf(std::string_view key) const {
  return JoinUrlOptions(fmt::format("s3://{}/{}", bucket_, key), options_);
}

RemoteFile S3Bucket::Object(const std::string& key) {
  const std::string name = NameOf(key);
  return {name, std::make_shared<BucketRequest>(shared_from_this(), name,
                                                PercentEncoded(key, "/"))};
}

RemoteFile S3Bucket::Changed(const std::string& key, S3Change change) {
  const std::string name = NameOf(key);
  std::string path = PercentEncoded(key, "/") + QueryText(change.query);
  return {name,
          std::make_shared<BucketRequest>(shared_from_this(), name,
                                          std::move(path), std::move(change))};
}

RemoteFile S3Bucket::Page(
    const std::string& prefix,
    const std::vector<std::pair<std::string, std::string>>& query) {
  const std::string name = NameOf(prefix);
  return {name, std::make_shared<BucketRequest>(shared_from_this(), name,
                                                QueryText(query))};
}

}  // namespace feedmill
