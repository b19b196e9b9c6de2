#ifndef FEEDMILL_STORES_S3_S3_BUCKET_H_
#define FEEDMILL_STORES_S3_S3_BUCKET_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "stores/http/http_store.h"
#include "stores/http/remote_file.h"
#include "stores/s3/s3_keys.h"
#include "stores/s3/s3_url.h"

namespace feedmill {

// The error of an answer of an S3 store, which repeating does not change. Reads
// the error's code out of `body`, and shows none of its other parts, which may
// have keys.
absl::Status S3Refusal(const std::string& name, const ResponseHead& head,
                       std::string_view body);

// A bucket with the access and the keys to it. Any thread. Shared by the
// requests that it makes.
class S3Bucket : public std::enable_shared_from_this<S3Bucket> {
 public:
  // `options`: of the URLs that name it, with the '?'.
  S3Bucket(std::string bucket, std::string options, S3Access access,
           std::shared_ptr<S3Keys> keys, std::shared_ptr<HttpStore> store);

  // Gets keys, and the region where none is set. May wait for a network.
  absl::Status Prepare();
  // A request of the bucket, signed. `path`: percent-encoded, behind the
  // bucket's URL. REQUIRES: Prepare() was OK.
  StoreRequest Make(const std::string& path) const;

  // "s3://bucket/KEY?options".
  std::string NameOf(std::string_view key) const;
  // An object; errors name it so.
  RemoteFile Object(const std::string& key);
  // One page of a listing (ListObjectsV2). `query`: names and values, sorted by
  // name.
  RemoteFile Page(
      const std::string& prefix,
      const std::vector<std::pair<std::string, std::string>>& query);

 private:
  absl::Status FindRegion();

  const std::string bucket_;
  const std::string options_;
  const std::shared_ptr<S3Keys> keys_;
  const std::shared_ptr<HttpStore> store_;

  std::mutex finding_;  // held while the region is asked for
  mutable std::mutex mutex_;
  S3Access access_;  // guarded by mutex_
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_BUCKET_H_
