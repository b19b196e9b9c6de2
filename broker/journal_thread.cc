#include "broker/journal_thread.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace feedmill {
namespace {

// A write that takes at most kFast is fast, and raises the trust by 1. A slower
// one lowers it by kTrustLost: the machine may have been busy. If a write takes
// kSlow, the disk is slow, and all trust is lost. From kTrusted on, Append
// writes on the owner's thread.
constexpr absl::Duration kFast = absl::Milliseconds(10);
constexpr absl::Duration kSlow = absl::Milliseconds(50);
constexpr int kTrusted = 64;
constexpr int kTrustMax = 128;
constexpr int kTrustLost = 16;

constexpr uint64_t kEventBytesMin = 128;  // of an event without its texts

// The sizes of events that can be large; others have a few fields.
uint64_t EventBytesOf(const JobCreated& e) {
  return kEventBytesMin + e.graph.size();
}
uint64_t EventBytesOf(const ManifestKnown& e) {
  return kEventBytesMin + e.manifest.size();
}
uint64_t EventBytesOf(const DatasetRegistered& e) {
  return kEventBytesMin + e.graph.size();
}
uint64_t EventBytesOf(const SplitsTaken& e) {
  return kEventBytesMin + sizeof(SplitReport) * e.reports.size();
}
uint64_t EventBytesOf(const SplitsEnded& e) {
  return kEventBytesMin + sizeof(SplitRange) * e.ranges.size();
}
uint64_t EventBytesOf(const auto&) { return kEventBytesMin; }

uint64_t EventBytesOf(const std::vector<DispatcherEvent>& events) {
  uint64_t bytes = 0;
  for (const DispatcherEvent& event : events) {
    bytes += std::visit([](const auto& e) { return EventBytesOf(e); }, event);
  }
  return bytes;
}

}  // namespace

JournalThread::JournalThread(std::unique_ptr<DispatcherStore> store,
                             std::function<void()> progressed,
                             std::function<absl::Time()> clock)
    : store_(std::move(store)),
      progressed_(std::move(progressed)),
      clock_(std::move(clock)) {
  progress_.sequence = store_->sequence();
  progress_.leads_until = clock_() + store_->certain_for();
  thread_ = std::thread([this] { Run(); });
}

JournalThread::~JournalThread() {
  {
    const std::lock_guard lock(mu_);
    ends_ = true;
  }
  work_.notify_one();
  thread_.join();
}

// ---- the owner

// Events after a snapshot are not part of it, so they begin another group.
JournalThread::Group& JournalThread::Last() {
  if (queue_.empty() || queue_.back().snapshot != nullptr) {
    queue_.emplace_back().since = clock_();
  }
  return queue_.back();
}

// True if the owner may write: then the thread does not until it has.
bool JournalThread::OwnerWrites(size_t events) {
  const std::lock_guard lock(mu_);
  if (trust_ < kTrusted || !Idle() || !progress_.status.ok()) return false;
  waiting_events_ += events;
  writing_ = true;
  begun_ = clock_();
  return true;
}

void JournalThread::Append(std::vector<DispatcherEvent> events, size_t splits) {
  if (events.empty()) return;
  if (OwnerWrites(events.size())) {
    return Write(
        {.events = std::move(events), .splits = splits, .since = begun_});
  }
  const uint64_t bytes = EventBytesOf(events);
  {
    const std::lock_guard lock(mu_);
    if (!progress_.status.ok()) return;
    waiting_events_ += events.size();
    waiting_bytes_ += bytes;
    Group& group = Last();
    group.bytes += bytes;
    group.splits = splits;
    if (group.events.empty()) {
      group.events.swap(events);
    } else {
      std::move(events.begin(), events.end(), std::back_inserter(group.events));
    }
  }
  work_.notify_one();
}

void JournalThread::Compact(std::unique_ptr<const DispatcherState> state) {
  {
    const std::lock_guard lock(mu_);
    if (!progress_.status.ok()) return;
    compacting_ = true;
    progress_.worth_compacting = false;
    Last().snapshot = std::move(state);
  }
  work_.notify_one();
}

JournalThread::Progress JournalThread::TakeProgress() {
  const std::lock_guard lock(mu_);
  Progress taken = progress_;
  progress_.longest = absl::ZeroDuration();
  return taken;
}

absl::Duration JournalThread::Worked() const {
  const std::lock_guard lock(mu_);
  return writing_ ? worked_ + (clock_() - begun_) : worked_;
}

uint64_t JournalThread::waiting_events() const {
  const std::lock_guard lock(mu_);
  return waiting_events_;
}

uint64_t JournalThread::waiting_bytes() const {
  const std::lock_guard lock(mu_);
  return waiting_bytes_;
}

void JournalThread::WaitIdle(absl::Duration timeout) {
  std::unique_lock lock(mu_);
  owner_waits_ = true;
  done_.wait_for(lock, absl::ToChronoNanoseconds(timeout),
                 [this] { return Idle() || !progress_.status.ok(); });
  owner_waits_ = false;
}

void JournalThread::WaitForProgress() {
  std::unique_lock lock(mu_);
  owner_waits_ = true;
  done_.wait(lock, [this, before = writes_] {
    return writes_ != before || Idle() || !progress_.status.ok();
  });
  owner_waits_ = false;
}

// ---- the thread

// Waits for work or for the end. False if the store wants a tick before.
bool JournalThread::AwaitWork(std::unique_lock<std::mutex>& lock) {
  const auto asked = [this] { return ends_ || !queue_.empty(); };
  if (store_->ticks()) {
    return work_.wait_for(lock, std::chrono::seconds(1), asked);
  }
  work_.wait(lock, asked);
  return true;
}

void JournalThread::Run() {
  pthread_setname_np(pthread_self(), "fm-journal");
  while (true) {
    Group group;
    {
      std::unique_lock lock(mu_);
      const bool asked = AwaitWork(lock);
      if (asked && queue_.empty()) return;
      if (writing_ || !progress_.status.ok()) continue;
      writing_ = true;
      begun_ = clock_();
      if (asked) {
        group = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    Write(group);
    Tell();
  }
}

void JournalThread::Write(const Group& group) {
  const absl::Time begun = clock_();
  absl::Status status;
  if (store_->ticks()) status = store_->Tick();
  if (status.ok() && !group.events.empty()) {
    status = store_->Append(group.events);
    if (status.ok()) NoteSynced(group, begun);
  }
  if (status.ok() && group.snapshot != nullptr) {
    Tell();  // messages need not wait for the snapshot
    status = store_->Compact(*group.snapshot);
  }
  NoteWritten(group, begun, std::move(status));
}

void JournalThread::NoteSynced(const Group& group, absl::Time begun) {
  const absl::Time now = clock_();
  const std::lock_guard lock(mu_);
  progress_.sequence = store_->sequence();
  progress_.leads_until = now + store_->certain_for();
  progress_.last_sync = now - begun;
  progress_.last_delay = now - group.since;
  progress_.sync_time += progress_.last_sync;
  ++progress_.syncs;
  if (progress_.last_sync >= kSlow) {
    trust_ = 0;
  } else if (progress_.last_sync > kFast) {
    trust_ = std::max(trust_ - kTrustLost, 0);
  } else {
    trust_ = std::min(trust_ + 1, kTrustMax);
  }
}

void JournalThread::NoteWritten(const Group& group, absl::Time begun,
                                absl::Status status) {
  const absl::Duration took = clock_() - begun;
  const std::lock_guard lock(mu_);
  if (group.snapshot != nullptr) compacting_ = false;
  if (!compacting_ && store_->WorthCompacting(group.splits)) {
    compacting_ = progress_.worth_compacting = true;
  }
  waiting_events_ -= group.events.size();
  waiting_bytes_ -= group.bytes;
  if (!status.ok()) {
    progress_.status = std::move(status);
    queue_.clear();
    waiting_events_ = waiting_bytes_ = 0;
  }
  progress_.leads_until = clock_() + store_->certain_for();
  progress_.standbys = store_->standbys();
  progress_.longest = std::max(progress_.longest, took);
  worked_ += took;
  writing_ = false;
  ++writes_;
}

// Wakes the owner.
void JournalThread::Tell() {
  bool waits = false;
  {
    const std::lock_guard lock(mu_);
    waits = owner_waits_;
  }
  if (waits) return done_.notify_one();
  progressed_();
}

}  // namespace feedmill
