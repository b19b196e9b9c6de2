#include "broker/durable_outbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

// Time after which an event that satisfies MayBeLate is handed to the journal.
constexpr absl::Duration kMaxSyncDelay = absl::Milliseconds(200);
// A sync that takes longer is reported to operators: peers wait for it.
constexpr absl::Duration kSlowSync = absl::Seconds(1);
// Time for which the dispatcher itself waits for a sync. Most disks need less.
// Messages that arrive meanwhile are then handled together, with one answer for
// each peer, which costs less CPU time.
constexpr absl::Duration kPatience = absl::Milliseconds(50);
// Beyond these limits the dispatcher waits for the disk before it reads more
// messages: events and messages that wait, and about the bytes of each.
constexpr uint64_t kWaitingEventsMax = 100'000;
constexpr size_t kHeldMessagesMax = 100'000;
constexpr uint64_t kWaitingBytesMax = uint64_t{64} << 20;

}  // namespace

DurableOutbox::DurableOutbox(Dispatcher& dispatcher,
                             std::unique_ptr<JournalThread> journal, Send send)
    : dispatcher_(dispatcher),
      journal_(std::move(journal)),
      send_(std::move(send)) {
  progress_.sequence = dispatcher.state().sequence;
}

void DurableOutbox::Add(DispatcherEffects& effects) {
  if (journal_ != nullptr) {
    must_sync_ |=
        !std::all_of(effects.events.begin(), effects.events.end(), MayBeLate);
    std::move(effects.events.begin(), effects.events.end(),
              std::back_inserter(unsynced_));
  }
  after_ = std::max(after_, effects.after);
  if (unsent_.empty()) {
    unsent_.swap(effects.sends);
  } else {
    std::move(effects.sends.begin(), effects.sends.end(),
              std::back_inserter(unsent_));
  }
}

void DurableOutbox::Add(std::function<void()> answer) {
  answers_.push_back(std::move(answer));
}

absl::Status DurableOutbox::TakeProgress() {
  if (journal_ == nullptr) return absl::OkStatus();
  const uint64_t before = progress_.sequence;
  progress_ = journal_->TakeProgress();
  FM_RETURN_IF_ERROR(progress_.status);
  if (progress_.longest >= kSlowSync) {
    dispatcher_.NoteSlowSync(progress_.longest);
  }
  if (progress_.sequence != before) {
    dispatcher_.NoteSynced(progress_.sequence, progress_.last_delay);
  }
  return absl::OkStatus();
}

absl::Status DurableOutbox::Settle(absl::Time now) {
  if (!unsynced_.empty()) {
    sync_by_ = std::min(sync_by_, now + kMaxSyncDelay);
    if (must_sync_ || now >= sync_by_ || progress_.worth_compacting) {
      FM_RETURN_IF_ERROR(HandOver());
    }
  }
  if (progress_.worth_compacting) {
    // All events of this state have been handed over.
    journal_->Compact(
        std::make_unique<const DispatcherState>(dispatcher_.state()));
    progress_.worth_compacting = false;
  }
  held_.Hold(after_, std::exchange(unsent_, {}));
  for (auto& answer : std::exchange(answers_, {})) {
    held_.Hold(after_, std::move(answer));
  }
  SendDurable(now);
  while (TooMuchWaits()) {
    WaitFor([this] { journal_->WaitForProgress(); });
    FM_RETURN_IF_ERROR(TakeProgress());
    SendDurable(SteadyNow());
  }
  return absl::OkStatus();
}

// Hands the events to the journal. On a fast disk they are synced at the end.
absl::Status DurableOutbox::HandOver() {
  const bool idle = journal_->waiting_events() == 0;
  must_sync_ = false;
  sync_by_ = absl::InfiniteFuture();
  WaitFor([&] {
    journal_->Append(std::exchange(unsynced_, {}),
                     dispatcher_.state().splits.size());
    if (idle) journal_->WaitIdle(kPatience);
  });
  return TakeProgress();
}

void DurableOutbox::WaitFor(const std::function<void()>& wait) {
  const absl::Time begun = SteadyNow();
  wait();
  waited_ += SteadyNow() - begun;
}

// The messages of a dispatcher that is not certain to lead wait for the next
// heartbeat. If they are too many, they are dropped: peers repeat theirs.
void DurableOutbox::SendDurable(absl::Time now) {
  if (journal_ == nullptr) return held_.Release(after_, send_);
  if (now < progress_.leads_until) {
    return held_.Release(progress_.sequence, send_);
  }
  if (held_.count() > kHeldMessagesMax || held_.bytes() > kWaitingBytesMax) {
    held_.Clear();
  }
}

// True if the disk is so slow that the memory for what waits is used up.
bool DurableOutbox::TooMuchWaits() const {
  if (journal_ == nullptr) return false;
  const uint64_t events = journal_->waiting_events();
  if (events == 0) return false;
  return events > kWaitingEventsMax ||
         journal_->waiting_bytes() > kWaitingBytesMax ||
         held_.count() > kHeldMessagesMax || held_.bytes() > kWaitingBytesMax;
}

void DurableOutbox::Close() {
  if (journal_ != nullptr) journal_->Append(std::move(unsynced_), 0);
  journal_.reset();  // writes what waits
  Discard();
}

void DurableOutbox::Discard() {
  unsynced_.clear();
  answers_.clear();
  held_.Clear();
}

absl::Duration DurableOutbox::journal_worked() const {
  return journal_ == nullptr ? absl::ZeroDuration() : journal_->Worked();
}

}  // namespace feedmill
