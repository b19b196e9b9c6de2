#ifndef FEEDMILL_STORES_AZURE_AZURE_REQUEST_H_
#define FEEDMILL_STORES_AZURE_AZURE_REQUEST_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/azure_access.h"
#include "core/io/cloud_url.h"
#include "stores/http/remote_file.h"

namespace feedmill {

// A change of an object of Azure Blob Storage.
struct AzureEdit {
  std::string method = "PUT";                 // or DELETE
  bool only_new = false;                      // of PUT
  std::shared_ptr<const std::string> body{};  // of PUT
};

// Returns the request of a change at a time, with the login of `access`: the
// account's key signs it ("Authorize with Shared Key" of Azure's reference), or
// it has the token. FailedPrecondition: the key is no Base64.
absl::StatusOr<StoreRequest> AzureRequest(const AzureAccess& access,
                                          const CloudUrl& object,
                                          const AzureEdit& change,
                                          absl::Time now);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_AZURE_AZURE_REQUEST_H_
