#ifndef FEEDMILL_CORE_IO_AZURE_ACCESS_H_
#define FEEDMILL_CORE_IO_AZURE_ACCESS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/cloud_url.h"

namespace feedmill {

// The account of Azure Blob Storage that an az:// URL means, and its login.
struct AzureAccess {
  std::string account{};
  std::string key{};       // of the account, in Base64
  std::string token{};     // shared access signature
  std::string endpoint{};  // "": Azure itself
  bool anonymous = false;  // neither is sent

  // The address of the containers, without a '/' at its end:
  // "https://lab7.blob.core.windows.net", "http://127.0.0.1:10000/lab7".
  // FailedPrecondition if the endpoint is no address.
  absl::StatusOr<std::string> Address() const;
};

// Returns the access of the environment, as the options of a URL change it.
// `variable` returns the value of a variable, "" if it is not set.
// FailedPrecondition says which variables to set. docs/storage.md describes
// them.
absl::StatusOr<AzureAccess> AzureAccessOf(
    const CloudAccess& options,
    const std::function<std::string(const std::string& name)>& variable);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_AZURE_ACCESS_H_
