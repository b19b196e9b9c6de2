// The content of a cache. It changes nothing but the time of a read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/element_cache.h"
#include "core/pipeline/provenance.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Number of rows that the function `counted` has passed on.
std::atomic<uint64_t> counted{0};

std::shared_ptr<const FunctionRegistry> Functions() {
  static const auto functions = [] {
    FunctionRegistry made = BuiltinFunctions();
    FunctionRegistry::Function function;
    function.infer = [](const std::vector<ValueType>& types) {
      return absl::StatusOr<ValueType>(types.at(0));
    };
    function.compute = [](std::span<const Argument> arguments, size_t rows,
                          const ValueType&, OutputColumn& out) {
      out.Reset(DType::kInt64, {});
      out.values.Append(arguments[0].column->values.data(),
                        rows * sizeof(int64_t));
      counted += rows;
      return absl::OkStatus();
    };
    made.Add("counted", function);
    return std::make_shared<const FunctionRegistry>(std::move(made));
  }();
  return functions;
}

struct CachedRead {
  std::vector<std::string> lines;
  std::vector<SkippedElement> skipped;
  absl::Status status;
};

// Two threads may make an element at the same time. With a profile the reader's
// own thread makes none.
LocalSequenceOptions OfOneMaker() {
  LocalSequenceOptions options;
  options.threads = 1;
  options.profile = std::make_shared<ReadProfile>();
  return options;
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override { counted = 0; }

  Graph Parse(const std::string& yaml) const {
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
    return graph.ok() ? *graph : Graph();
  }

  CachedRead ReadAll(const std::string& yaml,
                     LocalSequenceOptions options = {}) const {
    CachedRead out;
    options.on_skipped = [&out](const std::string&,
                                const SkippedElement& skipped) {
      out.skipped.push_back(skipped);
      return absl::OkStatus();
    };
    const auto reader = LocalReader::Make(Parse(yaml), Functions(), options);
    out.status = reader.status();
    while (out.status.ok()) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      out.status = chunk.status();
      if (!chunk.ok() || !*chunk) break;
      for (size_t row = 0; row < (*chunk)->rows; ++row) {
        AppendJson(**chunk, row, out.lines.emplace_back());
      }
    }
    return out;
  }

  // Expects that `yaml` gives the same elements with and without its caches,
  // which are written as CACHE, with one thread and with several.
  void ExpectNoDifference(const std::string& yaml) const {
    const auto with = [&](const std::string& step) {
      std::string text = yaml;
      for (size_t at; (at = text.find("CACHE")) != std::string::npos;) {
        text.replace(at, 5, step);
      }
      return text;
    };
    const CachedRead without = ReadAll(with("skip: 0"));
    ASSERT_TRUE(without.status.ok()) << without.status;
    for (const std::string step : {"cache", "cache: {memory_bytes: 9000}"}) {
      for (const int threads : {1, 3}) {
        for (const size_t bytes : {size_t{50}, size_t{1} << 20}) {
          LocalSequenceOptions options;
          options.threads = threads;
          options.piece_bytes = bytes;
          const CachedRead read = ReadAll(with(step), options);
          EXPECT_EQ(read.lines, without.lines) << step << yaml;
          EXPECT_EQ(read.status.code(), without.status.code()) << read.status;
        }
      }
    }
  }

  const TestFolder folder_;
};

TEST_F(Cache, RunsWhatStandsBeforeItOnceForEachElement) {
  const std::string yaml =
      "source: {range: 5000}\nsteps:\n  - map: 'counted(x * 3)'\n  - cache\n"
      "  - shuffle\n  - map: 'x + 1'\n  - repeat: 4\noptions: {seed: 1}\n";
  LocalSequenceOptions options = OfOneMaker();
  const CachedRead read = ReadAll(yaml, options);
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.lines, SizeIs(20'000));
  EXPECT_EQ(counted, 5000u);
  // Another reader of this process finds the rows, also in another iteration.
  options.threads = 3;
  options.resume = {1, 2, ReadPlace()};
  EXPECT_THAT(ReadAll(yaml, options).lines, SizeIs(20'000));
  EXPECT_EQ(counted, 5000u);
}

TEST_F(Cache, ChangesNoElement) {
  folder_.Write("a.txt", "one\ntwo\n\nfour\nfive words of text\n\nseven\n");
  ExpectNoDifference(
      "source: {range: 300}\nsteps:\n  - filter: 'x % 3 != 1'\n  - CACHE\n"
      "  - filter: 'x % 5 != 2'\n  - map: 'to_string(x)'\n  - CACHE\n"
      "  - filter: 'x != \"9\"'\n  - batch: 4\noptions: {seed: 1}\n");
  ExpectNoDifference(
      "source: {text: {files: a.txt}}\nsteps:\n  - filter: 'length(x) > 0'\n"
      "  - CACHE\n  - map: 'split(x, \" \")'\n  - filter: 'x[0] != \"two\"'\n"
      "  - repeat: 3\noptions: {seed: 1}\n");
  ExpectNoDifference(
      "source: {range: 100}\nsteps:\n  - map: 'x * 2'\n  - batch: 7\n"
      "  - map: 'x + 1'\n  - CACHE\n  - map: 'sum(x)'\n  - shuffle\n"
      "  - repeat: 2\noptions: {seed: 1}\n");
  ExpectNoDifference(
      "source:\n  mixture:\n    weights: [2, 1]\n    inputs:\n"
      "      - source: {range: 40}\n        steps: [{map: 'x'}, CACHE]\n"
      "      - source: {range: {start: 100, stop: 130}}\n"
      "steps: [CACHE, {map: 'x + 1'}, {batch: 3}, {repeat: 2}]\n"
      "options: {seed: 1}\n");
}

TEST_F(Cache, HandsOutMuchThatStandsTogetherWithoutACopy) {
  const Graph graph = Parse(
      "source: {range: 3}\nsteps:\n  - map: 'full([200000], x)'\n  - cache\n"
      "  - repeat: 4\noptions: {seed: 1}\n");
  LocalSequenceOptions options;
  options.threads = 1;
  options.piece_bytes = size_t{6} << 20;  // not a multiple of a pass
  const auto reader = LocalReader::Make(graph, Functions(), options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<const std::byte*> rows;
  std::vector<Chunk> held;  // so that memory is not reused
  for (;;) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    if (!*chunk) break;
    held.push_back(**chunk);
    for (size_t row = 0; row < held.back().rows; ++row) {
      const auto items = held.back().columns[0].Items<int64_t>(row);
      ASSERT_EQ(items.back(), static_cast<int64_t>(rows.size() % 3));
      rows.push_back(std::as_bytes(items).data());
    }
  }
  ASSERT_THAT(rows, SizeIs(12));
  for (size_t row = 3; row < 9; ++row) EXPECT_EQ(rows[row], rows[row + 3]);
}

TEST_F(Cache, KeepsTheFirstPassOfWhatIsDrawnBeforeIt) {
  const CachedRead read = ReadAll(
      "source: {range: 40}\nsteps:\n  - map: {x: x, a: 'random.integers(0, "
      "1000000)'}\n  - cache\n  - map: {x: x, a: a, b: 'random.integers(0, "
      "1000000)'}\n  - repeat: 2\n  - map: 'stack(x, a, b, 0)'\n"
      "options: {seed: 5}\n");
  const CachedRead once = ReadAll(
      "source: {range: 40}\nsteps:\n  - map: {x: x, a: 'random.integers(0, "
      "1000000)'}\n  - map: 'stack(x, a, 0)'\noptions: {seed: 5}\n");
  ASSERT_TRUE(read.status.ok()) << read.status;
  ASSERT_THAT(read.lines, SizeIs(80));
  for (size_t k = 0; k < 40; ++k) {
    const std::string kept =
        once.lines[k].substr(0, once.lines[k].size() - 1) + ",";
    EXPECT_THAT(read.lines[k], ::testing::StartsWith(kept));
    EXPECT_THAT(read.lines[k + 40], ::testing::StartsWith(kept));
    EXPECT_NE(read.lines[k], read.lines[k + 40]);
  }
}

TEST_F(Cache, KeepsTheOrderOfAShuffleBeforeIt) {
  const CachedRead read = ReadAll(
      "source: {range: 9}\nsteps:\n  - shuffle\n  - cache\n  - repeat: 2\n"
      "options: {seed: 5}\n");
  ASSERT_THAT(read.lines, SizeIs(18));
  EXPECT_TRUE(std::equal(read.lines.begin(), read.lines.begin() + 9,
                         read.lines.begin() + 9));
}

TEST_F(Cache, ElementsThatDoNotFitAreMadeAgain) {
  LocalSequenceOptions options = OfOneMaker();
  options.piece_bytes = 2000;
  const CachedRead read = ReadAll(
      "source: {range: 4001}\nsteps:\n  - map: 'counted(x)'\n"
      "  - cache: {memory_bytes: 30000}\n  - repeat: 2\noptions: {seed: 1}\n",
      options);
  ASSERT_THAT(read.lines, SizeIs(8002));
  EXPECT_EQ(read.lines[8001], "4000");
  EXPECT_GT(counted, 4001u);
  EXPECT_LT(counted, 8002u);
}

TEST_F(Cache, ErrorsBeforeItComeInEachPass) {
  const CachedRead skips = ReadAll(
      "source: {range: 10}\nsteps:\n  - map: '12 // (x % 4)'\n  - cache\n"
      "  - on_error: skip\n  - repeat: 2\noptions: {seed: 1}\n");
  EXPECT_TRUE(skips.status.ok()) << skips.status;
  EXPECT_THAT(skips.lines, SizeIs(14));
  ASSERT_THAT(skips.skipped, SizeIs(6));
  EXPECT_THAT(skips.skipped[5].error, HasSubstr("steps[0] map"));
  EXPECT_THAT(skips.skipped[5].records, ElementsAre(RecordOrigin{"", 8, 0, 1}));
  // on_error covers only the steps before it, on either side of a cache.
  const CachedRead fails = ReadAll(
      "source: {range: 10}\nsteps:\n  - on_error: skip\n"
      "  - map: '12 // (x - 4)'\n  - cache\noptions: {seed: 1}\n");
  EXPECT_TRUE(absl::IsDataLoss(fails.status)) << fails.status;
  EXPECT_THAT(ErrorText(fails.status), HasSubstr("steps[1] map"));
  EXPECT_THAT(fails.lines, SizeIs(4));
}

// Flips a bit of a cache file in that folder, truncates it or deletes it.
// Returns false if there is none yet, or if the reader has just deleted it.
bool DamageAFile(const std::string& folder, std::mt19937_64& random) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (std::filesystem::recursive_directory_iterator at(folder, none), end;
       !none && at != end; at.increment(none)) {
    if (at->path().extension() == ".rows") files.push_back(at->path());
  }
  if (files.empty()) return false;
  const std::filesystem::path& path = files[random() % files.size()];
  const uintmax_t size = std::filesystem::file_size(path, none);
  if (none || size == 0) return false;
  const uint64_t at = random() % size;
  switch (random() % 4) {
    case 0:
      std::filesystem::remove(path, none);
      break;
    case 1:
      std::filesystem::resize_file(path, at, none);
      break;
    default: {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekg(static_cast<std::streamoff>(at));
      const int was = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(was ^ 1 << random() % 8));
    }
  }
  return true;
}

TEST_F(Cache, FilesThatAreDamagedAtAnyTimeChangeNoElement) {
  std::string lines;
  for (int k = 0; k < 3000; ++k) lines += "line " + std::to_string(k) + "\n";
  folder_.Write("a.txt", lines);
  const std::vector<std::string> pipelines = {
      "source: {range: 50}\nsteps:\n  - map: 'full([20000], x)'\n  - CACHE\n"
      "  - map: {x: x, sum: 'sum(x)'}\n  - map: sum\n  - repeat: 6\n",
      "source: {range: 3000}\nsteps:\n"
      "  - map: {x: 'x * 2', text: 'to_string(x)'}\n  - CACHE\n  - shuffle\n"
      "  - repeat: 6\n",
      "source: {text: {files: a.txt}}\nsteps:\n  - CACHE\n"
      "  - map: 'split(x, \" \")'\n  - repeat: 6\n"};
  size_t damaged = 0;
  // Three pipelines with one thread and three, and with small and large pieces.
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const std::string kept = folder_ / std::to_string(seed);
    const auto with = [&](const std::string& step) {
      std::string text = pipelines[seed % 3] + "options: {seed: 1}\n";
      return text.replace(text.find("CACHE"), 5, step);
    };
    const CachedRead expected = ReadAll(with("skip: 0"));
    ASSERT_TRUE(expected.status.ok()) << expected.status;
    // Files exist after a reader has ended.
    EXPECT_EQ(ReadAll(with("cache: " + kept)).lines, expected.lines);
    LocalSequenceOptions options;
    options.threads = 1 + static_cast<int>(seed / 3 % 2) * 2;
    options.piece_bytes = seed / 6 % 2 == 0 ? 20'000 : 400'000;
    const auto reader =
        LocalReader::Make(Parse(with("cache: " + kept)), Functions(), options);
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::vector<std::string> got;
    while (true) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      ASSERT_TRUE(chunk.ok()) << seed << chunk.status();
      if (!*chunk) break;
      for (size_t row = 0; row < (*chunk)->rows; ++row) {
        AppendJson(**chunk, row, got.emplace_back());
      }
      if (random() % 2 == 0) damaged += DamageAFile(kept, random) ? 1 : 0;
    }
    EXPECT_EQ(got, expected.lines) << seed;
  }
  EXPECT_GT(damaged, 0u);
}

TEST_F(Cache, AChangedFileIsReadAgain) {
  folder_.Write("a.txt", "one\ntwo\n");
  const std::string yaml =
      "source: {text: {files: a.txt}}\nsteps:\n  - cache\n"
      "options: {seed: 1}\n";
  EXPECT_THAT(ReadAll(yaml).lines, ElementsAre("\"one\"", "\"two\""));
  folder_.Write("a.txt", "three\n");
  EXPECT_THAT(ReadAll(yaml).lines, ElementsAre("\"three\""));
}

TEST_F(Cache, ProvenanceSeesThroughIt) {
  const auto traced = TraceElement(
      Parse("source: {range: 10}\nsteps:\n  - skip: 2\n  - batch: 2\n"
            "  - cache\n  - repeat: 3\noptions: {seed: 1}\n"),
      Functions(), 1, 0, 5);
  ASSERT_TRUE(traced.ok()) << traced.status();
  EXPECT_THAT(traced->records, ElementsAre(RecordOrigin{"", 4, 0, 1},
                                           RecordOrigin{"", 5, 0, 1}));
}

TEST_F(Cache, APlaceThatItCannotHaveIsRefused) {
  const auto refused = [&](const std::string& yaml) {
    return ErrorText(Analyze(Parse(yaml), *Functions()).status());
  };
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n  - window: {size: 2}\n"
                      "  - cache\n"),
              HasSubstr("Move it before that step"));
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n  - repeat\n  - cache\n"),
              HasSubstr("Move it before the repeat"));
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n"
                      "  - cache: {path: /x, memory_bytes: 4}\n"),
              HasSubstr("leave out memory_bytes or the folder"));
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n"
                      "  - cache: {memory_bytes: -1}\n"),
              HasSubstr("-1"));
}

TEST(ElementCache, IsSharedByKeyAndHoldsNoMoreThanItMay) {
  auto spec = std::make_shared<ElementSpec>();
  spec->components.push_back({"", DType::kInt64, {}});
  const std::vector<int64_t> items(100, 7);
  const Chunk chunk{spec, 100, {MakeColumn(items)}};
  std::vector<uint64_t> positions(100);
  for (size_t k = 0; k < 100; ++k) positions[k] = 1000 + k;
  const auto cache = OpenElementCache("a test's", "", 10'000, spec);
  cache->Add(positions, {}, false, chunk);
  const size_t bytes = cache->bytes();
  EXPECT_GT(bytes, 800u);
  EXPECT_LT(bytes, 10'000u);
  cache->Add(positions, {}, false, chunk);  // already present
  EXPECT_EQ(cache->bytes(), bytes);
  for (uint64_t& position : positions) position += 5000;
  cache->Add(positions, {}, false, chunk);  // no room
  EXPECT_EQ(cache->bytes(), bytes);
  ElementCache::Lookup found;
  const std::vector<uint64_t> asked = {1003, 6003, 1099};
  OpenElementCache("a test's", "", 10'000, spec)->Find(asked, found);
  EXPECT_EQ(found.rows[0].row, 3u);
  EXPECT_EQ(found.rows[1].row, ElementCache::Lookup::kMissing);
  EXPECT_EQ(found.rows[2].row, 99u);
  EXPECT_EQ(OpenElementCache("another", "", 10'000, spec)->bytes(), 0u);
}

TEST(ElementCache, AllOfAProcessKeepNoMoreThanItMay) {
  auto spec = std::make_shared<ElementSpec>();
  spec->components.push_back({"", DType::kInt64, {}});
  const Chunk chunk{spec, 100, {MakeColumn(std::vector<int64_t>(100, 7))}};
  const auto fill = [&](ElementCache& cache) {
    for (uint64_t from = 0; from < 10'000; from += 100) {
      std::vector<uint64_t> positions(100);
      for (size_t k = 0; k < 100; ++k) positions[k] = from + k;
      cache.Add(positions, {}, false, chunk);
      CachedRows rows;
      rows.count = 100;
      rows.rows.chunk = std::make_shared<Chunk>(chunk);
      cache.AddRows(20'000 + from, rows);
    }
  };
  std::unique_ptr<ElementCache> unused;
  CacheMemory memory(50'000,
                     [&] { return std::exchange(unused, nullptr) != nullptr; });
  auto first = std::make_unique<ElementCache>(SIZE_MAX, nullptr, memory);
  fill(*first);
  unused = std::move(first);
  EXPECT_GT(unused->bytes(), 40'000u);
  EXPECT_LE(unused->bytes(), 50'000u);
  ElementCache one(SIZE_MAX, nullptr, memory);
  ElementCache two(30'000, nullptr, memory);
  fill(two);  // takes the memory of the unused cache
  EXPECT_EQ(unused, nullptr);
  EXPECT_GT(two.bytes(), 20'000u);
  EXPECT_LE(two.bytes(), 30'000u);
  fill(one);
  EXPECT_GT(one.bytes(), 10'000u);
  EXPECT_LE(one.bytes() + two.bytes(), 50'000u);
}

}  // namespace
}  // namespace feedmill
