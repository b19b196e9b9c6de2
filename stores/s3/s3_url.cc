#include "stores/s3/s3_url.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr size_t kKeyBytesMax = 1024;

bool IsOptionLetter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

bool IsHostLetter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
         c == '.' || c == '_' || c == ':' || c == '[' || c == ']';
}

// Parses "1", "true", "YES" and so on.
std::optional<bool> BoolOf(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (text == "1" || text == "true" || text == "yes") return true;
  if (text == "0" || text == "false" || text == "no") return false;
  return std::nullopt;
}

// Returns the position of the '?' that begins options; the end if there are
// none.
size_t OptionsOf(std::string_view name) {
  const size_t mark = name.rfind('?');
  if (mark == std::string_view::npos) return name.size();
  const std::string_view rest = name.substr(mark + 1);
  const size_t equals = rest.find('=');
  if (equals == std::string_view::npos || equals == 0 ||
      !std::all_of(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(equals),
                   IsOptionLetter) ||
      rest.find_first_of("/*") != std::string_view::npos) {
    return name.size();
  }
  return mark;
}

// Parses "localhost:9000" or "http://localhost:9000". Adds the scheme and
// removes trailing slashes.
absl::StatusOr<std::string> EndpointOf(std::string_view text,
                                       std::string_view scheme,
                                       std::string_view what) {
  const size_t mark = text.find("://");
  if (mark != std::string_view::npos) {
    scheme = text.substr(0, mark);
    text = text.substr(mark + 3);
  }
  while (text.ends_with('/')) text.remove_suffix(1);
  if ((scheme == "http" || scheme == "https") && !text.empty() &&
      std::all_of(text.begin(), text.end(), IsHostLetter)) {
    return fmt::format("{}://{}", scheme, text);
  }
  return InvalidArgument(
      "{} is the address of an S3 server, such as http://localhost:9000", what);
}

absl::Status CheckRegion(const std::string& region, std::string_view what) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
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
    const auto set = BoolOf(value);
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
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const auto value =
        PercentDecoded(part.substr(std::min(equals + 1, part.size())));
    if (!value || value->empty()) {
      return InvalidArgument("the option '{}' has no value",
                             part.substr(0, equals));
    }
    FM_RETURN_IF_ERROR(
        ReadOption(std::string(part.substr(0, equals)), *value, access, read));
  }
  if (!read.endpoint.empty()) {
    FM_ASSIGN_OR_RETURN(
        access.endpoint,
        EndpointOf(read.endpoint, read.scheme.empty() ? "https" : read.scheme,
                   "endpoint_override"));
  } else if (!read.scheme.empty()) {
    return InvalidArgument("scheme is of no use without endpoint_override");
  }
  return absl::OkStatus();
}

absl::Status CheckBucket(const std::string& bucket) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
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
    FM_ASSIGN_OR_RETURN(access.endpoint, EndpointOf(*endpoint, "https", name));
  }
  for (const auto& [name, flag] :
       {std::pair{"AWS_NO_SIGN_REQUEST", &access.anonymous},
        std::pair{"AWS_VIRTUAL_HOSTING", &access.virtual_hosted}}) {
    const auto value = look(name);
    if (!value) continue;
    const auto set = BoolOf(*value);
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
  const size_t options = OptionsOf(name);
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

std::string PercentEncoded(std::string_view text, bool keeps_slash) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                       c == '_' || c == '~' || (c == '/' && keeps_slash);
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const int high = at + 1 < text.size() ? digit(text[at + 1]) : -1;
    const int low = at + 2 < text.size() ? digit(text[at + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

}  // namespace feedmill
