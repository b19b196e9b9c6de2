#include "tests/sim/planted_bugs.h"

#include <algorithm>
#include <utility>

namespace feedmill::sim {
namespace {

// ---- client

// Takes pieces without comparing them with those taken before (rule 11).
class NoCompare : public SessionRules {
 public:
  std::optional<Piece> NewPart(Cursor, Piece piece) const override {
    return piece;
  }
};

// Gives the head no more credit than others (rule 14).
class NoReserve : public SessionRules {
 public:
  bool Reserve(uint64_t&, uint64_t, bool) const override { return false; }
};

// Hands out after its lease has ended (rule 24).
class Zombie : public SessionRules {
 public:
  bool IsValid(absl::Time, absl::Time) const override { return true; }
};

// Renews the lease from the receipt of an answer (rule 24).
class RenewAtReceipt : public SessionRules {
 public:
  absl::Time RenewedFrom(absl::Time, absl::Time received) const override {
    return received;
  }
};

// Reports a handed-out element as not handed out (rule 16).
class OffByOne : public SessionRules {
 public:
  Cursor After(Cursor cursor) const override { return cursor; }
};

// A sharing reader never hands out a short batch (rule 19).
class ShortBatchKept : public SessionRules {
 public:
  bool HandsOutShortBatches() const override { return false; }
};

// Takes the last known position for the end (rule 27).
class EndsUnsettled : public SessionRules {
 public:
  bool EndKnown(const RunInfo&) const override { return true; }
};

// Reads the second pass before the number of passes is final (P-190).
class ReadsOnUnsettled : public SessionRules {
 public:
  bool WaitsToSettle() const override { return false; }
};

// ---- worker

// Adds each grant to the previous total (rule 12).
class AddedGrant : public StreamRules {
 public:
  uint64_t Allow(uint64_t total, const Grant& grant) const override {
    return total + grant.total_bytes;
  }
};

// Ignores the client's openings (rule 12).
class NoOpening : public StreamRules {
 public:
  bool Reopened(Opening, const Grant&) const override { return false; }
};

// Ignores heads: low positions go first (rule 17).
class LowestFirst : public StreamRules {
 public:
  bool IsHead(const Grant&) const override { return false; }
};

// Counts pieces behind a gap as enough (rule 17).
class HoleLeftOpen : public StreamRules {
 public:
  bool EnoughBehindHole() const override { return true; }
};

// ---- dispatcher

// Accepts any incarnation of a consumer, and gives splits of different
// incarnations equal names (rules 2 and 3).
class AnyIncarnation : public DeliveryRules {
 public:
  bool IsCurrent(Incarnation, Incarnation) const override { return true; }
  SplitId NameSplit(const DispatcherState& state, const SessionKey& owner,
                    Cursor begin) const override {
    const uint64_t rank = state.FindSession(owner)->share.rank;
    const uint64_t job = owner.job.value().size();  // there are two
    return {state.journal, (job << 40) + (rank << 32) + begin.p};
  }
};

// Moves the window by handed-out elements (rule 16).
class WindowByOut : public DeliveryRules {
 public:
  size_t WindowUsed(const SessionState& session) const override {
    return session.splits.size();
  }
};

// Rejects a live reader as replaced, because an emptied store met its dead
// predecessor first (rule 2).
class WipedKillsLive : public DeliveryRules {
 public:
  RejectReason WhyUnknown(const DispatcherState& state,
                          const ClientBeat& beat) const override {
    const SessionState* session =
        state.FindSession({beat.job, beat.session.consumer});
    return session != nullptr ? RejectReason::kSuperseded
                              : DeliveryRules::WhyUnknown(state, beat);
  }
};

// A repeated hello revives a released name (rule 4).
class HelloRaisesDead : public DeliveryRules {
 public:
  bool IsClosed(const DispatcherState&, const SessionKey&,
                Incarnation) const override {
    return false;
  }
};

// A rank that takes over does not wait for other ranks (P-180).
class TakeOverEjects : public DeliveryRules {
 public:
  bool WaitsForRanks(const ClientHello& hello) const override {
    return !hello.take_over;
  }
};

// A reader that begins a run replaces one that reads it (P-188).
class BeginEjects : public DeliveryRules {
 public:
  bool GoesOn(const ClientHello& hello) const override {
    return hello.run.has_value();
  }
};

// Takes a rank that has a run for one whose dispatcher was restarted (P-188).
class RunMeansRestart : public SessionRules {
 public:
  bool AwaitsIteration(const ClientAnswer&, bool has_run) const override {
    return !has_run;
  }
};

template <class Bug>
PlantedBug ClientBug(std::string name, std::string rule) {
  Makers makers = RealMakers();
  makers.client = [](ReadSessionSettings settings) {
    return std::make_unique<ReadSession>(std::move(settings),
                                         std::make_unique<Bug>());
  };
  return {std::move(name), std::move(rule), std::move(makers)};
}

template <class Bug>
PlantedBug WorkerBug(std::string name, std::string rule) {
  Makers makers = RealMakers();
  makers.worker = [](WorkerAgentSettings settings) {
    return std::make_unique<WorkerAgent>(std::move(settings),
                                         std::make_unique<Bug>());
  };
  return {std::move(name), std::move(rule), std::move(makers)};
}

template <class Bug>
PlantedBug DispatcherBug(std::string name, std::string rule) {
  Makers makers = RealMakers();
  makers.dispatcher = [](DispatcherSettings settings, Planner planner,
                         DispatcherState state, absl::Time now) {
    return std::make_unique<Dispatcher>(settings, std::move(planner),
                                        std::move(state), now,
                                        std::make_unique<Bug>());
  };
  return {std::move(name), std::move(rule), std::move(makers)};
}

// Gives leases of Python functions to any worker (P-251).
PlantedBug AnyInterpreter() {
  Makers makers = RealMakers();
  makers.dispatcher = [](DispatcherSettings settings, Planner planner,
                         DispatcherState state, absl::Time now) {
    planner.python_needs = nullptr;
    return std::make_unique<Dispatcher>(settings, std::move(planner),
                                        std::move(state), now);
  };
  return {"any-interpreter", "P-251", std::move(makers)};
}

// The shell sends messages before `late` events are on disk (rules 6 and 7).
PlantedBug JournalBug(std::string name, std::string rule,
                      std::function<bool(const DispatcherEvent&)> late) {
  Makers makers = RealMakers();
  makers.may_be_late = [late = std::move(late)](const DispatcherEvent& event) {
    return MayBeLate(event) || late(event);
  };
  return {std::move(name), std::move(rule), std::move(makers)};
}

// After a restart every peer counts as silent for long (rule 10).
PlantedBug ReleaseAtRestart() {
  Makers makers = RealMakers();
  makers.dispatcher = [](DispatcherSettings settings, Planner planner,
                         DispatcherState state, absl::Time now) {
    return std::make_unique<Dispatcher>(settings, std::move(planner),
                                        std::move(state),
                                        now - settings.client_timeout);
  };
  return {"release-at-restart", "10", std::move(makers)};
}

// A reader ignores earlier readers of its process (P-171).
PlantedBug NoFormerLeaves() {
  Makers makers = RealMakers();
  makers.client = [](ReadSessionSettings settings) {
    settings.former_leaves.clear();
    return std::make_unique<ReadSession>(std::move(settings));
  };
  return {"former-leaves-unsaid", "P-171", std::move(makers)};
}

// A token has the session's cursor, which is beyond the element of the token's
// number (rule 22).
PlantedBug CursorBesideNumber() {
  Makers makers = RealMakers();
  makers.token_cursor = [](const ReadSession& session, Cursor) {
    return session.cursor();
  };
  return {"cursor-beside-number", "22", std::move(makers)};
}

// Counts a chunk as used when it is given (rule 16).
PlantedBug GivenCountsAsUsed() {
  Makers makers = RealMakers();
  makers.handed_out = [](uint64_t, uint64_t given) { return given; };
  return {"given-counts-as-used", "16, P-172", std::move(makers)};
}

// A dispatcher that stood still writes on after a standby took over.
PlantedBug AppendsUnfenced() {
  Makers makers = RealMakers();
  makers.store_fences = false;
  return {"append-unfenced", "6", std::move(makers)};
}

// A dispatcher that stood still answers without asking whether it still leads.
PlantedBug SpeaksUncertain() {
  Makers makers = RealMakers();
  makers.waits_for_certainty = false;
  return {"speaks-uncertain", "24", std::move(makers)};
}

// Uses a chunk to its end, even after it belongs to another reader (rule 24).
PlantedBug UsesAWholeChunk() {
  Makers makers = RealMakers();
  makers.asks_within_chunk = false;
  return {"chunk-outlives-lease", "24, P-173", std::move(makers)};
}

}  // namespace

Makers RealMakers() {
  Makers makers;
  makers.dispatcher = [](DispatcherSettings settings, Planner planner,
                         DispatcherState state, absl::Time now) {
    return std::make_unique<Dispatcher>(settings, std::move(planner),
                                        std::move(state), now);
  };
  makers.worker = [](WorkerAgentSettings settings) {
    return std::make_unique<WorkerAgent>(std::move(settings));
  };
  makers.client = [](ReadSessionSettings settings) {
    return std::make_unique<ReadSession>(std::move(settings));
  };
  makers.may_be_late = MayBeLate;
  makers.token_cursor = [](const ReadSession&, Cursor after) { return after; };
  makers.handed_out = [](uint64_t used, uint64_t) { return used; };
  return makers;
}

const std::vector<PlantedBug>& PlantedBugs() {
  static const auto* const bugs = new std::vector<PlantedBug>{
      ClientBug<NoCompare>("cursor-not-compared", "11"),
      WorkerBug<AddedGrant>("grant-as-difference", "12"),
      ClientBug<NoReserve>("head-without-reserve", "14"),
      ClientBug<Zombie>("zombie-client", "24"),
      ClientBug<RenewAtReceipt>("renew-at-receipt", "24"),
      ClientBug<OffByOne>("token-off-by-one", "16"),
      WorkerBug<NoOpening>("no-opening-number", "12"),
      DispatcherBug<AnyIncarnation>("stale-incarnation", "2, 3"),
      DispatcherBug<WindowByOut>("window-by-handed-out", "16"),
      DispatcherBug<HelloRaisesDead>("hello-raises-dead", "4"),
      DispatcherBug<WipedKillsLive>("wiped-kills-live", "2"),
      JournalBug("send-before-journal", "6",
                 [](const DispatcherEvent&) { return true; }),
      JournalBug("binding-not-journaled", "3, 6",
                 [](const DispatcherEvent& event) {
                   return std::holds_alternative<SplitsBound>(event);
                 }),
      JournalBug("end-journaled-late", "7",
                 [](const DispatcherEvent& event) {
                   return std::holds_alternative<SplitsEnded>(event);
                 }),
      ReleaseAtRestart(),
      CursorBesideNumber(),
      WorkerBug<LowestFirst>("lowest-first", "17"),
      WorkerBug<HoleLeftOpen>("hole-left-open", "17"),
      ClientBug<ShortBatchKept>("short-batch-kept", "19"),
      GivenCountsAsUsed(),
      UsesAWholeChunk(),
      AppendsUnfenced(),
      SpeaksUncertain(),
      ClientBug<EndsUnsettled>("ends-unsettled", "27"),
      ClientBug<ReadsOnUnsettled>("reads-on-unsettled", "P-190"),
      ClientBug<RunMeansRestart>("run-means-restart", "P-188"),
      NoFormerLeaves(),
      DispatcherBug<TakeOverEjects>("take-over-ejects", "P-180"),
      DispatcherBug<BeginEjects>("begin-ejects", "P-188"),
      AnyInterpreter(),
  };
  return *bugs;
}

const PlantedBug* FindBug(const std::string& name) {
  const auto& bugs = PlantedBugs();
  const auto it =
      std::find_if(bugs.begin(), bugs.end(),
                   [&](const PlantedBug& bug) { return bug.name == name; });
  return it == bugs.end() ? nullptr : &*it;
}

}  // namespace feedmill::sim
