// Ranks whose leases need the same pieces.
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "tests/unit/worker/agent_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kRanks = 4;

class RanksWithTheSameWork : public WorkerAgentTest {
 protected:
  RanksWithTheSameWork() { traits_.alike = true; }

  static Lease RankLease(uint64_t rank, uint64_t begin, uint64_t end) {
    Lease lease = LeaseOf(begin * kRanks + rank, begin, end);
    lease.session.consumer = ConsumerId{std::to_string(rank) + "/4"};
    lease.share = {rank, kRanks};
    return lease;
  }
  static std::vector<Lease> AllRanks(uint64_t begin, uint64_t end) {
    std::vector<Lease> leases;
    for (uint64_t rank = 0; rank < kRanks; ++rank) {
      leases.push_back(RankLease(rank, begin, end));
    }
    return leases;
  }
  // Ends all tasks; returns the number of positions they made.
  uint64_t Work(const RowsAt& rows = OneRow) {
    uint64_t positions = 0;
    while (!tasks_.empty()) {
      positions += tasks_[0].end.p - tasks_[0].begin.p;
      Compute(0, rows);
    }
    return positions;
  }
  // Returns the values sent for a lease, in order and without a gap.
  std::vector<int64_t> ValuesFor(const Lease& lease) {
    std::vector<Frame> all = std::move(frames_);
    std::vector<Frame> others;
    frames_.clear();
    for (Frame& frame : all) {
      (frame.split == lease.split ? frames_ : others)
          .push_back(std::move(frame));
    }
    std::vector<int64_t> values = Values();
    frames_ = std::move(others);
    return values;
  }
};

TEST_F(RanksWithTheSameWork, InStepEachPositionIsMadeOnce) {
  const std::vector<Lease> leases = AllRanks(0, 100);
  GivenLeases(leases);
  for (const Lease& lease : leases) Give(GrantOf(lease, 10'000, true));
  EXPECT_EQ(Work(), 100);
  for (const Lease& lease : leases) {
    EXPECT_EQ(ValuesFor(lease), Numbers(0, 100));
  }
  EXPECT_EQ(agent_.buffered_bytes(), 0);
}

TEST_F(RanksWithTheSameWork, ALaterRankGetsTheKeptPieces) {
  const std::vector<Lease> leases = AllRanks(0, 40);
  GivenLeases(leases);
  Give(GrantOf(leases[0], 10'000, true));
  EXPECT_EQ(Work(), 40);
  EXPECT_EQ(ValuesFor(leases[0]), Numbers(0, 40));
  EXPECT_EQ(agent_.buffered_bytes(), 40 * 8);
  for (size_t rank = 1; rank < kRanks; ++rank) {
    Give(GrantOf(leases[rank], 10'000, true));
    EXPECT_THAT(tasks_, IsEmpty());
    EXPECT_EQ(ValuesFor(leases[rank]), Numbers(0, 40));
  }
  EXPECT_EQ(agent_.buffered_bytes(), 0);  // all ranks have it
}

TEST_F(RanksWithTheSameWork, UnrequestedPiecesAreDroppedInTheEnd) {
  const std::vector<Lease> leases = AllRanks(0, 40);
  GivenLeases(leases);
  Give(GrantOf(leases[0], 10'000, true));
  Work();
  EXPECT_EQ(agent_.buffered_bytes(), 40 * 8);
  now_ += absl::Seconds(11);
  Keep(agent_.OnTick(now_));
  EXPECT_EQ(agent_.buffered_bytes(), 0);
  Give(GrantOf(leases[1], 10'000, true));
  EXPECT_EQ(Work(), 40);
  EXPECT_EQ(ValuesFor(leases[1]), Numbers(0, 40));
}

TEST_F(RanksWithTheSameWork, KeptPiecesGiveWayToRequestedPieces) {
  const std::vector<Lease> leases = AllRanks(0, 1'000);
  GivenLeases(leases);
  Give(GrantOf(leases[0], 100'000));  // not a head: it never overdraws
  EXPECT_EQ(Work(), 1'000);
  EXPECT_EQ(ValuesFor(leases[0]), Numbers(0, 1'000));
  EXPECT_LE(agent_.buffered_bytes(), 400);
}

TEST_F(RanksWithTheSameWork,
       ALaggingRankDelaysNoOtherRankAndGetsTheSameElements) {
  const std::vector<Lease> leases = AllRanks(0, 200);
  GivenLeases(leases);
  Give(GrantOf(leases[3], 0));  // its trainer does not read
  for (size_t rank = 0; rank < 3; ++rank) {
    Give(GrantOf(leases[rank], 100'000, true));
  }
  uint64_t made = 0;
  while (!tasks_.empty()) {
    made += tasks_[0].end.p - tasks_[0].begin.p;
    Compute();
    EXPECT_LE(agent_.buffered_bytes(), 400 + 3 * 8);
  }
  // dropped pieces are computed again if they fit
  EXPECT_LE(made, 2 * 200 + 50);
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ValuesFor(leases[rank]), Numbers(0, 200));
  }
  EXPECT_THAT(ValuesFor(leases[3]), IsEmpty());
  Give(GrantOf(leases[3], 100'000, true));
  Work();  // dropped pieces are computed again
  EXPECT_EQ(ValuesFor(leases[3]), Numbers(0, 200));
}

TEST_F(RanksWithTheSameWork, ARankThatBeginsWithinAPieceGetsItsRemainder) {
  const std::vector<Lease> leases = AllRanks(0, 100);
  GivenLeases(leases);
  Give(GrantOf(leases[0], 0));
  Work();
  Grant late = GrantOf(leases[1], 10'000, true);
  late.start = {7, 0};
  Give(late);
  Work();
  EXPECT_EQ(ValuesFor(leases[1]), Numbers(7, 100));
  Give(GrantOf(leases[0], 10'000, true));
  Work();
  EXPECT_EQ(ValuesFor(leases[0]), Numbers(0, 100));
}

TEST_F(RanksWithTheSameWork, ARankThatJoinsATaskThatEndsEarlyContinuesAlone) {
  const std::vector<Lease> leases = AllRanks(0, 100);
  GivenLeases(leases);
  Give(GrantOf(leases[0], 10'000, true));
  Compute();
  Compute();
  ASSERT_GE(tasks_[0].end.p - tasks_[0].begin.p, 3);
  const uint64_t begin = tasks_[0].begin.p;
  Grant late = GrantOf(leases[1], 10'000, true);
  late.start = {begin + 2, 0};
  Give(late);
  Compute(begin + 1);
  Work();
  EXPECT_EQ(ValuesFor(leases[0]), Numbers(0, 100));
  EXPECT_EQ(ValuesFor(leases[1]),
            Numbers(static_cast<int64_t>(begin) + 2, 100));
}

TEST_F(RanksWithTheSameWork, LeasesThatAreCutDifferentlyGetTheirOwn) {
  const Lease longer = RankLease(0, 0, 100);
  const Lease shorter = RankLease(1, 0, 33);
  GivenLeases({longer, shorter});
  Give(GrantOf(longer, 10'000, true));
  Give(GrantOf(shorter, 10'000, true));
  Work();
  EXPECT_EQ(ValuesFor(longer), Numbers(0, 100));
  EXPECT_EQ(ValuesFor(shorter), Numbers(0, 33));
}

TEST_F(RanksWithTheSameWork, ADataErrorEndsAllTheirStreams) {
  const std::vector<Lease> leases = AllRanks(0, 10);
  GivenLeases(leases);
  for (const Lease& lease : leases) Give(GrantOf(lease, 1'000, true));
  const ComputeRequest first = TakeTask(0);
  Piece bad = MakePiece(first.begin, first.begin);
  bad.error = DataLoss("photo 0 is broken");
  Keep(agent_.OnComputed(now_, first.task, bad, TaskCost{}));
  while (!tasks_.empty()) Compute();
  ASSERT_THAT(frames_, SizeIs(kRanks));
  for (const Frame& frame : frames_) {
    EXPECT_EQ(frame.piece.error.code(), absl::StatusCode::kDataLoss);
  }
  frames_.clear();
  Grant again = GrantOf(leases[1], 1'000, true, 2);  // the frame was lost
  Give(again);
  ASSERT_THAT(tasks_, SizeIs(::testing::Ge(1)));
  EXPECT_EQ(tasks_[0].begin, first.begin);
}

TEST_F(RanksWithTheSameWork, AFailureFailsAllWaitingLeases) {
  const std::vector<Lease> leases = AllRanks(0, 10);
  GivenLeases(leases);
  for (const Lease& lease : leases) Give(GrantOf(lease, 1'000, true));
  Beat();
  const ComputeRequest task = TakeTask(0);
  Keep(agent_.OnComputed(now_, task.task, Unavailable("disk"), TaskCost{}));
  EXPECT_THAT(Beat().failures, SizeIs(kRanks));
}

TEST_F(RanksWithTheSameWork, OnlyRanksWithTheSameCompressionShare) {
  const std::vector<Lease> leases = AllRanks(0, 40);
  GivenLeases(leases);
  Grant packed = GrantOf(leases[0], 10'000, true);
  packed.compression = LinkCompression::kZstd;
  Give(packed);
  Give(GrantOf(leases[1], 10'000, true));
  EXPECT_EQ(Work(), 2 * 40);
}

// If the plan knows the rank of each element, each rank's are computed
// separately.
TEST_F(WorkerAgentTest, RanksOfANumberedPlanShareNothing) {
  Lease first = LeaseOf(1, 0, 40);
  Lease second = LeaseOf(2, 0, 40);
  first.share = {0, 2};
  second.share = {1, 2};
  GivenLeases({first, second});
  Give(GrantOf(first, 10'000, true));
  Give(GrantOf(second, 10'000, true));
  uint64_t requests[2] = {0, 0};
  while (!tasks_.empty()) {
    requests[tasks_[0].share.rank] += tasks_[0].end.p - tasks_[0].begin.p;
    Compute();
  }
  EXPECT_THAT(requests, ElementsAre(40, 40));
}

// ---- sequenced plans

class SequencedRanks : public RanksWithTheSameWork {
 protected:
  SequencedRanks() { traits_.sequenced = true; }

  // Ends the next task with elements up to number `end`, and a state.
  void MakeTo(uint64_t end, size_t state_bytes) {
    const ComputeRequest task = TakeTask(0);
    Piece piece =
        MakePiece(task.begin, {0, end}, [end](uint64_t) { return end; });
    piece.state = std::make_shared<const GeneratorState>(
        GeneratorState{piece.end, std::string(state_bytes, 's')});
    EXPECT_TRUE(task.by_rank);
    Keep(agent_.OnComputed(now_, task.task,
                           piece.ByRank(task.share.ranks, nullptr),
                           TaskCost{absl::Microseconds(1)}));
  }
  std::vector<Frame> FramesOf(const Lease& lease) {
    std::vector<Frame> found;
    for (const Frame& frame : frames_) {
      if (frame.split == lease.split) found.push_back(frame);
    }
    return found;
  }
};

TEST_F(SequencedRanks, EachIsSentItsOwnElementsAndAllOfTheLastPiece) {
  const std::vector<Lease> leases = AllRanks(0, 1);
  GivenLeases(leases);
  // Credit for its own elements only.
  for (const Lease& lease : leases) Give(GrantOf(lease, 4 * 8));
  MakeTo(10, 0);
  for (size_t rank = 0; rank < kRanks; ++rank) {
    const std::vector<Frame> frames = FramesOf(leases[rank]);
    ASSERT_THAT(frames, SizeIs(1));
    EXPECT_EQ(frames[0].piece.begin, (Cursor{0, 0}));
    EXPECT_EQ(frames[0].piece.end, (Cursor{0, 10}));
    std::vector<int64_t> own;
    for (size_t n = rank; n < 10; n += kRanks) {
      own.push_back(static_cast<int64_t>(n));
    }
    EXPECT_EQ(ValuesOf(frames[0].piece), own);
    EXPECT_TRUE(frames[0].piece.Validate().ok());
  }
  frames_.clear();
  for (const Lease& lease : leases) Give(GrantOf(lease, 1'000));
  ASSERT_THAT(tasks_, SizeIs(1));
  const ComputeRequest task = TakeTask(0);
  Keep(agent_.OnComputed(
      now_, task.task,
      MakePiece(task.begin, {1, 0}, [](uint64_t p) { return p == 0 ? 13 : 0; }),
      TaskCost{absl::Microseconds(1)}));
  for (const Lease& lease : leases) {
    const std::vector<Frame> frames = FramesOf(lease);
    ASSERT_THAT(frames, SizeIs(1));
    EXPECT_THAT(ValuesOf(frames[0].piece), ElementsAre(10, 11, 12));
  }
  EXPECT_EQ(agent_.buffered_bytes(), 0);
}

TEST_F(SequencedRanks, ARankGetsAStateForEnoughElements) {
  const std::vector<Lease> leases = AllRanks(0, 1);
  GivenLeases(leases);
  for (const Lease& lease : leases) Give(GrantOf(lease, 100'000));
  constexpr uint64_t kPart = 400;  // 800 bytes for a rank
  size_t states = 0;
  for (uint64_t part = 1; part <= 8; ++part) {
    MakeTo(part * kPart, 100);  // a state is worth 3,200 bytes
    const std::vector<Frame> frames = FramesOf(leases[1]);
    ASSERT_THAT(frames, SizeIs(1));
    states += frames[0].piece.state != nullptr ? 1 : 0;
    frames_.clear();
  }
  EXPECT_EQ(states, 2U);
}

}  // namespace
}  // namespace feedmill::testing
