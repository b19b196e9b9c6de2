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
#include "core/io/file_identity.h"
#include "core/io/random_access_file.h"
#include "stores/http/http_options.h"
#include "stores/http/remote_file.h"
#include "stores/http/response_head.h"
#include "stores/http/retry_schedule.h"

namespace feedmill {

// The end of one attempt, as the network library tells it.
struct AttemptEnd {
  enum class Kind {
    kAnswered,     // the answer came to its end
    kCut,          // the connection broke or stood still
    kUnreachable,  // no connection came about
    kHopeless,     // repeating does not help
  };
  Kind kind = Kind::kAnswered;
  std::string reason{};   // of kCut and kUnreachable
  absl::Status status{};  // of kHopeless
};

// Bytes of a file on their way from a server: one request with its repeats.
// After a cut a repeat asks for the bytes that are missing.
//
// Readers wait here, and the thread that drives the network reports here. This
// class decides whether an answer is good, and whether and when to repeat.
//
// Thread-safety: readers' methods any thread; the others the network's thread.
class Transfer {
 public:
  enum class Kind {
    kProbe,  // the first byte, to learn size and version
    kRange,
    kWhole,  // without a range: of any size up to whole_bytes_max
  };

  // Bytes [offset, offset + size) of the version `identity`. Writes them to
  // `into`; to memory of its own if that is empty.
  static std::shared_ptr<Transfer> Range(RemoteFile file, ByteRange range,
                                         const FileIdentity& identity,
                                         std::span<std::byte> into,
                                         const HttpOptions& options);
  static std::shared_ptr<Transfer> Probe(RemoteFile file,
                                         const HttpOptions& options);
  // `identity`: the version to read, if it is known.
  static std::shared_ptr<Transfer> Whole(RemoteFile file,
                                         std::optional<FileIdentity> identity,
                                         const HttpOptions& options);

  // ---- readers

  // Waits until the first `count` bytes are there. Cancelled soon after
  // ReadStop asks.
  absl::Status Wait(uint64_t count);
  absl::Status WaitForEnd();
  // True if the server answered a range with the whole file: it has no ranges.
  // Wait returned FailedPrecondition then.
  bool no_ranges() const;
  // The first bytes, as many as were waited for. REQUIRES: own memory.
  const std::byte* bytes() const { return into_.data(); }
  // Takes the bytes of a whole file. REQUIRES: WaitForEnd() was OK.
  std::vector<std::byte> TakeWhole();
  // Version and size that the server told. REQUIRES: WaitForEnd() was OK;
  // kProbe or kWhole.
  const FileIdentity& identity() const { return identity_; }
  // Version that the bytes which were waited for are of: identity(), or more
  // than is known in advance (KnowsSizeOnly). REQUIRES: kRange.
  FileIdentity seen() const;
  // Status of the answer that ended a probe: 206, 200 (no ranges), or 416 (an
  // empty file).
  int answer() const { return head_.status(); }
  // The last answer's head. REQUIRES: WaitForEnd() has returned, and not
  // Cancelled.
  const ResponseHead& head() const { return head_; }

  // Nothing is written any more, once it returns; waits end with Cancelled.
  void Abandon();

  // ---- the network's thread

  const std::string& url() const { return file_.name; }
  // The request of an attempt that begins, without range and condition.
  StoreRequest Request() const { return file_.Make(); }
  bool abandoned() const;
  // Begins an attempt. Returns the range to ask for ("0-499"; "" for none).
  std::string BeginAttempt(absl::Time now);
  // The header line that names the version; "" for none.
  std::string Condition() const;
  void TakeHeaderLine(std::string_view line, absl::Time now);
  // Takes bytes of the answer. False: the attempt is to be ended.
  bool TakeBody(std::span<const std::byte> bytes, absl::Time now);
  // When an attempt that brings nothing is to be cut.
  absl::Time stalls_at() const { return last_sign_ + options_.stall; }
  // Ends the attempt. Returns the time of the next one; nullopt if the transfer
  // has ended.
  std::optional<absl::Time> EndAttempt(absl::Time now, const AttemptEnd& end);
  void Finish(absl::Status status);

 private:
  Transfer(Kind kind, RemoteFile file, const HttpOptions& options);

  // OK if the head of the answer lets its body be taken.
  bool AcceptHead();
  bool AcceptRange();
  bool AcceptWhole();
  absl::Status TooLong() const;
  // True if repeating does not change the answer's status.
  bool IsRefused() const;
  void CheckVersion(const FileIdentity& found);
  bool IsComplete(const AttemptEnd& end) const;
  std::string ReasonOf(const AttemptEnd& end) const;
  std::optional<absl::Time> Repeat(absl::Time now, const AttemptEnd& end);

  const Kind kind_;
  const RemoteFile file_;
  const HttpOptions options_;
  RetrySchedule schedule_;
  ByteRange range_{};
  bool knows_version_ = false;
  FileIdentity identity_;  // asked for, or told

  // The network's thread only.
  ResponseHead head_;
  bool head_checked_ = false;
  bool head_good_ = false;
  std::string bad_answer_;  // why an answer is of no use
  absl::Status refusal_;    // why the transfer fails for good
  std::string error_body_;  // of a refusal, for a RequestMaker
  uint64_t answer_bytes_ = 0;
  uint64_t answer_bytes_max_ = 0;
  int attempts_ = 0;          // in all
  int failures_ = 0;          // since the last byte
  absl::Time began_;          // the first attempt
  absl::Time last_progress_;  // a byte of the file came
  absl::Time last_sign_;      // any byte came in this attempt

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_, from here on.
  std::optional<FileIdentity> seen_;  // of the first answer
  std::unique_ptr<std::byte[]> own_;
  std::span<std::byte> into_;
  std::vector<std::byte> whole_;
  uint64_t received_ = 0;
  uint64_t notify_at_ = 0;  // readers wait for so many bytes
  bool finished_ = false;
  bool abandoned_ = false;
  bool no_ranges_ = false;
  absl::Status status_;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_TRANSFER_H_
