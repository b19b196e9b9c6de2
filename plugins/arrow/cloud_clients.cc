#include "plugins/arrow/cloud_clients.h"

#include <arrow/filesystem/azurefs.h>
#include <arrow/filesystem/gcsfs.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/io/azure_access.h"
#include "core/io/url_options.h"
#include "plugins/arrow/arrow_status.h"

namespace feedmill {
namespace {

// Part of the patience for which Google's client repeats requests itself: its
// error should come before the patience ends.
constexpr double kOwnRepeats = 0.8;
// Google's client makes no further request after this time. It is shorter than
// a request, and long enough to begin the first one.
constexpr double kOneRequestSeconds = 0.001;

// Returns "" if the variable is not set.
std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsSet(const char* name) {
  return ParseFlag(Variable(name)).value_or(false);
}

struct StoreAddress {
  std::string scheme;
  std::string host;
  std::string path;  // behind the host, without '/'
};

// Parses "http://localhost:9000/account"; the default scheme is https.
StoreAddress AddressOf(std::string_view text) {
  StoreAddress address{"https", "", ""};
  const size_t mark = text.find("://");
  if (mark != std::string_view::npos) {
    address.scheme = text.substr(0, mark);
    text.remove_prefix(mark + 3);
  }
  while (text.ends_with('/')) text.remove_suffix(1);
  const size_t slash = std::min(text.find('/'), text.size());
  address.host = text.substr(0, slash);
  address.path = text.substr(std::min(slash + 1, text.size()));
  return address;
}

absl::Status SetEndpoint(const std::string& endpoint,
                         arrow::fs::AzureOptions& options) {
  if (endpoint.empty()) return absl::OkStatus();
  const StoreAddress address = AddressOf(endpoint);
  if (address.scheme != "http" && address.scheme != "https") {
    return FailedPrecondition(
        "BlobEndpoint of AZURE_STORAGE_CONNECTION_STRING is no address such as "
        "http://127.0.0.1:10000/account");
  }
  // Arrow appends the account to the host, or puts it before a host that begins
  // with '.'.
  const std::string prefix = options.account_name + ".";
  const bool is_host = address.path.empty() && address.host.starts_with(prefix);
  options.blob_storage_authority =
      is_host ? address.host.substr(prefix.size() - 1) : address.host;
  options.blob_storage_scheme = options.dfs_storage_scheme = address.scheme;
  options.dfs_storage_authority = options.blob_storage_authority;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CloudStore>> OpenGoogleStore(
    const CloudAccess& access, const CloudSettings& settings) {
  return WithoutExceptions(
      [&]() -> absl::StatusOr<std::shared_ptr<const CloudStore>> {
        const std::string emulator = access.endpoint.empty()
                                         ? Variable("STORAGE_EMULATOR_HOST")
                                         : access.endpoint;
        const bool anonymous =
            access.anonymous.value_or(IsSet("GS_NO_SIGN_REQUEST"));
        auto options = emulator.empty() && !anonymous
                           ? arrow::fs::GcsOptions::Defaults()
                           : arrow::fs::GcsOptions::Anonymous();
        options.retry_limit_seconds =
            kOwnRepeats * absl::ToDoubleSeconds(settings.patience);
        if (!emulator.empty()) {
          const StoreAddress address = AddressOf(emulator);
          options.scheme = address.scheme;
          options.endpoint_override = address.host;
        }
        auto files = arrow::fs::GcsFileSystem::Make(options);
        if (!files.ok()) return StatusOfArrow(files.status());
        options.retry_limit_seconds = kOneRequestSeconds;
        auto files_once = arrow::fs::GcsFileSystem::Make(options);
        if (!files_once.ok()) return StatusOfArrow(files_once.status());
        return std::make_shared<const CloudStore>(
            CloudStore{*files, *files_once, settings, /*pins_versions=*/true,
                       /*decompresses=*/true});
      });
}

absl::StatusOr<std::shared_ptr<const CloudStore>> OpenAzureStore(
    const CloudAccess& url_access, const CloudSettings& settings) {
  return WithoutExceptions(
      [&]() -> absl::StatusOr<std::shared_ptr<const CloudStore>> {
        FM_ASSIGN_OR_RETURN(
            const AzureAccess access,
            AzureAccessOf(url_access, [](const std::string& name) {
              return Variable(name.c_str());
            }));
        arrow::fs::AzureOptions options;
        options.account_name = access.account;
        FM_RETURN_IF_ERROR(SetEndpoint(access.endpoint, options));
        const arrow::Status set =
            access.anonymous ? options.ConfigureAnonymousCredential()
            : !access.key.empty()
                ? options.ConfigureAccountKeyCredential(access.key)
            : !access.token.empty()
                ? options.ConfigureSASCredential(access.token)
                : options.ConfigureDefaultCredential();
        // The error text may contain the key, so it is not shown.
        if (!set.ok()) {
          return FailedPrecondition(
              "the credentials of the environment are malformed; check "
              "AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN and "
              "AZURE_STORAGE_CONNECTION_STRING");
        }
        auto files = arrow::fs::AzureFileSystem::Make(options);
        if (!files.ok()) return StatusOfArrow(files.status());
        return std::make_shared<const CloudStore>(
            CloudStore{*files, *files, settings, /*pins_versions=*/false});
      });
}

}  // namespace feedmill
