#include "broker/delivery_rules.h"

#include "broker/run_choice.h"

namespace feedmill {

bool DeliveryRules::IsCurrent(Incarnation known, Incarnation said) const {
  return known == said;
}

bool DeliveryRules::IsClosed(const DispatcherState& state,
                             const SessionKey& key,
                             Incarnation incarnation) const {
  const auto it = state.closed.find(key);
  if (it == state.closed.end()) return false;
  // A sharer's name is never opened again; the one consumer of a job keeps
  // its name, and its later lives are new sessions.
  const JobState* job = state.FindJob(key.job);
  const bool sharer = job != nullptr && job->order == Order::kAny;
  return sharer || incarnation <= it->second;
}

size_t DeliveryRules::WindowUsed(const SessionState& session) const {
  return session.waiting.size();
}

SplitId DeliveryRules::NameSplit(const DispatcherState& state,
                                 const SessionKey&, Cursor) const {
  return {state.journal, state.next_split};
}

// A sharer may join again under a new name. With deterministic order, another
// session replaced this one.
RejectReason DeliveryRules::WhyClosed(const DispatcherState& state,
                                      const JobName& name) const {
  const JobState* job = state.FindJob(name);
  return job != nullptr && job->order == Order::kAny
             ? RejectReason::kReleased
             : RejectReason::kSuperseded;
}

RejectReason DeliveryRules::WhyUnknown(const DispatcherState& state,
                                       const ClientBeat& beat) const {
  const JobState* job = state.FindJob(beat.job);
  if (IsClosed(state, {beat.job, beat.session.consumer},
               beat.session.incarnation)) {
    return WhyClosed(state, beat.job);
  }
  if (job == nullptr || beat.run > job->run) return RejectReason::kUnknown;
  const auto it = job->sessions.find(beat.session.consumer);
  // An emptied store may have met a dead life of the consumer first. It may
  // also have met a life of a further run, which may have ended since. A later
  // life is therefore unknown, never superseded.
  if (it != job->sessions.end() &&
      it->second.incarnation < beat.session.incarnation) {
    return RejectReason::kUnknown;
  }
  if (job->order == Order::kDeterministic && it == job->sessions.end() &&
      IsLatestLife(beat.session, *job)) {
    return RejectReason::kUnknown;
  }
  return beat.run == job->run && it == job->sessions.end()
             ? RejectReason::kUnknown
             : RejectReason::kSuperseded;
}

bool DeliveryRules::WaitsForRanks(const ClientHello& hello) const {
  static_cast<void>(hello);  // true for every hello, also with take_over
  return true;
}

bool DeliveryRules::GoesOn(const ClientHello& hello) const {
  return hello.run.has_value() && !hello.begins;
}

}  // namespace feedmill
