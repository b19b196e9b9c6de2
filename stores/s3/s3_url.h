#ifndef FEEDMILL_STORES_S3_S3_URL_H_
#define FEEDMILL_STORES_S3_S3_URL_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// Access settings of a bucket.
struct S3Access {
  std::string region{};    // "" if unknown
  std::string endpoint{};  // "http://localhost:9000"; "" for AWS
  bool anonymous = false;  // requests are not signed
  bool requester_pays = false;
  bool virtual_hosted = false;  // the bucket is part of the endpoint's host

  friend bool operator==(const S3Access&, const S3Access&) = default;
};

// Returns an environment variable; nullopt if it is not set or empty.
using EnvironmentLookup =
    std::function<std::optional<std::string>(const char* name)>;

// Reads the access settings of the environment: AWS_REGION, AWS_DEFAULT_REGION,
// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_NO_SIGN_REQUEST,
// AWS_REQUEST_PAYER, AWS_VIRTUAL_HOSTING. InvalidArgument names the variable.
absl::StatusOr<S3Access> S3AccessOfEnvironment(const EnvironmentLookup& look);

// "s3://bucket/photos/1.jpg?region=eu-west-1" is the key "photos/1.jpg" with
// options "?region=eu-west-1".
struct S3Url {
  std::string bucket{};
  std::string key{};      // may be a pattern; "" for the bucket itself
  std::string options{};  // with the '?'; "" for none
  S3Access access{};
};

// Parses an S3 URL or pattern. `defaults`: settings that its options do not
// override. A '?' followed by NAME=VALUE, without '/', begins options; any
// other '?' is part of the key. InvalidArgument says what to write instead.
absl::StatusOr<S3Url> ParseS3Url(const std::string& name,
                                 const S3Access& defaults);

// Returns the bucket's URL, which ends with '/'. REQUIRES: region or endpoint
// is set.
std::string BucketUrl(const std::string& bucket, const S3Access& access);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_URL_H_
