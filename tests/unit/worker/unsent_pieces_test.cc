// Clients that grant more credit than they read.
#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/worker/agent_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kAllCredit = std::numeric_limits<int64_t>::max();
constexpr uint64_t kPositionBytes = 8;

// The transport keeps the frames of kGreedy, and sends all others at once.
class GreedyReader : public WorkerAgentTest {
 protected:
  static Lease GreedyLease(uint64_t number, uint64_t begin, uint64_t end) {
    Lease lease = LeaseOf(number, begin, end);
    lease.session.consumer = ConsumerId{"greedy"};
    return lease;
  }
  void Give(const PeerId& from, const Grant& grant) {
    Do(agent_.Handle(now_, from, grant));
  }
  // Ends all tasks, and those that follow them.
  void Work() {
    while (!tasks_.empty()) {
      const ComputeRequest task = TakeTask(0);
      Do(agent_.OnComputed(now_, task.task, MakePiece(task.begin, task.end),
                           TaskCost{absl::Microseconds(1)}));
      most_ = std::max(most_, agent_.buffered_bytes());
    }
  }
  // The greedy reader reads one frame, so that the transport sends it.
  void ReadOne() {
    ASSERT_FALSE(kept_.empty());
    kept_.pop_front();
    if (agent_.awaits_transport()) Do(agent_.OnSent(now_));
  }
  void Do(WorkerEffects effects) {
    auto unsent = effects.unsent.begin();
    for (const Outgoing& sent : effects.sends) {
      if (!std::holds_alternative<Frame>(sent.message)) continue;
      if (sent.to == kGreedy) kept_.push_back(std::move(*unsent));
      ++unsent;
    }
    EXPECT_EQ(unsent, effects.unsent.end());
    const bool sent_any =
        std::any_of(effects.unsent.begin(), effects.unsent.end(),
                    [](const auto& held) { return held != nullptr; });
    effects.unsent.clear();
    for (const Frame& frame : Sent<Frame>(effects.sends)) {
      (frame.session == kSession ? frames_ : greedy_).push_back(frame);
    }
    for (const ComputeRequest& task : effects.compute) tasks_.push_back(task);
    if (sent_any && agent_.awaits_transport()) Do(agent_.OnSent(now_));
  }

  const PeerId kGreedy{"greedy"};
  std::deque<std::shared_ptr<const void>> kept_;
  std::vector<Frame> greedy_;
  uint64_t most_ = 0;
};

TEST_F(GreedyReader, HasAtMostHalfOfTheMemoryWaiting) {
  const Lease lease = GreedyLease(1, 0, 1'000);
  GivenLeases({lease});
  Give(kGreedy, GrantOf(lease, kAllCredit, true));
  Work();
  uint64_t sent = 0;
  for (const Frame& frame : greedy_) sent += frame.piece.chunk.rows;
  EXPECT_LE(sent * kPositionBytes, 400 / 2);
  EXPECT_LE(most_, 400 + 2 * kPositionBytes);
  // When it reads, the others come.
  while (!kept_.empty()) {
    ReadOne();
    Work();
  }
  EXPECT_LE(most_, 400 + 2 * kPositionBytes);
  EXPECT_EQ(agent_.buffered_bytes(), 0);
  frames_ = std::move(greedy_);
  EXPECT_EQ(Values(), Numbers(0, 1'000));
}

TEST_F(GreedyReader, DelaysNoOtherReader) {
  const Lease greedy = GreedyLease(1, 0, 1'000);
  const Lease lease = LeaseOf(2, 2'000, 2'500);
  GivenLeases({greedy, lease});
  Give(kGreedy, GrantOf(greedy, kAllCredit, true));
  Work();
  Give(kClient, GrantOf(lease, 10'000, true));
  Work();
  EXPECT_EQ(Values(), Numbers(2'000, 2'500));
  EXPECT_LE(most_, 400 + 2 * kPositionBytes);
  kept_.clear();
}

// Each of them is sent at least one frame.
TEST_F(GreedyReader, ManyTogetherLeaveMemoryToAnother) {
  UnsentPieces unsent(1'000);
  uint64_t used = 0;
  std::vector<std::shared_ptr<const void>> held;
  const auto send = [&](const PeerId& to, uint64_t rows) {
    const bool may = unsent.MayAdd(to, rows * kPositionBytes);
    if (may) {
      held.push_back(unsent.Add(
          to,
          std::make_shared<BufferedPiece>(
              used, nullptr, MakePiece({0, 0}, {rows, 0}), nullptr, nullptr)));
    }
    return may;
  };
  for (int reader = 0; reader < 9; ++reader) {
    const PeerId to{std::to_string(reader)};
    while (send(to, 1)) {
    }
  }
  EXPECT_LE(used, 1'000 + 9 * kPositionBytes);
  EXPECT_TRUE(send(kClient, 1));
  EXPECT_TRUE(send(PeerId{"large"}, 1'000));  // nothing waits for it
  EXPECT_FALSE(send(PeerId{"large"}, 1));
  held.clear();
  EXPECT_EQ(used, 0u);
  EXPECT_FALSE(unsent.Has(kClient));
}

TEST_F(GreedyReader, PiecesWithoutElementsAreNotCounted) {
  UnsentPieces unsent(1'000);
  uint64_t used = 0;
  EXPECT_EQ(
      unsent.Add(kClient, std::make_shared<BufferedPiece>(
                              used, nullptr, MakePiece({0, 0}, {9, 0}, NoRow),
                              nullptr, nullptr)),
      nullptr);
  EXPECT_FALSE(unsent.Has(kClient));
  EXPECT_THAT(kept_, IsEmpty());
}

}  // namespace
}  // namespace feedmill::testing
