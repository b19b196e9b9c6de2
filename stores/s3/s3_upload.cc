#include "stores/s3/s3_upload.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "stores/http/transfer.h"

namespace feedmill {
namespace {

constexpr size_t kPartsTogether = 4;
constexpr uint64_t kPartsMax = 10'000;  // S3's limit
// S3 answers 409 to one of two writers of the same new object.
constexpr int kConflictsMax = 3;

std::shared_ptr<const std::string> Body(std::string_view bytes) {
  return std::make_shared<const std::string>(bytes);
}

// Returns the id of a multipart upload; "" if the answer has none.
std::string UploadIdOf(const std::string& answer) {
  constexpr std::string_view kOpen = "<UploadId>";
  const size_t begin = answer.find(kOpen);
  if (begin == std::string::npos) return "";
  const size_t from = begin + kOpen.size();
  return answer.substr(from, answer.find('<', from) - from);
}

std::string Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The requests of one object.
class Upload {
 public:
  Upload(S3Bucket& bucket, const std::string& key, bool only_new,
         HttpStore& store)
      : bucket_(bucket), key_(key), only_new_(only_new), store_(store) {}

  absl::StatusOr<bool> Whole(std::string_view bytes) {
    return Commit({.headers = Conditions(),
                   .body = Body(bytes),
                   .sends_checksum = true})
        .made;
  }

  absl::StatusOr<bool> InParts(std::string_view bytes) {
    FM_RETURN_IF_ERROR(Begin());
    const absl::Status sent = SendParts(bytes);
    const absl::StatusOr<bool> made =
        sent.ok() ? Complete(bytes.size()) : absl::StatusOr<bool>(sent);
    // A store keeps the parts of an upload that is neither completed nor
    // aborted.
    if (!made.ok() || !*made) Abort();
    return made;
  }

 private:
  struct Part {
    std::string checksum;
    std::shared_ptr<Transfer> transfer;
  };
  struct Outcome {
    absl::StatusOr<bool> made;
    std::string answer;
  };

  std::vector<std::string> Conditions() const {
    if (!only_new_) return {};
    return {"If-None-Match: *"};
  }

  std::shared_ptr<Transfer> TransferOf(S3Change change) {
    return Transfer::Whole(bucket_.Changed(key_, std::move(change)),
                           std::nullopt, store_.options);
  }

  // Sends the request that makes the object.
  Outcome Commit(const S3Change& change) {
    for (int conflicts = 0;; ++conflicts) {
      const auto transfer = TransferOf(change);
      const absl::Status status = store_.Run(transfer);
      if (status.ok()) return {true, Text(transfer->TakeWhole())};
      if (absl::IsCancelled(status) || absl::IsUnavailable(status)) {
        return {status, ""};
      }
      const int code = transfer->head().status();
      if (only_new_ && code == 412) return {false, ""};
      if (!only_new_ || code != 409 || conflicts == kConflictsMax) {
        return {status, ""};
      }
    }
  }

  absl::Status Begin() {
    const auto transfer =
        TransferOf({.method = "POST",
                    .query = {{"uploads", ""}},
                    .headers = {"x-amz-checksum-algorithm: CRC32C"},
                    .body = Body("")});
    FM_RETURN_IF_ERROR(store_.Run(transfer));
    id_ = UploadIdOf(Text(transfer->TakeWhole()));
    if (!id_.empty()) return absl::OkStatus();
    return FailedPrecondition(
        "{}: the store begins no multipart upload; check the endpoint",
        bucket_.NameOf(key_));
  }

  // Sends the parts, kPartsTogether at a time.
  absl::Status SendParts(std::string_view bytes) {
    const uint64_t size = std::max<uint64_t>(
        kUploadPartBytes, (bytes.size() + kPartsMax - 1) / kPartsMax);
    std::deque<Part> sending;
    absl::Status status;
    for (size_t number = 1; status.ok() && (number - 1) * size < bytes.size();
         ++number) {
      if (sending.size() == kPartsTogether) status = AwaitPart(sending);
      if (!status.ok()) break;
      auto body = Body(bytes.substr((number - 1) * size, size));
      std::string checksum = ChecksumText(*body);
      const auto transfer =
          TransferOf({.query = {{"partNumber", fmt::format("{}", number)},
                                {"uploadId", id_}},
                      .body = std::move(body),
                      .sends_checksum = true});
      sending.push_back({std::move(checksum), transfer});
      store_.loop.Start({transfer}, TransferLoop::Urgency::kAwaited);
    }
    while (status.ok() && !sending.empty()) status = AwaitPart(sending);
    for (const Part& part : sending) part.transfer->Abandon();
    if (!sending.empty()) store_.loop.Wake();
    return status;
  }

  absl::Status AwaitPart(std::deque<Part>& sending) {
    const Part part = std::move(sending.front());
    sending.pop_front();
    const absl::Status status = part.transfer->WaitForEnd();
    if (!status.ok()) {
      part.transfer->Abandon();
      store_.loop.Wake();
      return status;
    }
    const std::string etag = part.transfer->head().Identity(0).etag;
    parts_ += fmt::format(
        "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag>"
        "<ChecksumCRC32C>{}</ChecksumCRC32C></Part>",
        ++part_count_, etag, part.checksum);
    if (!etag.empty()) return absl::OkStatus();
    return FailedPrecondition(
        "{}: the store names no ETag of a part; check the endpoint",
        bucket_.NameOf(key_));
  }

  // The store may know the upload no more because an earlier attempt completed
  // it, and its answer was lost. The store may also answer 200 and report a
  // failure in the body.
  absl::StatusOr<bool> Complete(uint64_t size) {
    const Outcome outcome =
        Commit({.method = "POST",
                .query = {{"uploadId", id_}},
                .headers = Conditions(),
                .body = Body("<CompleteMultipartUpload>" + parts_ +
                             "</CompleteMultipartUpload>")});
    if (absl::IsNotFound(outcome.made.status())) {
      const RemoteFile object = bucket_.Object(key_);
      const HttpStore::ProbeResult found = store_.FindAll({&object, 1}).front();
      if (found.status.ok() && found.identity.size == size) return true;
    }
    if (!outcome.made.ok() || !*outcome.made) return outcome.made;
    if (outcome.answer.find("<CompleteMultipartUploadResult") !=
        std::string::npos) {
      return true;
    }
    return Unavailable("{}: the store could not join the parts: {}",
                       bucket_.NameOf(key_), WordOf(outcome.answer, "Code"));
  }

  void Abort() {
    store_.Run(TransferOf({.method = "DELETE", .query = {{"uploadId", id_}}}))
        .IgnoreError();
  }

  S3Bucket& bucket_;
  const std::string& key_;
  const bool only_new_;
  HttpStore& store_;
  std::string id_;
  std::string parts_;  // XML of the parts that the store has
  size_t part_count_ = 0;
};

}  // namespace

absl::StatusOr<bool> StoreObject(S3Bucket& bucket, const std::string& key,
                                 std::string_view bytes, bool only_new,
                                 HttpStore& store) {
  FM_RETURN_IF_ERROR(Annotate(bucket.Prepare(), bucket.NameOf(key)));
  Upload upload(bucket, key, only_new, store);
  return bytes.size() <= 2 * kUploadPartBytes ? upload.Whole(bytes)
                                              : upload.InParts(bytes);
}

absl::Status RemoveObject(S3Bucket& bucket, const std::string& key,
                          HttpStore& store) {
  FM_RETURN_IF_ERROR(Annotate(bucket.Prepare(), bucket.NameOf(key)));
  const auto transfer = Transfer::Whole(
      bucket.Changed(key, {.method = "DELETE"}), std::nullopt, store.options);
  const absl::Status status = store.Run(transfer);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace feedmill
