// States of a generator: in pieces, in places, and as the begin of a reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/combining_sources.h"
#include "core/dataset/generator_source.h"
#include "core/dataset/python_functions.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "feedmill/dataset.h"
#include "feedmill/dataset_options.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

constexpr uint64_t kRows = 100;  // of each shard
constexpr uint64_t kCall = 7;    // rows of a call

// Shards of kRows arrays of `width` equal numbers; 0: of numbers. A state
// exists after each second call.
class FakeGenerator final : public PythonGenerator {
 public:
  explicit FakeGenerator(size_t width) : width_(width) {}

  absl::Status Prepare() override { return absl::OkStatus(); }
  absl::StatusOr<Rows> Read(uint64_t shard, uint64_t row, size_t,
                            std::span<OutputColumn* const> outputs) override {
    const uint64_t end = row < kRows ? std::min(row + kCall, kRows) : row;
    const auto place = places_.find(shard);
    const bool goes_on = place != places_.end() && place->second == row;
    const uint64_t first =
        goes_on ? row : StateBefore(shard, row).value_or(RowState()).row;
    made_ += end - first;
    std::vector<int64_t> shape;
    if (width_ > 0) shape.push_back(static_cast<int64_t>(width_));
    outputs[0]->Reset(DType::kInt64, shape);
    for (uint64_t k = row; k < end; ++k) {
      for (size_t copies = std::max<size_t>(width_, 1); copies > 0; --copies) {
        outputs[0]->values.Push(static_cast<int64_t>(shard * 1'000 + k));
      }
    }
    places_[shard] = end;
    if ((end / kCall) % 2 == 0) states_.insert({{shard, end}, "state"});
    Rows rows;
    rows.rows = end - row;
    rows.more = end < kRows;
    return rows;
  }
  std::optional<RowState> StateBefore(uint64_t shard, uint64_t row) override {
    const auto after = states_.upper_bound({shard, row});
    if (after == states_.begin()) return std::nullopt;
    const auto& [at, bytes] = *std::prev(after);
    if (at.first != shard) return std::nullopt;
    return RowState{at.second, bytes};
  }
  void Restore(uint64_t shard, RowState state) override {
    states_.insert({{shard, state.row}, state.bytes});
  }
  uint64_t made() const { return made_; }

 private:
  const size_t width_;
  uint64_t made_ = 0;
  std::map<uint64_t, uint64_t> places_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> states_;
};

class FakePython final : public PythonFunctions {
 public:
  absl::StatusOr<PythonInterpreter> Describe() override {
    return PythonInterpreter{"python3", "3.11.2", {}};
  }
  std::shared_ptr<PythonFunction> Load(const PythonCall&) override {
    return nullptr;
  }
  std::shared_ptr<PythonGenerator> LoadGenerator(
      const GeneratorSource& source) override {
    std::shared_ptr<FakeGenerator>& generator = generators_[source.function];
    if (generator == nullptr) {
      const auto& shape = source.output[0].shape;
      generator = std::make_shared<FakeGenerator>(
          shape.empty() ? 0 : static_cast<size_t>(shape[0]));
    }
    return generator;
  }
  // Elements that the function's generator made.
  uint64_t made(const std::string& function) const {
    const auto found = generators_.find(function);
    return found == generators_.end() ? 0 : found->second->made();
  }

 private:
  std::map<std::string, std::shared_ptr<FakeGenerator>> generators_;
};

// A process that runs generators.
struct Process {
  Process() {
    auto functions = std::make_shared<FunctionRegistry>(BuiltinFunctions());
    functions->AllowPython(python);
    registry = std::move(functions);
  }
  const std::shared_ptr<FakePython> python = std::make_shared<FakePython>();
  std::shared_ptr<const FunctionRegistry> registry;
};

Graph TwoShards() {
  GeneratorSource source;
  source.function = "AAAA";
  source.python = "3.11.2";
  source.output = {{.name = "", .dtype = DType::kInt64, .shape = {}}};
  source.shards = 2;
  Graph graph;
  graph.source = MakeSource(source);
  graph.options.seed = 3;
  return graph;
}

LocalSequenceOptions SmallPieces() {
  LocalSequenceOptions options;
  options.threads = 1;
  options.piece_bytes = 1;  // a piece is a call
  options.memory_bytes = 1;
  return options;
}

// Adds the first numbers of the next elements, `count` of them or all.
void Read(LocalReader& reader, size_t count, std::vector<int64_t>& numbers) {
  while (numbers.size() < count) {
    const auto chunk = reader.Next(absl::InfiniteFuture());
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    if (!chunk->has_value()) return;
    for (size_t row = 0; row < (*chunk)->rows; ++row) {
      numbers.push_back((*chunk)->columns[0].Items<int64_t>(row)[0]);
    }
  }
}

TEST(GeneratorStates, APieceHasAStateThatLeadsToItsEnd) {
  const Process process;
  const auto analyzed = Analyze(TwoShards(), *process.registry).value();
  const auto plan = Plan::Make(analyzed, 2, 3, 0).value();
  const auto stage = WorkerStage::Make(plan, nullptr, process.registry).value();
  const auto scratch = stage->NewScratch();
  Cursor at;
  size_t states = 0;
  while (at < Cursor{2, 0}) {
    const Piece piece = stage->Run(at, {2, 0}, 1, *scratch).value();
    if (piece.state != nullptr) {
      EXPECT_TRUE(piece.state->LeadsTo(piece.end));
      ++states;
    }
    at = piece.end;
  }
  EXPECT_GT(states, 10u);
}

// Reads `taken` elements, and the others in another process. Returns the
// number of elements that the generators made there.
uint64_t ReadInTwoProcesses(const Graph& graph, size_t taken,
                            std::vector<int64_t>& numbers) {
  const Process first;
  const auto whole =
      LocalReader::Make(graph, first.registry, SmallPieces()).value();
  Read(*whole, taken, numbers);
  const ReadPlace place = whole->sequence().PlaceBefore(0).value();
  EXPECT_NE(place.state, nullptr);
  EXPECT_TRUE(place.state == nullptr || place.state->LeadsTo(place.cursor));

  const Process second;
  LocalSequenceOptions options = SmallPieces();
  options.resume = LocalResume{3, 0, place};
  const auto rest = LocalReader::Make(graph, second.registry, options).value();
  Read(*rest, 1'000, numbers);
  return second.python->made("AAAA") + second.python->made("BBBB");
}

// The numbers of both shards that `keep` keeps.
template <class Keep>
std::vector<int64_t> KeptNumbers(Keep keep) {
  std::vector<int64_t> numbers;
  for (int64_t k = 0; k < 200; ++k) {
    const int64_t x = k / 100 * 1'000 + k % 100;
    if (keep(x)) numbers.push_back(x);
  }
  return numbers;
}

TEST(GeneratorStates, AReadingContinuesFromTheStateOfItsPlace) {
  std::vector<int64_t> numbers;
  const uint64_t made = ReadInTwoProcesses(TwoShards(), 170, numbers);
  EXPECT_EQ(numbers, KeptNumbers([](int64_t) { return true; }));
  // The rest, and at most the two calls after the state and the last piece.
  EXPECT_LE(made, 30 + 3 * kCall);
}

TEST(GeneratorStates, AReadingContinuesFromTheStateBehindACache) {
  Graph graph = TwoShards();
  graph.steps.push_back(MakeStep(CacheStep()));
  std::vector<int64_t> numbers;
  const uint64_t made = ReadInTwoProcesses(graph, 170, numbers);
  EXPECT_EQ(numbers, KeptNumbers([](int64_t) { return true; }));
  EXPECT_LE(made, 30 + 3 * kCall);
}

// The cache has fewer rows than the shard.
TEST(GeneratorStates, AFilterBeforeACacheKeepsTheRowsOfStates) {
  Graph graph = TwoShards();
  const Dataset filtered =
      Dataset::Range(1).Filter([](const Expr& e) { return e % 3 == 0; });
  graph.steps = filtered.graph().steps;
  graph.steps.push_back(MakeStep(CacheStep()));
  const auto expected = KeptNumbers([](int64_t x) { return x % 3 == 0; });
  std::vector<int64_t> numbers;
  const uint64_t made =
      ReadInTwoProcesses(graph, expected.size() - 10, numbers);
  EXPECT_EQ(numbers, expected);
  EXPECT_LE(made, 30 + 4 * kCall);
}

// A place in the first shard says nothing of the second.
TEST(GeneratorStates, APlaceAtTheBeginOfAShardHasNone) {
  const Process process;
  LocalSequenceOptions options = SmallPieces();
  options.piece_bytes = 1 << 20;  // a piece is a shard
  const auto reader =
      LocalReader::Make(TwoShards(), process.registry, options).value();
  std::vector<int64_t> numbers;
  Read(*reader, 150, numbers);
  EXPECT_EQ(reader->sequence().PlaceBefore(0)->state, nullptr);
}

// ---- inputs of combining sources

constexpr int64_t kWidth = 2'048;  // a piece of an input has 16 elements
// Elements made again: the piece of each input, and the calls to its state.
constexpr uint64_t kMadeAgain = 2 * (3 * kCall + 3 * kCall);

std::vector<Step> StepsOf(const std::string& yaml) {
  return ParseGraphYaml("source: {range: 1}\nsteps: [" + yaml + "]\n", ".")
      .value()
      .steps;
}

// Two shards whose elements have one component. `steps`: in YAML.
Graph Input(const std::string& function, const std::string& name,
            const std::string& steps) {
  Graph graph = TwoShards();
  GeneratorSource source = *graph.source.As<GeneratorSource>();
  source.function = function;
  source.output[0].name = name;
  source.output[0].shape = {kWidth};
  graph.source = MakeSource(source);
  graph.options = {};
  graph.steps = StepsOf(steps);
  return graph;
}

std::vector<Graph> TwoInputs(const std::string& steps = "") {
  return {Input("AAAA", "", steps), Input("BBBB", "", steps)};
}

template <class S>
Graph Combined(S source) {
  Graph graph;
  graph.source = MakeSource(std::move(source));
  graph.options.seed = 3;
  return graph;
}

// Reads from several places. `left(n)`: elements of the generators that an
// uninterrupted reading makes after the first n.
template <class Left>
void ExpectLittleMadeAgain(const Graph& graph, std::vector<size_t> places,
                           Left left) {
  std::vector<int64_t> whole;
  const Process process;
  Read(*LocalReader::Make(graph, process.registry, SmallPieces()).value(),
       1'000, whole);
  for (const size_t place : places) {
    std::vector<int64_t> numbers;
    const uint64_t made = ReadInTwoProcesses(graph, place, numbers);
    EXPECT_EQ(numbers, whole) << place;
    EXPECT_LE(made, static_cast<uint64_t>(left(place)) + kMadeAgain) << place;
  }
}

TEST(GeneratorStates, AConcatenateContinuesInTheMiddleOfAnInput) {
  ExpectLittleMadeAgain(Combined(ConcatenateSource{TwoInputs()}),
                        {90, 170, 290, 377}, [](size_t n) { return 400 - n; });
}

TEST(GeneratorStates, AZipContinuesInTheMiddleOfItsInputs) {
  ExpectLittleMadeAgain(
      Combined(ZipSource{{Input("AAAA", "a", ""), Input("BBBB", "b", "")}}),
      {90, 170}, [](size_t n) { return 2 * (200 - n); });
}

TEST(GeneratorStates, AnInterleaveContinuesInTheMiddleOfATurn) {
  InterleaveSource source{TwoInputs()};
  source.block_length = 5;
  ExpectLittleMadeAgain(Combined(std::move(source)), {93, 258, 371},
                        [](size_t n) { return 400 - n; });
}

// The second input ends at element 266 and begins again.
TEST(GeneratorStates, AMixtureContinuesInAnInputThatBeganAgain) {
  MixtureSource source{TwoInputs()};
  source.weights = {1, 3};
  source.stop = MixtureStop::kAllExhausted;
  ExpectLittleMadeAgain(Combined(std::move(source)), {150, 290, 600, 780},
                        [](size_t n) { return 800 - n; });
}

TEST(GeneratorStates, InputsWithFiltersAndCountingStepsContinue) {
  ExpectLittleMadeAgain(
      Combined(
          ConcatenateSource{TwoInputs("{filter: 'x[0] % 3 != 1'}, {skip: 10}, "
                                      "{shard: {count: 2, index: 1}}, "
                                      "{take: 50}")}),
      {35, 80},
      // Each input makes about 50 * 2 * 1.5 + 15 elements.
      [](size_t n) { return (n < 50 ? 2 : 1) * 165 - 3 * (n % 50) - 15; });
}

// Each 11th element is bad. The other elements of its call are made again, also
// by an uninterrupted reading.
TEST(GeneratorStates, InputsThatSkipElementsContinue) {
  const std::string fails = "{map: 'x + 1 // (x[0] % 11)'}";
  InterleaveSource own{TwoInputs(fails + ", {on_error: skip}")};
  own.block_length = 5;
  InterleaveSource outer{TwoInputs(fails)};
  outer.block_length = 5;
  Graph whole = Combined(std::move(outer));
  whole.steps = StepsOf("{map: 'x + 0'}, {on_error: skip}");
  for (const Graph& graph : {Combined(std::move(own)), whole}) {
    ExpectLittleMadeAgain(graph, {60, 93, 258, 351},
                          [](size_t n) { return 2 * (400 - n); });
  }
}

TEST(GeneratorStates, AnInputThatCombinesInputsContinues) {
  Graph inner = Combined(ConcatenateSource{TwoInputs()});
  inner.options = {};
  ConcatenateSource source;
  source.inputs.push_back(std::move(inner));
  source.inputs.push_back(Input("BBBB", "", ""));
  ExpectLittleMadeAgain(Combined(std::move(source)), {90, 390, 577},
                        [](size_t n) { return 600 - n; });
}

// Batches hold rows between the pieces, so the last piece that ended with a
// whole batch gives the place.
TEST(GeneratorStates, AnInputOfBatchesGivesTheSameElements) {
  ExpectLittleMadeAgain(Combined(ConcatenateSource{TwoInputs("{batch: 7}")}),
                        {10, 30, 50}, [](size_t) { return 400; });
}

TEST(GeneratorStates, AStateThatIsNoPlaceIsNotUsed) {
  const auto analyzed =
      Analyze(Combined(ConcatenateSource{TwoInputs()}), *Process().registry)
          .value();
  const auto plan = Plan::Make(analyzed, 1, 3, 0).value();
  const auto run = [&](const std::string& bytes) {
    const Process process;
    const auto stage =
        WorkerStage::Make(plan, nullptr, process.registry).value();
    const auto scratch = stage->NewScratch();
    stage->Restore({{0, 20}, bytes});
    return stage->Run({0, 20}, {1, 0}, 1 << 20, *scratch);
  };
  const Piece expected = run("").value();
  const Process process;
  const auto stage = WorkerStage::Make(plan, nullptr, process.registry).value();
  const auto scratch = stage->NewScratch();
  Piece piece;
  while (piece.end < Cursor{0, 60}) {
    piece = stage->Run(piece.end, {1, 0}, 1, *scratch).value();
  }
  ASSERT_NE(piece.state, nullptr);
  const std::string& state = piece.state->bytes;
  for (size_t size = 0; size < state.size(); ++size) {
    const Piece again = run(state.substr(0, size)).value();
    // A piece ends after some time: it may have more or fewer rows.
    const size_t rows = std::min(again.chunk.rows, expected.chunk.rows);
    ASSERT_GT(rows, 0u) << size;
    for (size_t row = 0; row < rows; ++row) {
      EXPECT_EQ(again.chunk.columns[0].Items<int64_t>(row)[0],
                expected.chunk.columns[0].Items<int64_t>(row)[0])
          << size << " row " << row;
    }
  }
  for (size_t at = 0; at < state.size(); ++at) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    // No crash: elements of another place, or an error.
    static_cast<void>(run(damaged));
  }
}

}  // namespace
}  // namespace feedmill
