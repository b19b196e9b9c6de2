#include "stores/azure/azure_request.h"

#include <string_view>

#include "absl/strings/escaping.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/plugins/libcrypto.h"

namespace feedmill {
namespace {

// Returns the text that the account's key signs.
std::string SignedText(const AzureEdit& change, std::string_view own_headers,
                       std::string_view resource) {
  const bool has_body = change.body != nullptr && !change.body->empty();
  // Lines without a value are of headers that are not sent.
  return fmt::format("{}\n\n\n{}\n\n{}\n\n\n\n{}\n\n\n{}{}", change.method,
                     has_body ? std::to_string(change.body->size()) : "",
                     change.body == nullptr ? "" : "application/octet-stream",
                     change.only_new ? "*" : "", own_headers, resource);
}

absl::StatusOr<std::string> Signature(const AzureAccess& access,
                                      std::string_view text) {
  std::string key;
  if (!absl::Base64Unescape(access.key, &key) || key.empty()) {
    return FailedPrecondition(
        "the account's key is malformed; check AZURE_STORAGE_KEY or "
        "AZURE_STORAGE_CONNECTION_STRING");
  }
  FM_ASSIGN_OR_RETURN(const std::string code, HmacSha256(key, text));
  return absl::Base64Escape(code);
}

}  // namespace

absl::StatusOr<StoreRequest> AzureRequest(const AzureAccess& access,
                                          const CloudUrl& object,
                                          const AzureEdit& change,
                                          absl::Time now) {
  FM_ASSIGN_OR_RETURN(std::string url, access.Address());
  url += fmt::format("/{}/{}", PercentEncoded(object.bucket),
                     PercentEncoded(object.key, "/"));
  // Azure's own headers in the order of their names, as the signature has them.
  std::string own;
  StoreRequest request;
  request.is_web = false;
  request.method = change.method;
  const auto add = [&](std::string_view name, std::string_view value) {
    request.headers.push_back(fmt::format("{}: {}", name, value));
    own += fmt::format("{}:{}\n", name, value);
  };
  if (change.body != nullptr) add("x-ms-blob-type", "BlockBlob");
  add("x-ms-date",
      absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", now, absl::UTCTimeZone()));
  add("x-ms-version", "2021-12-02");
  if (change.only_new) request.headers.emplace_back("If-None-Match: *");
  request.body = change.body;
  if (access.anonymous) {
    request.url = std::move(url);
    return request;
  }
  if (access.key.empty()) {
    const std::string_view token = access.token;
    request.url =
        fmt::format("{}?{}", url, token.substr(token.starts_with('?') ? 1 : 0));
    return request;
  }
  const std::string resource =
      "/" + access.account + url.substr(url.find('/', url.find("://") + 3));
  FM_ASSIGN_OR_RETURN(const std::string signature,
                      Signature(access, SignedText(change, own, resource)));
  request.headers.push_back(
      fmt::format("Authorization: SharedKey {}:{}", access.account, signature));
  request.url = std::move(url);
  return request;
}

}  // namespace feedmill
