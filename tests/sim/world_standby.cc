#include <utility>

#include "broker/event_codec.h"
#include "core/base/status.h"
#include "tests/sim/world.h"

// A standby that takes over from a dispatcher that stands still. The former one
// wakes, and some peers still talk to it until they try another address.

namespace feedmill::sim {

void World::TakeOverLater() {
  timeline_.After(absl::Milliseconds(300) + standby_->UpTo(absl::Seconds(4)),
                  [this] {
                    if (healed_) return;
                    if (dispatcher_up_ && !crash_) TakeOver();
                    TakeOverLater();
                  });
}

void World::TakeOver() {
  CheckJournal();
  ++result_.totals["takeovers"];
  Trace("a standby takes over");
  FormerDispatcher former;
  former.core = std::move(dispatcher_);
  former.skew = dispatcher_skew_;
  former.thaw = now() + standby_->UpTo(absl::Seconds(1));
  // Then it finds the other one's heartbeat.
  former.end = former.thaw + standby_->UpTo(absl::Milliseconds(2'500));
  const auto draw = [&](const std::string& peer) {
    former.stuck[peer] =
        now() + absl::Milliseconds(standby_->Choice({0, 500, 3'000, 6'000}));
  };
  for (const auto& [name, worker] : workers_) draw(name);
  for (const auto& [name, reader] : readers_) draw(name);
  former_dispatcher_ = std::move(former);
  LoseUnsynced();
  StartDispatcher(/*wiped=*/false);
}

bool World::IsStuck(const std::string& peer) const {
  if (!former_dispatcher_ || former_dispatcher_->end <= now()) return false;
  const auto found = former_dispatcher_->stuck.find(peer);
  return found != former_dispatcher_->stuck.end() && found->second > now();
}

// The store refuses events of the former dispatcher. It is not certain to lead
// any more, so its messages wait, and are dropped when it ends.
std::optional<absl::Time> World::TellFormer(const std::string& from,
                                            const Message& message) {
  FormerDispatcher& former = *former_dispatcher_;
  if (former.thaw > now()) return former.thaw;
  ++result_.totals["messages to former dispatchers"];
  const Dispatcher::Incoming incoming{PeerId(from), message};
  DispatcherEffects effects =
      former.core->Handle(now() + former.skew, {&incoming, 1});
  if (!effects.events.empty() && options_.makers.store_fences) {
    former.end = now();
    return std::nullopt;
  }
  for (const DispatcherEvent& event : effects.events) {
    disk_.push_back(EncodeEvent(event));
    synced_ = needed_ = disk_.size();
  }
  if (options_.makers.waits_for_certainty) return std::nullopt;
  for (Outgoing& outgoing : effects.sends) {
    if (!IsStuck(outgoing.to.value())) continue;
    network_->Send(kDispatcher, outgoing.to.value(),
                   std::move(outgoing.message));
  }
  return std::nullopt;
}

}  // namespace feedmill::sim
