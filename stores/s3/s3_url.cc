#include "stores/s3/s3_url.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/io/url_options.h"

namespace feedmill {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr size_t kKeyBytesMax = 1024;

absl::Status CheckRegion(const std::string& region, std::string_view what) {
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
           c == '_';
  };
  if (std::all_of(region.begin(), region.end(), fits)) return absl::OkStatus();
  return InvalidArgument("{} is a region, such as eu-west-1, not '{}'", what,
                         region);
}

// Options of a URL, read in any order.
struct OptionsRead {
  std::string scheme{};
  std::string endpoint{};
};

absl::Status ReadOption(const std::string& name, const std::string& value,
                        S3Access& access, OptionsRead& read) {
  bool* const flag = name == "anonymous"        ? &access.anonymous
                     : name == "requester_pays" ? &access.requester_pays
                     : name == "force_virtual_addressing"
                         ? &access.virtual_hosted
                         : nullptr;
  if (flag != nullptr) {
    const auto set = ParseFlag(value);
    if (!set) return InvalidArgument("{} is true or false", name);
    *flag = *set;
  } else if (name == "region") {
    FM_RETURN_IF_ERROR(CheckRegion(value, name));
    access.region = value;
  } else if (name == "scheme") {
    read.scheme = value;
  } else if (name == "endpoint_override") {
    read.endpoint = value;
  } else {
    return InvalidArgument(
        "unknown option '{}'; there are region, endpoint_override, scheme, "
        "anonymous, requester_pays and force_virtual_addressing ([?] stands "
        "for a '?' of a name)",
        name);
  }
  return absl::OkStatus();
}

absl::Status ReadUrlOptions(std::string_view text, S3Access& access) {
  OptionsRead read;
  FM_ASSIGN_OR_RETURN(const auto options, ParseUrlOptions(text));
  for (const auto& [name, value] : options) {
    FM_RETURN_IF_ERROR(ReadOption(name, value, access, read));
  }
  if (!read.endpoint.empty()) {
    FM_ASSIGN_OR_RETURN(
        access.endpoint,
        ParseEndpoint(read.endpoint,
                      read.scheme.empty() ? "https" : read.scheme,
                      "endpoint_override"));
  } else if (!read.scheme.empty()) {
    return InvalidArgument("scheme is of no use without endpoint_override");
  }
  return absl::OkStatus();
}

absl::Status CheckBucket(const std::string& bucket) {
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
           c == '.' || c == '_';
  };
  if (bucket.find('@') != std::string::npos) {
    return InvalidArgument(
        "keys are not part of an s3:// URL; set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials");
  }
  if (!bucket.empty() && std::all_of(bucket.begin(), bucket.end(), fits)) {
    return absl::OkStatus();
  }
  return InvalidArgument("'{}' is no name of a bucket; write s3://BUCKET/KEY",
                         bucket);
}

}  // namespace

absl::StatusOr<S3Access> S3AccessOfEnvironment(const EnvironmentLookup& look) {
  S3Access access;
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (!access.region.empty()) break;
    access.region = look(name).value_or("");
    FM_RETURN_IF_ERROR(CheckRegion(access.region, name));
  }
  for (const char* const name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    const auto endpoint = look(name);
    if (!endpoint || !access.endpoint.empty()) continue;
    FM_ASSIGN_OR_RETURN(access.endpoint,
                        ParseEndpoint(*endpoint, "https", name));
  }
  for (const auto& [name, flag] :
       {std::pair{"AWS_NO_SIGN_REQUEST", &access.anonymous},
        std::pair{"AWS_VIRTUAL_HOSTING", &access.virtual_hosted}}) {
    const auto value = look(name);
    if (!value) continue;
    const auto set = ParseFlag(*value);
    if (!set) return InvalidArgument("{} is true or false", name);
    *flag = *set;
  }
  if (const auto payer = look("AWS_REQUEST_PAYER")) {
    if (*payer != "requester") {
      return InvalidArgument("AWS_REQUEST_PAYER is 'requester' or not set");
    }
    access.requester_pays = true;
  }
  return access;
}

absl::StatusOr<S3Url> ParseS3Url(const std::string& name,
                                 const S3Access& defaults) {
  S3Url url{.access = defaults};
  const size_t options = FindUrlOptions(name);
  const size_t begin = std::min(kScheme.size(), options);
  const size_t slash = std::min(name.find('/', begin), options);
  url.bucket = name.substr(begin, slash - begin);
  url.options = name.substr(options);
  if (slash < options) url.key = name.substr(slash + 1, options - slash - 1);
  absl::Status status = CheckBucket(url.bucket);
  if (status.ok() && !url.options.empty()) {
    status =
        ReadUrlOptions(std::string_view(url.options).substr(1), url.access);
  }
  if (status.ok() && url.key.size() > kKeyBytesMax) {
    status = InvalidArgument("a key has at most {} bytes", kKeyBytesMax);
  }
  if (!status.ok()) return Annotate(status, name);
  if (url.access.region.empty() && !url.access.endpoint.empty()) {
    url.access.region = "us-east-1";
  }
  return url;
}

std::string BucketUrl(const std::string& bucket, const S3Access& access) {
  std::string scheme = "https";
  std::string host;
  // A certificate for *.s3… does not match names with two labels.
  bool path_style = bucket.find('.') != std::string::npos;
  if (access.endpoint.empty()) {
    host = fmt::format("s3.{}.amazonaws.com{}", access.region,
                       access.region.starts_with("cn-") ? ".cn" : "");
  } else {
    const size_t mark = access.endpoint.find("://");
    scheme = access.endpoint.substr(0, mark);
    host = access.endpoint.substr(mark + 3);
    path_style = !access.virtual_hosted;
  }
  return path_style ? fmt::format("{}://{}/{}/", scheme, host, bucket)
                    : fmt::format("{}://{}.{}/", scheme, bucket, host);
}

}  // namespace feedmill
