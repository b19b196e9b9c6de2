#ifndef FEEDMILL_CLOUD_GOOGLE_CLOUD_H_
#define FEEDMILL_CLOUD_GOOGLE_CLOUD_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cloud/cloud_context.h"
#include "cloud/google_tokens.h"
#include "cloud/http.h"

namespace feedmill {

// A client of Google Cloud for one Resolve(): the metadata server of this
// machine, and an API that gets the token of that server. On other machines
// CLOUDSDK_AUTH_ACCESS_TOKEN gives the token. One thread.
class GoogleCloud {
 public:
  // `endpoint`: URL of the API, e.g. https://compute.googleapis.com. A token is
  // sent only over https or to this machine.
  static absl::StatusOr<GoogleCloud> Open(const CloudContext& context,
                                          std::string endpoint,
                                          absl::Duration timeout);

  // See GoogleMetadata.
  absl::StatusOr<std::string> Metadata(const std::string& path) const {
    return GoogleMetadata(environment_, fetch_, path);
  }

  // Returns `given` unless it is ""; else this machine's project or zone.
  absl::StatusOr<std::string> Project(const std::string& given) const;
  absl::StatusOr<std::string> Zone(const std::string& given) const;

  // Returns the API's answer. If the token is refused (401), it is renewed
  // once, because tokens expire.
  absl::StatusOr<nlohmann::json> Get(const std::string& path);
  // Calls `take` for each page of a list, by nextPageToken; `path` has a query.
  // With a `body` the requests are POSTs.
  absl::Status ForEachPage(
      const std::string& path, const std::optional<std::string>& body,
      const std::function<absl::Status(const nlohmann::json& page)>& take);

  const std::string& endpoint() const { return endpoint_; }
  // True if the token is this machine's own.
  bool on_google() const { return tokens_.renewable(); }

 private:
  GoogleCloud(const Environment& environment, HttpFetch fetch,
              std::string endpoint);

  absl::StatusOr<nlohmann::json> Call(const std::string& path,
                                      const std::optional<std::string>& body);

  Environment environment_;
  HttpFetch fetch_;
  std::string endpoint_;
  GoogleTokens tokens_;
};

// The part after the last '/', e.g. of the metadata value
// projects/1/zones/us-east1-d.
std::string LastSegment(const std::string& path);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_GOOGLE_CLOUD_H_
