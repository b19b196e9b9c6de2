#include "stores/http/transfer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/base/status.h"
#include "core/io/file_errors.h"
#include "core/io/read_stop.h"

namespace feedmill {
namespace {

// Interval at which a waiting reader checks for a stop.
constexpr std::chrono::milliseconds kStopPoll(50);
// Limit for reading an answer that is not a file, e.g. an error page.
constexpr uint64_t kErrorBodyMax = uint64_t{64} << 10;
// Bytes of such an answer passed to a RequestMaker.
constexpr size_t kShownBodyMax = size_t{8} << 10;
// New bytes that count as progress.
constexpr uint64_t kProgressBytes = uint64_t{16} << 10;
constexpr uint64_t kNoWaiter = std::numeric_limits<uint64_t>::max();

}  // namespace

Transfer::Transfer(Kind kind, RemoteFile file, const HttpOptions& options)
    : kind_(kind),
      file_(std::move(file)),
      options_(options),
      schedule_(options.seed, file_.name, 0),
      notify_at_(kNoWaiter) {}

std::shared_ptr<Transfer> Transfer::Range(RemoteFile file, ByteRange range,
                                          const FileIdentity& identity,
                                          std::span<std::byte> into,
                                          const HttpOptions& options) {
  std::shared_ptr<Transfer> made(
      new Transfer(Kind::kRange, std::move(file), options));
  made->schedule_ = {options.seed, made->file_.name, range.offset};
  made->range_ = range;
  made->knows_version_ = true;
  made->identity_ = identity;
  made->into_ = into;
  if (into.empty()) made->own_ = TransferMemory(range.size);
  return made;
}

std::shared_ptr<Transfer> Transfer::Probe(RemoteFile file,
                                          const HttpOptions& options) {
  std::shared_ptr<Transfer> made(
      new Transfer(Kind::kProbe, std::move(file), options));
  made->range_ = {0, kProbeBytes};
  return made;
}

std::shared_ptr<Transfer> Transfer::Whole(RemoteFile file,
                                          std::optional<FileIdentity> identity,
                                          const HttpOptions& options) {
  std::shared_ptr<Transfer> made(
      new Transfer(Kind::kWhole, std::move(file), options));
  made->knows_version_ = identity.has_value();
  if (identity) made->identity_ = *std::move(identity);
  return made;
}

// ---- readers

absl::Status Transfer::Wait(uint64_t count) {
  std::unique_lock lock(mutex_);
  while (received_ < count || kind_ != Kind::kRange) {
    if (finished_) return status_;
    if (abandoned_ || ReadStop::Asked()) {
      return Cancelled("{}: reading was stopped", url());
    }
    notify_at_ = std::min(notify_at_, count);
    changed_.wait_for(lock, kStopPoll);
  }
  return absl::OkStatus();
}

absl::Status Transfer::WaitForEnd() {
  return Wait(kind_ == Kind::kRange ? range_.size : kNoWaiter - 1);
}

FileIdentity Transfer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_.value_or(identity_);
}

bool Transfer::no_ranges() const {
  const std::lock_guard lock(mutex_);
  return no_ranges_;
}

std::vector<std::byte> Transfer::TakeWhole() {
  const std::lock_guard lock(mutex_);
  return std::move(whole_);
}

std::string Transfer::TakeFirst() {
  const std::lock_guard lock(mutex_);
  return std::move(first_);
}

void Transfer::Abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  into_ = {};
  changed_.notify_all();
}

// ---- the network's thread

bool Transfer::abandoned() const {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

void Transfer::Finish(absl::Status status) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  status_ = std::move(status);
  changed_.notify_all();
}

std::string Transfer::BeginAttempt(absl::Time now) {
  if (attempts_++ == 0) began_ = last_progress_ = now;
  last_sign_ = now;
  head_ = {};
  head_checked_ = head_good_ = false;
  bad_answer_.clear();
  error_body_.clear();
  answer_bytes_ = 0;
  const std::lock_guard lock(mutex_);
  first_.clear();
  if (kind_ == Kind::kWhole) {
    whole_.clear();
    return "";
  }
  // Only this thread writes received_.
  return fmt::format("{}-{}", range_.offset + received_,
                     range_.offset + range_.size - 1);
}

std::string Transfer::Condition() const {
  if (!knows_version_) return "";
  // Stores may have finer modification times than their headers; answers are
  // compared with the version anyway.
  if (file_.maker != nullptr && identity_.etag.empty()) return "";
  return ConditionOf(identity_);
}

void Transfer::TakeHeaderLine(std::string_view line, absl::Time now) {
  last_sign_ = now;
  head_.TakeLine(line);
}

// Checks that the answer has the requested version. A list of files may know
// sizes only.
void Transfer::CheckVersion(const FileIdentity& found) {
  const FileIdentity version = head_.Version(found.size);
  const std::lock_guard lock(mutex_);
  if (!seen_) seen_ = version;
  if (!knows_version_) {
    identity_ = found;
    return;
  }
  const bool known = KnowsSizeOnly(identity_) && identity_.etag.empty()
                         ? found.size == identity_.size
                         : found == identity_;
  if (known && version == *seen_) return;
  if (found.size == identity_.size) {
    refusal_ = ChangedError(url());
  } else if (head_.transcoded()) {
    refusal_ = TranscodedError(url());
  } else {
    refusal_ = FailedPrecondition(
        "{}: changed since the job began: it has {} bytes, not {}; restore it, "
        "or start a new job",
        url(), found.size, identity_.size);
  }
}

bool Transfer::AcceptRange() {
  const auto& range = head_.content_range();
  const uint64_t begin = range_.offset + received_;
  const uint64_t end = range_.offset + range_.size;
  if (!range || range->begin != begin || range->end <= begin ||
      range->end > end) {
    bad_answer_ =
        fmt::format("the server answered other bytes than the {} from {} on",
                    end - begin, begin);
    return false;
  }
  answer_bytes_max_ = range->end - range->begin;
  if (head_.content_length().value_or(answer_bytes_max_) != answer_bytes_max_) {
    bad_answer_ = "the length of the server's answer is not that of its range";
    return false;
  }
  if (!range->total && !knows_version_) {
    refusal_ = FailedPrecondition(
        "{}: the server does not say how long the file is (Content-Range has "
        "no total); read it from another server",
        url());
    return false;
  }
  CheckVersion(head_.Identity(range->total.value_or(identity_.size)));
  return refusal_.ok();
}

bool Transfer::AcceptWhole() {
  answer_bytes_max_ = head_.content_length().value_or(options_.whole_bytes_max);
  if (answer_bytes_max_ <= options_.whole_bytes_max) return true;
  refusal_ = TooLong();
  return false;
}

// Returns the error of an answer with too many bytes.
absl::Status Transfer::TooLong() const {
  if (kind_ == Kind::kRange && head_.status() == 206) {
    return Unavailable(
        "{}: the server sent more bytes than the range that it names; check "
        "the server",
        url());
  }
  return FailedPrecondition(
      "{}: the server has no ranges of files (it answers 200 to a range), and "
      "the file has more than the {} bytes that are read whole; serve it by a "
      "server with ranges, or copy it",
      url(), options_.whole_bytes_max);
}

// Called when the head is complete: at the first byte of the body or at the end
// of the answer.
bool Transfer::AcceptHead() {
  if (head_checked_) return head_good_;
  head_checked_ = true;
  const int status = head_.status();
  const std::string coding = UnknownContentCoding(head_.coding());
  if (!coding.empty() && (status == 200 || status == 206)) {
    refusal_ = UnknownCodingError(url(), coding);
  } else if (status == 206 && kind_ != Kind::kWhole) {
    head_good_ = AcceptRange();
  } else if (status == 200 || IsChanged()) {
    head_good_ = AcceptWhole();
    if (head_good_ && kind_ == Kind::kRange) {
      const std::lock_guard lock(mutex_);
      no_ranges_ = true;
      refusal_ = FailedPrecondition("{}: the server has no ranges", url());
    }
    if (kind_ != Kind::kWhole) head_good_ = false;
  } else if (status == 412 || (status == 416 && kind_ == Kind::kRange)) {
    refusal_ = ChangedError(url());
  } else if (IsRefused() && file_.maker == nullptr) {
    refusal_ = RefusalOf(url(), status);
  }
  return head_good_;
}

// True for "No Content", and for a store's "Created" and "Accepted", which
// answer requests that make or remove a file. A web server's 202 has no file.
bool Transfer::IsChanged() const {
  const int status = head_.status();
  const bool of_store =
      file_.maker != nullptr && (status == 201 || status == 202);
  return kind_ == Kind::kWhole && (status == 204 || of_store);
}

bool Transfer::IsRefused() const {
  const int status = head_.status();
  if (IsChanged()) return false;
  if (status == 206 || status == 416) return kind_ == Kind::kWhole;
  return status != 0 && status != 200 && status != 412 && !MayPass(status);
}

// Caller holds mutex_. Appends bytes of a range. Returns false if there is no
// memory for them.
bool Transfer::Store(std::span<const std::byte> bytes) {
  if (!into_.empty()) {
    std::memcpy(into_.data() + received_, bytes.data(), bytes.size());
    return true;
  }
  try {
    own_.Write(received_, bytes);
    return true;
  } catch (const std::bad_alloc&) {
    refusal_ = ResourceExhausted(
        "{}: no memory is left for fetched bytes; give this process more "
        "memory, or read fewer files at a time",
        url());
    return false;
  }
}

bool Transfer::TakeBody(std::span<const std::byte> bytes, absl::Time now) {
  last_sign_ = now;
  answer_bytes_ += bytes.size();
  if (!AcceptHead()) {
    // Reading the body of an error keeps the connection open.
    const bool wanted = MayPass(head_.status()) || IsRefused();
    if (error_body_.size() + bytes.size() <= kShownBodyMax) {
      error_body_.append(reinterpret_cast<const char*>(bytes.data()),
                         bytes.size());
    }
    return refusal_.ok() && bad_answer_.empty() && wanted &&
           answer_bytes_ <= kErrorBodyMax;
  }
  if (answer_bytes_ > answer_bytes_max_) {
    refusal_ = TooLong();
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (abandoned_) return false;
  if (kind_ == Kind::kWhole) {
    whole_.insert(whole_.end(), bytes.begin(), bytes.end());
  } else if (kind_ == Kind::kProbe) {
    first_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else if (kind_ == Kind::kRange && !Store(bytes)) {
    return false;
  }
  if (kind_ == Kind::kWhole && whole_.size() > furthest_) {
    NoteNewBytes(whole_.size() - furthest_, now);
    furthest_ = whole_.size();
  }
  if (kind_ != Kind::kRange) return true;
  NoteNewBytes(bytes.size(), now);
  received_ += bytes.size();
  if (received_ >= notify_at_) {
    notify_at_ = kNoWaiter;
    changed_.notify_all();
  }
  return true;
}

void Transfer::TakeSent(uint64_t bytes, absl::Time now) {
  last_sign_ = now;
  if (bytes <= furthest_sent_) return;
  NoteNewBytes(bytes - furthest_sent_, now);
  furthest_sent_ = bytes;
}

absl::Time Transfer::aborts_at() const {
  return std::min(last_sign_ + options_.stall,
                  last_progress_ + options_.patience);
}

std::string Transfer::AbortReason(absl::Time now) const {
  const absl::Duration quiet = now - last_sign_;
  // The patience ended while the last attempt had just begun.
  if (quiet < options_.stall && answer() == 0 && !last_reason_.empty()) {
    return last_reason_;
  }
  if (quiet >= options_.stall || answer() == 0) {
    return "no byte came for " +
           absl::FormatDuration(absl::Trunc(quiet, absl::Milliseconds(100)));
  }
  return fmt::format("fewer than {} bytes came in {}", kProgressBytes,
                     absl::FormatDuration(options_.patience));
}

// Notes bytes that no earlier attempt brought. Few bytes are no progress: a
// server that sends some and then nothing, each time, must not be asked for
// ever.
void Transfer::NoteNewBytes(uint64_t bytes, absl::Time now) {
  new_bytes_ += bytes;
  if (new_bytes_ < kProgressBytes) return;
  new_bytes_ = 0;
  last_progress_ = now;
  failures_ = 0;
}

// True if the transfer has received everything.
bool Transfer::IsComplete(const AttemptEnd& end) const {
  const bool answered = end.kind == AttemptEnd::Kind::kAnswered;
  switch (kind_) {
    case Kind::kProbe:
      return head_.status() == 206
                 ? head_good_ && answer_bytes_ == answer_bytes_max_
             : head_.status() == 200 ? head_checked_
                                     : head_.status() == 416;
    case Kind::kRange:
      return received_ == range_.size;
    case Kind::kWhole:
      return head_good_ && answered &&
             head_.content_length().value_or(answer_bytes_) == answer_bytes_;
  }
  return false;
}

std::string Transfer::ReasonOf(const AttemptEnd& end) const {
  if (!bad_answer_.empty()) return bad_answer_;
  if (MayPass(head_.status())) {
    const auto pause = head_.RetryAfter();
    return fmt::format(
        "the server answers {}{}", head_.status(),
        pause ? " and asks to wait " + absl::FormatDuration(*pause) : "");
  }
  if (!end.reason.empty()) return end.reason;
  return "the answer ended too early";
}

std::optional<absl::Time> Transfer::Repeat(absl::Time now,
                                           const AttemptEnd& end) {
  const std::string reason = ReasonOf(end);
  absl::Duration pause = schedule_.Pause(failures_++);
  if (MayPass(head_.status())) {
    pause = std::max(pause, head_.RetryAfter().value_or(pause));
  }
  const bool reached = end.kind != AttemptEnd::Kind::kUnreachable;
  const absl::Duration patience =
      reached ? options_.patience
              : std::min(options_.patience, options_.unreachable_patience);
  const absl::Time next = now + pause;
  if (next - last_progress_ <= patience &&
      next - began_ <= options_.request_limit) {
    last_reason_ = reason;
    return next;
  }
  Finish(Unavailable(
      "{}: no answer of use after {} requests in {}; the last one: {}. Check "
      "the server and the network, then read again",
      url(), attempts_,
      absl::FormatDuration(absl::Trunc(now - began_, absl::Milliseconds(100))),
      reason));
  return std::nullopt;
}

std::optional<absl::Time> Transfer::EndAttempt(absl::Time now,
                                               const AttemptEnd& end) {
  if (abandoned()) {
    Finish(Cancelled("{}: reading was stopped", url()));
    return std::nullopt;
  }
  if (end.kind == AttemptEnd::Kind::kHopeless) {
    Finish(end.status);
    return std::nullopt;
  }
  AcceptHead();
  if (IsRefused() && refusal_.ok()) {
    absl::Status refusal = file_.maker->Refusal(head_, error_body_);
    if (absl::IsUnavailable(refusal)) {
      bad_answer_ = ErrorText(refusal);
    } else {
      refusal_ = std::move(refusal);
    }
  }
  if (refusal_.ok() && bad_answer_.empty() && IsComplete(end)) {
    // The size of a whole file is known at its end only.
    if (kind_ == Kind::kWhole) CheckVersion(head_.Identity(answer_bytes_));
    if (refusal_.ok()) {
      Finish(absl::OkStatus());
      return std::nullopt;
    }
  }
  if (!refusal_.ok()) {
    Finish(refusal_);
    return std::nullopt;
  }
  return Repeat(now, end);
}

}  // namespace feedmill
