#include "core/io/cloud_url.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/io/url_options.h"

namespace feedmill {
namespace {

bool IsAccount(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

absl::StatusOr<CloudAccess> ReadOptions(std::string_view scheme,
                                        std::string_view text) {
  const bool azure = scheme == "az";
  CloudAccess access;
  std::string protocol = "https";
  FM_ASSIGN_OR_RETURN(const auto options, ParseUrlOptions(text));
  for (const auto& [name, value] : options) {
    if (name == "anonymous") {
      access.anonymous = ParseFlag(value);
      if (!access.anonymous) {
        return InvalidArgument("anonymous is true or false");
      }
    } else if (name == "scheme") {
      protocol = value;
    } else if (name == "endpoint_override") {
      access.endpoint = value;
    } else if (name == "account" && azure) {
      if (!IsAccount(value)) {
        return InvalidArgument(
            "account is the name of a storage account: small letters and "
            "digits");
      }
      access.account = value;
    } else {
      return InvalidArgument(
          "unknown option '{}'; there are {}endpoint_override, scheme and "
          "anonymous ([?] stands for a '?' of a name)",
          name, azure ? "account, " : "");
    }
  }
  if (access.endpoint.empty()) return access;
  FM_ASSIGN_OR_RETURN(access.endpoint, ParseEndpoint(access.endpoint, protocol,
                                                     "endpoint_override"));
  return access;
}

}  // namespace

absl::StatusOr<CloudUrl> ParseCloudUrl(std::string_view scheme,
                                       const std::string& name) {
  CloudUrl url;
  const size_t options = FindUrlOptions(name);
  const size_t begin = std::min(scheme.size() + 3, options);
  const size_t slash = std::min(name.find('/', begin), options);
  url.bucket = name.substr(begin, slash - begin);
  url.options = name.substr(options);
  if (slash < options) url.key = name.substr(slash + 1, options - slash - 1);
  if (url.bucket.find('@') != std::string::npos) {
    return InvalidArgument(
        "{}: credentials are not part of the URL; set them in the environment "
        "(docs/storage.md)",
        name.substr(0, begin) + "…" + name.substr(name.find('@')));
  }
  if (url.bucket.empty()) {
    return InvalidArgument("{}: names no bucket; write {}://BUCKET/KEY", name,
                           scheme);
  }
  const std::string_view key = url.key;
  const size_t end = key.find_last_not_of('/') + 1;
  if (key.starts_with('/') || key.substr(0, end).find("//") != key.npos) {
    return InvalidArgument(
        "{}: the key has an empty part between slashes, which Arrow's client "
        "cannot name; copy the object to another key",
        name);
  }
  if (url.options.empty()) return url;
  auto access = ReadOptions(scheme, std::string_view(url.options).substr(1));
  if (!access.ok()) return Annotate(access.status(), name);
  url.access = *std::move(access);
  return url;
}

}  // namespace feedmill
