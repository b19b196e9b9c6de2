#ifndef FEEDMILL_CLOUD_HTTP_JSON_H_
#define FEEDMILL_CLOUD_HTTP_JSON_H_

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/http.h"

namespace feedmill {

// What the APIs of clouds have in common: JSON in answers, and errors in it.

// The error that an answer with such a status is, with the API's own message:
// InvalidArgument for 400, NotFound for 404, Unavailable for what may pass
// (408, 429, 5xx), FailedPrecondition for others, 401 and 403 among them.
absl::Status HttpError(std::string_view url, const HttpResponse& response);

// An object, or Unavailable: whoever answered is not that API.
absl::StatusOr<nlohmann::json> ParseJsonAnswer(std::string_view url,
                                               const std::string& body);

// What stands at that path of keys; nullptr if nothing, or null, does.
const nlohmann::json* JsonAt(const nlohmann::json& value,
                             std::initializer_list<const char*> path);
// "" if there is nothing or no string.
std::string TextAt(const nlohmann::json& value,
                   std::initializer_list<const char*> path);
// Of a number, or of digits in a string, as Google's APIs have them.
std::optional<int64_t> CountAt(const nlohmann::json& value,
                               std::initializer_list<const char*> path);

// "10.0.0.1:80", "[fd00::1]:80": an IPv6 address needs brackets.
std::string JoinHostPort(std::string_view host, int64_t port);

// Whether credentials may travel there: https, or this machine.
bool IsSafeForTokens(std::string_view url);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_HTTP_JSON_H_
