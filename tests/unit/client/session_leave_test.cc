#include "tests/unit/client/session_vocabulary.h"

// Leaves of a reader, and unacknowledged ones of earlier readers.

namespace feedmill {
namespace {

// ---- the part alone
ClientLeave LeaveOfLife(uint64_t life) {
  ClientLeave leave;
  leave.job = kJob;
  leave.session = {ConsumerId{"me"}, Incarnation{life}};
  return leave;
}

TEST(SessionLeaveTest, IsSentFourTimesUnlessItIsAcknowledged) {
  const ReadSessionSettings settings;
  SessionLeave leave(settings);
  leave.SetKnown(true);
  leave.Begin(LeaveOfLife(3));
  std::vector<Outgoing> sends;
  absl::Time now = absl::UnixEpoch();
  while (now < absl::InfiniteFuture()) {
    leave.Send(now, sends);
    now = leave.next();
  }
  EXPECT_THAT(Sent<ClientLeave>(sends), SizeIs(4));
  EXPECT_FALSE(leave.left());
  leave.Acknowledge();
  EXPECT_TRUE(leave.left());
  EXPECT_THAT(leave.Unacknowledged(), IsEmpty());
}

TEST(SessionLeaveTest, IsNotSentIfTheSessionIsUnknown) {
  const ReadSessionSettings settings;
  SessionLeave leave(settings);
  leave.Begin(LeaveOfLife(3));
  std::vector<Outgoing> sends;
  leave.Send(absl::UnixEpoch(), sends);
  EXPECT_THAT(sends, IsEmpty());
  EXPECT_TRUE(leave.left());
  EXPECT_EQ(leave.next(), absl::InfiniteFuture());
}

TEST(SessionLeaveTest, LeavesOfEarlierReadersAreSentUntilAcknowledged) {
  ReadSessionSettings settings;
  settings.former_leaves = {LeaveOfLife(1), LeaveOfLife(2)};
  SessionLeave leave(settings);
  std::vector<Outgoing> sends;
  EXPECT_TRUE(leave.SendFormer(sends));
  EXPECT_THAT(Sent<ClientLeave>(sends), SizeIs(2));
  EXPECT_FALSE(leave.AcknowledgeFormer(LeaveOfLife(3).session));
  EXPECT_TRUE(leave.AcknowledgeFormer(LeaveOfLife(1).session));
  EXPECT_TRUE(leave.has_former());
  EXPECT_TRUE(leave.AcknowledgeFormer(LeaveOfLife(2).session));
  EXPECT_FALSE(leave.SendFormer(sends));
}

// ---- in a session
TEST_F(ReadSessionTest, RepeatsLeaveAFewTimes) {
  positions_ = 0;
  Tick();
  Answer({});
  EXPECT_EQ(session_.state(), State::kEnded);
  Pass(absl::Seconds(100));
  EXPECT_THAT(Said<ClientLeave>(), SizeIs(4));
}

TEST_F(ReadSessionTest, LeavesWhenTheApplicationWantsNoMore) {
  GivenSplits({Bound(1, 0, 10)});
  Keep(session_.Leave(now_));
  EXPECT_THAT(Said<ClientLeave>(), SizeIs(1));
  EXPECT_EQ(session_.state(), State::kEnded);
  EXPECT_EQ(Pull(), std::nullopt);
  Receive(1, MakePiece(0, 10));
  EXPECT_EQ(session_.buffered_bytes(), 0);
}

TEST_F(ReadSessionTest, SaysWhyItLeaves) {
  GivenSplits({Bound(1, 0, 10)});
  Keep(session_.Leave(now_, /*unread=*/false, LeaveReason::kCancelled));
  EXPECT_EQ(Said<ClientLeave>().at(0).why, LeaveReason::kCancelled);
  Pass(absl::Seconds(5));  // repeated, and not acknowledged
  for (const ClientLeave& leave : Said<ClientLeave>()) {
    EXPECT_EQ(leave.why, LeaveReason::kCancelled);
  }
}

TEST_F(ReadSessionTest, SaysThatItReadToTheEnd) {
  positions_ = 0;
  Tick();
  Answer({});
  EXPECT_EQ(Said<ClientLeave>().at(0).why, LeaveReason::kFinished);
}

TEST_F(ReadSessionTest, LeavesARunThatIsStillBeingPlanned) {
  Tick();
  ClientAnswer planning = AnswerOf({});
  planning.run.reset();
  Keep(session_.Handle(now_, kDispatcherPeer, planning));
  Keep(session_.Leave(now_));
  const auto leaves = Said<ClientLeave>();
  ASSERT_THAT(leaves, SizeIs(1));
  EXPECT_EQ(leaves[0].run, RunNumber{0});
  EXPECT_THAT(Said<ClientBeat>(), IsEmpty());
}

// ---- leaves of earlier readers
TEST_F(ReadSessionTest, AReaderThatNeverBeganHasFinishedNothing) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 4));
  Keep(session_.Leave(now_, /*unread=*/true));
  const auto leaves = Said<ClientLeave>();
  ASSERT_THAT(leaves, SizeIs(1));
  EXPECT_EQ(leaves[0].run, RunNumber());
  EXPECT_THAT(leaves[0].splits, IsEmpty());
}

ClientLeave LeaveOf(uint64_t life) {
  return {kJob, RunNumber{1}, {ConsumerId{"me"}, Incarnation{life}}, {}};
}

ReadSessionSettings AfterOthers(ReadSessionSettings settings) {
  settings.former_leaves = {LeaveOf(1), LeaveOf(2)};
  return settings;
}

class LaterReaderTest : public SessionTest {
 protected:
  LaterReaderTest()
      : SessionTest(AfterOthers(SettingsOf(Order::kDeterministic))) {}

  void Acknowledge(uint64_t life) {
    Keep(session_.Handle(
        now_, kDispatcherPeer,
        ClientReject{
            kJob, LeaveOf(life).session, RejectReason::kReleased, {}}));
  }
};

TEST_F(LaterReaderTest, SaysHelloWhenTheLeavesBeforeAreAcknowledged) {
  Tick();
  EXPECT_THAT(Said<ClientLeave>(), SizeIs(2));
  Acknowledge(1);
  EXPECT_TRUE(session_.answered());
  Pass(absl::Milliseconds(200));
  const auto again = Said<ClientLeave>();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].session.incarnation, Incarnation{2});
  EXPECT_THAT(Said<ClientHello>(), IsEmpty());
  Acknowledge(2);
  Tick();
  EXPECT_THAT(Said<ClientHello>(), SizeIs(1));
  EXPECT_THAT(session_.UnacknowledgedLeaves(), IsEmpty());
  Acknowledge(2);  // a duplicate
  EXPECT_EQ(session_.state(), State::kJoin);
}

TEST_F(LaterReaderTest, LeavesThemToTheNextIfItEndsBefore) {
  Tick();
  Acknowledge(1);
  Keep(session_.Leave(now_));
  EXPECT_THAT(session_.UnacknowledgedLeaves(), SizeIs(1))
      << "nobody knows of this one";
}

TEST_F(ReadSessionTest, ItsOwnLeaveIsUnsaidUntilItIsAcknowledged) {
  GivenSplits({Bound(1, 0, 10)});
  EXPECT_THAT(session_.UnacknowledgedLeaves(), IsEmpty());
  Keep(session_.Leave(now_));
  ASSERT_THAT(session_.UnacknowledgedLeaves(), SizeIs(1));
  EXPECT_EQ(session_.UnacknowledgedLeaves()[0].session, session_.session());
  Reject(RejectReason::kReleased);
  EXPECT_THAT(session_.UnacknowledgedLeaves(), IsEmpty());
}

}  // namespace
}  // namespace feedmill
