#include "tests/unit/client/session_vocabulary.h"

namespace feedmill {
namespace {

// ---- joining
TEST_F(ReadSessionTest, SaysHelloUntilItIsAnswered) {
  EXPECT_EQ(session_.NextDeadline(), absl::InfinitePast());
  Tick();
  Pass(absl::Milliseconds(600));
  EXPECT_THAT(Said<ClientHello>(), SizeIs(4));
  EXPECT_FALSE(session_.answered());
  ClientAnswer planning = AnswerOf({});
  planning.run.reset();
  Keep(session_.Handle(now_, kDispatcherPeer, planning));
  EXPECT_TRUE(session_.answered());
  EXPECT_EQ(session_.state(), State::kJoin);
  Pass(absl::Milliseconds(200));
  EXPECT_THAT(Said<ClientHello>(), SizeIs(1));
  Answer({});
  EXPECT_EQ(session_.state(), State::kLive);
  EXPECT_EQ(session_.workers(), 2);
  EXPECT_EQ(session_.run()->positions, 1000);
  Pass(absl::Milliseconds(500));
  EXPECT_THAT(Said<ClientHello>(), IsEmpty());
  EXPECT_THAT(Said<ClientBeat>(), SizeIs(3));
}

TEST_F(ReadSessionTest, IgnoresAnswersToOthers) {
  Tick();
  ClientAnswer other = AnswerOf({});
  other.session.incarnation = Incarnation{2};
  session_.Handle(now_, kDispatcherPeer, other);
  session_.Handle(now_, PeerId{"tcp://w:1"}, AnswerOf({}));
  EXPECT_EQ(session_.state(), State::kJoin);
}

// ---- rule 11
TEST_F(ReadSessionTest, TakesEachCursorOnce) {
  GivenSplits({Bound(1, 0, 20, {1, 2})});
  Receive(1, MakePiece(0, 5), 1);
  Receive(1, MakePiece(0, 3), 2);  // all known
  Receive(1, MakePiece(3, 8), 2);  // three are new
  Receive(1, MakePiece(5, 10), 1);
  EXPECT_EQ(session_.buffered_bytes(), 80);
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(ReadSessionTest, TakesNothingBeyondTheSplit) {
  GivenSplits({Bound(1, 0, 4), Bound(2, 4, 8)});
  Receive(1, MakePiece(0, 6));
  Receive(2, MakePiece(4, 8));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(ReadSessionTest, PositionsOfSeveralRowsAreCutBetweenThem) {
  const auto three = [](uint64_t) { return uint64_t{3}; };
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece({0, 0}, {1, 2}, three));
  Receive(1, MakePiece({1, 0}, {4, 0}, three));
  EXPECT_THAT(PullAll(), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3));
}

TEST_F(ReadSessionTest, HandsOutInOrderAcrossSplits) {
  GivenSplits({Bound(1, 0, 4), Bound(2, 4, 8), Bound(3, 8, 12)});
  Receive(2, MakePiece(4, 8));
  EXPECT_EQ(Pull(), std::nullopt);
  Receive(1, MakePiece(0, 2));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1));
  Receive(1, MakePiece(2, 4, testing::NoRow));
  EXPECT_THAT(PullAll(), ElementsAre(4, 5, 6, 7));
}

// ---- rule 27
TEST_F(ReadSessionTest, IsNotAtTheEndBeforeTheNumberOfPassesIsFinal) {
  positions_ = 4;
  passes_ = 1;
  settled_ = false;
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(session_.state(), State::kLive);
  settled_ = true;
  Answer({});
  EXPECT_EQ(session_.state(), State::kEnded);
}

// Before that, the number of passes may change. A reader without elements of
// the second pass can continue with any number.
TEST_F(ReadSessionTest, ReturnsTheSecondPassWhenTheNumberIsFinal) {
  positions_ = 12;
  passes_ = 3;
  settled_ = false;
  GivenSplits({Bound(1, 0, 3), Bound(2, 3, 6), Bound(3, 6, 12)});
  Receive(1, MakePiece(0, 3));
  Receive(2, MakePiece(3, 6));
  Receive(3, MakePiece(6, 8));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2));
  positions_ = 8;
  passes_ = 2;
  settled_ = true;
  Answer({Bound(4, 3, 8)});  // bound again
  Receive(4, MakePiece(3, 8));
  EXPECT_THAT(PullAll(), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_EQ(session_.state(), State::kEnded);
}

TEST_F(ReadSessionTest, StopsWhenAnotherNumberOfPassesIsFinal) {
  positions_ = 12;
  passes_ = 3;
  GivenSplits({Bound(1, 0, 12)});
  Receive(1, MakePiece(0, 6));
  EXPECT_THAT(PullAll(), SizeIs(6));
  Reject(RejectReason::kUnknown);
  Tick();
  const ClientHello hello = Said<ClientHello>().back();
  EXPECT_EQ(hello.passes, 3);
  EXPECT_TRUE(hello.settled);
  positions_ = 16;
  passes_ = 4;
  Answer({});
  EXPECT_EQ(session_.state(), State::kFailed);
  EXPECT_THAT(session_.failure().message(),
              ::testing::HasSubstr("has 4 passes (processing_mode off) now"));
}

// A late copy of its first hello may arrive first.
TEST_F(ReadSessionTest, RepeatsTheFinalNumberToADispatcherThatDoesNotKnow) {
  positions_ = 12;
  passes_ = 3;
  GivenSplits({Bound(1, 0, 12)});
  Receive(1, MakePiece(0, 6));
  EXPECT_THAT(PullAll(), SizeIs(6));
  settled_ = false;
  Answer({});
  Tick();
  const ClientHello hello = Said<ClientHello>().back();
  EXPECT_EQ(hello.passes, 3);
  EXPECT_TRUE(hello.settled);
}

TEST_F(ReadSessionTest, NamesItsRunWhenItJoinsAgain) {
  positions_ = 8;
  passes_ = 2;
  settled_ = false;
  GivenSplits({Bound(1, 0, 8)});
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(PullAll(), SizeIs(4));
  Reject(RejectReason::kUnknown);
  Tick();
  const ClientHello hello = Said<ClientHello>().back();
  EXPECT_EQ(hello.passes, 2);
  EXPECT_FALSE(hello.settled);
  positions_ = 4;  // less than promised
  passes_ = 1;
  settled_ = true;
  Answer({});
  EXPECT_EQ(session_.state(), State::kEnded);
}

// ---- rule 12
TEST_F(ReadSessionTest, OpensAgainAfterAGap) {
  GivenSplits({Bound(1, 0, 20)});
  const Opening first = Granted(1).opening;
  Receive(1, MakePiece(0, 2));
  Receive(1, MakePiece(4, 6));
  EXPECT_GT(Granted(1).opening, first);
  EXPECT_EQ(Granted(1).start, (Cursor{2, 0}));
  Receive(1, MakePiece(2, 6));
  EXPECT_THAT(PullAll(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(ReadSessionTest, OpensAgainAfterASecondWithoutAFrame) {
  GivenSplits({Bound(1, 0, 20)});
  const Opening first = Granted(1).opening;
  Receive(1, MakePiece(0, 2));
  Pass(absl::Milliseconds(900));
  EXPECT_EQ(Granted(1).opening, first);
  Pass(absl::Milliseconds(600));
  EXPECT_GT(Granted(1).opening, first);
  EXPECT_EQ(Granted(1).start, (Cursor{2, 0}));
}

TEST_F(ReadSessionTest, DoesNotOpenAgainWhileBytesArrive) {
  GivenSplits({Bound(1, 0, 20)});
  const Opening first = Granted(1).opening;
  for (int k = 0; k < 10; ++k) {
    Pass(absl::Milliseconds(500));
    session_.NoteArriving(now_, kWorker);
    EXPECT_EQ(Granted(1).opening, first);
  }
  for (int k = 0; k < 3; ++k) {
    session_.NoteArriving(now_, WorkerId("another worker"));
    Pass(absl::Milliseconds(500));
  }
  EXPECT_GT(Granted(1).opening, first);
}

TEST_F(ReadSessionTest, RepeatsItsGrantsWithItsHeartbeats) {
  GivenSplits({Bound(1, 0, 20)});
  Said<Grant>();
  Pass(absl::Milliseconds(450));
  EXPECT_THAT(Said<Grant>(), SizeIs(2));
}

// ---- rule 16
TEST_F(ReadSessionTest, ReportsWhatIsTakenAndWhatIsOut) {
  GivenSplits({Bound(1, 0, 10), Bound(2, 10, 20)});
  Receive(1, MakePiece(0, 6));
  Receive(2, MakePiece(10, 14));
  EXPECT_EQ(Reported(1)->taken, (Cursor{6, 0}));
  EXPECT_EQ(Reported(1)->out, (Cursor{0, 0}));
  EXPECT_EQ(Reported(2)->taken, (Cursor{14, 0}));
  EXPECT_EQ(Reported(2)->out, (Cursor{10, 0}));
  Pull();
  EXPECT_EQ(Reported(1)->out, (Cursor{6, 0}));
}

TEST_F(ReadSessionTest, ReportsAtOnceThatASplitIsTaken) {
  GivenSplits({Bound(1, 0, 10), Bound(2, 10, 20)});
  Receive(1, MakePiece(0, 6));
  EXPECT_GT(session_.NextDeadline(), now_ + absl::Milliseconds(1));
  Receive(1, MakePiece(6, 10));
  EXPECT_LE(session_.NextDeadline(), now_ + absl::Milliseconds(1));
}

TEST_F(ReadSessionTest, ReportsSplitsTogetherWhileManyAreToCome) {
  std::vector<BoundSplit> splits;
  for (uint64_t n = 0; n < 8; ++n) splits.push_back(Bound(n, 2 * n, 2 * n + 2));
  GivenSplits(splits);
  Receive(0, MakePiece(0, 2));
  EXPECT_GT(session_.NextDeadline(), now_ + absl::Milliseconds(1));
  EXPECT_LE(session_.NextDeadline(), now_ + absl::Milliseconds(10));
  Receive(1, MakePiece(2, 4));  // six remain
  EXPECT_LE(session_.NextDeadline(), now_ + absl::Milliseconds(1));
  Tick(absl::Milliseconds(1));
  EXPECT_THAT(Said<ClientBeat>(), SizeIs(1));
  Receive(2, MakePiece(4, 6));
  EXPECT_GT(session_.NextDeadline(), now_ + absl::Milliseconds(1));
}

// ---- rule 24
TEST_F(ReadSessionTest, HandsOutOnlyWhileTheLeaseIsValid) {
  GivenSplits({Bound(1, 0, 10)});
  Receive(1, MakePiece(0, 2));
  now_ += absl::Milliseconds(4999);
  EXPECT_NE(Pull(), std::nullopt);
  Receive(1, MakePiece(2, 4));
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Pull(), std::nullopt);
  EXPECT_FALSE(session_.MayHandOut(now_));
  // The answer to an old heartbeat proves nothing, however late it arrives.
  ClientAnswer late = AnswerOf({Bound(1, 0, 10)});
  late.beat_sent = now_ - absl::Seconds(5);
  Keep(session_.Handle(now_, kDispatcherPeer, late));
  EXPECT_EQ(Pull(), std::nullopt);
  Tick();
  Answer({Bound(1, 0, 10)});
  EXPECT_NE(Pull(), std::nullopt);
}

// ---- the end, errors, rejection
TEST_F(ReadSessionTest, EndsAtTheLastPositionAndLeaves) {
  positions_ = 6;
  GivenSplits({Bound(1, 0, 4), Bound(2, 4, 6)});
  Receive(1, MakePiece(0, 4));
  Receive(2, MakePiece(4, 6));
  EXPECT_THAT(PullAll(), SizeIs(6));
  EXPECT_EQ(session_.state(), State::kEnded);
  // Unreported positions are given to other readers after a leave, so each
  // leave contains the report.
  auto leaves = Said<ClientLeave>();
  ASSERT_THAT(leaves, SizeIs(1));
  EXPECT_EQ(leaves[0].splits.at(1).out, (Cursor{6, 0}));
  Pass(absl::Milliseconds(200));
  leaves = Said<ClientLeave>();
  ASSERT_THAT(leaves, SizeIs(1));
  EXPECT_EQ(leaves[0].splits.at(1).out, (Cursor{6, 0}));
  Reject(RejectReason::kReleased);
  EXPECT_EQ(session_.state(), State::kEnded);
  EXPECT_EQ(session_.NextDeadline(), absl::InfiniteFuture());
  EXPECT_TRUE(session_.MayHandOut(now_ + absl::Hours(1)));
}

TEST_F(ReadSessionTest, ADataErrorComesInOrder) {
  GivenSplits({Bound(1, 0, 4), Bound(2, 4, 8)});
  Piece bad = MakePiece(6, 6);
  bad.error = DataLoss("photo 6 is broken");
  Receive(2, MakePiece(4, 6));
  Receive(2, bad);
  EXPECT_EQ(Pull(), std::nullopt);
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(4));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(2));
  EXPECT_EQ(session_.state(), State::kLive);
  EXPECT_EQ(Pull()->error.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Pull(), std::nullopt);
  EXPECT_TRUE(session_.MayHandOut(now_));
}

TEST_F(ReadSessionTest, ElementsThatTheDispatcherSkipsComeInTheirPlace) {
  BoundSplit bound = Bound(1, 0, 8);
  bound.skip = SkippedElement{{4, 0}, {{"a", 4, 0, 0}}, "it kills"};
  GivenSplits({bound, Bound(2, 8, 9)});
  EXPECT_EQ(Pull(), std::nullopt);
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(4));
  const std::optional<Piece> left_out = Pull();
  ASSERT_TRUE(left_out.has_value());
  EXPECT_EQ(left_out->chunk.rows, 0u);
  ASSERT_TRUE(left_out->skipped.has_value());
  EXPECT_EQ(left_out->skipped->cursor, (Cursor{4, 0}));
  EXPECT_EQ(session_.cursor(), (Cursor{5, 0}));
  Answer({bound, Bound(2, 8, 9)});  // repeated: out of date
  EXPECT_EQ(Pull(), std::nullopt);
  Receive(1, MakePiece(5, 8));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(3));
}

TEST_F(ReadSessionTest, AnElementIsSkippedOnceForAnyAttempt) {
  GivenSplits({Bound(1, 0, 8, {1, 2})});
  Piece piece = MakePiece(0, 4);
  piece.end = {5, 0};
  piece.cursors = BitmapRows{{0x0f}};
  piece.skipped = SkippedElement{{4, 0}, {}, "broken"};
  Receive(1, piece, 1);
  Receive(1, piece, 2);
  EXPECT_TRUE(Pull()->skipped.has_value());
  EXPECT_EQ(Pull(), std::nullopt);
  EXPECT_EQ(session_.cursor(), (Cursor{5, 0}));
}

// ---- skipped elements
TEST_F(ReadSessionTest, SkippedElementsCountAsTakenAndAreNotRequested) {
  GivenSplits({Bound(1, 0, 10), Bound(2, 10, 20), Bound(3, 20, 30)});
  Receive(1, MakePiece(0, 4));
  Receive(1, MakePiece(4, 8));
  Receive(2, MakePiece(10, 12));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(4));
  const uint64_t opening = Granted(3).opening.value();
  Keep(session_.SkipTo(now_, {24, 0}));
  EXPECT_EQ(session_.buffered_bytes(), 0);
  EXPECT_EQ(session_.cursor(), (Cursor{24, 0}));
  EXPECT_GT(Granted(3).opening.value(), opening);
  EXPECT_EQ(Granted(3).start, (Cursor{24, 0}));
  EXPECT_TRUE(Granted(3).head);
  EXPECT_EQ(Reported(1)->out, (Cursor{10, 0}));
  EXPECT_EQ(Reported(2)->taken, (Cursor{20, 0}));
  EXPECT_EQ(Reported(3)->taken, (Cursor{24, 0}));
  Receive(3, MakePiece(22, 26));  // was on its way; its second half is needed
  EXPECT_THAT(PullAll(), ElementsAre(24, 25));
}

TEST_F(ReadSessionTest, SkippingCutsWhatIsBuffered) {
  GivenSplits({Bound(1, 0, 10)});
  Receive(1, MakePiece(0, 8));
  Keep(session_.SkipTo(now_, {5, 0}));
  EXPECT_THAT(PullAll(), ElementsAre(5, 6, 7));
  EXPECT_EQ(session_.buffered_bytes(), 0);
  Keep(session_.SkipTo(now_, {3, 0}));  // no move backwards
  EXPECT_EQ(session_.cursor(), (Cursor{8, 0}));
}

TEST_F(ReadSessionTest, ASkippedDataErrorDoesNotEndTheSequence) {
  GivenSplits({Bound(1, 0, 10)});
  Piece bad = MakePiece(0, 4);
  bad.error = DataLoss("photo 4 is broken");
  Receive(1, bad);
  EXPECT_FALSE(Pull()->error.ok());
  Keep(session_.SkipTo(now_, {6, 0}));
  EXPECT_EQ(Granted(1).start, (Cursor{6, 0}));
  Receive(1, MakePiece(6, 10));
  EXPECT_THAT(PullAll(), ElementsAre(6, 7, 8, 9));
}

TEST_F(ReadSessionTest, SkippingOverTheRestEnds) {
  positions_ = 10;
  GivenSplits({Bound(1, 0, 10)});
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(PullAll(), SizeIs(4));
  Keep(session_.SkipTo(now_, {10, 0}));
  EXPECT_EQ(session_.state(), State::kEnded);
  EXPECT_EQ(Said<ClientLeave>().at(0).splits.at(0).out, (Cursor{10, 0}));
}

TEST_F(ReadSessionTest, ElementsSkippedBeforeBindingAreNotRequested) {
  GivenSplits({Bound(1, 0, 4)});
  Keep(session_.SkipTo(now_, {6, 0}));
  Answer({Bound(1, 0, 4), Bound(2, 4, 8)});
  EXPECT_EQ(Granted(2).start, (Cursor{6, 0}));
  EXPECT_EQ(Reported(1)->out, (Cursor{4, 0}));
}

TEST_F(ReadSessionTest, AFailedSplitEndsTheRunWhereItIsReached) {
  BoundSplit failed = Bound(2, 4, 8, {});
  failed.error = NotFound("/data/a.jpg is gone");
  GivenSplits({Bound(1, 0, 4), failed});
  EXPECT_EQ(Pull(), std::nullopt);
  Receive(1, MakePiece(0, 4));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(4));
  EXPECT_EQ(Pull()->error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session_.state(), State::kFailed);
}

TEST_F(ReadSessionTest, StopsWhenSuperseded) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece(0, 4));
  Reject(RejectReason::kSuperseded);
  EXPECT_EQ(session_.state(), State::kFailed);
  EXPECT_EQ(session_.failure().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Pull(), std::nullopt);
}

// The clock of this machine is behind the clock of the job's last reader.
TEST_F(ReadSessionTest, IsTheLaterLifeIfItBeganAfterTheOtherWasMet) {
  for (const RejectReason reason :
       {RejectReason::kSuperseded, RejectReason::kRefused}) {
    Tick(absl::Seconds(1));
    EXPECT_THAT(Said<ClientHello>(), SizeIs(1));
    const Incarnation before = session_.session().incarnation;
    ClientReject reject{kJob, session_.session(), reason,
                        FailedPrecondition("another reader took over")};
    reject.later = {Incarnation(before.value() + 100), absl::Seconds(60)};
    Keep(session_.Handle(now_, kDispatcherPeer, reject));
    EXPECT_EQ(session_.state(), State::kJoin);
    Tick();
    const auto hellos = Said<ClientHello>();
    ASSERT_THAT(hellos, SizeIs(1));
    EXPECT_EQ(hellos[0].session.incarnation.value(), before.value() + 101);
    Keep(session_.Handle(now_, kDispatcherPeer, reject));  // a late copy
  }
  Answer({Bound(1, 0, 4)});
  EXPECT_EQ(session_.state(), State::kLive);
}

TEST_F(ReadSessionTest, StopsIfALaterLifeWasMetAfterItBegan) {
  Tick();
  Pass(absl::Seconds(60));
  ClientReject reject{kJob, session_.session(), RejectReason::kSuperseded, {}};
  reject.later = {Incarnation(1'000), absl::Seconds(59)};
  Keep(session_.Handle(now_, kDispatcherPeer, reject));
  EXPECT_EQ(session_.state(), State::kFailed);
}

TEST_F(ReadSessionTest, StopsIfItHasRead) {
  GivenSplits({Bound(1, 0, 4)});
  ClientReject reject{kJob, session_.session(), RejectReason::kSuperseded, {}};
  reject.later = {Incarnation(1'000), absl::Hours(1)};
  Keep(session_.Handle(now_, kDispatcherPeer, reject));
  EXPECT_EQ(session_.state(), State::kFailed);
}

TEST_F(ReadSessionTest, FailsWhenRefused) {
  Tick();
  Reject(RejectReason::kRefused, InvalidArgument("no"));
  EXPECT_EQ(session_.state(), State::kFailed);
  EXPECT_EQ(session_.failure().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(ReadSessionTest, JoinsAgainFromWhereItStands) {
  GivenSplits({Bound(1, 0, 8)});
  Receive(1, MakePiece(0, 4));
  Receive(1, MakePiece(4, 6));
  EXPECT_THAT(ValuesOf(*Pull()), SizeIs(4));
  Reject(RejectReason::kUnknown);
  EXPECT_EQ(session_.state(), State::kJoin);
  EXPECT_EQ(session_.buffered_bytes(), 0);
  Tick();
  const auto hellos = Said<ClientHello>();
  ASSERT_THAT(hellos, SizeIs(1));
  EXPECT_EQ(hellos[0].cursor, (Cursor{4, 0}));
  EXPECT_EQ(hellos[0].run, RunNumber{1});
  EXPECT_EQ(hellos[0].seed, 11);
  GivenSplits({Bound(9, 4, 12)});
  Receive(9, MakePiece(4, 12));
  EXPECT_THAT(PullAll(), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
}

// A dispatcher that is not new may make a rank that had a run wait, too.
TEST_F(ReadSessionTest, SaysThatItJoinsWhileAnAnswerHasNoRun) {
  EXPECT_TRUE(session_.joins());
  GivenSplits({Bound(1, 0, 8)});
  EXPECT_FALSE(session_.joins());
  Reject(RejectReason::kUnknown);
  Tick();
  ClientAnswer behind = AnswerOf({});
  behind.run.reset();
  behind.awaited = 1;
  Keep(session_.Handle(now_, kDispatcherPeer, behind));
  EXPECT_EQ(session_.awaited(), 1u);
  EXPECT_TRUE(session_.run().has_value());
  EXPECT_TRUE(session_.joins());
}

TEST_F(ReadSessionTest, SaysWhichRunItReadsWhenItIsGivenAnother) {
  Tick();
  ClientAnswer first = AnswerOf({Bound(1, 0, 8)});
  first.run->run = RunNumber{2};
  Keep(session_.Handle(now_, kDispatcherPeer, first));
  ASSERT_EQ(session_.state(), State::kLive);
  Said<ClientHello>();
  // The dispatcher lost its state, and an earlier hello reached it.
  ClientAnswer other = AnswerOf({Bound(2, 0, 8)});
  other.run->plan = PlanId{"other"};
  for (int times = 0; times < 2; ++times) {
    Keep(session_.Handle(now_, kDispatcherPeer, other));
    ASSERT_EQ(session_.state(), State::kJoin);
  }
  Pass(absl::Milliseconds(199));
  const auto hellos = Said<ClientHello>();
  ASSERT_THAT(hellos, SizeIs(1));
  EXPECT_EQ(hellos[0].run, RunNumber{2});
  Keep(session_.Handle(now_, kDispatcherPeer, first));
  EXPECT_EQ(session_.state(), State::kLive);
}

// ---- P-188
class NamedRunTest : public SessionTest {
 protected:
  NamedRunTest() : SessionTest(Settings()) {}

 private:
  static ReadSessionSettings Settings() {
    ReadSessionSettings settings = SettingsOf(Order::kDeterministic);
    settings.run = RunNumber{1};
    settings.begins = true;
    return settings;
  }
};

TEST_F(NamedRunTest, BeginsUntilAnAnswerHasItsRun) {
  Tick();
  ClientAnswer planning = AnswerOf({});
  planning.run.reset();
  Keep(session_.Handle(now_, kDispatcherPeer, planning));
  Pass(absl::Milliseconds(200));
  for (const ClientHello& hello : Said<ClientHello>()) {
    EXPECT_EQ(hello.run, RunNumber{1});
    EXPECT_TRUE(hello.begins);
  }
  Answer({});
  ASSERT_EQ(session_.state(), State::kLive);
  Reject(RejectReason::kUnknown);
  Tick();
  const auto hellos = Said<ClientHello>();
  ASSERT_THAT(hellos, SizeIs(1));
  EXPECT_EQ(hellos[0].run, RunNumber{1});
  EXPECT_FALSE(hellos[0].begins);
}

TEST_F(ReadSessionTest, RefusesAnotherPlanAfterTheStoreWasLost) {
  GivenSplits({Bound(1, 0, 8)});
  Reject(RejectReason::kUnknown);
  Tick();
  ClientAnswer other = AnswerOf({});
  other.run->plan = PlanId{"other"};
  session_.Handle(now_, kDispatcherPeer, other);
  EXPECT_EQ(session_.state(), State::kFailed);
}

}  // namespace
}  // namespace feedmill
