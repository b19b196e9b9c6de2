#include <nlohmann/json.hpp>

#include "cloud/http_client.h"
#include "core/base/status.h"
#include "tools/command/trace_tracks.h"

namespace feedmill {
namespace {

constexpr size_t kShownMax = 200;  // bytes of a response in an error

// Spans that a response says were rejected; the number is a string or not.
uint64_t Rejected(const std::string& body, std::string& why) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("partialSuccess")) return 0;
  const auto& partial = json["partialSuccess"];
  if (!partial.is_object() || !partial.contains("rejectedSpans")) return 0;
  if (partial.contains("errorMessage") && partial["errorMessage"].is_string()) {
    why = partial["errorMessage"].get<std::string>();
  }
  const auto& count = partial["rejectedSpans"];
  if (count.is_number_unsigned()) return count.get<uint64_t>();
  return count.is_string() && count.get<std::string>() != "0" ? 1 : 0;
}

absl::Status CheckResponse(const std::string& url, int status,
                           const std::string& body) {
  if (status < 200 || status >= 300) {
    return Unavailable("{} answered {}: {}", url, status,
                       body.substr(0, kShownMax));
  }
  std::string why;
  if (Rejected(body, why) > 0) {
    return Unavailable("{} took only a part of the spans: {}", url,
                       why.empty() ? "it gave no reason" : why);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportOtlp(const std::string& url,
                        const std::vector<std::string>& requests,
                        absl::Duration timeout) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    return InvalidArgument(
        "--otlp: '{}' is no URL of OTLP/HTTP, like http://host:4318/v1/traces",
        url);
  }
  for (const std::string& request : requests) {
    const HttpFetch fetch = OpenHttp(timeout);
    const auto response =
        fetch({.url = url,
               .method = "POST",
               .headers = {{"Content-Type", "application/json"}},
               .body = request});
    if (!response.ok()) {
      return Annotate(response.status(), "cannot send the trace");
    }
    FM_RETURN_IF_ERROR(CheckResponse(url, response->status, response->body));
  }
  return absl::OkStatus();
}

}  // namespace feedmill
