#include "stores/stores.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "core/formats/columnar_plugin.h"
#include "core/io/deferred_files.h"
#include "core/io/read_stop.h"
#include "stores/http/http_files.h"
#include "stores/http/http_store.h"
#include "stores/s3/s3_files.h"

namespace feedmill {
namespace {

std::optional<std::string> FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

absl::Status AddStoresTo(FileSystems& file_systems) {
  FM_ASSIGN_OR_RETURN(const HttpOptions options, HttpOptionsOfEnvironment());
  // Both share one thread and one memory limit.
  const auto store = std::make_shared<HttpStore>(options);
  FM_RETURN_IF_ERROR(AddHttpFilesOf(store, file_systems));
  FM_RETURN_IF_ERROR(
      AddS3Files(store, FromEnvironment, LoadAwsKeySource, file_systems));
  for (const char* const scheme : {"gs", "az"}) {
    const auto make = [scheme, patience = options.patience] {
      return LoadCloudFiles(scheme, {patience, &ReadStop::Asked});
    };
    FM_RETURN_IF_ERROR(
        file_systems.Add(scheme, std::make_shared<const DeferredFiles>(make)));
  }
  return absl::OkStatus();
}

}  // namespace feedmill
