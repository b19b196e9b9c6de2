#include "worker/codec_chooser.h"

#include <gtest/gtest.h>

namespace feedmill {
namespace {

const PlanId kPlan{"plan"};
constexpr double kGigabit = 125e6;
constexpr double kLoopback = 4e9;

// Records 1 GB packed in that time with that ratio.
void Measured(CodecChooser& chooser, LinkCompression codec, double seconds,
              double ratio) {
  chooser.Note(kPlan, codec, 1'000'000'000, static_cast<uint64_t>(1e9 * ratio),
               absl::Seconds(seconds));
}

TEST(CodecChooser, ALinkThatIsNotMeasuredGetsNone) {
  CodecChooser chooser;
  EXPECT_EQ(chooser.Choose(kPlan, std::nullopt), LinkCompression::kNone);
}

TEST(CodecChooser, ALinkThatIsFasterThanTheCodecsGetsNone) {
  CodecChooser chooser;
  for (int k = 0; k < 200; ++k) {
    EXPECT_EQ(chooser.Choose(kPlan, kLoopback), LinkCompression::kNone);
  }
}

TEST(CodecChooser, TriesWhatIsNotKnownAndTakesWhatIsSoonest) {
  CodecChooser chooser;
  EXPECT_EQ(chooser.Choose(kPlan, kGigabit), LinkCompression::kLz4);
  Measured(chooser, LinkCompression::kLz4, 1.5, 0.4);
  EXPECT_EQ(chooser.Choose(kPlan, kGigabit), LinkCompression::kZstd);
  Measured(chooser, LinkCompression::kZstd, 2.5, 0.25);
  // 3.2 s for lz4 against 2.5 s for zstd and 8 s for neither.
  EXPECT_EQ(chooser.Choose(kPlan, kGigabit), LinkCompression::kZstd);
  // At 400 MB/s packing with zstd takes as long as sending everything unpacked.
  EXPECT_EQ(chooser.Choose(kPlan, 400e6), LinkCompression::kLz4);
  EXPECT_EQ(chooser.Choose(kPlan, kLoopback), LinkCompression::kNone);
}

TEST(CodecChooser, DataThatDoesNotShrinkGetsNoneAndIsTriedAgain) {
  CodecChooser chooser;
  chooser.Choose(kPlan, kGigabit);
  Measured(chooser, LinkCompression::kLz4, 1, 1);
  chooser.Choose(kPlan, kGigabit);
  Measured(chooser, LinkCompression::kZstd, 1, 0.99);
  int tried = 0;
  for (int k = 0; k < 640; ++k) {
    if (chooser.Choose(kPlan, kGigabit) != LinkCompression::kNone) ++tried;
  }
  EXPECT_EQ(tried, 10);
  // Later records shrink: after a few tries the codec is used permanently.
  for (int k = 0; k < 40; ++k)
    Measured(chooser, LinkCompression::kLz4, 1.5, 0.3);
  EXPECT_EQ(chooser.Choose(kPlan, kGigabit), LinkCompression::kLz4);
}

}  // namespace
}  // namespace feedmill
