#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_CLIENTS_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_CLIENTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/io/cloud_url.h"
#include "plugins/arrow/cloud_fetches.h"

namespace feedmill {

// Opens Google Cloud Storage with the application's default credentials
// (GOOGLE_APPLICATION_CREDENTIALS, gcloud, the machine's account).
// GS_NO_SIGN_REQUEST=true or anonymous=true: no credentials.
// STORAGE_EMULATOR_HOST or endpoint_override: another server, without
// credentials.
absl::StatusOr<std::shared_ptr<const CloudStore>> OpenGoogleStore(
    const CloudAccess& access, const CloudSettings& settings);

// Opens Azure Blob Storage: AZURE_STORAGE_CONNECTION_STRING, or
// AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or else
// Azure's default chain. AZURE_NO_SIGN_REQUEST=true: no credentials.
//
// These are the credentials of one account. If `access` names another account,
// AZURE_STORAGE_KEY_NAME and AZURE_STORAGE_SAS_TOKEN_NAME are used, where NAME
// is the account in capital letters, or else the default chain. An endpoint of
// `access` receives no token: it needs a key, which only signs, or anonymous.
//
// FailedPrecondition if no account is given.
absl::StatusOr<std::shared_ptr<const CloudStore>> OpenAzureStore(
    const CloudAccess& access, const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_CLIENTS_H_
