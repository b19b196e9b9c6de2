#include "cloud/http_json.h"

#include "core/base/status.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

constexpr size_t kMessageMax = 300;

// Returns one line of text without control characters.
std::string Readable(std::string text) {
  if (text.size() > kMessageMax) text.resize(kMessageMax);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

std::string ApiMessage(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  // Google's {"error": {"message": …}}, Kubernetes' {"message": …}.
  std::string message = TextAt(json, {"error", "message"});
  if (message.empty()) message = TextAt(json, {"message"});
  if (message.empty()) message = body;
  return Readable(message);
}

std::string WithoutQuery(std::string_view url) {
  return std::string(url.substr(0, url.find('?')));
}

}  // namespace

absl::Status HttpError(std::string_view url, const HttpResponse& response) {
  const std::string text =
      fmt::format("{} answers {}: {}", WithoutQuery(url), response.status,
                  ApiMessage(response.body));
  switch (response.status) {
    case 400:
      return absl::InvalidArgumentError(text);
    case 404:
      return absl::NotFoundError(text);
    case 408:
    case 429:
      return absl::UnavailableError(text);
    default:
      return response.status >= 500 ? absl::UnavailableError(text)
                                    : absl::FailedPreconditionError(text);
  }
}

absl::StatusOr<nlohmann::json> ParseJsonAnswer(std::string_view url,
                                               const std::string& body) {
  auto json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_object()) return json;
  return Unavailable("the answer of {} is no JSON object: '{}'",
                     WithoutQuery(url), Readable(body.substr(0, 60)));
}

const nlohmann::json* JsonAt(const nlohmann::json& value,
                             std::initializer_list<const char*> path) {
  const nlohmann::json* at = &value;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string TextAt(const nlohmann::json& value,
                   std::initializer_list<const char*> path) {
  const nlohmann::json* text = JsonAt(value, path);
  if (text == nullptr || !text->is_string()) return "";
  return text->get<std::string>();
}

std::optional<int64_t> CountAt(const nlohmann::json& value,
                               std::initializer_list<const char*> path) {
  const nlohmann::json* number = JsonAt(value, path);
  if (number == nullptr) return std::nullopt;
  if (number->is_string()) return ParseDecimal(number->get<std::string>());
  if (!number->is_number_integer()) return std::nullopt;
  const auto count = number->get<int64_t>();
  return count < 0 ? std::nullopt : std::optional(count);
}

std::string JoinHostPort(std::string_view host, int64_t port) {
  const bool bare_ipv6 =
      host.find(':') != std::string_view::npos && !host.starts_with("[");
  return bare_ipv6 ? fmt::format("[{}]:{}", host, port)
                   : fmt::format("{}:{}", host, port);
}

bool IsSafeForTokens(std::string_view url) {
  if (url.starts_with("https://")) return true;
  if (!url.starts_with("http://")) return false;
  const std::string_view rest = url.substr(7);
  const std::string_view host =
      rest.starts_with("[") ? rest.substr(0, rest.find(']') + 1)
                            : rest.substr(0, rest.find_first_of(":/?#"));
  if (rest.substr(0, rest.find_first_of("/?#")).find('@') !=
      std::string_view::npos) {
    return false;
  }
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace feedmill
