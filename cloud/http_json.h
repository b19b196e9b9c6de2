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

// JSON answers and errors of cloud APIs.

// Returns the error for a status, with the API's own message: InvalidArgument
// for 400, NotFound for 404, Unavailable for temporary errors (408, 429, 5xx),
// FailedPrecondition for all others, e.g. 401 and 403.
absl::Status HttpError(std::string_view url, const HttpResponse& response);

// Parses a JSON object. Unavailable if the answer is not one: another server
// answered.
absl::StatusOr<nlohmann::json> ParseJsonAnswer(std::string_view url,
                                               const std::string& body);

// Returns the value at a path of keys; nullptr if it is missing or null.
const nlohmann::json* JsonAt(const nlohmann::json& value,
                             std::initializer_list<const char*> path);
// Returns the string at a path; "" if it is missing or not a string.
std::string TextAt(const nlohmann::json& value,
                   std::initializer_list<const char*> path);
// Returns a number, given as a number or as digits in a string.
std::optional<int64_t> CountAt(const nlohmann::json& value,
                               std::initializer_list<const char*> path);

// "10.0.0.1:80", "[fd00::1]:80": puts an IPv6 address in brackets.
std::string JoinHostPort(std::string_view host, int64_t port);

// True if credentials may be sent there: https, or this machine.
bool IsSafeForTokens(std::string_view url);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_HTTP_JSON_H_
