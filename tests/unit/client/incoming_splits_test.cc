#include "client/incoming_splits.h"

#include <string>

#include "client/split_grants.h"
#include "client/unused_pieces.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/worker/delivery_vocabulary.h"

// The parts of a session that hold its splits: IncomingSplits, SplitGrants and
// UnusedPieces.

namespace feedmill {
namespace {

const absl::Time kSplitsStart = absl::UnixEpoch() + absl::Seconds(1);
const WorkerId kFirstWorker{"tcp://a:1"};
const WorkerId kSecondWorker{"tcp://b:1"};

SplitId Numbered(uint64_t number) { return {JournalId{1}, number}; }

LeaseRef LeaseOf(const WorkerId& worker) {
  return {worker, Incarnation{7}, Attempt{1}};
}

BoundSplit BoundTo(uint64_t number, uint64_t begin, uint64_t end,
                   std::vector<LeaseRef> leases = {LeaseOf(kFirstWorker)}) {
  BoundSplit split{Numbered(number), {begin, 0}, {end, 0}, {}, {}};
  split.leases = std::move(leases);
  return split;
}

class IncomingSplitsTest : public ::testing::Test {
 protected:
  explicit IncomingSplitsTest(Order order = Order::kDeterministic) {
    settings_.order = order;
    RunInfo info;
    info.plan = PlanId{"plan"};
    info.positions = kInfinitePositions;
    EXPECT_TRUE(run_.Take(info, Cursor{}).value());
    clock_.NoteBeat(kSplitsStart);
  }

  void Bind(const std::vector<BoundSplit>& bound) {
    splits_.Bind(kSplitsStart, bound);
    splits_.Advance();
  }
  IncomingSplit* Receive(uint64_t number, Piece piece,
                         const WorkerId& worker = kFirstWorker) {
    Frame frame;
    frame.split = Numbered(number);
    frame.worker = worker;
    frame.worker_incarnation = Incarnation{7};
    frame.attempt = Attempt{1};
    frame.piece = std::move(piece);
    return splits_.Receive(kSplitsStart, std::move(frame));
  }
  // Pulls all pieces that are next; returns the positions of their rows.
  std::vector<int64_t> PullAll() {
    std::vector<int64_t> positions;
    for (IncomingSplit* split = splits_.NextToPull();
         split != nullptr && !split->buffer.empty();
         split = splits_.NextToPull()) {
      const ArrivedPiece pulled = splits_.Pull(*split);
      for (int64_t value : testing::ValuesOf(pulled.piece)) {
        positions.push_back(value / 1000);
      }
      splits_.Advance();
    }
    return positions;
  }
  uint64_t Granted(uint64_t number) {
    uint64_t bytes = 0;
    for (const Grant& grant : testing::Sent<Grant>(sends_)) {
      if (grant.split == Numbered(number)) bytes = grant.total_bytes;
    }
    return bytes;
  }

  ReadSessionSettings settings_;
  const SessionRules rules_;
  const Session session_{ConsumerId{"me"}, Incarnation{3}};
  KnownRun run_{settings_, rules_};
  CreditWindow window_{800, 160};
  BeatClock clock_;
  IncomingSplits splits_{settings_, rules_, run_, window_, clock_};
  SplitGrants grants_{settings_, rules_, session_, splits_, window_};
  UnusedPieces unused_{rules_};
  std::vector<Outgoing> sends_;
};

class SharedSplitsTest : public IncomingSplitsTest {
 protected:
  SharedSplitsTest() : IncomingSplitsTest(Order::kAny) {}
};

using ::testing::ElementsAre;

TEST_F(IncomingSplitsTest, TakeEachCursorOnceFromAnyAttempt) {
  Bind({BoundTo(1, 0, 8, {LeaseOf(kFirstWorker), LeaseOf(kSecondWorker)})});
  Receive(1, testing::MakePiece(0, 3));
  Receive(1, testing::MakePiece(0, 5), kSecondWorker);
  Receive(1, testing::MakePiece(3, 8));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(splits_.cursor(), (Cursor{8, 0}));
  EXPECT_EQ(splits_.head(), nullptr);
}

TEST_F(IncomingSplitsTest, IgnoreFramesOfOtherSplits) {
  Bind({BoundTo(1, 0, 4)});
  EXPECT_EQ(Receive(2, testing::MakePiece(0, 4)), nullptr);
  Bind({});
  EXPECT_EQ(Receive(1, testing::MakePiece(0, 4)), nullptr);
  EXPECT_EQ(window_.buffered_bytes(), 0u);
}

TEST_F(IncomingSplitsTest, TheHeadIsTheFirstThatIsNotRead) {
  Bind({BoundTo(1, 0, 4), BoundTo(2, 4, 8)});
  Receive(2, testing::MakePiece(4, 8));
  EXPECT_EQ(splits_.head()->id, Numbered(1));
  Receive(1, testing::MakePiece(0, 4, testing::NoRow));
  EXPECT_EQ(splits_.head()->id, Numbered(2));
  EXPECT_EQ(splits_.cursor(), (Cursor{4, 0}));
}

TEST_F(IncomingSplitsTest, AGapOpensTheStreamAgain) {
  Bind({BoundTo(1, 0, 8)});
  const IncomingStream& stream =
      splits_.Find(Numbered(1))->streams.at(LeaseOf(kFirstWorker));
  const Opening first = stream.opening;
  Frame frame;
  frame.split = Numbered(1);
  frame.worker = kFirstWorker;
  frame.worker_incarnation = Incarnation{7};
  frame.attempt = Attempt{1};
  frame.opening = first;
  frame.piece = testing::MakePiece(2, 4);
  splits_.Receive(kSplitsStart, frame);
  EXPECT_GT(stream.opening, first);
  EXPECT_EQ(stream.start, (Cursor{0, 0}));
}

TEST_F(IncomingSplitsTest, SkippedElementsLeaveTheBuffer) {
  Bind({BoundTo(1, 0, 8)});
  Receive(1, testing::MakePiece(0, 6));
  splits_.SkipTo({4, 0});
  splits_.DropSkipped(kSplitsStart);
  EXPECT_THAT(PullAll(), ElementsAre(4, 5));
}

TEST_F(IncomingSplitsTest, AFullyTakenSplitIsReportedSoon) {
  Bind({BoundTo(1, 0, 4)});
  Receive(1, testing::MakePiece(0, 4));
  EXPECT_EQ(clock_.next(), kSplitsStart + absl::Milliseconds(1));
  EXPECT_EQ(splits_.Report().at(0).taken, (Cursor{4, 0}));
  EXPECT_EQ(splits_.Report().at(0).out, (Cursor{0, 0}));
}

TEST_F(SharedSplitsTest, PiecesComeInOrderOfArrival) {
  Bind({BoundTo(1, 0, 4), BoundTo(2, 4, 8)});
  Receive(2, testing::MakePiece(4, 8));
  EXPECT_THAT(PullAll(), ElementsAre(4, 5, 6, 7));
}

TEST_F(SharedSplitsTest, RangesWithoutElementsAreJoined) {
  Bind({BoundTo(1, 0, 8)});
  Receive(1, testing::MakePiece(0, 3, testing::NoRow));
  Receive(1, testing::MakePiece(3, 8, testing::NoRow));
  EXPECT_THAT(splits_.TakeEmpties(), ElementsAre(std::pair(0, 8)));
  EXPECT_THAT(splits_.TakeEmpties(), ElementsAre());
}

// ---- grants
TEST_F(IncomingSplitsTest, TheHeadAndItsSuccessorsShareTheWindow) {
  std::vector<BoundSplit> bound;
  for (uint64_t n = 0; n < 4; ++n) {
    bound.push_back(BoundTo(n, 100 * n, 100 * n + 100));
  }
  Bind(bound);
  grants_.SendAll(kSplitsStart, sends_);
  EXPECT_EQ(Granted(0), 160u);
  uint64_t granted = 0;
  for (uint64_t n = 0; n < 4; ++n) granted += Granted(n);
  EXPECT_EQ(granted, window_.bytes());
  const auto grants = testing::Sent<Grant>(sends_);
  EXPECT_TRUE(grants.at(0).head);
  EXPECT_FALSE(grants.at(1).head);
}

TEST_F(IncomingSplitsTest, AGrantIsSentAgainOnlyIfItIsRepeated) {
  Bind({BoundTo(1, 0, 100)});
  grants_.SendHead(kSplitsStart, sends_);
  grants_.SendHead(kSplitsStart, sends_);
  EXPECT_EQ(testing::Sent<Grant>(sends_).size(), 1u);
  grants_.RepeatAll(kSplitsStart, sends_);
  EXPECT_EQ(testing::Sent<Grant>(sends_).size(), 2u);
}

TEST_F(IncomingSplitsTest, ATakenSplitGetsNoGrant) {
  Bind({BoundTo(1, 0, 4)});
  Receive(1, testing::MakePiece(0, 4));
  grants_.RepeatAll(kSplitsStart, sends_);
  EXPECT_TRUE(sends_.empty());
}

// ---- unused pieces (rule 16)
TEST_F(SharedSplitsTest, RowsInUseAreNotHandedOut) {
  Bind({BoundTo(1, 0, 8)});
  Receive(1, testing::MakePiece(0, 8));
  IncomingSplit& split = *splits_.NextToPull();
  unused_.Add(split, 0, splits_.Pull(split).piece);
  const auto out = [&] { return splits_.Report().at(0).out; };
  EXPECT_EQ(out(), (Cursor{0, 0}));
  unused_.Use(3, splits_);
  EXPECT_EQ(out(), (Cursor{2, 1}));  // just after 2.0
  EXPECT_FALSE(unused_.empty());
  unused_.Use(8, splits_);
  EXPECT_EQ(out(), (Cursor{8, 0}));
  EXPECT_TRUE(unused_.empty());
}

TEST_F(SharedSplitsTest, RowsOfADroppedSplitAreForgotten) {
  Bind({BoundTo(1, 0, 8)});
  Receive(1, testing::MakePiece(0, 8));
  IncomingSplit& split = *splits_.NextToPull();
  unused_.Add(split, 0, splits_.Pull(split).piece);
  splits_.Clear();
  unused_.Use(8, splits_);
  EXPECT_TRUE(unused_.empty());
}

}  // namespace
}  // namespace feedmill
