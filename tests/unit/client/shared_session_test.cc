#include "tests/unit/client/session_vocabulary.h"

namespace feedmill {
namespace {

// ---- sharing readers
TEST_F(SharedSessionTest, HandsOutPiecesInOrderOfArrival) {
  GivenSplits({Bound(1, 0, 4), Bound(2, 50, 60)});
  Receive(2, MakePiece(50, 52));
  EXPECT_THAT(PullAll(), ElementsAre(50, 51));
  Receive(2, MakePiece(52, 54));
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3, 52, 53));
}

// ---- rule 16
TEST_F(SharedSessionTest, ReportsWhatWasHandedOut) {
  GivenSplits({Bound(1, 0, 10)});
  Receive(1, MakePiece(0, 4));
  Receive(1, MakePiece(4, 8));
  EXPECT_THAT(PullAll(), SizeIs(8));
  EXPECT_EQ(Reported(1)->out, (Cursor{0, 0}));
  session_.HandedOut(3);
  EXPECT_EQ(Reported(1)->out, (Cursor{2, 1}));  // just after 2.0
  session_.HandedOut(4);
  EXPECT_EQ(Reported(1)->out, (Cursor{4, 0}));
  session_.HandedOut(8);
  Receive(1, MakePiece(8, 10, testing::NoRow));
  EXPECT_EQ(Reported(1)->out, (Cursor{10, 0}));
}

// ---- rule 19
TEST_F(SharedSessionTest, IsIdleWhenExhaustedAndEndsWhenAllIsFinished) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 4));
  exhausted_ = true;
  Answer({Bound(1, 0, 4)});
  EXPECT_FALSE(session_.idle());
  EXPECT_THAT(PullAll(), SizeIs(4));
  EXPECT_TRUE(session_.idle());
  session_.HandedOut(4);
  EXPECT_EQ(Reported(1)->out, (Cursor{4, 0}));
  Answer({});
  EXPECT_TRUE(session_.idle());
  EXPECT_EQ(session_.state(), State::kLive);
  finished_ = true;
  Answer({});
  EXPECT_EQ(session_.state(), State::kEnded);
  EXPECT_THAT(Said<ClientLeave>(), SizeIs(1));
}

TEST_F(SharedSessionTest, ContinuesWithSplitsOfADeadReader) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(PullAll(), SizeIs(4));
  session_.HandedOut(4);
  exhausted_ = true;
  Answer({});
  EXPECT_TRUE(session_.idle());
  Answer({Bound(2, 6, 8)});
  EXPECT_FALSE(session_.idle());
  Receive(2, MakePiece(6, 8));
  EXPECT_THAT(PullAll(), ElementsAre(6, 7));
}

TEST_F(SharedSessionTest, AReleasedOneDropsAllAndJoinsUnderANewName) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 2));
  EXPECT_THAT(PullAll(), SizeIs(2));
  Receive(1, MakePiece(2, 4));
  Reject(RejectReason::kReleased);
  EXPECT_EQ(session_.drops(), 1);
  EXPECT_EQ(session_.buffered_bytes(), 0);
  Tick();
  const auto hellos = Said<ClientHello>();
  ASSERT_THAT(hellos, SizeIs(1));
  EXPECT_EQ(hellos[0].session.consumer, ConsumerId{"me.1"});
  GivenSplits({Bound(5, 0, 4)});
  Receive(5, MakePiece(0, 4));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3));
}

TEST_F(SharedSessionTest, ReportsElementsHandedOutBeforeADataError) {
  GivenSplits({Bound(1, 0, 4), Bound(2, 4, 8)});
  Receive(1, MakePiece(0, 2));
  Piece bad = MakePiece(2, 2);
  bad.error = DataLoss("photo 2 is broken");
  Receive(1, bad);
  Receive(2, MakePiece(4, 8));
  EXPECT_THAT(PullAll(), SizeIs(2));
  EXPECT_EQ(Reported(1)->out, (Cursor{0, 0}));  // still sends heartbeats
  EXPECT_TRUE(session_.MayHandOut(now_));
  session_.HandedOut(2);
  Keep(session_.Leave(now_));
  EXPECT_EQ(Said<ClientLeave>().at(0).splits.at(0).out, (Cursor{2, 0}));
}

TEST_F(SharedSessionTest, EndsWhenItsRunWasCompletedWithoutIt) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 2));
  Reject(RejectReason::kReleased);
  Tick();
  Reject(RejectReason::kSuperseded);
  EXPECT_EQ(session_.state(), State::kEnded);
  EXPECT_EQ(session_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(SharedSessionTest, StopsWhenSupersededWithSomethingInHand) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 2));
  Reject(RejectReason::kSuperseded);
  EXPECT_EQ(session_.state(), State::kFailed);
}

TEST_F(SharedSessionTest, StopsWhenTheStoreIsLost) {
  GivenSplits({Bound(1, 0, 4)});
  Reject(RejectReason::kUnknown);
  EXPECT_EQ(session_.state(), State::kFailed);
}

}  // namespace
}  // namespace feedmill
