#include "core/dataset/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/operators/mixture_shares.h"
#include "feedmill/dataset.h"
#include "tests/unit/dataset/fake_functions.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::shared_ptr<const AnalyzedGraph> Good(const Dataset& dataset) {
  auto graph = Analyze(dataset.graph(), testing::FakeFunctions());
  EXPECT_TRUE(graph.ok()) << ErrorText(graph.status());
  return graph.ok() ? *graph : std::make_shared<AnalyzedGraph>();
}

std::string ErrorOf(const Dataset& dataset) {
  auto graph = Analyze(dataset.graph(), testing::FakeFunctions());
  return graph.ok() ? "no error" : ErrorText(graph.status());
}

// Returns one letter per step: p(lan), w(orker), c(lient).
std::string Placements(const Dataset& dataset) {
  std::string placements;
  const auto graph = Good(dataset);
  for (const AnalyzedStep& step : graph->steps) {
    placements += step.placement == Placement::kPlan     ? 'p'
                  : step.placement == Placement::kWorker ? 'w'
                                                         : 'c';
  }
  return placements;
}

Dataset Filtered(const Dataset& dataset) {
  return dataset.Filter([](Expr x) { return x > 3; });
}
Dataset Mapped(const Dataset& dataset) {
  return dataset.Map([](Expr x) { return x + 1; });
}
const Dataset kRange = Dataset::Range(10);
const Dataset kText = Dataset::Text({"/a"});
const Dataset kImages = Dataset::Images({"/a/*.jpg"});

// ---- placement

TEST(HomesTest, AllIsPlannedAsLongAsPlacesAreKnown) {
  EXPECT_EQ(
      Placements(Mapped(kRange.Shuffle()).Repeat(2).Take(5).Skip(1).Batch(3)),
      "pwpppp");
  EXPECT_EQ(Placements(Mapped(kRange.Batch(3)).Shuffle().Take(2)), "pwpp");
}

TEST(HomesTest, AFilterSendsTakeSkipAndBatchToTheClient) {
  EXPECT_EQ(Placements(Mapped(Filtered(kRange).Take(5)).Repeat(2)), "wccc");
  EXPECT_EQ(Placements(Filtered(kRange).Batch(2)), "wc");
  EXPECT_EQ(Placements(Filtered(kRange).Skip(2)), "wc");
}

TEST(HomesTest, StepsOnSequencesAreTheClients) {
  EXPECT_EQ(Placements(
                kRange.ShuffleWindow(5).Shard(2, 1).Enumerate().PaddedBatch(2)),
            "pppp");
  EXPECT_EQ(Placements(Filtered(kRange).ShuffleWindow(5)), "wc");
  EXPECT_EQ(Placements(Filtered(kRange).Shard(2, 1)), "wc");
  EXPECT_EQ(Placements(Filtered(kRange).Enumerate()), "wc");
  EXPECT_EQ(Placements(Mapped(kRange.Batch(2).Unbatch())), "pcc");
  EXPECT_EQ(Placements(kRange.Batch(2).Rebatch(3)), "pc");
  EXPECT_EQ(Placements(kRange.Window(2)), "c");
  EXPECT_EQ(Placements(kRange.TokenBatch({.tokens = 9}).Repeat(2)), "cc");
  EXPECT_EQ(Placements(kRange.BucketBySequenceLength(
                {.boundaries = {3}, .batch_sizes = {2, 1}})),
            "c");
  EXPECT_EQ(Placements(kRange.Batch(2).Pack({.length = 8}).Batch(2)), "pcc");
  EXPECT_FALSE(Good(kText.ShuffleWindow(5))->needs_index);
}

TEST(HomesTest, ShuffleAndRepeatMoveUpOverAFilter) {
  EXPECT_EQ(Placements(Filtered(kRange).Shuffle().Repeat(2)), "wpp");
  EXPECT_EQ(Placements(Filtered(kRange).Shuffle().Batch(2)), "wpc");
}

TEST(HomesTest, ASecondBatchIsTheClients) {
  const auto graph = Good(Mapped(kRange.Batch(4)).Batch(2));
  EXPECT_EQ(graph->client_begin, 2u);
  EXPECT_TRUE(graph->plan_batches);
  EXPECT_EQ(graph->steps[1].batches_before, 1u);
}

TEST(HomesTest, TextIsCountedOnlyForAShuffle) {
  const auto plain = Good(kText.Batch(2));
  EXPECT_FALSE(plain->source.counted);
  EXPECT_EQ(plain->client_begin, 0u);
  EXPECT_FALSE(plain->plan_batches);
  const auto shuffled = Good(kText.Repeat(2).Shuffle().Batch(2));
  EXPECT_TRUE(shuffled->source.counted);
  EXPECT_TRUE(shuffled->needs_index);
  EXPECT_EQ(shuffled->client_begin, 3u);
  EXPECT_TRUE(shuffled->plan_batches);
}

TEST(HomesTest, AShuffleAtTheClientIsRefused) {
  EXPECT_THAT(
      ErrorOf(Filtered(kRange).Take(5).Shuffle()),
      AllOf(StartsWith("steps[2] shuffle: "), HasSubstr("steps[1] take"),
            HasSubstr("steps[0] filter"), HasSubstr("window")));
  EXPECT_THAT(ErrorOf(kText.Batch(5).Shuffle()),
              HasSubstr("cannot stand after steps[0] batch"));
  EXPECT_THAT(ErrorOf(kRange.Batch(2).Batch(2).Shuffle()),
              HasSubstr("which batches the batches of steps[0] batch"));
}

TEST(HomesTest, NoStepMayNeedTheEndOfAnInfiniteRepeat) {
  EXPECT_THAT(ErrorOf(kRange.Repeat().Shuffle()),
              AllOf(StartsWith("steps[1] shuffle: "), HasSubstr("infinite")));
  EXPECT_THAT(ErrorOf(kRange.Repeat().Repeat(2)),
              AllOf(StartsWith("steps[1] repeat: "), HasSubstr("infinite")));
  EXPECT_THAT(ErrorOf(Filtered(kRange).Take(3).Repeat().Repeat()),
              HasSubstr("steps[2] repeat is infinite"));
  EXPECT_EQ(Placements(kRange.Repeat().Take(30).Shuffle()), "ppp");
}

// ---- types

std::string Output(const Dataset& dataset) {
  return Good(dataset)->output->ToString();
}

TEST(TypesTest, FollowTheSteps) {
  EXPECT_EQ(Output(kImages), "{image: bytes, label: int64, path: bytes}");
  EXPECT_EQ(Output(kImages.DecodeImage({.channels = 1})),
            "{image: uint8[?, ?, 1], label: int64, path: bytes}");
  EXPECT_EQ(Output(kImages.DecodeImage().Resize(224, 200).RandomFlip().Batch(
                8, {.drop_remainder = true})),
            "{image: uint8[8, 224, 200, 3], label: int64[8], path: bytes[8]}");
  EXPECT_EQ(Output(Dataset::TfRecord({"/a"}).ParseExample(
                {{"a", DType::kInt64, {}}, {"b", DType::kFloat32, {2}}})),
            "{a: int64, b: float32[2]}");
  EXPECT_EQ(Output(kRange.Map({{"out", Expr::Named("x") + 1}})),
            "{out: int64}");
}

TEST(TypesTest, StepsOnRecordsActBelowBatches) {
  EXPECT_EQ(Output(Dataset::TfRecord({"/a"})
                       .Batch(4)
                       .ParseExample({{"image", DType::kBytes, {}}})
                       .DecodeImage()
                       .Resize(2, 3)),
            "{image: uint8[?, 2, 3, 3]}");
  EXPECT_EQ(Output(kImages.Batch(2).Batch(3).DecodeImage().RandomFlip()),
            "{image: uint8[?, ?, ?, ?, 3], label: int64[?, ?], "
            "path: bytes[?, ?]}");
}

TEST(TypesTest, ErrorsNameStepAndWayOut) {
  const std::pair<Dataset, const char*> cases[] = {
      {kRange.Map({{"a", Expr::Named("y")}}),
       "steps[0] map: there is no component \"y\""},
      {kRange.Map({{"a", Expr(1)}, {"a", Expr(2)}}), "\"a\" is there twice"},
      {kRange.Map({{"a", Expr(1)}, {"", Expr(2)}}), "must be the only one"},
      {kRange.Map(Dataset::Outputs{}), "it makes no component"},
      {Mapped(kRange).Filter(Expr::Named("x") + 1),
       "steps[1] filter: the predicate must be one bool"},
      {kRange.Batch(2).Filter(Expr::Named("x") > 1), "any(…)"},
      {kRange.ParseExample({{"a", DType::kInt64, {}}}),
       "it needs a single component of bytes"},
      {Dataset::TfRecord({"/a"}).ParseExample({{"a", DType::kInt32, {}}}),
       "holds bytes, int64 and float32; a is int32"},
      {Dataset::TfRecord({"/a"}).ParseExample(
           {{"a", DType::kInt64, {int64_t{1} << 40}}}),
       "does not fit"},
      {Dataset::TfRecord({"/a"}).ParseExample({}), "it makes no component"},
      {kImages.DecodeImage({.component = "imgae"}), "did you mean \"image\"?"},
      {kImages.DecodeImage({.channels = 2}), "4 (with alpha), not 2"},
      {kImages.DecodeImage().DecodeImage(), "one encoded image"},
      {kRange.DecodeImage(), "written x"},
      {kImages.Resize(2, 2), "decode_image makes one of bytes"},
      {kImages.DecodeImage().Resize(0, 2), "1 to 65535, not 0"},
      {kImages.DecodeImage().Resize({.shorter = -1}), "1 to 65535, not -1"},
      {kImages.DecodeImage().Resize({}), "height and width, or shorter, or"},
      {kImages.DecodeImage().Resize({.shorter = 2, .longer = 3}),
       "height and width, or shorter, or longer"},
      {kImages.DecodeImage().RandomFlip({.probability = 1.5}), "0 to 1"},
      {kRange.Batch(0), "steps[0] batch: size must be 1 to"},
      {kRange.Take(-1), "must not be negative, it is -1"},
      {kRange.Repeat(-2), "must not be negative"},
      {Dataset::Range(0, 10, 0), "source: range's step must not be 0"},
      {Dataset::Text({}), "the list of files is empty"},
      {kRange.Map({{"a", Expr::Apply("ad", {Expr(1)})}}),
       "did you mean \"add\"?"},
  };
  for (const auto& [dataset, what] : cases) {
    EXPECT_THAT(ErrorOf(dataset), HasSubstr(what)) << what;
  }
}

// ---- combining sources

using Shares = std::vector<uint64_t>;

Shares SharesOf(std::vector<double> weights) {
  MixtureSource mixture;
  mixture.inputs.resize(weights.size());
  mixture.weights = std::move(weights);
  const auto phases = SharesOfMixture(mixture);
  return phases.ok() ? phases->front().shares : Shares{};
}

TEST(InputsTest, WeightsAreTheDecimalNumbersThatAreWritten) {
  EXPECT_EQ(SharesOf({0.7, 0.3}), (Shares{7, 3}));
  EXPECT_EQ(SharesOf({0.1, 0.2, 0.3}), (Shares{1, 2, 3}));
  EXPECT_EQ(SharesOf({1, 1}), (Shares{1, 1}));
  EXPECT_EQ(SharesOf({1e6, 2.5e6}), (Shares{2, 5}));
  EXPECT_EQ(SharesOf({1e-7, 3e-7}), (Shares{1, 3}));
  EXPECT_EQ(SharesOf({123456, 0.5}), (Shares{246912, 1}));
  EXPECT_EQ(SharesOf({1.0 / 3, 0.5}), Shares{});  // too many digits
  EXPECT_EQ(SharesOf({1e300, 1e-300}), Shares{});
  EXPECT_EQ(SharesOf({0, 1}), Shares{});
  EXPECT_EQ(SharesOf({-1, 2}), Shares{});
  EXPECT_EQ(SharesOf({std::nan(""), 2}), Shares{});
}

TEST(InputsTest, MakeOneElementOrOneBesideTheOther) {
  const Dataset named = kRange.Map({{"a", Expr::Named("x")}});
  EXPECT_EQ(Good(Dataset::Zip({named, kImages}))->output->ToString(),
            "{a: int64, image: bytes, label: int64, path: bytes}");
  EXPECT_EQ(
      Good(Dataset::Concatenate({kRange, Mapped(kRange)}))->output->ToString(),
      "int64");
  const Dataset images = kImages.DecodeImage();
  const Dataset small = images.Resize(4, 5);
  EXPECT_EQ(Good(Dataset::Mixture({small, small.Take(3)}, {1, 2}))
                ->output->ToString(),
            "{image: uint8[4, 5, 3], label: int64, path: bytes}");
  EXPECT_EQ(Good(Dataset::Interleave({small, images.Resize(4, 6)}))
                ->output->ToString(),
            "{image: uint8[4, ?, 3], label: int64, path: bytes}");
}

TEST(InputsTest, StepsAreNumberedAsWritten) {
  const auto graph = Good(
      Dataset::Zip({Mapped(kRange).Map({{"a", Expr::Named("x")}}).Shuffle(),
                    Dataset::Concatenate({kRange.Take(1), kRange})
                        .Map({{"b", Expr::Named("x")}})})
          .Shuffle());
  EXPECT_EQ(graph->inputs[0]->first_step, 0u);
  EXPECT_EQ(graph->inputs[1]->inputs[0]->first_step, 3u);
  EXPECT_EQ(graph->inputs[1]->inputs[1]->first_step, 4u);
  EXPECT_EQ(graph->inputs[1]->first_step, 4u);
  EXPECT_EQ(graph->first_step, 5u);
}

TEST(InputsTest, AreCountedByAnIndex) {
  const auto graph = Good(Dataset::Concatenate({kText, kText.Skip(2)}));
  EXPECT_TRUE(graph->inputs[0]->needs_index);
  EXPECT_TRUE(graph->inputs[1]->source.counted);
  EXPECT_TRUE(graph->source.counted);
  EXPECT_FALSE(graph->source.streamed);
  EXPECT_TRUE(graph->source.needs_files);
}

TEST(InputsTest, AreStreamsWhereOneCannotBeCounted) {
  const Dataset zipped = Dataset::Text({"/a.gz"});
  for (const Dataset& dataset :
       {Dataset::Concatenate({kText, zipped}),
        Dataset::Concatenate({kText, kText.Batch(2).Unbatch()}),
        Dataset::Interleave({kText, Dataset::Concatenate({kText, zipped})})}) {
    const auto graph = Good(dataset.Batch(2));
    EXPECT_TRUE(graph->source.streamed);
    EXPECT_FALSE(graph->source.counted);
    EXPECT_FALSE(graph->numbered);
    EXPECT_FALSE(graph->inputs[0]->needs_index);
    EXPECT_EQ(graph->client_begin, 0u);  // begins with the batch
  }
  const auto filtered = Good(Dataset::Concatenate({Filtered(kRange), kRange}));
  EXPECT_TRUE(filtered->source.streamed);
  EXPECT_FALSE(filtered->source.needs_files);
  EXPECT_THAT(filtered->Explain(), HasSubstr("read as streams"));
  EXPECT_THAT(ErrorOf(Dataset::Concatenate({kText, zipped}).Shuffle()),
              AllOf(HasSubstr("steps[0] shuffle: "),
                    HasSubstr("Shuffle in the steps of the inputs")));
}

TEST(InputsTest, ErrorsNameTheInputAndTheWayOut) {
  EXPECT_THAT(ErrorOf(Dataset::Zip({kRange, kRange})),
              HasSubstr("inputs[0] has no name. Give it one"));
  const Dataset named = kRange.Map({{"a", Expr::Named("x")}});
  EXPECT_THAT(ErrorOf(Dataset::Zip({named, named})),
              HasSubstr("inputs[1] makes a component \"a\""));
  EXPECT_THAT(ErrorOf(Dataset::Concatenate({kRange, kText})),
              HasSubstr("inputs[0] int64, inputs[1] bytes"));
  EXPECT_THAT(ErrorOf(Dataset::Concatenate({named, kRange})),
              HasSubstr("the same names"));
  EXPECT_THAT(ErrorOf(Dataset::Concatenate({})), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf(Dataset::Concatenate({kRange.Repeat(), kRange})),
              HasSubstr("inputs[0] is infinite"));
  EXPECT_THAT(ErrorOf(Dataset::Mixture({kRange, kRange}, {1})),
              HasSubstr("1 weights for 2 inputs"));
  EXPECT_THAT(ErrorOf(Dataset::Mixture({kRange, kRange}, {1, 0})),
              HasSubstr("weights[1] is 0"));
  using Unit = MixtureMeasure::Unit;
  const auto measured = [&](MixtureMeasure measure) {
    return Dataset::Mixture({kRange, kRange}, {1, 2},
                            Dataset::MixtureStop::kFirstExhausted,
                            std::move(measure));
  };
  EXPECT_THAT(ErrorOf(measured({Unit::kBytes})),
              HasSubstr("add component, one of"));
  EXPECT_THAT(ErrorOf(measured({Unit::kItems, "y"})),
              HasSubstr("no component \"y\" to measure"));
  EXPECT_THAT(ErrorOf(measured({Unit::kElements, "x"})),
              HasSubstr("add unit: bytes or unit: items"));
  EXPECT_THAT(ErrorOf(Dataset::Interleave({kRange}, {.block_length = 0})),
              HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf(Dataset::Concatenate({kRange.Resize(1, 2)})),
              StartsWith("concatenate inputs[0]: steps[0] resize: "));
}

TEST(InputsTest, NothingMayNeedTheEndOfOnesWithoutEnd) {
  const Dataset infinite = kRange.Repeat();
  const auto mixture = [&](Dataset::MixtureStop stop) {
    return Dataset::Mixture({kRange, infinite}, {1, 2}, stop);
  };
  using Stop = Dataset::MixtureStop;
  EXPECT_EQ(ErrorOf(mixture(Stop::kFirstExhausted).Shuffle()), "no error");
  for (const Stop stop : {Stop::kAllExhausted, Stop::kRepeat}) {
    EXPECT_THAT(ErrorOf(mixture(stop).Shuffle()),
                HasSubstr("the mixture source is infinite"));
    EXPECT_EQ(ErrorOf(mixture(stop).Take(9).Shuffle()), "no error");
  }
  EXPECT_THAT(ErrorOf(Dataset::Interleave({kRange, infinite}).Repeat(2)),
              HasSubstr("the interleave source is infinite"));
  const Dataset named = kRange.Map({{"a", Expr::Named("x")}});
  EXPECT_EQ(ErrorOf(Dataset::Zip({named, kImages.Repeat()}).Repeat(2)),
            "no error");
}

TEST(ExplainTest, PrintsTheCut) {
  EXPECT_EQ(
      Good(Filtered(Mapped(kRange.Shuffle())).Batch(4).Repeat())->Explain(),
      "source  range(0, 10, 1) -> int64\n"
      "        positions are records\n"
      "plan    steps[0] shuffle -> int64\n"
      "worker  steps[1] map: (x + 1) -> int64\n"
      "worker  steps[2] filter: (x > 3) -> int64\n"
      "        ---- the steps below run at the client ----\n"
      "client  steps[3] batch: 4 -> int64[?]\n"
      "client  steps[4] repeat: infinite -> int64[?]\n");
}

// The name of the source is also a step's name in status and metrics.
TEST(ExplainTest, ShowsNoSecretsOfUrls) {
  EXPECT_THAT(Good(Dataset::Text({"http://me:key@host/a b?sig=1"}))->Explain(),
              StartsWith("source  text(http://host/a%20b?...) -> "));
}

TEST(ExplainTest, ShowsTheInputs) {
  EXPECT_EQ(
      Good(Dataset::Mixture({kRange, Mapped(kRange.Shuffle())}, {0.7, 0.3})
               .Batch(2))
          ->Explain(),
      "source  mixture of 2 inputs -> int64\n"
      "        positions are elements of the inputs\n"
      "  inputs[0]: 7 of each 10\n"
      "    source  range(0, 10, 1) -> int64\n"
      "            positions are records\n"
      "  inputs[1]: 3 of each 10\n"
      "    source  range(0, 10, 1) -> int64\n"
      "            positions are records\n"
      "    plan    steps[0] shuffle -> int64\n"
      "    worker  steps[1] map: (x + 1) -> int64\n"
      "plan    steps[0] batch: 2 -> int64[?]\n");
}

TEST(AnalysisTest, ACacheEndsAPipelineOfItsOwn) {
  const auto graph = Good(Mapped(kRange).Cache().Batch(2).Cache(
      {.path = "", .memory_bytes = 3'000'000}));
  ASSERT_EQ(graph->cached_steps, 4u);
  const AnalyzedGraph& outer = *graph->cached;
  EXPECT_EQ(outer.graph.steps.size(), 3u);
  EXPECT_EQ(outer.cached_steps, 2u);
  EXPECT_EQ(outer.cached->graph.steps.size(), 1u);
  EXPECT_EQ(outer.cached->cached, nullptr);
  EXPECT_TRUE(outer.plan_batches);
  EXPECT_FALSE(outer.cached->plan_batches);
  EXPECT_THAT(graph->Explain(),
              HasSubstr("worker  steps[3] cache: in memory, at most 2 MiB"));
}

}  // namespace
}  // namespace feedmill
