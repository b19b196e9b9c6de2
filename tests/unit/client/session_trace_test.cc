#include "tests/unit/client/session_vocabulary.h"

// The spans of a reader while its job is traced.

namespace feedmill {
namespace {

class SessionTraceTest : public SessionTest {
 protected:
  void AnswerTraced(std::vector<BoundSplit> splits, bool traced = true) {
    ClientAnswer answer = AnswerOf(std::move(splits));
    if (traced) answer.tracing = TraceOrder{now_ + absl::Seconds(2), {9}};
    Keep(session_.Handle(now_, kDispatcherPeer, answer));
  }
};

TEST_F(SessionTraceTest, RecordsAPieceFromItsArrivalUntilItIsPulled) {
  const BoundSplit split = Bound(1, 0, 10);
  GivenSplits({split});
  AnswerTraced({split});
  EXPECT_TRUE(session_.traced());
  const absl::Time arrived = now_;
  Receive(1, MakePiece({0, 0}, {10, 0}));
  now_ += absl::Milliseconds(30);
  ASSERT_TRUE(Pull().has_value());
  EXPECT_EQ(session_.pulled_split(), split.split);
  session_.AddSpan(now_, {.kind = SpanKind::kHandedOut,
                          .split = split.split,
                          .begin = now_,
                          .end = now_});
  Pass(absl::Milliseconds(200));
  std::vector<TraceSpan> spans;
  for (const ClientBeat& beat : Said<ClientBeat>()) {
    ASSERT_TRUE(beat.spans.has_value());
    EXPECT_EQ(beat.spans->trace, 9);
    EXPECT_EQ(beat.spans->down, -absl::Seconds(2));
    spans.insert(spans.end(), beat.spans->spans.begin(),
                 beat.spans->spans.end());
  }
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].kind, SpanKind::kBuffered);
  EXPECT_EQ(spans[0].begin, arrived);
  EXPECT_EQ(spans[0].end, arrived + absl::Milliseconds(30));
  EXPECT_EQ(spans[0].rows, 10);
  EXPECT_EQ(spans[0].to, (Cursor{10, 0}));
  EXPECT_EQ(spans[1].kind, SpanKind::kHandedOut);
}

TEST_F(SessionTraceTest, SendsNothingUnlessItIsTraced) {
  const BoundSplit split = Bound(1, 0, 10);
  GivenSplits({split});
  EXPECT_FALSE(session_.traced());
  Receive(1, MakePiece({0, 0}, {10, 0}));
  Pull();
  session_.AddSpan(now_, {});
  AnswerTraced({split});
  AnswerTraced({split}, /*traced=*/false);
  EXPECT_FALSE(session_.traced());
  Pass(absl::Milliseconds(200));
  for (const ClientBeat& beat : Said<ClientBeat>()) {
    EXPECT_FALSE(beat.spans.has_value());
  }
}

TEST_F(SessionTraceTest, ALeaveHasTheLastSpansAndALateOneHasNone) {
  positions_ = 10;
  exhausted_ = true;
  const BoundSplit split = Bound(1, 0, 10);
  GivenSplits({split});
  AnswerTraced({split});
  Receive(1, MakePiece({0, 0}, {10, 0}));
  Pull();
  const auto leaves = Said<ClientLeave>();
  ASSERT_THAT(leaves, SizeIs(1));
  ASSERT_TRUE(leaves[0].spans.has_value());
  EXPECT_THAT(leaves[0].spans->spans, SizeIs(1));
  ASSERT_THAT(session_.UnacknowledgedLeaves(), SizeIs(1));
  EXPECT_FALSE(session_.UnacknowledgedLeaves()[0].spans.has_value());
}

}  // namespace
}  // namespace feedmill
