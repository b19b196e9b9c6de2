#ifndef FEEDMILL_TESTS_UNIT_BROKER_DISPATCHER_VOCABULARY_H_
#define FEEDMILL_TESTS_UNIT_BROKER_DISPATCHER_VOCABULARY_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/dispatcher.h"
#include "core/base/status.h"

// A vocabulary for tests of a dispatcher: readers and workers that send given
// messages and remember the last answer, and a cluster that delivers the
// messages at chosen times.

namespace feedmill::testing {

// Graphs are texts: "range 100", "files 100" (needs a manifest), "passes 100"
// (that many per worker), "cycle 100" (infinite), "filter 100" (unknown number
// of elements), "bad". A graph with "python" has functions that need
// Python 3.11 and numpy 2.1.0, and a manifest. Text after a '#' is not part of
// the fingerprint.
inline std::string FingerprintOf(const std::string& graph) {
  return graph.substr(0, graph.find('#'));
}

inline Planner StoryPlanner() {
  Planner planner;
  planner.fingerprint =
      [](const std::string& graph) -> absl::StatusOr<std::string> {
    return FingerprintOf(graph);
  };
  planner.needs_manifest =
      [](const std::string& graph) -> absl::StatusOr<bool> {
    if (graph == "bad") return InvalidArgument("steps[0]: no such step");
    return graph.starts_with("files") ||
           graph.find("python") != std::string::npos;
  };
  planner.python_needs = [](const std::string& graph) -> PythonNeedsPtr {
    if (graph.find("python") == std::string::npos) return nullptr;
    return std::make_shared<const std::vector<PythonNeeds>>(
        std::vector<PythonNeeds>{{"3.11.2", {"numpy==2.1.0"}}});
  };
  planner.shape = [](const std::string& graph, const std::string& manifest,
                     uint64_t, uint64_t) -> absl::StatusOr<JobShape> {
    JobShape shape;
    shape.fingerprint = FingerprintOf(graph);
    shape.manifest_hash = manifest;
    shape.positions = std::stoull(shape.fingerprint.substr(6));
    if (graph.starts_with("cycle")) {
      shape.source_round = std::exchange(shape.positions, kInfinitePositions);
    }
    shape.source_size = shape.positions;
    shape.first_split = 10;
    shape.in_passes = graph.starts_with("passes");
    return shape;
  };
  planner.numbered = [](const std::string& graph) {
    return !graph.starts_with("filter");
  };
  planner.sequenced_graph = [](const std::string& graph) {
    return graph.ends_with(" in order") ? "filter 1" : "";
  };
  planner.name_position = [](const std::string& graph, const std::string&,
                             uint64_t, uint64_t, uint64_t position) {
    return PositionName{fmt::format("position {}", position),
                        graph.ends_with(" skipping")};
  };
  return planner;
}

class Cluster;

class Reader {
 public:
  Reader(Cluster& cluster, std::string peer, ClientHello hello)
      : cluster_(cluster), peer_(std::move(peer)), hello_(std::move(hello)) {}

  Reader& Hello();
  // Sends a heartbeat with all reports so far.
  Reader& Beat();
  Reader& Leave();
  // Reports that the whole split is in the buffer (Take), or has left it too
  // (Finish).
  Reader& Take(const BoundSplit& split);
  Reader& Finish(const BoundSplit& split);
  Reader& FinishAll();  // all splits bound now
  Reader& Report(const SplitId& split, Cursor taken, Cursor out);

  const std::vector<BoundSplit>& splits() const { return answer->splits; }
  const BoundSplit& split(size_t i) const { return answer->splits.at(i); }
  bool live() const { return answer.has_value() && answer->run.has_value(); }
  void Forget() {
    answer.reset();
    reject.reset();
    heard = 0;
  }
  ClientHello& hello() { return hello_; }
  const std::string& peer() const { return peer_; }

  std::optional<ClientAnswer> answer;
  std::optional<ClientReject> reject;
  size_t heard = 0;  // messages
  LeaveReason why = LeaveReason::kLeft;

 private:
  Cluster& cluster_;
  std::string peer_;
  ClientHello hello_;
  std::map<SplitId, SplitReport> reports_;
};

class Miller {  // a worker
 public:
  Miller(Cluster& cluster, std::string peer, WorkerBeat beat)
      : cluster_(cluster), peer_(std::move(peer)), says(std::move(beat)) {}

  // Sends a heartbeat that repeats the leases of the last answer.
  Miller& Beat();
  const std::vector<Lease>& leases() const { return answer->leases; }
  void Forget() {
    answer.reset();
    heard = 0;
  }
  const std::string& peer() const { return peer_; }

  std::optional<WorkerAnswer> answer;
  size_t heard = 0;

 private:
  Cluster& cluster_;
  std::string peer_;

 public:
  WorkerBeat says;
};

class Cluster {
 public:
  explicit Cluster(DispatcherSettings settings = {})
      : settings_(settings),
        dispatcher_(std::make_unique<Dispatcher>(settings, StoryPlanner(),
                                                 Empty(), now_)) {}

  static DispatcherState Empty() {
    DispatcherState state;
    state.journal = JournalId(77);
    return state;
  }

  Reader& AddReader(const std::string& job, const std::string& consumer,
                    const std::string& graph,
                    Order order = Order::kDeterministic) {
    ClientHello hello;
    hello.job = JobName(job);
    hello.graph = graph;
    hello.order = order;
    hello.seed = 7;
    hello.session = {ConsumerId(consumer), Incarnation(++lives_)};
    const std::string peer = fmt::format("client-{}", ++peers_);
    readers_.push_back(std::make_unique<Reader>(*this, peer, std::move(hello)));
    return *readers_.back();
  }
  Miller& AddWorker(const std::string& address, uint32_t slots = 2) {
    WorkerBeat beat;
    beat.worker = WorkerId(address);
    beat.incarnation = Incarnation(++lives_);
    beat.slots = slots;
    const std::string peer = fmt::format("worker-{}", ++peers_);
    workers_.push_back(std::make_unique<Miller>(*this, peer, std::move(beat)));
    return workers_.back()->Beat();
  }
  // `numpy`: the version that its interpreter has.
  Miller& AddPythonWorker(const std::string& address,
                          const std::string& numpy) {
    Miller& worker = AddWorker(address);
    worker.says.allows_python = true;
    worker.says.python =
        PythonInterpreter{"/usr/bin/python3", "3.11.4", {"numpy==" + numpy}};
    return worker.Beat();
  }

  void Say(const std::string& from, const Message& message) {
    Carry(dispatcher_->Handle(now_, PeerId(from), message));
  }
  // Advances the time in steps; the dispatcher ticks, and the given peers send
  // heartbeats.
  void Pass(absl::Duration time, const std::vector<Reader*>& readers = {},
            const std::vector<Miller*>& workers = {}) {
    const absl::Time end = now_ + time;
    while (now_ < end) {
      now_ += absl::Milliseconds(50);
      for (Reader* reader : readers) reader->Beat();
      for (Miller* worker : workers) worker->Beat();
      if (now_ >= dispatcher_->NextDeadline()) {
        Carry(dispatcher_->OnTick(now_));
      }
    }
  }
  // Stops the dispatcher for a time; then it ticks before it reads messages.
  void Stall(absl::Duration time) {
    now_ += time;
    Carry(dispatcher_->OnTick(now_));
  }
  // Stops the dispatcher for a time; then it reads messages before it ticks.
  void Wait(absl::Duration time) { now_ += time; }
  // Starts a new dispatcher process with the same journal.
  void Restart() {
    dispatcher_ = std::make_unique<Dispatcher>(settings_, StoryPlanner(),
                                               Replayed(), now_);
  }
  DispatcherState Replayed() const {
    DispatcherState state = Empty();
    for (const DispatcherEvent& event : journal) state.Apply(event);
    return state;
  }

  void Carry(const DispatcherEffects& effects) {
    journal.insert(journal.end(), effects.events.begin(), effects.events.end());
    EXPECT_EQ(Replayed(), dispatcher_->state());
    for (const DispatcherNote& note : effects.notes) {
      notes_.push_back(note.text);
    }
    for (const Outgoing& outgoing : effects.sends) {
      last = outgoing;
      for (auto& reader : readers_) {
        if (reader->peer() != outgoing.to.value()) continue;
        ++reader->heard;
        if (const auto* a = std::get_if<ClientAnswer>(&outgoing.message)) {
          reader->answer = *a;
        } else if (auto* r = std::get_if<ClientReject>(&outgoing.message)) {
          reader->reject = *r;
        }
      }
      for (auto& worker : workers_) {
        if (worker->peer() != outgoing.to.value()) continue;
        ++worker->heard;
        if (const auto* a = std::get_if<WorkerAnswer>(&outgoing.message)) {
          worker->answer = *a;
        }
      }
    }
  }

  absl::Time now() const { return now_; }
  const DispatcherState& state() const { return dispatcher_->state(); }
  const JobState* job(const std::string& name) const {
    return state().FindJob(JobName(name));
  }
  Dispatcher& dispatcher() { return *dispatcher_; }
  const Dispatcher& dispatcher() const { return *dispatcher_; }
  // Log lines since the last call.
  std::vector<std::string> TakeNotes() { return std::exchange(notes_, {}); }

  std::vector<DispatcherEvent> journal;
  std::optional<Outgoing> last;

 private:
  const DispatcherSettings settings_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  uint64_t lives_ = 0;
  uint64_t peers_ = 0;
  std::vector<std::string> notes_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::unique_ptr<Miller>> workers_;
};

inline Reader& Reader::Hello() {
  cluster_.Say(peer_, hello_);
  return *this;
}

inline Reader& Reader::Beat() {
  ClientBeat beat;
  beat.job = hello_.job;
  beat.session = hello_.session;
  beat.run = answer && answer->run ? answer->run->run : RunNumber(1);
  beat.sent = cluster_.now();
  for (const auto& [id, report] : reports_) beat.splits.push_back(report);
  cluster_.Say(peer_, beat);
  return *this;
}

inline Reader& Reader::Leave() {
  const RunNumber run = answer && answer->run ? answer->run->run : RunNumber(1);
  ClientLeave leave{hello_.job, run, hello_.session, {}, why};
  for (const auto& [id, report] : reports_) leave.splits.push_back(report);
  cluster_.Say(peer_, leave);
  return *this;
}

inline Reader& Reader::Report(const SplitId& split, Cursor taken, Cursor out) {
  reports_[split] = {split, taken, out};
  return *this;
}

inline Reader& Reader::Take(const BoundSplit& split) {
  return Report(split.split, split.end, split.begin);
}

inline Reader& Reader::Finish(const BoundSplit& split) {
  return Report(split.split, split.end, split.end);
}

inline Reader& Reader::FinishAll() {
  for (const BoundSplit& split : splits()) Finish(split);
  return *this;
}

inline Miller& Miller::Beat() {
  says.leases.clear();
  if (answer) {
    for (const Lease& lease : answer->leases) {
      says.leases.push_back({lease.split, lease.attempt});
    }
    for (const PlanDefinition& plan : answer->definitions) {
      says.plans.push_back(plan.plan);
    }
  }
  cluster_.Say(peer_, says);
  return *this;
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_BROKER_DISPATCHER_VOCABULARY_H_
