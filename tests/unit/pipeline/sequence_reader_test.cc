#include "core/pipeline/sequence_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/definition/pipeline_text.h"
#include "core/pipeline/worker_stage.h"
#include "tests/unit/pipeline/builtin_registry.h"

namespace feedmill {
namespace {

// A pipeline over `range`, whose pieces the test pushes itself.
class RangeSequence {
 public:
  RangeSequence(const std::string& yaml, uint64_t size,
                SequenceReader::Options options) {
    const Graph graph = ParseGraphYaml(yaml, "").value();
    const auto analyzed = Analyze(graph, *BuiltinRegistry()).value();
    plan_ = Plan::Make(analyzed, size, 7, 0).value();
    stage_ = WorkerStage::Make(plan_, nullptr, BuiltinRegistry()).value();
    scratch_ = stage_->NewScratch();
    options.rules.numbered = analyzed->numbered;
    share_ = options.rules.share;
    sequence_ = SequenceReader::Make(plan_, BuiltinRegistry(), options).value();
  }

  SequenceReader* operator->() { return sequence_.get(); }

  Piece PieceOf(uint64_t begin, uint64_t end) {
    return stage_->ForShare(share_)
        ->Run({begin, 0}, {end, 0}, size_t{1} << 20, *scratch_)
        .value();
  }

  // The numbers that are ready.
  std::vector<int64_t> PopAll() {
    std::vector<int64_t> numbers;
    while (ClientStage::Output* const out = sequence_->Next()) {
      for (size_t row = 0; row < out->chunk.rows; ++row) {
        numbers.push_back(out->chunk.columns[0].Items<int64_t>(row)[0]);
      }
    }
    return numbers;
  }

 private:
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const WorkerStage> stage_;
  std::unique_ptr<WorkerStage::Scratch> scratch_;
  std::unique_ptr<SequenceReader> sequence_;
  Share share_;
};

using Numbers = std::vector<int64_t>;

TEST(SequenceReader, GivesTheElementsOfItsRank) {
  SequenceReader::Options options;
  options.rules.share = {1, 2};
  RangeSequence sequence(
      "source: {range: {stop: 9}}\nsteps:\n  - filter: 'x != 4'\n", 9, options);
  sequence->Push(sequence.PieceOf(0, 6));
  EXPECT_EQ(sequence.PopAll(), (Numbers{1, 3}));
  EXPECT_EQ(sequence->PlaceBefore(0)->elements, 4u);
  sequence->Push(sequence.PieceOf(6, 9));
  EXPECT_EQ(sequence.PopAll(), (Numbers{6, 8}));
  sequence->Finish();
  EXPECT_TRUE(sequence->end()->ok());
}

TEST(SequenceReader, ContinuesFromAPlaceWithinAPiece) {
  const std::string yaml =
      "source: {range: {stop: 20}}\nsteps:\n  - filter: 'x % 2 == 0'\n";
  RangeSequence first(yaml, 20, {});
  first->Push(first.PieceOf(0, 10));
  EXPECT_EQ(first.PopAll(), (Numbers{0, 2, 4, 6, 8}));
  SequenceReader::Options options;
  options.resume = first->PlaceBefore(2);
  RangeSequence second(yaml, 20, options);
  second->Push(second.PieceOf(0, 20));
  EXPECT_EQ(second.PopAll(), (Numbers{6, 8, 10, 12, 14, 16, 18}));
}

TEST(SequenceReader, NeedsNothingBehindATakeThatIsFull) {
  RangeSequence sequence(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x >= 0'\n"
      "  - take: 3\n  - repeat: 2\n",
      100, {});
  Piece failed = sequence.PieceOf(0, 5);
  failed.error = DataLoss("a record that no element needs");
  sequence->Push(std::move(failed));
  EXPECT_EQ(sequence.PopAll(), (Numbers{0, 1, 2}));
  EXPECT_FALSE(sequence->end().has_value());
  EXPECT_EQ(sequence->needed(), 100u);
  sequence->Push(sequence.PieceOf(5, 50));  // ignored
  EXPECT_EQ(sequence.PopAll(), Numbers{});
  sequence->Push(sequence.PieceOf(100, 110));
  EXPECT_EQ(sequence.PopAll(), (Numbers{0, 1, 2}));
  EXPECT_TRUE(sequence->done());
}

TEST(SequenceReader, GivesTheElementsBeforeAnError) {
  RangeSequence sequence(
      "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x != 1'\n", 10, {});
  Piece piece = sequence.PieceOf(0, 4);
  piece.error = DataLoss("record 4");
  sequence->Push(std::move(piece));
  EXPECT_EQ(sequence.PopAll(), (Numbers{0, 2, 3}));
  EXPECT_EQ(sequence->end()->code(), absl::StatusCode::kDataLoss);
  sequence->Finish();
  EXPECT_EQ(sequence->end()->code(), absl::StatusCode::kDataLoss);
}

TEST(SequenceReader, ReportsPassesThatMakeNoElement) {
  RangeSequence sequence(
      "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x > 10'\n"
      "  - repeat\n",
      10, {});
  for (uint64_t pass = 0; pass < 3 && !sequence->end(); ++pass) {
    sequence->Push(sequence.PieceOf(pass * 10, pass * 10 + 10));
  }
  EXPECT_EQ(sequence->end()->code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SequenceReader, SharersTakePiecesInAnyOrder) {
  SequenceReader::Options options;
  options.shared = true;
  RangeSequence sequence(
      "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x >= 0'\n", 10,
      options);
  sequence->Push(sequence.PieceOf(5, 10));
  EXPECT_EQ(sequence.PopAll(), (Numbers{5, 6, 7, 8, 9}));
  EXPECT_FALSE(sequence->done());
  sequence->Push(sequence.PieceOf(2, 4));
  EXPECT_EQ(sequence.PopAll(), (Numbers{2, 3}));
}

// ---- a source of pieces
// Gives five positions of a sequence at once, from the last one skipped to.
class FiveAtOnce final : public PieceSource {
 public:
  FiveAtOnce(RangeSequence& sequence, uint64_t size)
      : sequence_(sequence), size_(size) {}

  absl::StatusOr<TakeResult> Take(absl::Time, Piece& piece) override {
    ++calls_;
    if (!failure.ok()) return failure;
    if (late) return TakeResult::kTimedOut;
    if (next_ >= size_) return TakeResult::kEnd;
    piece = sequence_.PieceOf(next_, std::min(size_, next_ + 5));
    next_ = piece.end.p;
    return TakeResult::kPiece;
  }
  void SkipTo(uint64_t position) override { next_ = position; }

  int calls() const { return calls_; }

  absl::Status failure;
  bool late = false;

 private:
  RangeSequence& sequence_;
  const uint64_t size_;
  uint64_t next_ = 0;
  int calls_ = 0;
};

// Lets the sequence accept the next piece, or the end, of `source`.
void AcceptNext(RangeSequence& sequence, PieceSource& source) {
  if (sequence->done()) return sequence->Finish();
  Piece piece;
  auto taken = source.Take(absl::InfiniteFuture(), piece);
  sequence->Accept(source, std::move(taken), std::move(piece));
}

// Reads to the end of the sequence; returns its elements.
Numbers AcceptAll(RangeSequence& sequence, PieceSource& source) {
  Numbers all;
  while (!sequence->end()) {
    AcceptNext(sequence, source);
    for (int64_t number : sequence.PopAll()) all.push_back(number);
  }
  return all;
}

TEST(SequenceReader, AcceptsPiecesUpToTheirEnd) {
  RangeSequence sequence(
      "source: {range: {stop: 12}}\nsteps:\n  - filter: 'x != 4'\n", 12, {});
  FiveAtOnce source(sequence, 12);
  EXPECT_EQ(AcceptAll(sequence, source),
            (Numbers{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_TRUE(sequence->end()->ok());
  EXPECT_EQ(source.calls(), 3);
}

TEST(SequenceReader, SkipsPositionsOfItsSourceThatAreNotNeeded) {
  RangeSequence sequence(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x >= 0'\n"
      "  - take: 3\n  - repeat: 2\n",
      100, {});
  FiveAtOnce source(sequence, 200);
  EXPECT_EQ(AcceptAll(sequence, source), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(source.calls(), 2);
}

TEST(SequenceReader, EndsWithTheErrorOfItsSource) {
  RangeSequence sequence("source: {range: {stop: 10}}\n", 10, {});
  FiveAtOnce source(sequence, 10);
  AcceptNext(sequence, source);
  EXPECT_EQ(sequence.PopAll(), (Numbers{0, 1, 2, 3, 4}));
  source.late = true;
  AcceptNext(sequence, source);
  EXPECT_FALSE(sequence->end().has_value());
  source.failure = Unavailable("the disk is gone");
  AcceptNext(sequence, source);
  EXPECT_EQ(sequence->end()->code(), absl::StatusCode::kUnavailable);
}

// Gives results that a test chooses.
struct Scripted final : PieceSource {
  absl::StatusOr<TakeResult> Take(absl::Time, Piece& piece) override {
    piece = std::move(next);
    return result;
  }
  void SkipTo(uint64_t) override {}

  TakeResult result = TakeResult::kPiece;
  Piece next;
};

TEST(SequenceReader, DropsTheRowsThatItsSourceLost) {
  SequenceReader::Options options;
  options.shared = true;
  RangeSequence sequence(
      "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x >= 0'\n"
      "  - batch: 4\n",
      10, options);
  Scripted source;
  source.next = sequence.PieceOf(0, 3);
  AcceptNext(sequence, source);
  source.result = PieceSource::TakeResult::kLost;
  AcceptNext(sequence, source);
  source.result = PieceSource::TakeResult::kIdle;
  AcceptNext(sequence, source);
  EXPECT_EQ(sequence->Next(), nullptr);
  source.result = PieceSource::TakeResult::kPiece;
  source.next = sequence.PieceOf(5, 7);
  AcceptNext(sequence, source);
  EXPECT_EQ(sequence->Next(), nullptr);
  source.result = PieceSource::TakeResult::kIdle;
  AcceptNext(sequence, source);
  ClientStage::Output* const output = sequence->Next();
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(output->chunk.columns[0].RowShape(0), Shape{2});
}

}  // namespace
}  // namespace feedmill
