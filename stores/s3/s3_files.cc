#include "stores/s3/s3_files.h"

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/glob_pattern.h"
#include "core/base/status.h"
#include "core/io/key_glob.h"
#include "core/io/url_options.h"
#include "stores/http/http_file.h"
#include "stores/http/transfer.h"
#include "stores/s3/list_page.h"
#include "stores/s3/s3_bucket.h"
#include "stores/s3/s3_upload.h"

namespace feedmill {
namespace {

using Globbed = absl::StatusOr<std::vector<FoundFile>>;

class S3Files final : public FileSystem {
 public:
  S3Files(std::shared_ptr<HttpStore> store, S3Access access,
          std::shared_ptr<S3Keys> keys)
      : store_(std::move(store)),
        access_(std::move(access)),
        keys_(std::move(keys)) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    FM_ASSIGN_OR_RETURN(const RemoteFile object, ObjectOf(name));
    HttpStore::ProbeResult found =
        std::move(store_->FindAll({&object, 1}).front());
    FM_RETURN_IF_ERROR(found.status);
    return std::make_unique<HttpFile>(object, std::move(found), store_);
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenKnown(
      const std::string& name, const FileIdentity& known) const override {
    FM_ASSIGN_OR_RETURN(const RemoteFile object, ObjectOf(name));
    return std::make_unique<HttpFile>(
        object, HttpStore::ProbeResult{.identity = known}, store_);
  }

  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return StatAll({&name, 1}).front();
  }

  std::vector<absl::StatusOr<FileStat>> StatAll(
      std::span<const std::string> names) const override {
    std::vector<absl::StatusOr<FileStat>> stats(
        names.size(), absl::StatusOr<FileStat>(FileStat{}));
    std::vector<RemoteFile> objects;
    std::vector<size_t> places;
    for (size_t k = 0; k < names.size(); ++k) {
      auto object = ObjectOf(names[k]);
      if (object.ok()) {
        objects.push_back(*std::move(object));
        places.push_back(k);
      } else {
        stats[k] = object.status();
      }
    }
    const auto found = store_->FindAll(objects);
    for (size_t k = 0; k < found.size(); ++k) {
      auto& stat = stats[places[k]];
      if (found[k].status.ok()) {
        stat = FileStat{found[k].identity, false};
      } else {
        stat = found[k].status;
      }
    }
    return stats;
  }

  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override;

  absl::StatusOr<std::vector<FoundFile>> Glob(
      const std::string& pattern) const override {
    return GlobAll({&pattern, 1}).front();
  }

  std::vector<Globbed> GlobAll(
      std::span<const std::string> patterns) const override;

  absl::StatusOr<std::string> FindOne(
      const std::string& pattern) const override {
    FM_ASSIGN_OR_RETURN(const S3Url url, ParseS3Url(pattern, access_));
    if (!HasWildcard(url.key)) return pattern;
    const auto bucket = BucketOf(url);
    if (const auto literal = LiteralPattern(url.key)) {
      return bucket->NameOf(*literal);
    }
    FM_ASSIGN_OR_RETURN(const std::string key,
                        FindOneKey(url.key, ListerOf(bucket)));
    return bucket->NameOf(key);
  }

  absl::Status Write(const std::string& name,
                     std::string_view bytes) const override {
    return Put(name, bytes, /*only_new=*/false).status();
  }
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override {
    return Put(name, bytes, /*only_new=*/true);
  }
  absl::Status Remove(const std::string& name) const override {
    FM_ASSIGN_OR_RETURN(const S3Url url, UrlOfObject(name));
    return RemoveObject(*BucketOf(url), url.key, *store_);
  }
  std::string NameIn(const std::string& folder,
                     std::string_view name) const override {
    const auto url = ParseS3Url(folder, access_);
    const std::string options = url.ok() ? url->options : "";
    return FileSystem::NameIn(folder.substr(0, folder.size() - options.size()),
                              name) +
           options;
  }

 private:
  absl::StatusOr<bool> Put(const std::string& name, std::string_view bytes,
                           bool only_new) const {
    FM_ASSIGN_OR_RETURN(const S3Url url, UrlOfObject(name));
    return StoreObject(*BucketOf(url), url.key, bytes, only_new, *store_);
  }

  std::shared_ptr<S3Bucket> BucketOf(const S3Url& url) const;
  // Parses the URL of an object. NotFound for a folder.
  absl::StatusOr<S3Url> UrlOfObject(const std::string& name) const;
  absl::StatusOr<RemoteFile> ObjectOf(const std::string& name) const;
  ListKeys ListerOf(const std::shared_ptr<S3Bucket>& bucket) const;
  absl::Status ListAll(S3Bucket& bucket, std::span<const ListTask> tasks,
                       const TakePage& take) const;
  // `object`: an empty object that `pattern` names. Returns the objects below
  // the folder of its name if there are any.
  Globbed BelowMark(const std::string& pattern, Globbed object) const;
  // `pattern` does not name an object itself.
  Globbed GlobByKeys(const std::string& pattern) const;
  absl::StatusOr<std::vector<FoundFile>> FilesOf(
      const S3Bucket& bucket, std::vector<ListedObject> objects) const;

  const std::shared_ptr<HttpStore> store_;
  const S3Access access_;
  const std::shared_ptr<S3Keys> keys_;

  mutable std::mutex mutex_;
  // By name and options; guarded by mutex_.
  mutable std::map<std::pair<std::string, std::string>,
                   std::shared_ptr<S3Bucket>>
      buckets_;
};

std::shared_ptr<S3Bucket> S3Files::BucketOf(const S3Url& url) const {
  const std::lock_guard lock(mutex_);
  auto& bucket = buckets_[{url.bucket, url.options}];
  if (bucket == nullptr) {
    bucket = std::make_shared<S3Bucket>(url.bucket, url.options, url.access,
                                        keys_, store_);
  }
  return bucket;
}

absl::StatusOr<S3Url> S3Files::UrlOfObject(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(S3Url url, ParseS3Url(name, access_));
  if (url.key.empty() || url.key.ends_with('/')) {
    return NotFound("{}: it names a folder, which is no file", name);
  }
  if (url.options.empty()) url.key = NameWithoutEscape(std::move(url.key));
  return url;
}

absl::StatusOr<RemoteFile> S3Files::ObjectOf(const std::string& name) const {
  FM_ASSIGN_OR_RETURN(const S3Url url, UrlOfObject(name));
  return BucketOf(url)->Object(url.key);
}

// Lists all tasks in parallel. The next page of a task is requested when its
// previous page has arrived.
absl::Status S3Files::ListAll(S3Bucket& bucket, std::span<const ListTask> tasks,
                              const TakePage& take) const {
  struct Running {
    size_t task;
    std::shared_ptr<Transfer> transfer;
  };
  std::deque<Running> running;
  std::vector<ListingProgress> progress(tasks.size());
  const auto begin = [&](size_t task, const std::string& next) {
    std::vector<std::pair<std::string, std::string>> query;
    if (!next.empty()) query.emplace_back("continuation-token", next);
    if (!tasks[task].deep) query.emplace_back("delimiter", "/");
    query.emplace_back("encoding-type", "url");
    query.emplace_back("list-type", "2");
    if (!tasks[task].prefix.empty()) {
      query.emplace_back("prefix", tasks[task].prefix);
    }
    running.push_back(
        {task, Transfer::Whole(bucket.Page(tasks[task].prefix, query),
                               std::nullopt, store_->options)});
    store_->loop.Start({running.back().transfer},
                       TransferLoop::Urgency::kAwaited);
  };
  const auto take_next = [&]() -> absl::Status {
    const Running first = std::move(running.front());
    running.pop_front();
    absl::Status status = first.transfer->WaitForEnd();
    if (!status.ok()) {
      first.transfer->Abandon();
      return status;
    }
    const std::vector<std::byte> bytes = first.transfer->TakeWhole();
    auto page = ParseListPage(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!page.ok()) {
      return Annotate(page.status(), bucket.NameOf(tasks[first.task].prefix));
    }
    const absl::Status goes_on = progress[first.task].Take(*page);
    if (!goes_on.ok()) {
      return Annotate(goes_on, bucket.NameOf(tasks[first.task].prefix));
    }
    if (page->truncated) begin(first.task, page->next);
    return take(first.task, *std::move(page));
  };
  FM_RETURN_IF_ERROR(Annotate(bucket.Prepare(), bucket.NameOf("")));
  for (size_t task = 0; task < tasks.size(); ++task) begin(task, "");
  absl::Status status;
  while (status.ok() && !running.empty()) status = take_next();
  for (const Running& each : running) each.transfer->Abandon();
  if (!running.empty()) store_->loop.Wake();
  return status;
}

ListKeys S3Files::ListerOf(const std::shared_ptr<S3Bucket>& bucket) const {
  return [this, bucket](std::span<const ListTask> tasks, const TakePage& take) {
    return ListAll(*bucket, tasks, take);
  };
}

absl::StatusOr<std::vector<FoundFile>> S3Files::FilesOf(
    const S3Bucket& bucket, std::vector<ListedObject> objects) const {
  std::vector<FoundFile> files;
  files.reserve(objects.size());
  for (ListedObject& object : objects) {
    FoundFile& file = files.emplace_back();
    file.name = bucket.NameOf(object.key);
    file.written_ns = object.written_ns;
    if (!KnowsSizeOnly(object.identity)) {
      file.identity = std::move(object.identity);
    }
    const auto again = UrlOfObject(file.name);
    if (again.ok() && again->key == object.key) continue;
    return InvalidArgument(
        "{}: the object's key ends like options of a URL, and cannot be named; "
        "give it another",
        file.name);
  }
  return files;
}

Globbed S3Files::GlobByKeys(const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const S3Url url, ParseS3Url(pattern, access_));
  const auto bucket = BucketOf(url);
  std::vector<ListedObject> objects;
  if (const auto literal = LiteralPattern(url.key)) {
    std::string folder = *literal;
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    FM_ASSIGN_OR_RETURN(objects, KeysBelow({&folder, 1}, ListerOf(bucket)));
  } else {
    FM_ASSIGN_OR_RETURN(objects, GlobKeys(url.key, ListerOf(bucket)));
  }
  return FilesOf(*bucket, std::move(objects));
}

Globbed S3Files::BelowMark(const std::string& pattern, Globbed object) const {
  const auto url = ParseS3Url(pattern, access_);
  if (!url.ok() || !LiteralPattern(url->key)) return object;
  Globbed below = GlobByKeys(pattern);
  // Keys that may not list the bucket may read the object.
  const bool refused = absl::IsFailedPrecondition(below.status());
  return refused || (below.ok() && below->empty()) ? object : below;
}

// A name that exists is taken literally, so each is probed, in parallel. All
// others are patterns and folders.
std::vector<Globbed> S3Files::GlobAll(
    std::span<const std::string> patterns) const {
  std::vector<Globbed> found(patterns.size(),
                             Globbed(std::vector<FoundFile>()));
  std::vector<std::string> names;
  std::vector<bool> wildcards;
  for (const std::string& pattern : patterns) {
    const auto url = ParseS3Url(pattern, access_);
    std::string name = pattern;
    wildcards.push_back(url.ok() && HasWildcard(url->key));
    if (url.ok()) {
      if (const auto literal = LiteralPattern(url->key)) {
        name = BucketOf(*url)->NameOf(*literal);
      }
    }
    names.push_back(std::move(name));
  }
  const auto stats = StatAll(names);
  for (size_t k = 0; k < patterns.size(); ++k) {
    const absl::Status& status = stats[k].status();
    if (status.ok()) {
      found[k] = {{names[k], stats[k]->identity}};
      if (stats[k]->identity.size == 0)
        found[k] = BelowMark(patterns[k], found[k]);
    } else if (absl::IsNotFound(status) ||
               (absl::IsFailedPrecondition(status) && wildcards[k])) {
      found[k] = GlobByKeys(patterns[k]);
    } else {
      found[k] = status;
    }
  }
  return found;
}

absl::StatusOr<std::vector<FileSystem::Entry>> S3Files::List(
    const std::string& folder) const {
  FM_ASSIGN_OR_RETURN(S3Url url, ParseS3Url(folder, access_));
  if (!url.key.empty() && !url.key.ends_with('/')) url.key += '/';
  const auto bucket = BucketOf(url);
  std::vector<Entry> entries;
  const ListTask task{url.key, false};
  const auto take = [&](size_t, ListPage page) {
    for (const ListedObject& object : page.objects) {
      if (object.key.ends_with('/')) continue;
      entries.push_back({object.key.substr(url.key.size()), false});
      if (!KnowsSizeOnly(object.identity)) {
        entries.back().identity = object.identity;
      }
    }
    for (const std::string& prefix : page.prefixes) {
      entries.push_back(
          {prefix.substr(url.key.size(), prefix.size() - url.key.size() - 1),
           true});
    }
    return absl::OkStatus();
  };
  FM_RETURN_IF_ERROR(ListAll(*bucket, {&task, 1}, take));
  if (entries.empty()) return NotFound("{}: no such folder", folder);
  return entries;
}

}  // namespace

absl::Status AddS3Files(std::shared_ptr<HttpStore> store,
                        const EnvironmentLookup& look, S3Keys::Load load,
                        FileSystems& file_systems) {
  FM_ASSIGN_OR_RETURN(S3Access access, S3AccessOfEnvironment(look));
  return file_systems.Add("s3",
                          std::make_shared<const S3Files>(
                              std::move(store), std::move(access),
                              std::make_shared<S3Keys>(look, std::move(load))));
}

}  // namespace feedmill
