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

// Returns the error of an S3 answer, as RequestMaker::Refusal. Uses only
// the error code of `body`, because other parts may contain keys.
absl::Status S3Refusal(const std::string& name, const ResponseHead& head,
                       std::string_view body);

// A request that changes an object.
struct S3Change {
  std::string method = "PUT";  // or POST, DELETE
  // Names and values, sorted by name.
  std::vector<std::pair<std::string, std::string>> query{};
  std::vector<std::string> headers{};         // "Name: value"
  std::shared_ptr<const std::string> body{};  // null: none
  // True if the store shall compare the body with its checksum.
  bool sends_checksum = false;
};

// Returns "x-amz-checksum-crc32c: …" of a body.
std::string ChecksumHeader(std::string_view body);
// Returns the CRC-32C of a body as S3 writes it: big endian, in base64.
std::string ChecksumText(std::string_view body);
// A bucket with its access settings and keys. Shared by its requests. Any
// thread.
class S3Bucket : public std::enable_shared_from_this<S3Bucket> {
 public:
  // `options`: of the bucket's URLs, with the '?'.
  S3Bucket(std::string bucket, std::string options, S3Access access,
           std::shared_ptr<S3Keys> keys, std::shared_ptr<HttpStore> store);

  // Gets keys and, if not set, the region. May wait for the network.
  absl::Status Prepare();
  // Returns a signed request. `path`: percent-encoded, relative to the bucket's
  // URL. `change`: null to read. REQUIRES: Prepare() was OK.
  StoreRequest Make(const std::string& path,
                    const S3Change* change = nullptr) const;

  // "s3://bucket/KEY?options" (JoinUrlOptions).
  std::string NameOf(std::string_view key) const;
  // Returns an object; errors use its name.
  RemoteFile Object(const std::string& key);
  // Returns an object whose requests change it.
  RemoteFile Changed(const std::string& key, S3Change change);
  // Returns one page of a listing (ListObjectsV2). `query`: names and values,
  // sorted by name.
  RemoteFile Page(
      const std::string& prefix,
      const std::vector<std::pair<std::string, std::string>>& query);

 private:
  absl::Status FindRegion();

  const std::string bucket_;
  const std::string options_;
  const std::shared_ptr<S3Keys> keys_;
  const std::shared_ptr<HttpStore> store_;

  std::mutex finding_;  // held while the region is requested
  mutable std::mutex mutex_;
  S3Access access_;  // guarded by mutex_
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_BUCKET_H_
