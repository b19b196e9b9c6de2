#include "plugins/arrow/cloud_files.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/cloud_url.h"
#include "core/io/key_glob.h"
#include "core/io/read_stop.h"
#include "core/io/side_by_side.h"
#include "core/io/url_options.h"
#include "plugins/arrow/cloud_call.h"
#include "plugins/arrow/cloud_clients.h"
#include "plugins/arrow/cloud_file.h"

namespace feedmill {
namespace {

constexpr size_t kTogether = 32;
// Bytes of an upload after which progress is noted.
constexpr size_t kPutBytes = size_t{8} << 20;

using Store = std::shared_ptr<const CloudStore>;

// A parsed name and the store that has it.
struct CloudName {
  std::string name;
  CloudUrl url;
  Store store;

  // Arrow's name of the object.
  std::string path() const {
    std::string path = url.bucket;
    if (!url.key.empty()) path += "/" + url.key;
    while (path.ends_with('/')) path.pop_back();
    return path;
  }
};

class CloudFiles final : public FileSystem {
 public:
  CloudFiles(std::string scheme, CloudSettings settings)
      : scheme_(std::move(scheme)), settings_(std::move(settings)) {}

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
    FM_ASSIGN_OR_RETURN(const CloudName found, NamedBy(name));
    return std::make_unique<CloudFile>(
        std::make_shared<CloudObject>(name, found.path(), known, found.store));
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    FM_ASSIGN_OR_RETURN(const CloudName found, NamedBy(name));
    return StatOf(found);
  }

  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override {
    std::vector<absl::StatusOr<FileStat>> stats(
        names.size(), absl::StatusOr<FileStat>(FileStat{}));
    EachOf(names.size(), [&](size_t k) {
      stats[k] = Stat(names[k]);
      return absl::OkStatus();
    }).IgnoreError();
    return stats;
  }

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override;

  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override;

  absl::StatusOr<std::string> FindOne(
      const std::string& pattern) const override {
    FM_ASSIGN_OR_RETURN(const CloudName name, NameOf(pattern));
    const auto literal = LiteralPattern(name.url.key);
    return literal ? Beside(name, *literal).name : FileSystem::FindOne(pattern);
  }

  std::vector<absl::StatusOr<std::vector<FoundFile>>> GlobAll(
      std::span<const std::string> patterns) const override {
    std::vector<absl::StatusOr<std::vector<FoundFile>>> found(
        patterns.size(),
        absl::StatusOr<std::vector<FoundFile>>(std::vector<FoundFile>()));
    EachOf(patterns.size(), [&](size_t k) {
      found[k] = Glob(patterns[k]);
      return absl::OkStatus();
    }).IgnoreError();
    return found;
  }

  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override;
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override;
  absl::Status Remove(const std::string& name) const override;
  absl::Status RemoveFolder(const std::string& folder) const override;

 private:
  bool is_google() const { return scheme_ == "gs"; }

  // Calls `work` for 0 … count - 1, many calls in parallel, which end with the
  // caller's ReadStop.
  absl::Status EachOf(size_t count,
                      const std::function<absl::Status(size_t)>& work) const {
    // Threads that the plugin started have a ReadStop already.
    std::optional<ReadStop> stop;
    if (ReadStop::Current() == nullptr) {
      stop.emplace(std::function<bool()>(settings_.stop_asked));
    }
    return ForEachSideBySide(count, kTogether, work);
  }

  // Makes a request that returns a Status, as CallCloud does.
  absl::Status Call(
      const CloudName& name, std::string_view what,
      std::function<arrow::Status(CloudCall& call)> request) const {
    return CloudCall::Start(name.name, what, settings_,
                            [text = name.name,
                             request = std::move(request)](CloudCall& call) {
                              const arrow::Status status = request(call);
                              return status.ok() ? absl::OkStatus()
                                                 : CloudError(text, status);
                            })
        ->Wait();
  }

  absl::Status Put(const CloudName& name, std::string_view bytes) const;
  absl::StatusOr<Store> StoreOf(const CloudUrl& url) const;
  // Parses a name or a pattern.
  absl::StatusOr<CloudName> NameOf(const std::string& name) const;
  // Parses the name of an object or folder.
  absl::StatusOr<CloudName> NamedBy(const std::string& name) const;
  // Same. NotFound for a folder.
  absl::StatusOr<CloudName> ObjectOf(const std::string& name) const;
  absl::StatusOr<FileStat> StatOf(const CloudName& name) const;

  // The name of another key in the same bucket.
  CloudName Beside(const CloudName& name, const std::string& key) const {
    CloudName other = name;
    other.url.key = key;
    other.name =
        JoinUrlOptions(fmt::format("{}://{}/{}", scheme_, name.url.bucket, key),
                       name.url.options);
    return other;
  }

  // A listing cannot tell an empty bucket from a missing one.
  absl::Status CheckBucket(const CloudName& name) const {
    const CloudName bucket = Beside(name, "");
    const auto stat = StatOf(bucket);
    if (!absl::IsNotFound(stat.status())) return stat.status();
    return NotFound("{}: there is no such bucket", bucket.name);
  }

  absl::StatusOr<ListPage> ListTaskOf(const CloudName& bucket,
                                      const ListTask& task) const;
  ListKeys ListerOf(const CloudName& bucket) const;

  const std::string scheme_;
  const CloudSettings settings_;

  mutable std::mutex mutex_;
  // By the options of URLs; guarded by mutex_.
  mutable std::map<std::string, Store> stores_;
};

absl::StatusOr<Store> CloudFiles::StoreOf(const CloudUrl& url) const {
  const std::lock_guard lock(mutex_);
  Store& store = stores_[url.options];
  if (store != nullptr) return store;
  FM_ASSIGN_OR_RETURN(store, is_google()
                                 ? OpenGoogleStore(url.access, settings_)
                                 : OpenAzureStore(url.access, settings_));
  return store;
}

absl::StatusOr<CloudName> CloudFiles::NameOf(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(CloudUrl url, ParseCloudUrl(scheme_, name));
  auto store = StoreOf(url);
  if (!store.ok()) return Annotate(store.status(), name);
  return CloudName{name, std::move(url), *std::move(store)};
}

absl::StatusOr<CloudName> CloudFiles::NamedBy(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(CloudName found, NameOf(name));
  if (found.url.options.empty()) {
    found.url.key = NameWithoutEscape(std::move(found.url.key));
  }
  return found;
}

absl::StatusOr<CloudName> CloudFiles::ObjectOf(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(CloudName found, NamedBy(name));
  if (found.url.key.empty() || found.url.key.ends_with('/')) {
    return NotFound("{}: it names a folder, which is no file", name);
  }
  return found;
}

absl::StatusOr<FileStat> CloudFiles::StatOf(const CloudName& name) const {
  return CallCloud<FileStat>(
      name.name, "its size and time of change", settings_,
      [name]() -> absl::StatusOr<FileStat> {
        const auto info = name.store->files_once->GetFileInfo(name.path());
        if (!info.ok()) return CloudError(name.name, info.status());
        if (info->type() == arrow::fs::FileType::NotFound) {
          return NotFound("{}: the store has no such object", name.name);
        }
        return FileStat{IdentityOfInfo(*info), info->IsDirectory()};
      });
}

arrow::Status PutObject(const CloudName& name, std::string_view bytes,
                        CloudCall& call) {
  ARROW_ASSIGN_OR_RAISE(const auto out,
                        name.store->files->OpenOutputStream(name.path()));
  arrow::Status wrote;
  while (wrote.ok() && !bytes.empty()) {
    const std::string_view part = bytes.substr(0, kPutBytes);
    wrote = out->Write(part.data(), static_cast<int64_t>(part.size()));
    bytes.remove_prefix(part.size());
    call.NoteProgress();
  }
  if (wrote.ok()) return out->Close();
  // A stream that is only destroyed would store what it has.
  static_cast<void>(out->Abort());
  return wrote;
}

arrow::Status CheckStored(const CloudName& name, size_t size) {
  ARROW_ASSIGN_OR_RAISE(const auto stored,
                        name.store->files_once->GetFileInfo(name.path()));
  if (IdentityOfInfo(stored).size == size) return arrow::Status::OK();
  return arrow::Status::IOError("the store has ", stored.size(),
                                " bytes after an upload of ", size);
}

// Returns a name beside `key` that patterns do not match: "a/b" → "a/.b.new".
std::string UnfinishedKey(const std::string& key) {
  const size_t slash = key.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.new", key.substr(0, name), key.substr(name));
}

// A server that lost one request of an upload may store the part before it and
// answer that the upload is complete. Google's client believes that answer, so
// the size is compared.
absl::Status CloudFiles::Put(const CloudName& name,
                             std::string_view bytes) const {
  // A request may outlive this call.
  const auto own = std::make_shared<const std::string>(bytes);
  const auto put = [name, own,
                    is_google = is_google()](CloudCall& call) -> arrow::Status {
    ARROW_RETURN_NOT_OK(PutObject(name, *own, call));
    return is_google ? CheckStored(name, own->size()) : arrow::Status::OK();
  };
  const absl::Status status = Call(name, "the end of its upload", put);
  if (absl::IsNotFound(status)) FM_RETURN_IF_ERROR(CheckBucket(name));
  return status;
}

// Google's store shows an object when it is whole. Arrow empties an object of
// Azure before it fills it, so the bytes go to another object, which the store
// copies. The other object is not deleted, as Remove explains.
absl::Status CloudFiles::Write(const std::string& name,
                               std::string_view bytes) const {
  FM_ASSIGN_OR_RETURN(const CloudName to, ObjectOf(name));
  if (is_google()) return Put(to, bytes);
  const CloudName from = Beside(to, UnfinishedKey(to.url.key));
  FM_RETURN_IF_ERROR(Put(from, bytes));
  FM_RETURN_IF_ERROR(Call(to, "its copy", [from, to](CloudCall&) {
    return to.store->files->CopyFile(from.path(), to.path());
  }));
  FM_ASSIGN_OR_RETURN(const FileStat stat, StatOf(to));
  if (stat.identity.size == bytes.size()) return absl::OkStatus();
  return Unavailable("{}: another process writes it at the same time", name);
}

// An object of Azure is empty for a moment: readers of new objects take an
// empty one for one that does not exist yet.
absl::StatusOr<bool> CloudFiles::WriteNew(const std::string& name,
                                          std::string_view bytes) const {
  FM_ASSIGN_OR_RETURN(const CloudName to, ObjectOf(name));
  if (!is_google()) {
    const auto stat = StatOf(to);
    if (stat.ok() && stat->identity.size == bytes.size()) return false;
    if (!stat.ok() && !absl::IsNotFound(stat.status())) return stat.status();
  }
  FM_RETURN_IF_ERROR(Put(to, bytes));
  return true;
}

// To delete an object of Azure, Arrow takes a lease, which lasts a minute if a
// request fails. When the store refuses to end it, that answer may come
// together with "100 Continue". Azure's client then throws in a destructor,
// which ends the process. So the object is emptied.
absl::Status CloudFiles::Remove(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const CloudName object, ObjectOf(name));
  if (!is_google()) {
    const absl::Status found = StatOf(object).status();
    if (absl::IsNotFound(found)) return absl::OkStatus();
    FM_RETURN_IF_ERROR(found);
    return Put(object, "");
  }
  const absl::Status status = Call(object, "its removal", [object](CloudCall&) {
    return object.store->files->DeleteFile(object.path());
  });
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

// Azure deletes all objects of a folder with one request, without leases.
absl::Status CloudFiles::RemoveFolder(const std::string& folder) const {
  if (is_google()) return FileSystem::RemoveFolder(folder);
  FM_ASSIGN_OR_RETURN(const CloudName name, ObjectOf(folder));
  const absl::Status status = Call(name, "its removal", [name](CloudCall&) {
    return name.store->files->DeleteDir(name.path());
  });
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

// Arrow lists folders, not prefixes. Its flat listing of Google's store lacks
// the folders, so a listing of that store is always deep.
absl::StatusOr<ListPage> CloudFiles::ListTaskOf(const CloudName& bucket,
                                                const ListTask& task) const {
  arrow::fs::FileSelector selector;
  const size_t slash = task.prefix.rfind('/');
  const size_t folder = slash == std::string::npos ? 0 : slash + 1;
  selector.base_dir = Beside(bucket, task.prefix.substr(0, folder)).path();
  selector.recursive = task.deep || is_google();
  selector.allow_not_found = true;
  const std::string url = Beside(bucket, task.prefix).name;
  FM_ASSIGN_OR_RETURN(
      const auto infos,
      CallCloud<std::vector<arrow::fs::FileInfo>>(
          url, "a listing", settings_,
          [store = bucket.store, url,
           selector]() -> absl::StatusOr<std::vector<arrow::fs::FileInfo>> {
            auto infos = store->files->GetFileInfo(selector);
            if (!infos.ok()) return CloudError(url, infos.status());
            return *std::move(infos);
          },
          CloudCall::Work::kIsProgress));
  ListPage page{.deep = selector.recursive};
  const size_t before = bucket.url.bucket.size() + 1;
  for (const arrow::fs::FileInfo& info : infos) {
    if (info.path().size() <= before) continue;
    std::string key = info.path().substr(before);
    if (!key.starts_with(task.prefix)) continue;
    if (info.IsFile()) {
      FileIdentity identity = IdentityOfInfo(info);
      const int64_t written_ns = identity.mtime_ns;
      page.objects.push_back({std::move(key), std::move(identity), written_ns});
    } else if (!page.deep) {
      page.prefixes.push_back(key + "/");
    }
  }
  std::sort(page.prefixes.begin(), page.prefixes.end());
  page.prefixes.erase(std::unique(page.prefixes.begin(), page.prefixes.end()),
                      page.prefixes.end());
  return page;
}

ListKeys CloudFiles::ListerOf(const CloudName& bucket) const {
  return [this, bucket](std::span<const ListTask> tasks, const TakePage& take) {
    std::vector<ListPage> pages(tasks.size());
    FM_RETURN_IF_ERROR(EachOf(tasks.size(), [&](size_t k) -> absl::Status {
      FM_ASSIGN_OR_RETURN(pages[k], ListTaskOf(bucket, tasks[k]));
      return absl::OkStatus();
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
  const auto literal = LiteralPattern(name.url.key);
  std::vector<ListedObject> objects;
  if (literal) {
    const CloudName object = Beside(name, *literal);
    const auto stat = StatOf(object);
    if (absl::IsNotFound(stat.status())) {
      FM_RETURN_IF_ERROR(CheckBucket(name));
      return std::vector<FoundFile>();
    }
    FM_RETURN_IF_ERROR(stat.status());
    const std::vector<FoundFile> itself = {{object.name, stat->identity}};
    if (!stat->directory && stat->identity.size > 0) return itself;
    std::string folder = *literal;
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    FM_ASSIGN_OR_RETURN(objects, KeysBelow(folder, ListerOf(name)));
    // An empty object may be the mark of a folder.
    if (!stat->directory && objects.empty()) return itself;
  } else {
    FM_ASSIGN_OR_RETURN(objects, GlobKeys(name.url.key, ListerOf(name)));
  }
  if (objects.empty()) FM_RETURN_IF_ERROR(CheckBucket(name));
  return FilesOfObjects(
      std::move(objects),
      [&](const std::string& key) { return Beside(name, key).name; },
      [&](const std::string& file) -> absl::StatusOr<std::string> {
        FM_ASSIGN_OR_RETURN(CloudName object, NamedBy(file));
        return std::move(object.url.key);
      });
}

absl::StatusOr<std::vector<FileSystem::Entry>> CloudFiles::List(
    const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(const CloudName name, NameOf(folder));
  std::string prefix = name.url.key;
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  FM_ASSIGN_OR_RETURN(ListPage page, ListTaskOf(name, {prefix}));
  std::vector<Entry> entries;
  AddEntries(prefix, std::move(page), entries);
  if (entries.empty()) return NotFound("{}: no such folder", folder);
  return entries;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const FileSystem>> OpenCloudFiles(
    const std::string& scheme, const CloudSettings& settings) {
  return std::make_unique<CloudFiles>(scheme, settings);
}

}  // namespace feedmill
