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

class S3Files final : public HttpFileSystem {
 public:
  S3Files(std::shared_ptr<HttpStore> store, S3Access access,
          std::shared_ptr<S3Keys> keys)
      : HttpFileSystem(std::move(store)),
        access_(std::move(access)),
        keys_(std::move(keys)) {}

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

 private:
  absl::StatusOr<bool> Put(const std::string& name, std::string_view bytes,
                           bool only_new) const {
    FM_ASSIGN_OR_RETURN(const S3Url url, UrlOfObject(name));
    return StoreObject(*BucketOf(url), url.key, bytes, only_new, *store_);
  }

  std::shared_ptr<S3Bucket> BucketOf(const S3Url& url) const;
  // Parses the URL of an object. NotFound for a folder.
  absl::StatusOr<S3Url> UrlOfObject(const std::string& name) const;
  absl::StatusOr<RemoteFile> RemoteFileOf(
      const std::string& name) const override;
  ListKeys ListerOf(const std::shared_ptr<S3Bucket>& bucket) const;
  absl::Status ListAll(S3Bucket& bucket, std::span<const ListTask> tasks,
                       const TakePage& take) const;
  // `object`: an empty object that `pattern` names. Returns the objects below
  // the folder of its name if there are any.
  Globbed BelowMark(const std::string& pattern, Globbed object) const;
  // `pattern` does not name an object itself.
  Globbed GlobByKeys(const std::string& pattern) const;

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

absl::StatusOr<RemoteFile> S3Files::RemoteFileOf(
    const std::string& name) const {
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

Globbed S3Files::GlobByKeys(const std::string& pattern) const {
  FM_ASSIGN_OR_RETURN(const S3Url url, ParseS3Url(pattern, access_));
  const auto bucket = BucketOf(url);
  std::vector<ListedObject> objects;
  if (const auto literal = LiteralPattern(url.key)) {
    std::string folder = *literal;
    if (!folder.empty() && !folder.ends_with('/')) folder += '/';
    FM_ASSIGN_OR_RETURN(objects, KeysBelow(folder, ListerOf(bucket)));
  } else {
    FM_ASSIGN_OR_RETURN(objects, GlobKeys(url.key, ListerOf(bucket)));
  }
  return FilesOfObjects(
      std::move(objects),
      [&](const std::string& key) { return bucket->NameOf(key); },
      [&](const std::string& name) -> absl::StatusOr<std::string> {
        FM_ASSIGN_OR_RETURN(S3Url object, UrlOfObject(name));
        return std::move(object.key);
      });
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
    AddEntries(url.key, std::move(page), entries);
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
