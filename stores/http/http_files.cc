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
    const Found found = FindAll({&name, 1}).front();
    FM_RETURN_IF_ERROR(found.status);
    return std::make_unique<HttpFile>(name, found.identity, found.whole,
                                      store_);
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override {
    FM_RETURN_IF_ERROR(CheckUrl(name));
    return std::make_unique<HttpFile>(name, known, nullptr, store_);
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return StatAll({&name, 1}).front();
  }

  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override {
    std::vector<absl::StatusOr<FileStat>> stats;
    stats.reserve(names.size());
    for (const Found& found : FindAll(names)) {
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
    // Whether it is there is found out with all others, by StatAll.
    return std::vector<FoundFile>{{std::move(url), std::nullopt}};
  }

 private:
  struct Found {
    std::shared_ptr<Transfer> probe{};
    absl::Status status{};
    FileIdentity identity{};
    std::shared_ptr<const WholeFile> whole{};  // if the server has no ranges
  };

  // Asks for all at once.
  std::vector<Found> FindAll(std::span<const std::string> urls) const {
    std::vector<std::shared_ptr<Transfer>> probes;
    std::vector<Found> all(urls.size());
    for (size_t k = 0; k < urls.size(); ++k) {
      all[k].status = CheckUrl(urls[k]);
      if (!all[k].status.ok()) continue;
      all[k].probe =
          probes.emplace_back(Transfer::Probe(urls[k], store_->options));
    }
    store_->loop.Start(probes, TransferLoop::Urgency::kAwaited);
    absl::Status failed;
    for (size_t k = 0; k < urls.size(); ++k) {
      if (all[k].probe == nullptr) continue;
      if (failed.ok()) {
        Find(urls[k], all[k]);
      } else {
        all[k].probe->Abandon();
        all[k].status = failed;
      }
      // A server that is away is away for all, and each takes long to tell.
      const absl::Status& status = all[k].status;
      if (absl::IsUnavailable(status) || absl::IsCancelled(status)) {
        failed = status;
      }
    }
    if (!failed.ok()) store_->loop.Wake();
    return all;
  }

  void Find(const std::string& url, Found& found) const {
    found.status = found.probe->WaitForEnd();
    if (!found.status.ok()) return found.probe->Abandon();
    if (found.probe->answer() == 206) {
      found.identity = found.probe->identity();
      return;
    }
    // No ranges, or an empty file.
    auto whole = store_->ReadWhole(url, std::nullopt);
    found.status = whole.status();
    if (!whole.ok()) return;
    found.identity = (*whole)->identity;
    found.whole = *std::move(whole);
  }

  const std::shared_ptr<HttpStore> store_;
};

}  // namespace

absl::Status AddHttpFiles(const HttpOptions& options,
                          FileSystems& file_systems) {
  const auto files =
      std::make_shared<const HttpFiles>(std::make_shared<HttpStore>(options));
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
