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

class HttpFiles final : public FileSystem {
 public:
  explicit HttpFiles(std::shared_ptr<HttpStore> store)
      : store_(std::move(store)) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    FM_RETURN_IF_ERROR(CheckUrl(name));
    HttpStore::ProbeResult found = std::move(FindAll({&name, 1}).front());
    FM_RETURN_IF_ERROR(found.status);
    return std::make_unique<HttpFile>(name, std::move(found), store_);
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override {
    FM_RETURN_IF_ERROR(CheckUrl(name));
    return std::make_unique<HttpFile>(
        name, HttpStore::ProbeResult{.identity = known}, store_);
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return StatAll({&name, 1}).front();
  }

  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override {
    std::vector<absl::StatusOr<FileStat>> stats;
    stats.reserve(names.size());
    for (const HttpStore::ProbeResult& found : FindAll(names)) {
      if (found.status.ok()) {
        stats.emplace_back(FileStat{found.identity, false});
      } else {
        stats.emplace_back(found.status);
      }
    }
    return stats;
  }

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
  // Probes all files in parallel.
  std::vector<HttpStore::ProbeResult> FindAll(
      std::span<const std::string> urls) const {
    std::vector<HttpStore::ProbeResult> all(urls.size());
    std::vector<RemoteFile> files;
    std::vector<size_t> places;
    for (size_t k = 0; k < urls.size(); ++k) {
      all[k].status = CheckUrl(urls[k]);
      if (!all[k].status.ok()) continue;
      files.emplace_back(urls[k]);
      places.push_back(k);
    }
    std::vector<HttpStore::ProbeResult> found = store_->FindAll(files);
    for (size_t k = 0; k < places.size(); ++k) {
      all[places[k]] = std::move(found[k]);
    }
    return all;
  }

  const std::shared_ptr<HttpStore> store_;
};

}  // namespace

absl::Status AddHttpFiles(const HttpOptions& options,
                          FileSystems& file_systems) {
  return AddHttpFilesOf(std::make_shared<HttpStore>(options), file_systems);
}

absl::Status AddHttpFilesOf(std::shared_ptr<HttpStore> store,
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
