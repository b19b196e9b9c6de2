#ifndef FEEDMILL_STORES_HTTP_TRANSFER_H_
#define FEEDMILL_STORES_HTTP_TRANSFER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/io/byte_stream.h"
#include "core/io/file_identity.h"
#include "core/io/random_access_file.h"
#include "core/io/retry_schedule.h"
#include "stores/http/http_options.h"
#include "stores/http/remote_file.h"
#include "stores/http/response_head.h"
#include "stores/http/transfer_memory.h"

namespace feedmill {

// The end of an attempt, as reported by the network library.
struct AttemptEnd {
  enum class Kind {
    kAnswered,     // the answer is complete
    kCut,          // the connection broke or stalled
    kUnreachable,  // no connection was made
    kHopeless,     // repeating is useless
  };
  Kind kind = Kind::kAnswered;
  std::string reason{};   // of kCut and kUnreachable
  absl::Status status{};  // of kHopeless
};

// A transfer of bytes from a server: one request with its repeats. A repeat
// requests only the missing bytes.
//
// Readers wait here, and the network's thread reports here. This class decides
// whether an answer is valid, and whether and when to repeat the request.
//
// Thread-safety: the readers' methods from any thread; the others from the
// network's thread.
class Transfer {
 public:
  enum class Kind {
    kProbe,  // the first kProbeBytes, for size and version
    kRange,
    kWhole,  // without a range, up to whole_bytes_max
  };

  // Enough to tell the compression of a file.
  static constexpr uint64_t kProbeBytes = kCompressionBytes;

  // Reads bytes [offset, offset + size) of the version `identity`. Writes them
  // to `into`, or to its own memory if that is empty.
  static std::shared_ptr<Transfer> Range(RemoteFile file, ByteRange range,
                                         const FileIdentity& identity,
                                         std::span<std::byte> into,
                                         const HttpOptions& options);
  static std::shared_ptr<Transfer> Probe(RemoteFile file,
                                         const HttpOptions& options);
  // `identity`: the required version, if known.
  static std::shared_ptr<Transfer> Whole(RemoteFile file,
                                         std::optional<FileIdentity> identity,
                                         const HttpOptions& options);

  // ---- readers

  // Waits until the first `count` bytes have arrived. Cancelled soon after
  // ReadStop asks.
  absl::Status Wait(uint64_t count);
  absl::Status WaitForEnd();
  // True if the server answered a range with the whole file, so that Wait
  // returned FailedPrecondition: it does not support ranges.
  bool no_ranges() const;
  // Copies bytes from an offset in the range on. REQUIRES: own memory, and the
  // bytes were waited for.
  void CopyTo(uint64_t offset, std::span<std::byte> out) const {
    own_.Read(offset, out);
  }
  // Takes the bytes of a whole file. REQUIRES: WaitForEnd() was OK.
  std::vector<std::byte> TakeWhole();
  // Takes the first bytes of the file, up to kProbeBytes. REQUIRES:
  // WaitForEnd() was OK; kProbe.
  std::string TakeFirst();
  // Version and size from the server. REQUIRES: WaitForEnd() was OK; kProbe or
  // kWhole.
  const FileIdentity& identity() const { return identity_; }
  // Version of the received bytes: identity(), or more than is known in
  // advance. REQUIRES: kRange or kWhole.
  FileIdentity seen() const;
  // Status of the answer to a probe: 206, 200 (no ranges), or 416 (an empty
  // file).
  int answer() const { return head_.status(); }
  // Head of the last answer. REQUIRES: WaitForEnd() has returned, and not
  // Cancelled.
  const ResponseHead& head() const { return head_; }

  // Stops writing before it returns; waits end with Cancelled.
  void Abandon();

  // ---- the network's thread

  const std::string& url() const { return file_.name; }
  // The request of a new attempt, without range and condition.
  StoreRequest Request() const { return file_.Make(); }
  bool abandoned() const;
  // Begins an attempt. Returns the range to request ("0-499"; "" for none).
  std::string BeginAttempt(absl::Time now);
  // The header line that names the version; "" for none.
  std::string Condition() const;
  // Notes that the attempt has sent the first `bytes` of its body.
  void TakeSent(uint64_t bytes, absl::Time now);
  void TakeHeaderLine(std::string_view line, absl::Time now);
  // Handles bytes of the answer. Returns false if the attempt should end.
  bool TakeBody(std::span<const std::byte> bytes, absl::Time now);
  // Time of the attempt's beginning, or of its last byte.
  absl::Time last_sign() const { return last_sign_; }
  // Time at which the attempt is aborted: no byte came for options.stall, or
  // the transfer has made no progress for options.patience. Therefore any
  // transfer ends within the patience after its last progress.
  absl::Time aborts_at() const;
  // Why the attempt is aborted now.
  std::string AbortReason(absl::Time now) const;
  // Ends the attempt. Returns the time of the next one; nullopt if the transfer
  // has ended.
  std::optional<absl::Time> EndAttempt(absl::Time now, const AttemptEnd& end);
  void Finish(absl::Status status);

 private:
  Transfer(Kind kind, RemoteFile file, const HttpOptions& options);

  // True if the head of the answer allows its body to be used.
  bool AcceptHead();
  bool AcceptRange();
  bool AcceptWhole();
  absl::Status TooLong() const;
  bool IsChanged() const;
  // True if the status belongs to an error that does not pass by itself. A
  // RequestMaker may know more from the body.
  bool IsRefused() const;
  void CheckVersion(const FileIdentity& found);
  bool Store(std::span<const std::byte> bytes);
  void NoteNewBytes(uint64_t bytes, absl::Time now);
  bool IsComplete(const AttemptEnd& end) const;
  std::string ReasonOf(const AttemptEnd& end) const;
  std::optional<absl::Time> Repeat(absl::Time now, const AttemptEnd& end);

  const Kind kind_;
  const RemoteFile file_;
  const HttpOptions options_;
  RetrySchedule schedule_;
  ByteRange range_{};
  bool knows_version_ = false;
  FileIdentity identity_;  // requested, or reported by the server

  // The network's thread only.
  ResponseHead head_;
  bool head_checked_ = false;
  bool head_good_ = false;
  std::string bad_answer_;  // why an answer is unusable
  absl::Status refusal_;    // permanent error of the transfer
  std::string error_body_;  // of a refusal, for a RequestMaker
  uint64_t answer_bytes_ = 0;
  uint64_t answer_bytes_max_ = 0;
  int attempts_ = 0;            // in total
  int failures_ = 0;            // since the last progress
  std::string last_reason_;     // of the last attempt that was repeated
  absl::Time began_;            // time of the first attempt
  absl::Time last_progress_;    // see NoteNewBytes
  uint64_t new_bytes_ = 0;      // since the last progress
  uint64_t furthest_ = 0;       // most bytes of a whole file in one attempt
  uint64_t furthest_sent_ = 0;  // most bytes of the body in one attempt
  absl::Time last_sign_;        // last byte in this attempt

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All members below are guarded by mutex_.
  std::optional<FileIdentity> seen_;  // of the first answer
  std::span<std::byte> into_;  // empty: own_ is used, or it was abandoned
  TransferMemory own_;
  std::vector<std::byte> whole_;
  std::string first_;  // of a probe
  uint64_t received_ = 0;
  uint64_t notify_at_ = 0;  // number of bytes readers wait for
  bool finished_ = false;
  bool abandoned_ = false;
  bool no_ranges_ = false;
  absl::Status status_;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_TRANSFER_H_
