#ifndef FEEDMILL_STORES_S3_S3_UPLOAD_H_
#define FEEDMILL_STORES_S3_S3_UPLOAD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stores/http/http_store.h"
#include "stores/s3/s3_bucket.h"

namespace feedmill {

// Bytes of a part of a multipart upload, except for objects of more than 80 GB.
inline constexpr uint64_t kUploadPartBytes = uint64_t{8} << 20;

// Stores `bytes` as an object, and waits until the store has all of them. The
// object appears whole. More than two parts go by a multipart upload, several
// parts at a time. If it fails, the upload is aborted.
//
// `only_new`: sends the condition `If-None-Match: *`. Returns false if the
// object exists; it is unchanged then. That includes an object which an earlier
// attempt of this call stored, if the answer to that attempt was lost.
absl::StatusOr<bool> StoreObject(S3Bucket& bucket, const std::string& key,
                                 std::string_view bytes, bool only_new,
                                 HttpStore& store);

// Removes an object. OK if there is none.
absl::Status RemoveObject(S3Bucket& bucket, const std::string& key,
                          HttpStore& store);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_UPLOAD_H_
