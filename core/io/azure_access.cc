#include "core/io/azure_access.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "absl/strings/ascii.h"
#include "core/base/status.h"
#include "core/io/url_options.h"

namespace feedmill {
namespace {

using Variables = std::function<std::string(const std::string& name)>;

// Parses "AccountName=a;AccountKey=b==" into a map.
std::map<std::string, std::string> PartsOfConnection(std::string_view text) {
  std::map<std::string, std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    parts.emplace(part.substr(0, equals), part.substr(equals + 1));
  }
  return parts;
}

AzureAccess AccessOfEnvironment(const Variables& variable) {
  auto parts = PartsOfConnection(variable("AZURE_STORAGE_CONNECTION_STRING"));
  if (!parts.empty()) {
    AzureAccess access{parts["AccountName"], parts["AccountKey"],
                       parts["SharedAccessSignature"], parts["BlobEndpoint"]};
    if (const std::string& suffix = parts["EndpointSuffix"];
        access.endpoint.empty() && !suffix.empty()) {
      access.endpoint =
          fmt::format("https://{}.blob.{}", access.account, suffix);
    }
    return access;
  }
  return {variable("AZURE_STORAGE_ACCOUNT"), variable("AZURE_STORAGE_KEY"),
          variable("AZURE_STORAGE_SAS_TOKEN")};
}

}  // namespace

absl::StatusOr<std::string> AzureAccess::Address() const {
  if (endpoint.empty()) {
    return fmt::format("https://{}.blob.core.windows.net", account);
  }
  const size_t mark = endpoint.find("://");
  const std::string scheme =
      mark == std::string::npos ? "https" : endpoint.substr(0, mark);
  std::string host = endpoint.substr(mark == std::string::npos ? 0 : mark + 3);
  while (host.ends_with('/')) host.pop_back();
  if ((scheme != "http" && scheme != "https") || host.empty()) {
    return FailedPrecondition(
        "BlobEndpoint of AZURE_STORAGE_CONNECTION_STRING is no address such as "
        "http://127.0.0.1:10000/account");
  }
  // The account is the first part of the host, or of the path.
  const bool named =
      host.starts_with(account + ".") || host.find('/') != std::string::npos;
  return fmt::format("{}://{}{}{}", scheme, host, named ? "" : "/",
                     named ? "" : account);
}

absl::StatusOr<AzureAccess> AzureAccessOf(const CloudAccess& options,
                                          const Variables& variable) {
  AzureAccess access = AccessOfEnvironment(variable);
  if (!options.account.empty() && options.account != access.account) {
    const std::string name = absl::AsciiStrToUpper(options.account);
    access = {options.account, variable("AZURE_STORAGE_KEY_" + name),
              variable("AZURE_STORAGE_SAS_TOKEN_" + name)};
  }
  access.anonymous = options.anonymous.value_or(
      ParseFlag(variable("AZURE_NO_SIGN_REQUEST")).value_or(false));
  if (access.account.empty()) {
    return FailedPrecondition(
        "no account: set AZURE_STORAGE_CONNECTION_STRING, or "
        "AZURE_STORAGE_ACCOUNT and, unless Azure's default credentials have "
        "access, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN; or write "
        "?account=NAME behind the name");
  }
  if (options.endpoint.empty()) return access;
  access.endpoint = options.endpoint;
  if (!access.key.empty() || options.anonymous.value_or(false)) {
    return access;
  }
  return FailedPrecondition(
      "endpoint_override needs an account key or anonymous=true: a token of "
      "the environment is not sent to a server that a URL names; for a token, "
      "set BlobEndpoint in AZURE_STORAGE_CONNECTION_STRING");
}

}  // namespace feedmill
