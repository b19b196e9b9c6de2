// A reader, workers and a small dispatcher in one loop, without sockets. The
// messages of the two cores must suffice to complete a run, in any order of
// results and with any message lost.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "client/read_session.h"
#include "gtest/gtest.h"
#include "tests/unit/worker/delivery_vocabulary.h"
#include "worker/worker_agent.h"

namespace feedmill {
namespace {

using testing::MakePiece;
using testing::ValuesOf;

const JobName kLoopJob{"job"};
const PlanId kPlan{"plan"};

struct World {
  uint64_t positions = 1000;
  uint64_t split = 25;
  uint64_t window = 6;
  size_t workers = 2;
  uint64_t worker_memory = 2000;
  uint64_t client_budget = 1600;
  uint64_t client_quota = 400;
  double loss = 0;
  bool attempts = false;  // sometimes two attempts per split
  Order order = Order::kDeterministic;
};

uint64_t SomeRows(uint64_t p) { return (p * 2654435761U >> 7) % 4; }

class DeliveryLoop {
 public:
  DeliveryLoop(const World& world, uint32_t seed)
      : world_(world), random_(seed), session_(SettingsOf(world)) {
    for (size_t w = 0; w < world.workers; ++w) {
      WorkerAgentSettings settings;
      settings.worker = WorkerId{"tcp://w:" + std::to_string(w)};
      settings.incarnation = Incarnation{1};
      settings.memory_bytes = world.worker_memory;
      settings.frame_bytes = 100;
      workers_[PeerId{settings.worker.value()}] =
          std::make_unique<WorkerAgent>(settings);
    }
  }

  // Runs to the end and returns the values in order of arrival.
  std::vector<int64_t> Run() {
    const absl::Time limit = now_ + absl::Minutes(5);
    while (session_.state() != ReadSession::State::kEnded && now_ < limit) {
      EXPECT_NE(session_.state(), ReadSession::State::kFailed)
          << session_.failure();
      if (session_.state() == ReadSession::State::kFailed) break;
      Step();
    }
    EXPECT_LT(now_, limit) << "no progress";
    return values_;
  }
  absl::Duration elapsed() const { return now_ - absl::UnixEpoch(); }
  size_t grants() const { return grants_; }
  size_t frames() const { return frames_; }

 private:
  struct Letter {
    PeerId from;
    PeerId to;
    Message message;
  };
  struct Task {
    PeerId worker;
    ComputeRequest request;
  };
  struct BoundSplitState {
    BoundSplit info;
    bool served = false;
  };

  static ReadSessionSettings SettingsOf(const World& world) {
    ReadSessionSettings settings;
    settings.job = kLoopJob;
    settings.order = world.order;
    settings.session = {ConsumerId{"me"}, Incarnation{1}};
    settings.budget_bytes = world.client_budget;
    settings.quota_bytes = world.client_quota;
    return settings;
  }

  void Step() {
    now_ += absl::Milliseconds(1);
    Deliver();
    Compute();
    Post(PeerId{"client"}, session_.OnTick(now_).sends);
    for (auto& [id, worker] : workers_) {
      if (now_ >= worker->NextDeadline()) Take(id, worker->OnTick(now_));
      EXPECT_LE(worker->buffered_bytes(), world_.worker_memory + 6 * 100);
    }
    for (int i = 0; i < 3; ++i) {
      ReadEffects effects;
      std::optional<Piece> piece = session_.Pull(now_, effects);
      Post(PeerId{"client"}, effects.sends);
      if (!piece) break;
      for (int64_t v : ValuesOf(*piece)) values_.push_back(v);
      session_.HandedOut(values_.size());
    }
    EXPECT_LE(session_.buffered_bytes(), world_.client_budget + 1 + 132);
  }

  void Deliver() {
    std::deque<Letter> letters = std::move(letters_);
    letters_.clear();
    for (Letter& letter : letters) {
      if (std::bernoulli_distribution(world_.loss)(random_)) continue;
      if (letter.to == PeerId{"client"}) {
        Post(letter.to,
             session_.Handle(now_, letter.from, std::move(letter.message))
                 .sends);
      } else if (letter.to == kDispatcherPeer) {
        Dispatch(letter.from, letter.message);
      } else {
        Take(letter.to,
             workers_.at(letter.to)->Handle(now_, letter.from, letter.message));
      }
    }
  }

  void Post(const PeerId& from, std::vector<Outgoing> sends) {
    for (Outgoing& outgoing : sends) {
      grants_ += std::holds_alternative<Grant>(outgoing.message) ? 1 : 0;
      frames_ += std::holds_alternative<Frame>(outgoing.message) ? 1 : 0;
      letters_.push_back({from, outgoing.to, std::move(outgoing.message)});
    }
  }

  void Take(const PeerId& id, WorkerEffects effects) {
    Post(id, std::move(effects.sends));
    effects.unsent.clear();
    WorkerAgent& worker = *workers_.at(id);
    if (worker.awaits_transport()) Take(id, worker.OnSent(now_));
    for (const ComputeRequest& request : effects.compute) {
      tasks_.push_back({id, request});
    }
    for (const PlanDefinition& definition : effects.define) {
      Take(id,
           workers_.at(id)->OnDefined(now_, definition.plan, absl::OkStatus()));
    }
  }

  // Ends some tasks, in any order, some of them early.
  void Compute() {
    for (int i = 0; i < 4 && !tasks_.empty(); ++i) {
      const size_t pick = random_() % tasks_.size();
      const Task task = tasks_[pick];
      tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(pick));
      Cursor end = task.request.end;
      if (random_() % 4 == 0) {
        end = std::min(end, Cursor{task.request.begin.p + 1, 0});
      }
      Take(task.worker,
           workers_.at(task.worker)
               ->OnComputed(now_, task.request.task,
                            MakePiece(task.request.begin, end, SomeRows),
                            TaskCost{absl::Milliseconds(1)}));
    }
  }

  // ---- the dispatcher: binds in order, leases round-robin, ends splits that
  // are out
  void Dispatch(const PeerId& from, const Message& message) {
    if (std::holds_alternative<ClientHello>(message)) {
      AnswerClient(std::nullopt);
    } else if (const auto* beat = std::get_if<ClientBeat>(&message)) {
      for (const SplitReport& report : beat->splits) Take(report);
      AnswerClient(beat->sent);
    } else if (const auto* worker = std::get_if<WorkerBeat>(&message)) {
      AnswerWorker(from, *worker);
    }
  }

  void Take(const SplitReport& report) {
    auto found = splits_.find(report.split);
    if (found == splits_.end()) return;
    BoundSplitState& split = found->second;
    if (report.taken >= split.info.end) {
      split.served = true;
      split.info.leases.clear();
    }
    if (split.served && report.out >= split.info.end) splits_.erase(found);
  }

  void Bind() {
    size_t open = 0;
    for (const auto& [id, split] : splits_) open += split.served ? 0 : 1;
    for (; open < world_.window && bound_ < world_.positions; ++open) {
      const SplitId id{JournalId{1}, ++last_split_};
      BoundSplit info{id, {bound_, 0}, {}, {}, {}};
      bound_ = std::min(bound_ + world_.split, world_.positions);
      info.end = {bound_, 0};
      const size_t count = world_.attempts && last_split_ % 2 == 0 ? 2 : 1;
      for (size_t i = 0; i < count; ++i) {
        auto worker = workers_.begin();
        std::advance(worker, (last_split_ + i) % workers_.size());
        info.leases.push_back(
            {WorkerId{worker->first.value()}, Incarnation{1}, Attempt{i + 1}});
      }
      splits_[id] = {info, false};
    }
  }

  void AnswerClient(std::optional<absl::Time> sent) {
    Bind();
    ClientAnswer answer;
    answer.job = kLoopJob;
    answer.session = session_.session();
    answer.beat_sent = sent;
    answer.run.emplace();
    answer.run->positions = world_.positions;
    answer.run->plan = kPlan;
    for (const auto& [id, split] : splits_) answer.splits.push_back(split.info);
    answer.exhausted = bound_ >= world_.positions;
    answer.finished = answer.exhausted && splits_.empty();
    answer.heartbeat_interval = absl::Milliseconds(200);
    answer.client_timeout = absl::Seconds(30);
    letters_.push_back({kDispatcherPeer, PeerId{"client"}, answer});
    for (const auto& [id, worker] : workers_) AnswerWorker(id, WorkerBeat{});
  }

  void AnswerWorker(const PeerId& id, const WorkerBeat& beat) {
    WorkerAnswer answer;
    answer.incarnation = Incarnation{1};
    for (const auto& [split, state] : splits_) {
      for (const LeaseRef& lease : state.info.leases) {
        if (lease.worker.value() != id.value()) continue;
        answer.leases.push_back({split, session_.session(), kPlan,
                                 state.info.begin, state.info.end,
                                 lease.attempt});
      }
    }
    if (beat.plans.empty()) {
      answer.definitions.push_back(PlanDefinition{kPlan, "graph", "", 0, 0});
    }
    answer.heartbeat_interval = absl::Milliseconds(200);
    answer.park_after = absl::Seconds(1);
    letters_.push_back({kDispatcherPeer, id, answer});
  }

  const World world_;
  std::mt19937 random_;
  absl::Time now_ = absl::UnixEpoch();
  ReadSession session_;
  std::map<PeerId, std::unique_ptr<WorkerAgent>> workers_;
  std::deque<Letter> letters_;
  std::vector<Task> tasks_;
  std::map<SplitId, BoundSplitState> splits_;
  uint64_t bound_ = 0;
  uint64_t last_split_ = 0;
  std::vector<int64_t> values_;
  size_t grants_ = 0;
  size_t frames_ = 0;
};

std::vector<int64_t> Reference(uint64_t positions) {
  return ValuesOf(MakePiece(0, positions, SomeRows));
}

TEST(DeliveryLoop, PassesAThousandPositions) {
  DeliveryLoop loop(World{}, 1);
  EXPECT_EQ(loop.Run(), Reference(1000));
  // Nothing in the run waits for a heartbeat.
  EXPECT_LT(loop.elapsed(), absl::Seconds(2));
  EXPECT_LT(loop.grants(), loop.frames());
}

TEST(DeliveryLoop, LosesNothingWhenMessagesAreLost) {
  World world;
  world.positions = 200;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    world.loss = seed % 2 == 0 ? 0.02 : 0.2;
    world.attempts = seed % 3 == 0;
    EXPECT_EQ(DeliveryLoop(world, seed).Run(), Reference(200)) << seed;
  }
}

TEST(DeliveryLoop, ContinuesWithTinyBudgets) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    World world;
    world.positions = 200;
    world.client_budget = uint64_t{24} << (seed % 5);
    world.client_quota = uint64_t{16} << (seed % 3);
    world.worker_memory = uint64_t{20} << (seed % 4);
    world.workers = 1 + seed % 3;
    world.loss = seed % 2 == 0 ? 0 : 0.05;
    world.attempts = seed % 3 == 1;
    EXPECT_EQ(DeliveryLoop(world, seed).Run(), Reference(200)) << seed;
  }
}

TEST(DeliveryLoop, AReaderInAnyOrderGetsEachOnce) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    World world;
    world.positions = 300;
    world.order = Order::kAny;
    world.loss = seed % 2 == 0 ? 0 : 0.05;
    std::vector<int64_t> values = DeliveryLoop(world, seed).Run();
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, Reference(300)) << seed;
  }
}

}  // namespace
}  // namespace feedmill
