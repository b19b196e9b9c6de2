#ifndef FEEDMILL_TESTS_UNIT_BROKER_STORE_VOCABULARY_H_
#define FEEDMILL_TESTS_UNIT_BROKER_STORE_VOCABULARY_H_

#include <fmt/format.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/state_journal.h"
#include "core/base/status.h"

// A vocabulary for tests of the journal: a disk whose writes end when the test
// says.

namespace feedmill::testing {

// Shared by a test and its store.
class Disk {
 public:
  // ---- the store's side, which waits for the test
  absl::Status Write(std::string what) {
    std::unique_lock lock(mu_);
    begun_.push_back(std::move(what));
    writer_ = std::this_thread::get_id();
    now_ += took_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return allowed_ > 0; });
    --allowed_;
    return failure_;
  }
  // ---- the test's side
  std::vector<std::string> AwaitWrites(size_t count) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return begun_.size() >= count; });
    return begun_;
  }
  std::vector<std::string> writes() const {
    const std::lock_guard lock(mu_);
    return begun_;
  }
  void Finish(size_t writes = 1) {
    const std::lock_guard lock(mu_);
    allowed_ += writes;
    changed_.notify_all();
  }
  // From now on, a write takes `took` on the clock of the journal.
  void SetTime(absl::Duration took) {
    const std::lock_guard lock(mu_);
    took_ = took;
  }
  // From now on, no other dispatcher begins for this time after a write.
  void SetCertain(absl::Duration time) {
    const std::lock_guard lock(mu_);
    certain_ = time;
  }
  absl::Duration certain() const {
    const std::lock_guard lock(mu_);
    return certain_;
  }
  absl::Time now() const {
    const std::lock_guard lock(mu_);
    return now_;
  }
  std::thread::id writer() const {
    const std::lock_guard lock(mu_);
    return writer_;
  }
  void FailFromNowOn() {
    const std::lock_guard lock(mu_);
    failure_ = ResourceExhausted("the disk is full");
    allowed_ = 1'000;
    changed_.notify_all();
  }
  void Tell() {
    const std::lock_guard lock(mu_);
    ++woken_;
    changed_.notify_all();
  }
  // Waits until the owner was woken for progress `count` times.
  void AwaitWoken(size_t count) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return woken_ >= count; });
  }

 private:
  mutable std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::string> begun_;
  size_t allowed_ = 0;
  size_t woken_ = 0;
  absl::Status failure_;
  std::thread::id writer_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Duration took_ = absl::Milliseconds(1);
  absl::Duration certain_ = absl::InfiniteDuration();
};

class FakeStore : public DispatcherStore {
 public:
  FakeStore(Disk& disk, uint64_t compact_from)
      : disk_(disk), compact_from_(compact_from) {}
  absl::Status Append(std::span<const DispatcherEvent> events) override {
    std::string names;
    for (const DispatcherEvent& event : events) {
      names += std::get<JobForgotten>(event).job.value();
    }
    FM_RETURN_IF_ERROR(disk_.Write(names));
    sequence_ += events.size();
    return absl::OkStatus();
  }
  uint64_t sequence() const override { return sequence_; }
  absl::Duration certain_for() const override { return disk_.certain(); }
  bool WorthCompacting(size_t) const override {
    return sequence_ - compacted_ >= compact_from_;
  }
  absl::Status Compact(const DispatcherState& state) override {
    FM_RETURN_IF_ERROR(
        disk_.Write(fmt::format("snapshot at {}", state.sequence)));
    if (state.sequence != sequence_) return DataLoss("another moment");
    compacted_ = sequence_;
    return absl::OkStatus();
  }

 private:
  Disk& disk_;
  const uint64_t compact_from_;
  uint64_t sequence_ = 0;
  uint64_t compacted_ = 0;
};

inline DispatcherEvent Event(const std::string& name) {
  return JobForgotten{JobName(name)};
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_BROKER_STORE_VOCABULARY_H_
