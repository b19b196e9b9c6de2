// States of generators in a client's session (P-270 to P-273).
#include "core/base/status.h"
#include "tests/unit/client/session_vocabulary.h"

namespace feedmill {
namespace {

GeneratorStatePtr StateAt(Cursor at) {
  return std::make_shared<const GeneratorState>(GeneratorState{at, "state"});
}

uint64_t TenRows(uint64_t) { return 10; }

// Rows of a position, with a state at `at`.
Piece PieceWithState(Cursor begin, Cursor end, Cursor at) {
  Piece piece = MakePiece(begin, end, TenRows);
  piece.state = StateAt(at);
  return piece;
}

using SessionStateTest = SessionTest;

TEST_F(SessionStateTest, AnotherAttemptIsGivenTheLastStateBeforeItsStart) {
  GivenSplits({Bound(1, 0, 4)});
  EXPECT_EQ(Granted(1).state, nullptr);
  Receive(1, PieceWithState({0, 0}, {0, 3}, {0, 3}));
  Receive(1, PieceWithState({0, 3}, {0, 6}, {0, 5}));
  Answer({Bound(1, 0, 4, {2})});  // the first worker died
  const Grant grant = Granted(1, 2);
  EXPECT_EQ(grant.start, (Cursor{0, 6}));
  ASSERT_NE(grant.state, nullptr);
  EXPECT_EQ(grant.state->at, (Cursor{0, 5}));
  EXPECT_EQ(grant.state->bytes, "state");
}

TEST_F(SessionStateTest, AStateIsRepeatedUntilTheFirstFrame) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, PieceWithState({0, 0}, {0, 3}, {0, 3}));
  const std::vector<BoundSplit> moved = {Bound(1, 0, 4, {2})};
  Answer(moved);
  Said<Grant>();
  Pass(absl::Milliseconds(300));
  ASSERT_NE(Granted(1, 2).state, nullptr);
  Receive(1, MakePiece({0, 3}, {0, 4}, TenRows), 2);
  Said<Grant>();
  Pass(absl::Milliseconds(300));
  EXPECT_EQ(Granted(1, 2).start, (Cursor{0, 3}));
  EXPECT_EQ(Granted(1, 2).state, nullptr);
}

TEST_F(SessionStateTest, AStateOfAnotherPositionIsNotGiven) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, PieceWithState({0, 0}, {0, 3}, {0, 3}));
  Receive(1, MakePiece({0, 3}, {1, 0}, TenRows));
  Answer({Bound(1, 0, 4, {2})});
  EXPECT_EQ(Granted(1, 2).start, (Cursor{1, 0}));
  EXPECT_EQ(Granted(1, 2).state, nullptr);
}

// Elements that were buffered and not pulled are made again, and the state
// must not be after them.
TEST_F(SessionStateTest, ALostSessionContinuesWithTheStateOfPulledElements) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, PieceWithState({0, 0}, {0, 3}, {0, 3}));
  Receive(1, PieceWithState({0, 3}, {0, 6}, {0, 6}));
  EXPECT_THAT(Pull()->chunk.rows, 3);
  Reject(RejectReason::kUnknown);
  Said<Grant>();
  GivenSplits({{SplitNo(7), {0, 3}, {4, 0}, Bound(1, 0, 4).leases, {}}});
  EXPECT_EQ(Granted(7).start, (Cursor{0, 3}));
  ASSERT_NE(Granted(7).state, nullptr);
  EXPECT_EQ(Granted(7).state->at, (Cursor{0, 3}));
}

TEST_F(SessionStateTest, APieceWithoutRowsIsPulledForItsState) {
  GivenSplits({Bound(1, 0, 4)});
  Receive(1, MakePiece({0, 0}, {0, 3}, testing::NoRow));
  EXPECT_EQ(Pull(), std::nullopt);
  Piece piece = MakePiece({0, 3}, {0, 6}, testing::NoRow);
  piece.state = StateAt({0, 6});
  Receive(1, std::move(piece));
  const std::optional<Piece> pulled = Pull();
  ASSERT_TRUE(pulled.has_value());
  EXPECT_EQ(pulled->state->at, (Cursor{0, 6}));
}

// Pieces without rows use no credit, so that credit does not bound their
// number.
TEST_F(SessionStateTest, PiecesWithoutRowsInARowAreOne) {
  GivenSplits({Bound(1, 0, 4)});
  for (uint64_t i = 0; i < 9; i += 3) {
    Piece piece = MakePiece({0, i}, {0, i + 3}, testing::NoRow);
    piece.state = StateAt(piece.end);
    Receive(1, std::move(piece));
  }
  const std::optional<Piece> pulled = Pull();
  ASSERT_TRUE(pulled.has_value());
  EXPECT_EQ(pulled->begin, (Cursor{0, 0}));
  EXPECT_EQ(pulled->end, (Cursor{0, 9}));
  EXPECT_EQ(pulled->state->at, (Cursor{0, 9}));
  EXPECT_EQ(Pull(), std::nullopt);
}

class ResumedSessionTest : public SessionTest {
 protected:
  ResumedSessionTest() : SessionTest(Settings()) {}
  static ReadSessionSettings Settings() {
    ReadSessionSettings settings = SettingsOf(Order::kDeterministic);
    settings.start = {2, 50};
    settings.state = StateAt({2, 48});
    return settings;
  }
};

TEST_F(ResumedSessionTest, TheFirstGrantHasTheStateOfTheToken) {
  GivenSplits({{SplitNo(1), {2, 50}, {4, 0}, Bound(1, 0, 4).leases, {}},
               Bound(2, 4, 8)});
  ASSERT_NE(Granted(1).state, nullptr);
  EXPECT_EQ(Granted(1).state->at, (Cursor{2, 48}));
  EXPECT_EQ(Granted(2).state, nullptr);
}

}  // namespace
}  // namespace feedmill
