// Random pipelines: the product's elements equal the naive
// interpreter's, for any number of threads and any chunk size, in one process
// or through a service.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "client/read_token.h"
#include "core/chunk/order_hash.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/net/log.h"
#include "core/operators/registry.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"
#include "tests/conformance/fixture_files.h"
#include "tests/conformance/moved_inputs.h"
#include "tests/conformance/random_expressions.h"
#include "tests/conformance/random_graph.h"
#include "tests/reference/interpreter.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

constexpr size_t kLimit = 200;  // elements compared of an infinite pipeline

// FEEDMILL_PIPELINES=FROM-TO widens the run (tools/test --slow: 0-999).
std::pair<uint64_t, uint64_t> Seeds() {
  const char* range = std::getenv("FEEDMILL_PIPELINES");
  if (range == nullptr) return {0, 199};
  const std::string text = range;
  const size_t dash = text.find('-');
  return {std::stoull(text), std::stoull(text.substr(dash + 1))};
}

struct Outcome {
  std::string hash;
  size_t elements = 0;
  uint64_t skipped = 0;
  bool failed = false;
  bool in_vain = false;  // because no element would ever come
};

using Functions = std::shared_ptr<const FunctionRegistry>;

// Reads until `read` has `limit` elements; returns the reader's position.
ReadPlace ReadOn(const Graph& graph, const Functions& registry,
                 LocalSequenceOptions options, size_t limit, OrderHash& hash,
                 Outcome& read) {
  auto reader = LocalReader::Make(graph, registry, std::move(options));
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return {};
  size_t unread = 0;
  while (read.elements < limit) {
    auto chunk = (*reader)->Next(absl::Now() + absl::Seconds(60));
    if (!chunk.ok()) {
      read.failed = true;
      read.in_vain = absl::IsFailedPrecondition(chunk.status());
      EXPECT_NE(chunk.status().code(), absl::StatusCode::kDeadlineExceeded);
      break;
    }
    if (!chunk->has_value()) break;
    EXPECT_TRUE((*chunk)->Validate().ok()) << (*chunk)->Validate();
    const size_t rows = std::min((*chunk)->rows, limit - read.elements);
    unread = (*chunk)->rows - rows;
    hash.Add(**chunk, 0, rows);
    read.elements += rows;
  }
  read.hash = hash.Hex();
  read.skipped = (*reader)->sequence().skipped();
  return (*reader)->sequence().PlaceBefore(unread).value();
}

Outcome ReadLocal(const Graph& graph, const Functions& registry, int threads,
                  size_t piece_bytes) {
  LocalSequenceOptions options;
  options.threads = threads;
  options.piece_bytes = piece_bytes;
  Outcome read;
  OrderHash hash;
  ReadOn(graph, registry, std::move(options), kLimit, hash, read);
  return read;
}

// Other workers make the inputs of streamed sources.
Outcome ReadMoved(const Graph& graph, const Functions& registry,
                  size_t piece_bytes) {
  Outcome read;
  OrderHash hash;
  const auto opened =
      testing::OpenWithMovedInputs(graph, registry, piece_bytes);
  EXPECT_TRUE(opened.ok()) << opened.status();
  if (!opened.ok()) return read;
  SequenceReader& sequence = *opened->sequence;
  while (read.elements < kLimit) {
    if (ClientStage::Output* const output = sequence.Next()) {
      const size_t rows = std::min(output->chunk.rows, kLimit - read.elements);
      hash.Add(output->chunk, 0, rows);
      read.elements += rows;
      continue;
    }
    if (sequence.end()) {
      read.failed = !sequence.FinalStatus().ok();
      read.in_vain = absl::IsFailedPrecondition(sequence.FinalStatus());
      break;
    }
    if (sequence.done()) {
      sequence.Finish();
    } else if (sequence.has_rows()) {
      sequence.RunRows(*opened->source);
    } else {
      Piece piece;
      auto taken = opened->source->Take(absl::InfiniteFuture(), piece);
      sequence.Accept(*opened->source, std::move(taken), std::move(piece));
    }
  }
  read.hash = hash.Hex();
  read.skipped = sequence.skipped();
  return read;
}

// Stops at element `stop` and continues from the token in another reader, which
// cuts pieces elsewhere.
Outcome ReadInTwo(const Graph& graph, const Functions& registry, size_t stop) {
  LocalSequenceOptions options;
  options.threads = 2;
  options.piece_bytes = 150;
  Outcome read;
  OrderHash hash;
  ReadToken token;
  token.place = ReadOn(graph, registry, options, stop, hash, read);
  if (read.failed) return read;
  const auto back = DecodeToken(EncodeToken(token));
  EXPECT_TRUE(back.ok()) << back.status();
  if (!back.ok()) return read;
  EXPECT_EQ(EncodeToken(*back), EncodeToken(token));
  options.piece_bytes = 40;
  options.resume = {*graph.options.seed, 0, back->place};
  ReadOn(graph, registry, options, kLimit, hash, read);
  return read;
}

// Reads with several ranks in turn.
Outcome ReadInRanks(const Graph& graph,
                    std::shared_ptr<const FunctionRegistry> registry,
                    uint64_t ranks) {
  struct Rank {
    std::unique_ptr<LocalReader> reader;
    Chunk chunk;
    size_t row = 0;
  };
  std::vector<Rank> readers;
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    LocalSequenceOptions options;
    options.threads = 1;
    options.piece_bytes = 1 + rank * 500;
    options.share = {rank, ranks};
    auto reader = LocalReader::Make(graph, registry, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    readers.push_back({*std::move(reader), {}, 0});
  }
  Outcome read;
  OrderHash hash;
  for (; read.elements < kLimit; ++read.elements) {
    Rank& rank = readers[read.elements % ranks];
    if (rank.row == rank.chunk.rows) {
      auto chunk = rank.reader->Next(absl::Now() + absl::Seconds(60));
      read.failed = !chunk.ok();
      read.in_vain = absl::IsFailedPrecondition(chunk.status());
      read.skipped = rank.reader->sequence().skipped();
      if (!chunk.ok() || !chunk->has_value()) break;
      rank.chunk = **std::move(chunk);
      rank.row = 0;
    }
    hash.Add(rank.chunk, rank.row, rank.row + 1);
    ++rank.row;
  }
  read.hash = hash.Hex();
  return read;
}

// A service with two workers that cut pieces of different sizes.
class SmallService {
 public:
  explicit SmallService(std::shared_ptr<const FunctionRegistry> registry)
      : registry_(std::move(registry)), dispatcher_({.registry = registry_}) {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
    EXPECT_TRUE(dispatcher_.Start().ok());
    for (const auto& [threads, frame_bytes] :
         {std::pair<int, uint64_t>{1, 300}, {2, 20'000}}) {
      WorkerConfig config;
      config.dispatcher = dispatcher_.target();
      config.threads = threads;
      config.frame_bytes = frame_bytes;
      config.in_process = false;  // as on different machines
      config.registry = registry_;
      workers_.push_back(std::make_unique<WorkerServer>(config));
      EXPECT_TRUE(workers_.back()->Start().ok());
      EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    }
  }

  Outcome Get(const Graph& graph) {
    ReadOptions options;
    options.service = dispatcher_.target();
    options.hooks.registry = registry_;
    Outcome read;
    OrderHash hash;
    auto reader = Read(graph, options);
    // A local read reports this error with the first element, a service when
    // the reader joins.
    if (!reader.ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(reader.status()))
          << reader.status();
      read.failed = true;
      read.in_vain = true;
    }
    while (reader.ok() && read.elements < kLimit) {
      auto chunk = (*reader)->Next();
      if (!chunk.ok()) {
        read.failed = true;
        read.in_vain = absl::IsFailedPrecondition(chunk.status());
        EXPECT_NE(chunk.status().code(), absl::StatusCode::kDeadlineExceeded);
        break;
      }
      if (!chunk->has_value()) break;
      const size_t rows = std::min((*chunk)->rows, kLimit - read.elements);
      hash.Add(**chunk, 0, rows);
      read.elements += rows;
    }
    read.hash = hash.Hex();
    if (reader.ok()) read.skipped = (*reader)->skipped();
    return read;
  }

 private:
  const std::shared_ptr<const FunctionRegistry> registry_;
  DispatchServer dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

TEST(RandomPipelines, EqualTheReferenceInEveryWayOfReading) {
  const std::string directory =
      std::filesystem::temp_directory_path() /
      ("feedmill_pipelines_" + std::to_string(getpid()));
  testing::MakeFixtureFiles(directory);
  const auto registry =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  SmallService service(registry);
  const auto [from, to] = Seeds();
  size_t elements = 0, failing = 0, streamed = 0, skipping = 0;
  for (uint64_t seed = from; seed <= to; ++seed) {
    const Graph graph = testing::RandomGraph(seed, directory, *registry);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + CanonicalText(graph));
    const reference::Sequence expected =
        reference::Interpret(graph, *graph.options.seed, 0, kLimit);
    const std::string hash = reference::OrderHash(expected.elements);
    elements += expected.elements.size();
    failing += expected.failed;
    skipping += expected.skipped > 0;
    const auto analyzed = Analyze(graph, *registry);
    streamed += analyzed.ok() && (*analyzed)->source.streamed;
    const std::pair<int, size_t> settings[] = {
        {1, size_t{1} << 20}, {2, 1}, {4, 100}};
    const auto compare = [&](const Outcome& read) {
      ASSERT_EQ(read.elements, expected.elements.size());
      ASSERT_EQ(read.hash, hash);
      if (read.elements < kLimit) {
        ASSERT_EQ(read.failed, expected.failed);
        if (!read.in_vain) {
          ASSERT_EQ(read.skipped, expected.skipped);
        }
      }
    };
    for (const auto& [threads, piece_bytes] : settings) {
      SCOPED_TRACE(std::to_string(threads) + " threads");
      compare(ReadLocal(graph, registry, threads, piece_bytes));
      if (HasFatalFailure()) return;
    }
    for (const size_t stop :
         {expected.elements.size() / 3, expected.elements.size() * 3 / 4}) {
      SCOPED_TRACE("in two from element " + std::to_string(stop));
      compare(ReadInTwo(graph, registry, stop));
      if (HasFatalFailure()) return;
    }
    {
      const uint64_t ranks = 2 + seed % 3;
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      compare(ReadInRanks(graph, registry, ranks));
      if (HasFatalFailure()) return;
    }
    for (const size_t piece_bytes : {size_t{1} << 20, size_t{60}}) {
      if (!analyzed.ok() || !(*analyzed)->source.streamed) break;
      SCOPED_TRACE("with inputs from a service");
      compare(ReadMoved(graph, registry, piece_bytes));
      if (HasFatalFailure()) return;
    }
    SCOPED_TRACE("through the service");
    compare(service.Get(graph));
    if (HasFatalFailure()) return;
  }
  std::printf(
      "%zu elements, %zu pipelines end in a data error, %zu leave something "
      "out, inputs of %zu are streams\n",
      elements, failing, skipping, streamed);
  EXPECT_GT(elements, (to - from) * 5);
  EXPECT_GT(streamed, (to - from) / 50);
  std::filesystem::remove_all(directory);
}

// An on_error of the whole skips elements that other workers could not make.
TEST(MovedInputs, SkipTheElementsThatTheReferenceSkips) {
  const auto registry =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  const std::string bad =
      "{source: {range: 40}, steps: [{filter: 'x != 0'}, {map: {a: '12 // ((x "
      "- 3) % 5)'}}";
  const std::string good =
      "{source: {range: 30}, steps: [{filter: 'x != 7'}, {map: {a: x}}]}";
  for (const std::string& source : std::vector<std::string>{
           "interleave: [" + bad + "]}, " + good + "]",
           "interleave: [" + bad +
               ", {on_error: skip}, {map: {a: '1 // (a + "
               "2)'}}]}, " +
               good + "]",
           "interleave: [" + bad + ", {batch: 3}]}, " + bad + ", {batch: 2}]}]",
           "concatenate: [{source: {interleave: [" + bad + "]}, " + good +
               "]}}, " + good + "]",
           "mixture: {inputs: [" + bad + "]}, " + good +
               "], weights: [2, 1], stop: all_exhausted}",
           "zip: [" + bad + ", {map: {b: a}}]}, " + good + "]"}) {
    const std::string yaml = "source: {" + source +
                             "}\nsteps: [{on_error: skip}]\n"
                             "options: {seed: 3}\n";
    SCOPED_TRACE(yaml);
    const auto graph = ParseGraphYaml(yaml, "");
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto expected = reference::Interpret(*graph, 3, 0, kLimit);
    EXPECT_GT(expected.skipped, 0U);
    for (const size_t piece_bytes : {size_t{1} << 20, size_t{1}}) {
      const Outcome read = ReadMoved(*graph, registry, piece_bytes);
      EXPECT_EQ(read.hash, reference::OrderHash(expected.elements));
      EXPECT_EQ(read.skipped, expected.skipped);
    }
  }
}

// Outputs of a map of integers x, on which expressions are tried: rows of all
// lengths, also none, of numbers, texts and other bytes.
constexpr std::pair<const char*, const char*> kInputs[][3] = {
    {{"", "x"}},
    {{"", "cast(x * 5, uint8)"}},
    {{"", "decode_raw(to_string(x * x * 3), int8)"}},
    {{"", "decode_raw(to_string(x * x * 3), uint8)[x % 5:]"}},
    {{"", "(decode_raw(to_string(x * x * 3), uint8)[x % 5:] - 50) / (x % 3)"}},
    {{"", "[x, -x, x % 3]"}},
    {{"",
      "stack([decode_raw(to_string(x), int8), "
      "decode_raw(to_string(x), int8)], -1)[x % 3:]"}},
    {{"", "replace(to_string(x * 7919), '7', 'ab ')"}},
    {{"", "replace(to_string(x * 7919), '7', '\\xff')"}},
    {{"", "split(replace(to_string(x * 7919), '7', ' ab'))"}},
    {{"x", "x"},
     {"path", "replace(to_string(x * 7919), '7', '/a_')"},
     {"image", "cast(full([5, 6, 3], 9) * x, uint8)"}},
};

// Each expression of random pipelines on each of these inputs that it takes.
TEST(Expressions, EqualTheReferenceOnEveryInput) {
  const auto registry =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  size_t pipelines = 0;
  for (const std::string text : testing::kMaps) {
    if (text.find(".txt'") != std::string::npos ||
        text.find(".model'") != std::string::npos) {
      continue;
    }
    for (const auto& input : kInputs) {
      Graph graph;
      graph.source = MakeSource(RangeSource{-9, 27, 1});
      MapStep map;
      for (const auto& [name, expr] : input) {
        if (expr != nullptr) map.outputs.push_back({name, *Expr::Parse(expr)});
      }
      graph.options.seed = 3;
      graph.steps = {MakeStep(map),
                     MakeStep(MapStep{{{"", *Expr::Parse(text)}}}),
                     MakeStep(OnErrorStep{OnErrorStep::Policy::kSkip, {}, {}})};
      if (!Analyze(graph, *registry).ok()) continue;
      SCOPED_TRACE(CanonicalText(graph));
      ++pipelines;
      const reference::Sequence expected =
          reference::Interpret(graph, *graph.options.seed, 0, kLimit);
      const Outcome read = ReadLocal(graph, registry, 2, 1000);
      ASSERT_EQ(read.elements, expected.elements.size());
      ASSERT_EQ(read.skipped, expected.skipped);
      ASSERT_EQ(read.hash, reference::OrderHash(expected.elements));
    }
  }
  EXPECT_GT(pipelines, 500u);
}

}  // namespace
}  // namespace feedmill
