#include "tools/command/otlp_export.h"

#include <curl/curl.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kResponseMax = size_t{1} << 20;
constexpr size_t kShownMax = 200;  // bytes of a response in an error

size_t TakeBody(char* data, size_t, size_t size, void* user) {
  auto* const body = static_cast<std::string*>(user);
  if (size > kResponseMax - body->size()) return 0;  // ends the transfer
  body->append(data, size);
  return size;
}

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

absl::Status CheckResponse(const std::string& url, long status,
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
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(
      curl_easy_init(), curl_easy_cleanup);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"),
      curl_slist_free_all);
  if (curl == nullptr || headers == nullptr) {
    return ResourceExhausted("no memory is left for a request to {}", url);
  }
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "feedmill");
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(timeout) + 1));
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, TakeBody);
  for (const std::string& request : requests) {
    std::string body;
    char why[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.data());
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.size()));
    const CURLcode code = curl_easy_perform(curl.get());
    if (code != CURLE_OK) {
      return Unavailable("cannot send the trace to {}: {}", url,
                         why[0] != '\0' ? why : curl_easy_strerror(code));
    }
    long status = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    FM_RETURN_IF_ERROR(CheckResponse(url, status, body));
  }
  return absl::OkStatus();
}

}  // namespace feedmill
