#include "cloud/google_tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "cloud/http_json.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr int kNotFound = 404;
// A token is renewed this long before it ends.
constexpr absl::Duration kReserve = absl::Minutes(4);
constexpr int64_t kSecondsOfAssertion = 3'600;
constexpr std::string_view kGoogleTokenUrl =
    "https://oauth2.googleapis.com/token";
constexpr std::string_view kScope =
    "https://www.googleapis.com/auth/cloud-platform";

std::string MetadataUrl(const Environment& environment) {
  return "http://" +
         environment.Get("GCE_METADATA_HOST")
             .value_or("metadata.google.internal") +
         "/computeMetadata/v1/";
}

std::string UrlBase64(const std::string& bytes) {
  std::string text;
  absl::WebSafeBase64Escape(bytes, &text);
  return text;
}

// The assertion of a service account: a JSON Web Token that its key signs
// (https://developers.google.com/identity/protocols/oauth2/service-account).
absl::StatusOr<std::string> AssertionOf(const nlohmann::json& login,
                                        const GoogleTokens::Logins& logins,
                                        const std::string& url,
                                        absl::Time now) {
  const int64_t seconds = absl::ToUnixSeconds(now);
  const nlohmann::json head = {{"alg", "RS256"},
                               {"typ", "JWT"},
                               {"kid", TextAt(login, {"private_key_id"})}};
  const nlohmann::json claims = {{"iss", TextAt(login, {"client_email"})},
                                 {"scope", kScope},
                                 {"aud", url},
                                 {"iat", seconds},
                                 {"exp", seconds + kSecondsOfAssertion}};
  std::string text = UrlBase64(head.dump()) + "." + UrlBase64(claims.dump());
  FM_ASSIGN_OR_RETURN(const std::string signature,
                      logins.sign(TextAt(login, {"private_key"}), text));
  return text + "." + UrlBase64(signature);
}

}  // namespace

absl::StatusOr<std::string> GoogleMetadata(const Environment& environment,
                                           const HttpFetch& fetch,
                                           const std::string& path) {
  const std::string server = MetadataUrl(environment);
  HttpRequest request{server + path};
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.direct = true;
  FM_ASSIGN_OR_RETURN(const HttpResponse response, fetch(request));
  const auto flavor = response.headers.find("metadata-flavor");
  if (flavor == response.headers.end() || flavor->second != "Google") {
    return Unavailable(
        "{} is not a Google metadata server: the header Metadata-Flavor is "
        "missing",
        server);
  }
  if (response.status == kNotFound) {
    return NotFound("{} has no {}", server, path);
  }
  if (response.status != 200) return HttpError(request.url, response);
  std::string text = response.body;
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text;
}

bool GoogleTokens::renewable() const {
  return !environment_.Get("CLOUDSDK_AUTH_ACCESS_TOKEN").has_value();
}

// Returns the path of the file with a login; "" if there is none.
absl::StatusOr<std::string> GoogleTokens::FileOfLogin() const {
  if (logins_.read_file == nullptr) return "";
  const auto named = environment_.Get("GOOGLE_APPLICATION_CREDENTIALS");
  if (named && !named->empty()) return *named;
  auto folder = environment_.Get("CLOUDSDK_CONFIG");
  if (!folder) {
    const auto home = environment_.Get("HOME");
    if (!home) return "";
    folder = *home + "/.config/gcloud";
  }
  std::string path = *folder + "/application_default_credentials.json";
  const absl::Status found = logins_.read_file(path).status();
  if (absl::IsNotFound(found)) return "";
  FM_RETURN_IF_ERROR(Annotate(found, path));
  return path;
}

absl::Status GoogleTokens::TakeAnswer(const std::string& url,
                                      const std::string& text, absl::Time now) {
  FM_ASSIGN_OR_RETURN(const nlohmann::json answer, ParseJsonAnswer(url, text));
  token_ = TextAt(answer, {"access_token"});
  if (token_.empty()) {
    return Unavailable("{}: the token's answer has no access_token", url);
  }
  const int64_t seconds = CountAt(answer, {"expires_in"}).value_or(600);
  expires_ = now + absl::Seconds(seconds) - kReserve;
  return absl::OkStatus();
}

absl::Status GoogleTokens::AskWithFile(const std::string& path,
                                       const HttpFetch& fetch, absl::Time now) {
  FM_ASSIGN_OR_RETURN(const std::string text, logins_.read_file(path));
  const auto login = nlohmann::json::parse(text, nullptr, false);
  const std::string type = TextAt(login, {"type"});
  std::string url = TextAt(login, {"token_uri"});
  if (url.empty()) url = kGoogleTokenUrl;
  if (!IsSafeForTokens(url)) {
    return FailedPrecondition("its token_uri is not https");
  }
  std::string body;
  if (type == "service_account") {
    FM_ASSIGN_OR_RETURN(const std::string assertion,
                        AssertionOf(login, logins_, url, now));
    body = "grant_type=" +
           PercentEncoded("urn:ietf:params:oauth:grant-type:jwt-bearer") +
           "&assertion=" + assertion;
  } else if (type == "authorized_user") {
    body = "grant_type=refresh_token";
    for (const char* const field :
         {"client_id", "client_secret", "refresh_token"}) {
      body +=
          fmt::format("&{}={}", field, PercentEncoded(TextAt(login, {field})));
    }
  } else {
    return absl::UnimplementedError(fmt::format(
        "its type is '{}'; feedmill knows service_account and "
        "authorized_user. Set CLOUDSDK_AUTH_ACCESS_TOKEN, or use the metadata "
        "server",
        type));
  }
  HttpRequest request{url, "POST"};
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = std::move(body);
  FM_ASSIGN_OR_RETURN(const HttpResponse response, fetch(request));
  if (response.status != 200) {
    const absl::Status error = HttpError(url, response);
    return absl::IsInvalidArgument(error)
               ? absl::FailedPreconditionError(error.message())
               : error;
  }
  return TakeAnswer(url, response.body, now);
}

absl::StatusOr<std::string> GoogleTokens::Get(const HttpFetch& fetch,
                                              absl::Time now) {
  if (const auto given = environment_.Get("CLOUDSDK_AUTH_ACCESS_TOKEN")) {
    return *given;
  }
  if (now < expires_) return token_;
  FM_ASSIGN_OR_RETURN(const std::string path, FileOfLogin());
  if (!path.empty()) {
    FM_RETURN_IF_ERROR(Annotate(AskWithFile(path, fetch, now),
                                fmt::format("Google's login in {}", path)));
    return token_;
  }
  const auto text = GoogleMetadata(environment_, fetch,
                                   "instance/service-accounts/default/token");
  if (!text.ok()) {
    return Annotate(text.status(),
                    "no token for Google's API (outside Google Cloud set "
                    "CLOUDSDK_AUTH_ACCESS_TOKEN)");
  }
  FM_RETURN_IF_ERROR(TakeAnswer(MetadataUrl(environment_), *text, now));
  return token_;
}

}  // namespace feedmill
