#ifndef FEEDMILL_PLUGINS_ARROW_CLOUD_CLIENTS_H_
#define FEEDMILL_PLUGINS_ARROW_CLOUD_CLIENTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "plugins/arrow/cloud_fetches.h"

namespace feedmill {

// Opens Google Cloud Storage with the application's default credentials
// (GOOGLE_APPLICATION_CREDENTIALS, gcloud, the machine's account).
// GS_NO_SIGN_REQUEST=true: no credentials. STORAGE_EMULATOR_HOST: another
// server, without credentials.
absl::StatusOr<std::shared_ptr<const CloudStore>> OpenGoogleStore(
    const CloudSettings& settings);

// Opens Azure Blob Storage: AZURE_STORAGE_CONNECTION_STRING, or
// AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or else
// Azure's default chain. AZURE_NO_SIGN_REQUEST=true: no credentials.
// FailedPrecondition if no account is given.
absl::StatusOr<std::shared_ptr<const CloudStore>> OpenAzureStore(
    const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_CLOUD_CLIENTS_H_
