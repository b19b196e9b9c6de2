#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "bench/dispatcher/load.h"
#include "broker/dispatcher.h"
#include "broker/job_planner.h"
#include "broker/state_journal.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/net/clock.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/dataset.h"

namespace feedmill::bench {
namespace {

constexpr uint64_t kReaders = 250;
constexpr uint64_t kSplitPositions = 1'000;
constexpr uint64_t kTogether = 64;  // splits that end in one heartbeat
const JobName kJob{"bench"};

SessionKey ReaderAt(uint64_t k) {
  return {kJob, ConsumerId(fmt::format("reader-{}", k))};
}

// Writes events like a dispatcher: all of an iteration of the loop together.
class Author {
 public:
  explicit Author(StateJournal& journal)
      : journal_(journal), state_(journal.TakeState()) {}

  void Commit(DispatcherEvent event) {
    state_.Apply(event);
    turn_.push_back(std::move(event));
  }
  absl::Status EndTurn() {
    FM_RETURN_IF_ERROR(journal_.Append(turn_));
    turn_.clear();
    return journal_.WorthCompacting(state_.splits.size())
               ? journal_.Compact(state_)
               : absl::OkStatus();
  }
  const DispatcherState& state() const { return state_; }

 private:
  StateJournal& journal_;
  DispatcherState state_;
  std::vector<DispatcherEvent> turn_;
};

void Begin(Author& author, uint64_t positions) {
  const Graph graph = Dataset::Range(static_cast<int64_t>(positions)).graph();
  author.Commit(
      JobCreated{kJob, CanonicalText(graph), "fingerprint", Order::kAny, 7});
  author.Commit(ManifestKnown{kJob, ""});
  author.Commit(RunStarted{kJob, RunNumber(1), 0});
  author.Commit(
      RunPlanned{kJob, positions, positions, kSplitPositions, PlanId("plan")});
}

// A reader binds all of its splits at once and ends half of them in random
// order.
absl::Status Read(Author& author, uint64_t reader, uint64_t splits,
                  std::mt19937_64& random) {
  const JournalId journal = author.state().journal;
  const uint64_t first = reader * splits;
  author.Commit(SessionOpened{ReaderAt(reader), Incarnation(1), {}});
  author.Commit(SplitsBound{{journal, first},
                            ReaderAt(reader),
                            {first * kSplitPositions, 0},
                            {(first + splits) * kSplitPositions, 0},
                            kSplitPositions});
  std::vector<uint64_t> order(splits);
  for (uint64_t k = 0; k < splits; ++k) order[k] = first + k;
  std::shuffle(order.begin(), order.end(), random);
  order.resize(splits / 2);
  for (uint64_t k = 0; k < order.size(); k += kTogether) {
    std::vector<uint64_t> beat(
        order.begin() + static_cast<ptrdiff_t>(k),
        order.begin() +
            static_cast<ptrdiff_t>(std::min(order.size(), k + kTogether)));
    std::sort(beat.begin(), beat.end());
    SplitsEnded ended;
    for (const uint64_t number : beat) {
      ended.ranges.push_back({{journal, number}, 1});
    }
    author.Commit(std::move(ended));
  }
  return author.EndTurn();
}

// Readers bind all splits and end half of them; then all readers are released.
absl::Status Write(Author& author, uint64_t splits) {
  Begin(author, splits * kSplitPositions);
  std::mt19937_64 random(7);
  for (uint64_t k = 0; k < kReaders; ++k) {
    FM_RETURN_IF_ERROR(Read(author, k, splits / kReaders, random));
  }
  for (uint64_t k = 0; k < kReaders; ++k) {
    author.Commit(SessionClosed{ReaderAt(k), true});
  }
  return author.EndTurn();
}

size_t HeapBytes() { return mallinfo2().uordblks; }

}  // namespace

absl::StatusOr<std::string> RunRecovery(const RecoveryLoad& load) {
  uint64_t left = 0;
  DispatcherState written;
  {
    FM_ASSIGN_OR_RETURN(const auto journal, StateJournal::Open(load.work_dir));
    Author author(*journal);
    FM_RETURN_IF_ERROR(Write(author, load.splits));
    written = author.state();
    left = written.FindJob(kJob)->returned.positions();
  }
  const Planner planner =
      MakePlanner(std::make_shared<const FunctionRegistry>(BuiltinFunctions()));
  const absl::Time begin = SteadyNow();
  FM_ASSIGN_OR_RETURN(const auto journal, StateJournal::Open(load.work_dir));
  std::optional<Dispatcher> dispatcher(std::in_place, DispatcherSettings{},
                                       planner, journal->TakeState(),
                                       SteadyNow());
  const absl::Duration time = SteadyNow() - begin;
  if (dispatcher->state() != written) {
    return Internal("what was recovered is not what was left");
  }
  const size_t with = HeapBytes();
  dispatcher.reset();
  const size_t bytes = with - HeapBytes();
  return nlohmann::ordered_json{
      {"elements", load.splits},
      {"splits_left", left / kSplitPositions},
      {"recovery_s", absl::ToDoubleSeconds(time)},
      {"iteration_bytes", bytes},
      {"journal_bytes",
       std::filesystem::file_size(load.work_dir + "/journal.db")}}
      .dump();
}

}  // namespace feedmill::bench
