// Sequenced runs: a worker makes the sequence from any of its states. Ranks
// take their own rows, and tell places in the pipeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "core/base/status.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/sequenced_graph.h"
#include "core/pipeline/sequence_reader.h"
#include "core/pipeline/sequenced_place.h"
#include "core/pipeline/stream_places.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "tests/unit/pipeline/builtin_registry.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

constexpr char kPacked[] = R"yaml(
source: {range: {stop: 60000}}
steps:
  - filter: "x % 3 != 0"
  - map: {y: "(full([40], 1) * x)[:x % 37 + 1]"}
  - pack: {length: 128}
  - batch: 4
options: {seed: 7}
)yaml";
constexpr char kBuckets[] = R"yaml(
source: {range: {stop: 40000}}
steps:
  - map: {y: "(full([40], 1) * x)[:x % 37 + 1]"}
  - bucket_by_sequence_length:
      {component: y, boundaries: [10, 20], batch_sizes: [16, 8, 4]}
options: {seed: 7}
)yaml";
constexpr char kMixed[] = R"yaml(
source:
  mixture:
    weights: [0.75, 0.25]
    inputs:
      - {source: {range: {stop: 60000}}, steps: [{filter: "x % 3 != 0"}]}
      - {source: {range: {start: 200000, stop: 300000}}, steps: [{filter: "x % 2 != 0"}]}
steps: [{batch: 3}]
options: {seed: 7}
)yaml";
const char* const kPipelines[] = {kPacked, kBuckets, kMixed};

// A tenth of the pipeline's elements.
std::string Smaller(const std::string& yaml) {
  return absl::StrReplaceAll(yaml, {{"0000", "000"}});
}

Graph GraphOf(const std::string& yaml) {
  auto graph = ParseGraphYaml(yaml, "");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

std::shared_ptr<const AnalyzedGraph> Analyzed(const Graph& graph) {
  auto analyzed = Analyze(graph, *BuiltinRegistry());
  EXPECT_TRUE(analyzed.ok()) << analyzed.status();
  return *std::move(analyzed);
}

// A worker's stage and its plan.
struct Sequencer {
  explicit Sequencer(const Graph& graph)
      : plan(Plan::Make(Analyzed(SequencedGraph(graph)), 1, 7, 0).value()),
        stage(WorkerStage::Make(plan,
                                std::make_shared<const Manifest>(
                                    SequencedManifest(Manifest())),
                                BuiltinRegistry())
                  .value()),
        scratch(stage->NewScratch()) {}

  // Makes the pieces from `begin` to the end of the sequence.
  std::vector<Piece> Make(Cursor begin, size_t bytes) {
    std::vector<Piece> pieces;
    for (Cursor at = begin; at < Cursor{1, 0};) {
      Piece piece = stage->Run(at, {1, 0}, bytes, *scratch).value();
      at = piece.end;
      piece.state = stage->StateAt(at);
      pieces.push_back(std::move(piece));
      if (!pieces.back().error.ok()) break;
    }
    return pieces;
  }

  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const WorkerStage> stage;
  std::unique_ptr<WorkerStage::Scratch> scratch;
};

std::string TextOf(const Chunk& chunk, size_t row) {
  std::string text;
  for (const Column& column : chunk.columns) {
    for (int64_t item = 0; item < column.RowItems(row); ++item) {
      const auto at = static_cast<size_t>(column.RowStart(row) + item);
      text += column.dtype == DType::kInt64
                  ? fmt::format("{},", column.values.As<int64_t>()[at])
                  : fmt::format("{},", column.values.As<int32_t>()[at]);
    }
    text += ";";
  }
  return text;
}

void AddTexts(const Chunk& chunk, std::vector<std::string>& texts) {
  for (size_t row = 0; row < chunk.rows; ++row) {
    texts.push_back(TextOf(chunk, row));
  }
}

std::vector<std::string> TextsOf(const std::vector<Piece>& pieces) {
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) AddTexts(piece.chunk, texts);
  return texts;
}

// Reads the pipeline in one process, from a place.
std::vector<std::string> ReadLocally(
    const Graph& graph, const std::optional<ReadPlace>& from = {}) {
  LocalSequenceOptions options;
  options.threads = 1;
  if (from) options.resume = {7, 0, *from};
  auto reader = LocalReader::Make(graph, BuiltinRegistry(), options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<std::string> texts;
  for (;;) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    EXPECT_TRUE(chunk.ok()) << chunk.status();
    if (!chunk.ok() || !chunk->has_value()) return texts;
    AddTexts(**chunk, texts);
  }
}

// A rank's reader.
class RankReader {
 public:
  RankReader(const Sequencer& worker, Share share, uint64_t from,
             GeneratorStatePtr state = nullptr) {
    SequenceReader::Options options;
    options.rules.share = share;
    options.rules.sequenced = true;
    ReadPlace place;
    place.cursor = {0, from};
    place.elements = from;
    place.state = std::move(state);
    options.resume = place;
    sequence_ =
        SequenceReader::Make(worker.plan, BuiltinRegistry(), options).value();
  }
  void Push(Piece piece) {
    sequence_->Push(std::move(piece));
    while (ClientStage::Output* const output = sequence_->Next()) {
      AddTexts(output->chunk, texts);
    }
  }
  SequenceReader& sequence() { return *sequence_; }

  std::vector<std::string> texts;

 private:
  std::unique_ptr<SequenceReader> sequence_;
};

TEST(Sequenced, AWorkerMakesTheElementsOfThePipeline) {
  for (const char* const text : kPipelines) {
    const Graph graph = GraphOf(Smaller(text));
    EXPECT_TRUE(IsWorthSequencing(*Analyzed(graph)));
    const std::vector<std::string> expected = ReadLocally(graph);
    ASSERT_GT(expected.size(), 50U);
    EXPECT_EQ(TextsOf(Sequencer(graph).Make({}, 10'000)), expected);
  }
}

TEST(Sequenced, APipelineCanContinueFromAStateWithHeldRows) {
  for (const char* const text : kPipelines) {
    const Graph graph = GraphOf(text);
    const std::vector<std::string> expected = ReadLocally(graph);
    Sequencer first(graph);
    const size_t bytes = first.Make({}, SIZE_MAX)[0].chunk.ElementBytes();
    // The first piece has elements of several pieces of the input.
    Sequencer second(graph);
    const std::vector<Piece> pieces = second.Make({}, bytes / 4 * 3);
    ASSERT_GT(pieces.size(), 1U);
    const GeneratorStatePtr state = pieces[0].state;
    ASSERT_NE(state, nullptr);
    const uint64_t from = pieces[0].end.i;
    Sequencer other(graph);
    other.stage->Restore(*state);
    const auto rest = TextsOf(other.Make({0, from}, 10'000));
    const auto begin = expected.begin() + static_cast<std::ptrdiff_t>(from);
    EXPECT_EQ(rest, std::vector<std::string>(begin, expected.end()));
    // The place is one of the pipeline, and back.
    const ReadPlace place = PlaceFromState(from, state);
    if (text != kMixed) {
      EXPECT_GT(place.cursor, Cursor{});
    }
    EXPECT_EQ(place.elements, from);
    EXPECT_EQ(ReadLocally(graph, place), rest);
    const GeneratorStatePtr again = SequencedState(place);
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(again->at, (Cursor{0, from}));
    EXPECT_EQ(PlaceFromState(from, again).skip, place.skip);
  }
}

TEST(Sequenced, RanksTakeTheirOwnRowsAndTellTheirPlaces) {
  for (const char* const text : kPipelines) {
    const Graph graph = GraphOf(Smaller(text));
    const std::vector<std::string> expected = ReadLocally(graph);
    Sequencer worker(graph);
    const std::vector<Piece> pieces = worker.Make({}, 1'000);
    for (const uint64_t ranks : {1U, 3U}) {
      for (uint64_t rank = 0; rank < ranks; ++rank) {
        const Share share{rank, ranks};
        RankReader whole(worker, share, 0);  // a worker that sends all rows
        RankReader own(worker, share, 0);
        size_t looked = 0;
        for (const Piece& piece : pieces) {
          whole.Push(piece);
          own.Push(piece.OfShare(share));
          const auto place = own.sequence().PlaceBefore(0);
          ASSERT_TRUE(place.has_value());
          EXPECT_EQ(share.Below(place->elements), own.texts.size());
          if (rank > 0 || ++looked % 10 != 1) continue;
          const auto begin =
              expected.begin() + static_cast<std::ptrdiff_t>(place->elements);
          EXPECT_EQ(ReadLocally(graph, *place),
                    std::vector<std::string>(begin, expected.end()));
        }
        std::vector<std::string> mine;
        for (size_t n = rank; n < expected.size(); n += ranks) {
          mine.push_back(expected[n]);
        }
        EXPECT_EQ(whole.texts, mine);
        EXPECT_EQ(own.texts, mine);
        EXPECT_EQ(own.sequence().made(), expected.size());
      }
    }
  }
}

TEST(Sequenced, ADataErrorHasNoOtherNameThanInThePipeline) {
  const Graph graph = GraphOf(R"yaml(
source: {range: {stop: 1000}}
steps: [{filter: "x % 3 != 0"}, {map: "1000 // (x - 700)"}, {batch: 2}]
options: {seed: 7}
)yaml");
  const std::vector<Piece> pieces = Sequencer(graph).Make({}, 100);
  EXPECT_EQ(ErrorText(pieces.back().error),
            "record 700 of the range: steps[1] map: integer division by zero");
  EXPECT_EQ(TextsOf(pieces).size(), 233U);
}

TEST(Sequenced, OnlyRunsThatGainByIt) {
  const auto is_worth = [](const std::string& steps,
                           const std::string& options = "") {
    const Graph graph =
        GraphOf(fmt::format("source: {{range: 10}}\nsteps: [{}]\n"
                            "options: {{seed: 7{}}}\n",
                            steps, options));
    return IsWorthSequencing(*Analyzed(graph));
  };
  EXPECT_TRUE(is_worth("{filter: 'x > 1'}, {batch: 2}"));
  EXPECT_FALSE(is_worth("{batch: 2}"));  // the plan numbers the batches
  EXPECT_FALSE(is_worth("{filter: 'x > 1'}, {shuffle: {window: 5}}"));
  EXPECT_FALSE(is_worth("{filter: 'x > 1'}, {repeat: 2}"));
  EXPECT_FALSE(is_worth("{filter: 'x > 1'}, {on_error: skip}"));
  EXPECT_FALSE(is_worth("{filter: 'x > 1'}", ", processing_mode: off"));
}

TEST(Sequenced, AGraphThatIsMarkedButHasNoInputIsRefused) {
  Graph graph = GraphOf("source: {range: 10}");
  graph.sequenced = true;
  EXPECT_TRUE(
      absl::IsInvalidArgument(Analyze(graph, *BuiltinRegistry()).status()));
  EXPECT_EQ(PipelineOf(graph).source.name(), "range");
}

TEST(Sequenced, DamagedStatesAreNoPlace) {
  const Graph graph = GraphOf(kBuckets);
  const std::vector<Piece> pieces = Sequencer(graph).Make({}, 400'000);
  std::string bytes = pieces[0].state->bytes;
  ASSERT_TRUE(DecodePlace(bytes).has_value());
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(DecodePlace(bytes.substr(0, size)).has_value());
  }
  EXPECT_FALSE(DecodePlace(bytes + '\0').has_value());
}

}  // namespace
}  // namespace feedmill
