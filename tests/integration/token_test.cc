// Readers that stop anywhere and go on from their tokens: on the same
// dispatcher, on one that knows nothing, in one process, with other workers.
// What they read together is what one uninterrupted reader reads.

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

#include "broker/dispatch_server.h"
#include "client/reader.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/net/log.h"
#include "worker/worker_server.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr int kTrials = 100;
constexpr size_t kElementsMax = 400;  // compared of an endless pipeline
constexpr size_t kInOrderBytesMax = 1024;

// The last one of each pair says whether its client stage holds rows.
struct Case {
  const char* steps;
  bool holds = false;
};
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
     "{padded_batch: 4}, {rebatch: 3}]",
     true},
    {"[{filter: 'x % 2 == 0'}, {window: {size: 5, shift: 2}}, {batch: 3}]",
     true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 9), uint8) * 0 + x'}, "
     "{bucket_by_sequence_length: {boundaries: "
     "[3, 6], batch_sizes: [8, 4, 2]}}, {repeat: 2}]",
     true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 9), uint8) * 0 + x'}, "
     "{token_batch: {tokens: 40}}]",
     true},
    {"[{map: 'decode_raw(substr(\"aaaaaaaaa\", 0, x % 9), uint8) * 0 + x'}, "
     "{pack: {length: 16, bins: 3}}, {batch: 2}]",
     true},
};

Graph Pipeline(const std::string& yaml) {
  absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "/");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph{};
}

Graph PipelineOf(const Case& c) {
  return Pipeline(std::string("source: {range: {stop: 500}}\nsteps: ") +
                  c.steps + "\noptions: {seed: 9}\n");
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

TEST_F(Tokens, AReaderThatStopsAnywhereGoesOnExactlyThere) {
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
      options.job = where == 1 && random() % 2 == 0
                        ? "trial-" + std::to_string(trial)
                        : "";
      options.token =
          ReadOn(graph, options, stop == stops ? left : up_to(left), elements);
      if (!kCases[which].holds) {
        EXPECT_LE(options.token.size(), kInOrderBytesMax);
      }
    }
    ASSERT_EQ(elements, whole);
  }
}

TEST_F(Tokens, WhatIsNotThatSequenceIsRefused) {
  const Graph graph = PipelineOf(kCases[5]);
  std::vector<std::string> elements;
  ReadOptions options;
  options.token = ReadOn(graph, {}, 3, elements);
  Graph other = graph;
  other.options.seed = 10;
  EXPECT_THAT(ErrorText(Read(other, options).status()), HasSubstr("seed 9"));
  EXPECT_THAT(ErrorText(Read(PipelineOf(kCases[6]), options).status()),
              HasSubstr("steps[0]"));
  options.token[40] = static_cast<char>(options.token[40] ^ 1);
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
    options.token = ReadOn(graph, options, 1, elements);
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
