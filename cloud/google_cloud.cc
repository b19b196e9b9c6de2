#include "cloud/google_cloud.h"

#include "cloud/http_json.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/words.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

constexpr int kPagesMax = 1'000;

std::string WithoutEnd(std::string text, std::string_view spaces) {
  while (!text.empty() && spaces.find(text.back()) != std::string_view::npos) {
    text.pop_back();
  }
  return text;
}

}  // namespace

std::string LastSegment(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

GoogleCloud::GoogleCloud(const Environment& environment, HttpFetch fetch,
                         std::string endpoint)
    : environment_(environment),
      fetch_(std::move(fetch)),
      endpoint_(std::move(endpoint)),
      tokens_(environment) {}

absl::StatusOr<GoogleCloud> GoogleCloud::Open(const CloudContext& context,
                                              std::string endpoint,
                                              absl::Duration timeout) {
  if (context.open_http == nullptr) {
    return FailedPrecondition("there is no network here");
  }
  endpoint = WithoutEnd(std::move(endpoint), "/");
  if (!IsSafeForTokens(endpoint)) {
    return InvalidArgument(
        "parameter 'endpoint' is https://HOST, so that no token goes there "
        "unencrypted, not '{}'",
        endpoint);
  }
  return GoogleCloud(context.environment, context.open_http(timeout),
                     std::move(endpoint));
}

absl::StatusOr<std::string> GoogleCloud::Project(
    const std::string& given) const {
  if (!given.empty()) return given;
  auto project = Metadata("project/project-id");
  if (project.ok()) return project;
  return Annotate(project.status(), "no project is given (project=NAME)");
}

absl::StatusOr<std::string> GoogleCloud::Zone(const std::string& given) const {
  if (!given.empty()) return given;
  const auto zone = Metadata("instance/zone");
  if (zone.ok()) return LastSegment(*zone);
  return Annotate(zone.status(), "no zone is given (zone=NAME)");
}

absl::StatusOr<nlohmann::json> GoogleCloud::Call(
    const std::string& path, const std::optional<std::string>& body) {
  HttpRequest request{endpoint_ + path};
  if (body.has_value()) {
    request.method = "POST";
    request.body = *body;
  }
  for (bool again = false;; again = true) {
    // The time does not matter: a token outlives a Resolve().
    FM_ASSIGN_OR_RETURN(const std::string token,
                        tokens_.Get(fetch_, absl::UnixEpoch()));
    request.headers = {{"Authorization", "Bearer " + token},
                       {"Accept", "application/json"}};
    if (body.has_value()) {
      request.headers.emplace_back("Content-Type", "application/json");
    }
    FM_ASSIGN_OR_RETURN(const HttpResponse response, fetch_(request));
    if (response.status == kHttpUnauthorized && !again && on_google()) {
      tokens_.Forget();
      continue;
    }
    if (response.status != 200) return HttpError(request.url, response);
    return ParseJsonAnswer(request.url, response.body);
  }
}

absl::StatusOr<nlohmann::json> GoogleCloud::Get(const std::string& path) {
  return Call(path, std::nullopt);
}

absl::Status GoogleCloud::ForEachPage(
    const std::string& path, const std::optional<std::string>& body,
    const std::function<absl::Status(const nlohmann::json& page)>& take) {
  std::string next;
  for (int pages = 0; pages < kPagesMax; ++pages) {
    FM_ASSIGN_OR_RETURN(
        const nlohmann::json page,
        Call(next.empty() ? path : path + "&pageToken=" + PercentEncoded(next),
             body));
    FM_RETURN_IF_ERROR(take(page));
    next = TextAt(page, {"nextPageToken"});
    if (next.empty()) return absl::OkStatus();
  }
  return ResourceExhausted("{} answers more than {} pages", endpoint_,
                           kPagesMax);
}

}  // namespace feedmill
