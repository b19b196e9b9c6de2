#include "plugins/arrow/cloud_files.h"

#include <utility>
#include <vector>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/key_glob.h"
#include "core/io/side_by_side.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/cloud_clients.h"
#include "plugins/arrow/cloud_file.h"

namespace feedmill {
namespace {

constexpr size_t kTogether = 32;

// "gs://bucket/key".
struct CloudName {
  std::string bucket;
  std::string key;
};

class CloudFiles final : public FileSystem {
 public:
  CloudFiles(std::string scheme, std::shared_ptr<const CloudStore> store)
      : scheme_(std::move(scheme)), store_(std::move(store)) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    FM_ASSIGN_OR_RETURN(const FileStat stat, Stat(name));
    if (stat.directory) {
      return FailedPrecondition("{}: a folder, not a file", name);
    }
    return OpenKnown(name, stat.identity);
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override {
    FM_ASSIGN_OR_RETURN(const std::string path, PathOf(name));
    return std::make_unique<CloudFile>(
        std::make_shared<CloudObject>(name, path, known, store_));
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return WithoutExceptions([&]() -> absl::StatusOr<FileStat> {
      FM_ASSIGN_OR_RETURN(const std::string path, PathOf(name));
      const auto info = store_->files->GetFileInfo(path);
      if (!info.ok()) return CloudError(name, info.status());
      if (info->type() == arrow::fs::FileType::NotFound) {
        return NotFound("{}: the store has no such object", name);
      }
      return FileStat{IdentityOfInfo(*info), info->IsDirectory()};
    });
  }

  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override {
    std::vector<absl::StatusOr<FileStat>> stats(
        names.size(), absl::StatusOr<FileStat>(FileStat{}));
    EachOf(names.size(), [&](size_t k) { stats[k] = Stat(names[k]); });
    return stats;
  }

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override;

  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override;

  // Objects of Google's store appear when they are whole. Arrow empties one of
  // Azure's first, so a crash would lose the old bytes.
  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override {
    if (scheme_ != "gs") return FileSystem::Write(name, bytes);
    return WithoutExceptions([&]() -> absl::Status {
      FM_ASSIGN_OR_RETURN(const std::string path, PathOf(name));
      const auto write = [&]() -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(const auto out,
                              store_->files->OpenOutputStream(path));
        ARROW_RETURN_NOT_OK(
            out->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
        return out->Close();
      };
      const arrow::Status status = write();
      return status.ok() ? absl::OkStatus() : CloudError(name, status);
    });
  }

  absl::Status Remove(const std::string& name) const override {
    if (scheme_ != "gs") return FileSystem::Remove(name);
    return WithoutExceptions([&]() -> absl::Status {
      FM_ASSIGN_OR_RETURN(const std::string path, PathOf(name));
      const arrow::Status status = store_->files->DeleteFile(path);
      if (status.ok()) return absl::OkStatus();
      const absl::Status error = CloudError(name, status);
      return absl::IsNotFound(error) ? absl::OkStatus() : error;
    });
  }

  std::vector<absl::StatusOr<std::vector<FoundFile>>> GlobAll(
      std::span<const std::string> patterns) const override {
    std::vector<absl::StatusOr<std::vector<FoundFile>>> found(
        patterns.size(),
        absl::StatusOr<std::vector<FoundFile>>(std::vector<FoundFile>()));
    EachOf(patterns.size(), [&](size_t k) { found[k] = Glob(patterns[k]); });
    return found;
  }

 private:
  // Calls `work` for 0 … count - 1, many calls in parallel.
  static void EachOf(size_t count, const std::function<void(size_t)>& work) {
    ForEachSideBySide(count, kTogether, [&](size_t k) {
      work(k);
      return absl::OkStatus();
    }).IgnoreError();
  }

  absl::StatusOr<CloudName> NameOf(const std::string& name) const {
    const size_t begin = scheme_.size() + 3;
    const size_t slash = std::min(name.find('/', begin), name.size());
    CloudName parsed{name.substr(begin, slash - begin),
                     name.substr(std::min(slash + 1, name.size()))};
    if (parsed.bucket.find('@') != std::string::npos) {
      return InvalidArgument(
          "{}: credentials are not part of the URL; set them in the "
          "environment (docs/storage.md)",
          name);
    }
    if (parsed.bucket.empty()) {
      return InvalidArgument("{}: names no bucket; write {}://BUCKET/KEY", name,
                             scheme_);
    }
    return parsed;
  }

  // Returns Arrow's name of the file.
  absl::StatusOr<std::string> PathOf(const std::string& name) const {
    FM_ASSIGN_OR_RETURN(const CloudName parsed, NameOf(name));
    std::string path = parsed.bucket;
    if (!parsed.key.empty()) path += "/" + parsed.key;
    while (path.ends_with('/')) path.pop_back();
    return path;
  }

  std::string UrlOf(const std::string& bucket, const std::string& key) const {
    return fmt::format("{}://{}/{}", scheme_, bucket, key);
  }

  // A listing cannot tell an empty bucket from a missing one.
  absl::Status CheckBucket(const std::string& bucket) const {
    const std::string url = UrlOf(bucket, "");
    const auto stat = Stat(url);
    if (!absl::IsNotFound(stat.status())) return stat.status();
    return NotFound("{}: there is no such bucket", url);
  }

  absl::StatusOr<ListPage> ListTaskOf(const std::string& bucket,
                                      const ListTask& task) const;
  ListKeys ListerOf(const std::string& bucket) const;

  const std::string scheme_;
  const std::shared_ptr<const CloudStore> store_;
};

// Lists all keys below the prefix's folder. A flat listing by Arrow of Google's
// store would lack the folders.
absl::StatusOr<ListPage> CloudFiles::ListTaskOf(const std::string& bucket,
                                                const ListTask& task) const {
  arrow::fs::FileSelector selector;
  const size_t slash = task.prefix.rfind('/');
  const size_t folder = slash == std::string::npos ? 0 : slash + 1;
  selector.base_dir = bucket + "/" + task.prefix.substr(0, folder);
  selector.base_dir.pop_back();
  selector.recursive = true;
  selector.allow_not_found = true;
  const auto infos = store_->files->GetFileInfo(selector);
  if (!infos.ok()) {
    return CloudError(UrlOf(bucket, task.prefix), infos.status());
  }
  ListPage page;
  for (const arrow::fs::FileInfo& info : *infos) {
    if (!info.IsFile() || info.path().size() <= bucket.size() + 1) continue;
    std::string key = info.path().substr(bucket.size() + 1);
    if (!key.starts_with(task.prefix)) continue;
    const size_t end = key.find('/', task.prefix.size());
    if (task.deep || end == std::string::npos) {
      page.objects.push_back({std::move(key), IdentityOfInfo(info)});
    } else {
      page.prefixes.push_back(key.substr(0, end + 1));
    }
  }
  std::sort(page.prefixes.begin(), page.prefixes.end());
  page.prefixes.erase(std::unique(page.prefixes.begin(), page.prefixes.end()),
                      page.prefixes.end());
  return page;
}

ListKeys CloudFiles::ListerOf(const std::string& bucket) const {
  return [this, bucket](std::span<const ListTask> tasks, const TakePage& take) {
    std::vector<ListPage> pages(tasks.size());
    FM_RETURN_IF_ERROR(
        ForEachSideBySide(tasks.size(), kTogether, [&](size_t k) {
          return WithoutExceptions([&]() -> absl::Status {
            FM_ASSIGN_OR_RETURN(pages[k], ListTaskOf(bucket, tasks[k]));
            return absl::OkStatus();
          });
        }));
    for (size_t k = 0; k < tasks.size(); ++k) {
      FM_RETURN_IF_ERROR(take(k, std::move(pages[k])));
    }
    return absl::OkStatus();
  };
}

absl::StatusOr<std::vector<FoundFile>> CloudFiles::Glob(
    const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const CloudName name, NameOf(pattern));
  const auto literal = LiteralPattern(name.key);
  std::vector<ListedObject> objects;
  if (literal) {
    const std::string url = UrlOf(name.bucket, *literal);
    const auto stat = Stat(url);
    if (absl::IsNotFound(stat.status())) {
      FM_RETURN_IF_ERROR(CheckBucket(name.bucket));
      return std::vector<FoundFile>();
    }
    FM_RETURN_IF_ERROR(stat.status());
    if (!stat->directory) return std::vector<FoundFile>{{url, stat->identity}};
    std::string folder = *literal;
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    FM_ASSIGN_OR_RETURN(objects,
                        KeysBelow({&folder, 1}, ListerOf(name.bucket)));
  } else {
    FM_ASSIGN_OR_RETURN(objects, GlobKeys(name.key, ListerOf(name.bucket)));
  }
  if (objects.empty()) FM_RETURN_IF_ERROR(CheckBucket(name.bucket));
  std::vector<FoundFile> files;
  files.reserve(objects.size());
  for (ListedObject& object : objects) {
    files.push_back(
        {UrlOf(name.bucket, object.key), std::move(object.identity)});
  }
  return files;
}

absl::StatusOr<std::vector<FileSystem::Entry>> CloudFiles::List(
    const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(CloudName name, NameOf(folder));
  if (!name.key.empty() && !name.key.ends_with('/')) name.key += '/';
  FM_ASSIGN_OR_RETURN(const ListPage page,
                      ListTaskOf(name.bucket, {name.key, false}));
  std::vector<Entry> entries;
  for (const ListedObject& object : page.objects) {
    entries.push_back(
        {object.key.substr(name.key.size()), false, object.identity});
  }
  for (const std::string& prefix : page.prefixes) {
    entries.push_back(
        {prefix.substr(name.key.size(), prefix.size() - name.key.size() - 1),
         true});
  }
  if (entries.empty()) return NotFound("{}: no such folder", folder);
  return entries;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const FileSystem>> OpenCloudFiles(
    const std::string& scheme, const CloudSettings& settings) {
  std::shared_ptr<const CloudStore> store;
  if (scheme == "gs") {
    FM_ASSIGN_OR_RETURN(store, OpenGoogleStore(settings));
  } else {
    FM_ASSIGN_OR_RETURN(store, OpenAzureStore(settings));
  }
  return std::make_unique<CloudFiles>(scheme, std::move(store));
}

}  // namespace feedmill
