#include "worker/outgoing_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace feedmill {
namespace {

// Streams of positions with pieces of no bytes, which always pass.
class OutgoingStreamTest : public ::testing::Test {
 protected:
  BufferedPiecePtr Made(uint64_t begin, uint64_t end) {
    Piece piece;
    piece.begin = {begin, 0};
    piece.end = {end, 0};
    return std::make_shared<BufferedPiece>(used_, nullptr, std::move(piece),
                                           nullptr, nullptr);
  }
  // Starts a task for the first gap, up to `end`.
  TaskId StartTask(uint64_t end) {
    const TaskId task{++tasks_};
    stream_.Fill(stream_.FirstGap(), {end, 0}, task);
    return task;
  }

  uint64_t used_ = 0;
  uint64_t tasks_ = 0;
  OutgoingStream stream_{{0, 0}, {10, 0}};
};

TEST_F(OutgoingStreamTest, SendsPiecesInOrder) {
  const TaskId first = StartTask(4);
  const TaskId second = StartTask(10);
  EXPECT_FALSE(stream_.Wants());
  EXPECT_TRUE(stream_.Store(second, Made(4, 10)));
  EXPECT_EQ(stream_.TakeNext(), nullptr);
  EXPECT_TRUE(stream_.Store(first, Made(0, 4)));
  EXPECT_TRUE(stream_.Complete());
  EXPECT_EQ(stream_.TakeNext()->piece.end, (Cursor{4, 0}));
  EXPECT_EQ(stream_.TakeNext()->piece.end, (Cursor{10, 0}));
  EXPECT_TRUE(stream_.AllSent());
}

TEST_F(OutgoingStreamTest, WantsThePartThatATaskDidNotReach) {
  const TaskId first = StartTask(4);
  StartTask(10);
  EXPECT_TRUE(stream_.Store(first, Made(0, 2)));
  EXPECT_TRUE(stream_.Wants());
  const OutgoingStream::Gap gap = stream_.FirstGap();
  EXPECT_EQ(gap.begin, (Cursor{2, 0}));
  EXPECT_EQ(gap.limit, (Cursor{4, 0}));
}

TEST_F(OutgoingStreamTest, OpenKeepsPiecesAtOrAfterItsStart) {
  const TaskId first = StartTask(4);
  const TaskId second = StartTask(10);
  EXPECT_TRUE(stream_.Store(first, Made(0, 4)));
  EXPECT_TRUE(stream_.Store(second, Made(4, 10)));
  stream_.Open(PeerId("client"), Opening(2), {4, 0}, {10, 0});
  EXPECT_EQ(stream_.TakeNext()->piece.begin, (Cursor{4, 0}));
  stream_.Open(PeerId("client"), Opening(3), {4, 0}, {10, 0});
  EXPECT_EQ(stream_.FirstGap().begin, (Cursor{4, 0}));  // sent and lost
}

TEST_F(OutgoingStreamTest, ADataErrorEndsTheStream) {
  const TaskId first = StartTask(4);
  const TaskId second = StartTask(10);
  BufferedPiecePtr bad = Made(0, 3);
  bad->piece.error = absl::DataLossError("damaged");
  EXPECT_TRUE(stream_.Store(first, std::move(bad)));
  EXPECT_FALSE(stream_.Awaits(second));
  EXPECT_FALSE(stream_.Wants());
}

TEST_F(OutgoingStreamTest, PiecesThatWereGivenUpAreWantedAgain) {
  const TaskId first = StartTask(4);
  const TaskId second = StartTask(10);
  EXPECT_TRUE(stream_.Store(first, Made(0, 4)));
  EXPECT_TRUE(stream_.Store(second, Made(4, 10)));
  int looks = 0;
  stream_.GiveUp({10, 0}, [&] { return ++looks > 1; });
  EXPECT_TRUE(stream_.NextIsReady());
  EXPECT_EQ(stream_.FirstGap().begin, (Cursor{4, 0}));
}

}  // namespace
}  // namespace feedmill
