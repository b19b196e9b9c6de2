#ifndef FEEDMILL_CORE_IO_CLOUD_URL_H_
#define FEEDMILL_CORE_IO_CLOUD_URL_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// Settings of a gs:// or az:// URL. They win over the environment.
struct CloudAccess {
  std::string account{};   // az:// only; "": as of the environment
  std::string endpoint{};  // "http://localhost:4443"; "": not in the URL
  std::optional<bool> anonymous{};  // nullopt: not in the URL
};

// "az://data/photos/1.jpg?account=lab7" is the key "photos/1.jpg" of the bucket
// (Azure: container) "data" with the options "?account=lab7".
struct CloudUrl {
  std::string bucket{};
  std::string key{};      // may be a pattern; "" for the bucket itself
  std::string options{};  // with the '?'; "" for none
  CloudAccess access{};
};

// Parses a URL or pattern of the scheme "gs" or "az". InvalidArgument says what
// to write instead; it does not repeat credentials.
absl::StatusOr<CloudUrl> ParseCloudUrl(std::string_view scheme,
                                       const std::string& name);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_CLOUD_URL_H_
