#ifndef FEEDMILL_CLOUD_GOOGLE_TOKENS_H_
#define FEEDMILL_CLOUD_GOOGLE_TOKENS_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cloud/http.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Returns the value at computeMetadata/v1/PATH of this machine's metadata
// server (GCE_METADATA_HOST, else metadata.google.internal). NotFound if it
// does not exist. Unavailable names the server if it cannot be reached.
absl::StatusOr<std::string> GoogleMetadata(const Environment& environment,
                                           const HttpFetch& fetch,
                                           const std::string& path);

// Tokens for Google's APIs. The first of these gives them:
//
// - CLOUDSDK_AUTH_ACCESS_TOKEN (gcloud auth print-access-token)
// - the file that GOOGLE_APPLICATION_CREDENTIALS names: the key of a service
//   account, or a user's login
// - a user's login in ~/.config/gcloud (gcloud auth application-default login)
// - this machine's metadata server
//
// Google's libraries search in the same order:
// https://cloud.google.com/docs/authentication/application-default-credentials
// One thread.
class GoogleTokens {
 public:
  // Reads the files with logins.
  struct Logins {
    std::function<absl::StatusOr<std::string>(const std::string& path)>
        read_file{};
    // Returns the RS256 signature of a text with a key in PEM.
    std::function<absl::StatusOr<std::string>(std::string_view key,
                                              std::string_view text)>
        sign{};
  };

  // Reads no file.
  explicit GoogleTokens(Environment environment)
      : GoogleTokens(std::move(environment), Logins()) {}
  GoogleTokens(Environment environment, Logins logins)
      : environment_(std::move(environment)), logins_(std::move(logins)) {}

  // Returns a token that is valid for some minutes. FailedPrecondition: a file
  // cannot be used; it says why. Unimplemented: it has a login of another kind.
  // Unavailable: nothing gives a token here.
  absl::StatusOr<std::string> Get(const HttpFetch& fetch, absl::Time now);
  // The API refuses the last token: the next Get requests another one.
  void Forget() { expires_ = absl::InfinitePast(); }

  // True if the token is not a given one, so that another may be requested.
  bool renewable() const;

 private:
  absl::StatusOr<std::string> FileOfLogin() const;
  absl::Status TakeAnswer(const std::string& url, const std::string& text,
                          absl::Time now);
  absl::Status AskWithFile(const std::string& path, const HttpFetch& fetch,
                           absl::Time now);

  const Environment environment_;
  const Logins logins_;
  std::string token_;
  absl::Time expires_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_GOOGLE_TOKENS_H_
