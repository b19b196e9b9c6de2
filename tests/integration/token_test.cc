// Readers that stop at any element and resume from their tokens: on the same
// dispatcher, on one that knows nothing, in one process, with other workers
// and another number of ranks. Together they read what one uninterrupted reader
// reads.

#include "feedmill/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/share.h"
#include "core/definition/pipeline_text.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr int kTrials = 100;
constexpr size_t kElementsMax = 400;  // compared of an infinite pipeline
constexpr size_t kInOrderBytesMax = 1024;

// The last one of each pair says whether its client stage holds rows.
struct Case {
  const char* steps;
  bool holds = false;
  const char* source = "{range: {stop: 500}}";
};
constexpr char kMixed[] =
    "{mixture: {weights: [0.7, 0.3], stop: all_exhausted, inputs: ["
    "{source: {range: {stop: 150}}, steps: [{shuffle: {}}]}, "
    "{source: {range: {start: 1000, stop: 1060}}}]}}";
constexpr char kInTurns[] =
    "{interleave: {block_length: 3, inputs: ["
    "{source: {range: {stop: 100}}, steps: [{shuffle: {}}]}, "
    "{source: {concatenate: [{source: {range: {stop: 60}}}, "
    "{source: {range: {start: 500, stop: 590}}}]}}]}}";
constexpr Case kCases[] = {
    {"[{map: 'x * x + 1'}]"},
    {"[{shuffle: {}}, {map: 'x + 1'}]"},
    {"[{filter: 'x % 3 != 0'}]"},
    {"[{shuffle: {}}, {repeat: 3}, {batch: {size: 7}}]"},
    {"[{shuffle: {}}, {repeat: }, {batch: {size: 16}}]"},
    {"[{filter: 'x % 5 == 1'}, {batch: {size: 8}}]", true},
    {"[{filter: 'x % 2 == 0'}, {skip: 30}, {take: 150}]"},
    {"[{filter: 'x % 2 == 0'}, {take: 40}, {repeat: 4}]"},
    {"[{filter: 'x % 7 != 0'}, {batch: {size: 5}}, {take: 9}, {repeat: }]",
     true},
    {"[{shuffle: {}}, {filter: 'x % 4 < 3'}, {repeat: 2}, {batch: {size: 3}}, "
     "{batch: {size: 4}}]",
     true},
    {"[{filter: 'x % 3 == 0'}, {batch: {size: 6, drop_remainder: true}}, "
     "{map: 'sum(x)'}, {skip: 3}]",
     true},
    {"[{shard: {count: 3, index: 1}}, enumerate, {shuffle: {window: 20}}]"},
    {"[{filter: 'x % 3 != 0'}, {shuffle: {window: 30}}, {repeat: 3}]", true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 7), uint8) * 0 + x'}, "
     "{padded_batch: 4}, {unbatch: {}}, {padded_batch: 3}]",
     true},
    {"[{filter: 'x % 2 == 0'}, {window: {size: 5, shift: 2, drop_remainder: "
     "true}}, {batch: 3}]",
     true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 9), uint8) * 0 + x'}, "
     "{bucket_by_sequence_length: {boundaries: "
     "[3, 6], batch_sizes: [8, 4, 2]}}, {repeat: 2}]",
     true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 9), uint8) * 0 + x'}, "
     "{token_batch: {tokens: 40}}]",
     true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 9), uint8) * 0 + x'}, "
     "{pack: {length: 16, method: first_fit, bins: 3}}, {batch: 2}]",
     true},
    {"[{batch: 4}]", false, kMixed},
    {"[{filter: 'x % 3 != 0'}, {repeat: 2}, {batch: 5}]", true, kMixed},
    {"[{shuffle: {}}, {repeat: 2}, {batch: 6}]", false, kInTurns},
    {"[{filter: 'x % 4 != 1'}, {shuffle: {window: 20}}]", true, kInTurns},
};

Graph Pipeline(const std::string& yaml) {
  absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "/");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph{};
}

Graph PipelineOf(const Case& c) {
  return Pipeline(std::string("source: ") + c.source + "\nsteps: " + c.steps +
                  "\noptions: {seed: 9}\n");
}

// A dispatcher and workers that cut pieces small.
class Service {
 public:
  explicit Service(int workers) {
    EXPECT_TRUE(dispatcher_.Start().ok());
    for (int w = 0; w < workers; ++w) {
      WorkerConfig config;
      config.dispatcher = dispatcher_.target();
      config.threads = 1 + w % 2;
      config.frame_bytes = w % 2 == 0 ? 200 : 3'000;
      workers_.push_back(std::make_unique<WorkerServer>(config));
      EXPECT_TRUE(workers_.back()->Start().ok());
      EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    }
  }
  std::string target() const { return dispatcher_.target(); }

 private:
  DispatchServer dispatcher_{DispatcherConfig{}};
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

class Tokens : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
  }

  // Adds up to `count` elements to `elements` and gives the token of the place
  // where it stopped.
  static std::string ReadOn(const Graph& graph, const ReadOptions& options,
                            size_t count, std::vector<std::string>& elements) {
    auto reader = Read(graph, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return "";
    size_t read = 0;
    if (count > 0) {
      for (const Element element : **reader) {
        elements.push_back(element.ToJson());
        if (++read == count) break;
      }
    }
    EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
    const absl::StatusOr<std::string> token = (*reader)->Save();
    EXPECT_TRUE(token.ok()) << token.status();
    return token.ok() ? *token : "";
  }
};

// Elements from number `from` on, of which `ranks` readers, all open at a
// time, take `steps` each into `got`, by number. Gives their token.
std::string ReadInRanks(const Graph& graph, ReadOptions options, uint64_t ranks,
                        uint64_t from, size_t steps,
                        std::vector<std::string>& got) {
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<std::string> tokens;
  options.rank.count = ranks;
  for (options.rank.index = 0; options.rank.index < ranks;
       ++options.rank.index) {
    auto reader = Read(graph, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return "";
    readers.push_back(*std::move(reader));
  }
  for (uint64_t rank = 0; rank < ranks; ++rank) {
    uint64_t number = Share{rank, ranks}.From(from);
    size_t left = steps;
    if (left > 0) {
      for (const Element element : *readers[rank]) {
        if (number < got.size()) {
          EXPECT_EQ(got[number], "");
          got[number] = element.ToJson();
        }
        number += ranks;
        if (--left == 0) break;
      }
    }
    EXPECT_TRUE(readers[rank]->status().ok()) << readers[rank]->status();
    const absl::StatusOr<std::string> token = readers[rank]->Save();
    EXPECT_TRUE(token.ok()) << token.status();
    if (token.ok()) tokens.push_back(*token);
  }
  const absl::StatusOr<std::string> merged = Token::Merge(tokens);
  EXPECT_TRUE(merged.ok()) << merged.status();
  return merged.ok() ? *merged : "";
}

TEST_F(Tokens, RanksThatStopAnywhereContinueInAnyNumber) {
  const Service two(2);
  auto other = std::make_unique<Service>(1);
  std::vector<std::vector<std::string>> expected;
  for (const Case& c : kCases) {
    ReadOn(PipelineOf(c), {}, kElementsMax, expected.emplace_back());
  }
  std::mt19937 random(11);
  const auto up_to = [&](size_t most) { return random() % (most + 1); };
  for (int trial = 0; trial < kTrials; ++trial) {
    const size_t which = static_cast<size_t>(trial) % std::size(kCases);
    const std::vector<std::string>& whole = expected[which];
    const Graph graph = PipelineOf(kCases[which]);
    SCOPED_TRACE(std::string(kCases[which].steps) + " trial " +
                 std::to_string(trial));
    if (trial % 20 == 19) other = std::make_unique<Service>(1 + trial % 3);
    ReadOptions options;
    std::vector<std::string> got(whole.size());
    uint64_t from = 0;
    const uint64_t stops = 1 + up_to(2);
    for (uint64_t stop = 0; stop <= stops; ++stop) {
      const uint64_t where = up_to(2);
      options.service = where == 0   ? ""
                        : where == 1 ? two.target()
                                     : other->target();
      options.job.name =
          "trial-" + std::to_string(where == 1 ? trial : 1'000 + trial);
      const uint64_t ranks = 1 + up_to(3);
      const uint64_t left = whole.size() - from;
      // Infinite pipelines are compared up to the length of `whole`.
      const size_t steps =
          stop == stops ? (left + ranks - 1) / ranks : up_to(left / ranks);
      options.resume.token =
          ReadInRanks(graph, options, ranks, from, steps, got);
      ASSERT_NE(options.resume.token, "");
      if (!kCases[which].holds) {
        EXPECT_LE(options.resume.token.size(), kInOrderBytesMax);
      }
      from += steps * ranks;
    }
    ASSERT_EQ(got, whole);
  }
}

TEST_F(Tokens, OnlyTokensOfAllRanksAtOneStepMerge) {
  const Graph graph = PipelineOf(kCases[3]);
  const auto at = [&](uint64_t rank, uint64_t ranks, size_t steps) {
    ReadOptions options;
    options.rank.index = rank;
    options.rank.count = ranks;
    std::vector<std::string> elements;
    return ReadOn(graph, options, steps, elements);
  };
  const auto merged = [](std::vector<std::string> tokens) {
    return ErrorText(Token::Merge(tokens).status());
  };
  EXPECT_TRUE(Token::Merge(std::vector{at(1, 2, 3), at(0, 2, 3)}).ok());
  EXPECT_THAT(merged({at(0, 2, 3), at(1, 2, 4)}), HasSubstr("not at one step"));
  EXPECT_THAT(merged({at(0, 2, 3)}), HasSubstr("consumer 1/2 is missing"));
  EXPECT_THAT(merged({at(0, 2, 3), at(0, 2, 3)}), HasSubstr("two tokens"));
  EXPECT_THAT(merged({at(0, 2, 3), at(1, 3, 3)}), HasSubstr("consumers"));
  EXPECT_THAT(merged({}), HasSubstr("no token"));
  // The token of one rank does not resume the whole job.
  ReadOptions options;
  options.resume.token = at(0, 2, 3);
  EXPECT_THAT(ErrorText(Read(graph, options).status()),
              HasSubstr("consumer 0/2 alone"));
}

TEST_F(Tokens, TakeTheJobBackToAnEarlierIteration) {
  const Service service(1);
  const Graph graph = PipelineOf(kCases[1]);
  ReadOptions options;
  options.service = service.target();
  options.job.name = "old";
  std::vector<std::string> whole, elements, next, again;
  ReadOn(graph, {}, kElementsMax, whole);
  const std::string token = ReadOn(graph, options, 10, elements);
  ReadOn(graph, options, 10, next);
  options.resume.token = token;
  ReadOn(graph, options, kElementsMax - 10, elements);
  EXPECT_EQ(elements, whole);
  options.resume.token.clear();
  ReadOn(graph, options, 10, again);
  EXPECT_EQ(again, next);
}

TEST_F(Tokens, BatchesThatAreSkippedAreAsIfNotThere) {
  const Service service(2);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.steps);
    const Graph graph = PipelineOf(c);
    std::vector<std::string> whole, rest;
    ReadOn(graph, {}, 40, whole);
    const size_t size = whole.size();
    ASSERT_GT(size, 8);
    for (size_t n = 0; n < size; ++n) {
      if (n != 2 && n != 3 && (n < 5 || n >= 7)) rest.push_back(whole[n]);
    }
    for (const std::string& target : {std::string(), service.target()}) {
      for (const uint64_t ranks : {1U, 2U}) {
        ReadOptions options;
        options.service = target;
        options.job.name = "skip-" + std::to_string(ranks) + c.steps;
        options.resume.skip_batches = {{2, 4}, {5, 7}};
        // The remaining elements are numbered from 0; ranks take turns in them.
        std::vector<std::string> got(rest.size());
        const size_t first = 3 / ranks;
        options.resume.token =
            ReadInRanks(graph, options, ranks, 0, first, got);
        options.resume.skip_batches.clear();
        ReadInRanks(graph, options, ranks, first * ranks,
                    (rest.size() - first * ranks + ranks - 1) / ranks, got);
        EXPECT_EQ(got, rest);
      }
    }
  }
}

TEST_F(Tokens, ElementsThatAreLeftAreCounted) {
  const Service service(1);
  const Graph graph = Pipeline(
      "source: {range: 100}\n"
      "steps: [shuffle, {map: x * x}, {batch: 3}, {repeat: 2}, {take: 50}]\n"
      "options: {seed: 9}\n");
  for (const std::string& target : {std::string(), service.target()}) {
    for (const uint64_t ranks : {1U, 2U}) {
      ReadOptions options;
      options.service = target;
      options.job.name = "left-" + std::to_string(ranks);
      options.rank.index = ranks - 1;
      options.rank.count = ranks;
      options.resume.skip_batches = {{4, 10}};
      uint64_t left = 44 / ranks;
      auto reader = Read(graph, options);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->left(), left);
      std::string token;
      for (const Element element : **reader) {
        static_cast<void>(element);
        EXPECT_EQ((*reader)->left(), --left);
        if (left == 7) token = (*reader)->Save().value();
      }
      EXPECT_EQ(left, 0);
      options.resume.token = token;
      options.resume.skip_batches.clear();
      reader = Read(graph, options);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->left(), 7);
    }
  }
}

TEST_F(Tokens, ElementsAreNotCountedWhereOnlyReadingTells) {
  const Service service(1);
  ReadOptions options;
  for (const std::string& target : {std::string(), service.target()}) {
    options.service = target;
    for (const char* const steps :
         {"[{filter: x > 3}]", "[repeat]", "[{batch: 2}, {unbatch: }]"}) {
      const auto reader =
          Read(Pipeline(std::string("source: {range: 9}\nsteps: ") + steps +
                        "\noptions: {seed: 9}\n"),
               options);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->left(), std::nullopt) << steps;
    }
  }
}

TEST_F(Tokens, EveryBatchIsShownAgainWithTheRecordsThatMadeIt) {
  // Without arithmetic, elements of a range are the numbers of their records.
  for (const char* steps :
       {"[{shuffle: {}}]", "[{filter: 'x % 3 != 0'}]",
        "[{shuffle: {}}, {repeat: 3}, {batch: {size: 7}}]",
        "[{filter: 'x % 7 != 0'}, {batch: {size: 5}}, {skip: 1}, {repeat: 2}]",
        "[{shuffle: {}}, {filter: 'x % 4 < 3'}, {repeat: 2}, {skip: 5}, "
        "{filter: 'x % 5 != 1'}, {batch: {size: 6}}]"}) {
    SCOPED_TRACE(steps);
    const Graph graph = PipelineOf({steps});
    auto reader = Read(graph, {});
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->number().status().code(),
              absl::StatusCode::kOutOfRange);
    uint64_t number = 0;
    for (const Element element : **reader) {
      ASSERT_EQ((*reader)->number().value_or(~uint64_t{0}), number);
      if (++number % 11 != 1) continue;
      const auto shown = ShowBatch(graph, number - 1, {});
      ASSERT_TRUE(shown.ok()) << shown.status();
      const Chunk& again = shown->traced.element;
      ASSERT_EQ(again.rows, 1);
      EXPECT_EQ(Element(&again, 0).ToJson(), element.ToJson());
      std::vector<int64_t> records;
      for (const RecordOrigin& origin : shown->traced.records) {
        records.push_back(static_cast<int64_t>(origin.record));
      }
      const auto values = element.Tensor<int64_t>().items;
      EXPECT_THAT(records, ::testing::ElementsAreArray(values));
    }
    EXPECT_EQ(ShowBatch(graph, number, {}).status().code(),
              absl::StatusCode::kOutOfRange);
  }
}

TEST_F(Tokens, RecordsOfFilesAreNamedByThem) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("feedmill_shown_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.txt") << "one\ntwo\n";
  std::ofstream(folder / "b.txt") << "three\nfour\nfive\n";
  const std::string source =
      "source: {text: {files: '" + folder.string() + "/*.txt'}}\n";
  const auto shown =
      ShowBatch(Pipeline(source + "steps: [{repeat: 2}, {batch: {size: 4}}]\n"
                                  "options: {seed: 1}"),
                1, {});
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->ToJson(),
            "{\"batch\":1,\"iteration\":0,\"seed\":1,\"records\":["
            "{\"file\":\"" +
                (folder / "b.txt").string() +
                "\",\"record\":2,\"epoch\":0},"
                "{\"file\":\"" +
                (folder / "a.txt").string() +
                "\",\"record\":0,\"epoch\":1},"
                "{\"file\":\"" +
                (folder / "a.txt").string() +
                "\",\"record\":1,\"epoch\":1},"
                "{\"file\":\"" +
                (folder / "b.txt").string() +
                "\",\"record\":0,\"epoch\":1}],"
                "\"element\":[\"five\",\"one\",\"two\",\"three\"]}");
  const auto counted = ShowBatch(
      Pipeline(source + "steps: [{shuffle: {}}]\noptions: {seed: 1}"), 0, {});
  ASSERT_TRUE(counted.ok()) << counted.status();
  ASSERT_EQ(counted->traced.records.size(), 1);
  std::filesystem::remove_all(folder);
}

TEST_F(Tokens, AReaderThatStopsAnywhereContinuesExactlyThere) {
  const Service two(2);
  auto other = std::make_unique<Service>(1);
  std::vector<std::vector<std::string>> expected;
  for (const Case& c : kCases) {
    ReadOn(PipelineOf(c), {}, kElementsMax, expected.emplace_back());
    ASSERT_GT(expected.back().size(), 8);
  }
  std::mt19937 random(7);
  const auto up_to = [&](size_t most) { return random() % (most + 1); };
  for (int trial = 0; trial < kTrials; ++trial) {
    const size_t which = static_cast<size_t>(trial) % std::size(kCases);
    const std::vector<std::string>& whole = expected[which];
    const Graph graph = PipelineOf(kCases[which]);
    SCOPED_TRACE(std::string(kCases[which].steps) + " trial " +
                 std::to_string(trial));
    if (trial % 20 == 19) other = std::make_unique<Service>(1 + trial % 3);
    ReadOptions options;
    std::vector<std::string> elements;
    const uint64_t stops = 1 + up_to(2);
    for (uint64_t stop = 0; stop <= stops; ++stop) {
      const size_t left = whole.size() - elements.size();
      const uint64_t where = up_to(2);
      options.service = where == 0   ? ""
                        : where == 1 ? two.target()
                                     : other->target();
      // An anonymous job knows nothing of the one before; a named one does.
      options.job.name = where == 1 && random() % 2 == 0
                             ? "trial-" + std::to_string(trial)
                             : "";
      options.resume.token =
          ReadOn(graph, options, stop == stops ? left : up_to(left), elements);
      if (!kCases[which].holds) {
        EXPECT_LE(options.resume.token.size(), kInOrderBytesMax);
      }
    }
    ASSERT_EQ(elements, whole);
  }
}

TEST_F(Tokens, AreRefusedForAnotherSequence) {
  const Graph graph = PipelineOf(kCases[5]);
  std::vector<std::string> elements;
  ReadOptions options;
  options.resume.token = ReadOn(graph, {}, 3, elements);
  Graph other = graph;
  other.options.seed = 10;
  EXPECT_THAT(ErrorText(Read(other, options).status()), HasSubstr("seed 9"));
  EXPECT_THAT(ErrorText(Read(PipelineOf(kCases[6]), options).status()),
              HasSubstr("steps[0]"));
  options.resume.token[40] = static_cast<char>(options.resume.token[40] ^ 1);
  EXPECT_THAT(ErrorText(Read(graph, options).status()), HasSubstr("damaged"));
}

TEST_F(Tokens, ChangedFilesAreNoticed) {
  const Service service(1);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("feedmill_token_" + std::to_string(getpid()) + ".txt");
  std::ofstream(file) << "one\ntwo\nthree\n";
  const Graph graph =
      Pipeline("source: {text: {files: '" + file.string() + "'}}\n");
  for (const std::string& target : {std::string(), service.target()}) {
    ReadOptions options;
    std::vector<std::string> elements;
    options.resume.token = ReadOn(graph, options, 1, elements);
    options.service = target;
    ReadOn(graph, options, 1, elements);
    EXPECT_EQ(elements, (std::vector<std::string>{"\"one\"", "\"two\""}));
    std::ofstream(file, std::ios::app) << "four\n";
    EXPECT_THAT(ErrorText(Read(graph, options).status()),
                HasSubstr("files changed"));
  }
  std::filesystem::remove(file);
}

TEST_F(Tokens, AReaderOfOrderAnyHasNone) {
  const Service service(1);
  ReadOptions options;
  options.service = service.target();
  auto reader = Read(Pipeline("source: {range: {stop: 5}}\n"
                              "options: {order: any}"),
                     options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->Save().status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace feedmill
