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
#include "cloud/http.h"

namespace feedmill {

// Google Cloud as a resolver asks it, in one conversation: the metadata server
// of the machine that this runs on (GCE_METADATA_HOST, else
// metadata.google.internal), and an API with a token from there. The variable
// CLOUDSDK_AUTH_ACCESS_TOKEN is a token for machines elsewhere (gcloud auth
// print-access-token). One thread.
class GoogleCloud {
 public:
  // `endpoint` is the API's, https://compute.googleapis.com; one that is
  // neither https nor on this machine gets no token.
  static absl::StatusOr<GoogleCloud> Open(const CloudContext& context,
                                          std::string endpoint,
                                          absl::Duration timeout);

  // What stands at computeMetadata/v1/PATH. NotFound if nothing does;
  // Unavailable names the metadata server where there is none.
  absl::StatusOr<std::string> Metadata(const std::string& path) const;

  // `given` if it is not "", else the project, or the zone, of this machine.
  absl::StatusOr<std::string> Project(const std::string& given) const;
  absl::StatusOr<std::string> Zone(const std::string& given) const;

  // The API's answer. A token that it does not take (401) is asked for anew,
  // once: tokens expire.
  absl::StatusOr<nlohmann::json> Get(const std::string& path);
  // Each page of a list, by nextPageToken; `path` has a query. With a `body`
  // it is a POST.
  absl::Status ForEachPage(
      const std::string& path, const std::optional<std::string>& body,
      const std::function<absl::Status(const nlohmann::json& page)>& take);

  const std::string& endpoint() const { return endpoint_; }
  // Whether the token is this machine's own.
  bool on_google() const { return !given_token_.has_value(); }

 private:
  GoogleCloud(const Environment& environment, HttpFetch fetch,
              std::string endpoint);

  absl::Status RenewToken();
  absl::StatusOr<nlohmann::json> Call(const std::string& path,
                                      const std::optional<std::string>& body);

  HttpFetch fetch_;
  std::string metadata_;  // http://metadata.google.internal/computeMetadata/v1/
  std::string endpoint_;
  std::optional<std::string> given_token_;
  std::string token_;  // "" until one is asked for
};

// The part after the last '/': metadata says projects/1/zones/us-east1-d.
std::string LastSegment(const std::string& path);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_GOOGLE_CLOUD_H_
