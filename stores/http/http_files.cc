#include "stores/http/http_files.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "stores/http/http_file.h"
#include "stores/http/http_store.h"
#include "stores/http/url.h"

namespace feedmill {
namespace {

class HttpFiles final : public HttpFileSystem {
 public:
  explicit HttpFiles(std::shared_ptr<HttpStore> store)
      : HttpFileSystem(std::move(store)) {}

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override {
    return InvalidArgument("{}: a web server lists no files; name each file",
                           folder);
  }

  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override {
    FM_ASSIGN_OR_RETURN(std::string url, UrlOfPattern(pattern));
    // StatAll finds out whether it exists, for all files in parallel.
    return std::vector<FoundFile>{{std::move(url), std::nullopt}};
  }

  absl::StatusOr<std::string> FindOne(
      const std::string& pattern) const override {
    return UrlOfPattern(pattern);
  }

 private:
  absl::StatusOr<RemoteFile> RemoteFileOf(
      const std::string& name) const override {
    FM_RETURN_IF_ERROR(CheckUrl(name));
    return RemoteFile(name);
  }
};

}  // namespace

absl::Status AddHttpFiles(std::shared_ptr<HttpStore> store,
                          FileSystems& file_systems) {
  const auto files = std::make_shared<const HttpFiles>(std::move(store));
  FM_RETURN_IF_ERROR(file_systems.Add("http", files));
  return file_systems.Add("https", files);
}

absl::StatusOr<HttpOptions> HttpOptionsOfEnvironment() {
  HttpOptions options;
  options.seed = static_cast<uint64_t>(getpid());
  const char* const patience = std::getenv("FEEDMILL_HTTP_PATIENCE");
  if (patience == nullptr) return options;
  if (!absl::ParseDuration(patience, &options.patience) ||
      options.patience < absl::Seconds(1) ||
      options.patience > absl::Hours(24)) {
    return InvalidArgument(
        "FEEDMILL_HTTP_PATIENCE is a time from 1s to 24h, such as 90s, not "
        "'{}'",
        patience);
  }
  options.unreachable_patience =
      std::min(options.unreachable_patience, options.patience);
  options.stall = std::min(options.stall, options.patience / 2);
  options.request_limit = std::max(options.request_limit, 2 * options.patience);
  return options;
}

}  // namespace feedmill
