#include "stores/stores.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/status.h"
#include "core/formats/columnar_plugin.h"
#include "core/io/block_files.h"
#include "core/io/block_folder.h"
#include "core/io/forwarding_files.h"
#include "core/io/read_stop.h"
#include "core/net/log.h"
#include "core/process/process_quota.h"
#include "stores/azure/azure_files.h"
#include "stores/google/google_files.h"
#include "stores/http/http_files.h"
#include "stores/http/http_store.h"
#include "stores/s3/s3_files.h"

namespace feedmill {
namespace {

// Bounds of the memory for bytes that are fetched ahead.
constexpr uint64_t kAheadBytesLeast = uint64_t{64} << 20;
constexpr uint64_t kAheadBytesMost = uint64_t{1} << 30;

std::optional<std::string> FromEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// Keeps blocks of files in the folder that FEEDMILL_FILE_CACHE names, up to
// FEEDMILL_FILE_CACHE_BYTES.
absl::Status AddFileCache(FileSystems& file_systems) {
  constexpr uint64_t kUsualBytes = uint64_t{10} << 30;
  constexpr uint64_t kBytesMin = uint64_t{64} << 20;
  const auto path = FromEnvironment("FEEDMILL_FILE_CACHE");
  if (!path) return absl::OkStatus();
  if (path->front() != '/') {
    return InvalidArgument(
        "FEEDMILL_FILE_CACHE is the absolute path of a folder, not '{}'",
        *path);
  }
  uint64_t bytes = kUsualBytes;
  if (const auto text = FromEnvironment("FEEDMILL_FILE_CACHE_BYTES")) {
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, bytes);
    if (error != std::errc() || stop != end || bytes < kBytesMin) {
      return InvalidArgument(
          "FEEDMILL_FILE_CACHE_BYTES is a number of bytes of at least {}, not "
          "'{}'",
          kBytesMin, *text);
    }
  }
  const auto folder = std::make_shared<const BlockFolder>(
      *path, bytes, [](const std::string& line) {
        LogOften(LogLevel::kWarning, "file cache", line);
      });
  file_systems.WrapStores([&](std::shared_ptr<const FileSystem> store) {
    return std::make_shared<const BlockFiles>(std::move(store), folder);
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status AddStoresTo(FileSystems& file_systems,
                         std::shared_ptr<GoogleTokenSource> google) {
  FM_ASSIGN_OR_RETURN(HttpOptions options, HttpOptionsOfEnvironment());
  options.memory_bytes =
      std::clamp(AvailableMemory() / 16, kAheadBytesLeast, kAheadBytesMost);
  // Both share one thread and one memory limit.
  const auto store = std::make_shared<HttpStore>(options);
  FM_RETURN_IF_ERROR(AddHttpFiles(store, file_systems));
  const CloudSettings settings{options.patience, &ReadStop::Asked};
  const auto load_keys = [settings]() -> absl::StatusOr<AwsKeys> {
    FM_ASSIGN_OR_RETURN(const AwsKeySource* const source, LoadAwsKeySource());
    return source->Keys(settings);
  };
  FM_RETURN_IF_ERROR(
      AddS3Files(store, FromEnvironment, load_keys, file_systems));
  for (const char* const scheme : {"gs", "az"}) {
    const auto make = [scheme, settings] {
      return LoadCloudFiles(scheme, settings);
    };
    std::shared_ptr<const FileSystem> files =
        std::make_shared<const DeferredFiles>(make);
    if (std::string_view(scheme) == "az") {
      files =
          MakeAzureFiles(store, Environment(FromEnvironment), std::move(files));
    } else if (google != nullptr) {
      files = MakeGoogleFiles(store, Environment(FromEnvironment),
                              std::move(google), std::move(files));
    }
    FM_RETURN_IF_ERROR(file_systems.Add(scheme, std::move(files)));
  }
  return AddFileCache(file_systems);
}

}  // namespace feedmill
