// Epochs: what Read gives for ReadOptions::epoch, in this process and through a
// service, in a job with a name or without, and on from a token.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/dispatch_server.h"
#include "client/provenance.h"
#include "client/reader.h"
#include "core/base/status.h"
#include "core/definition/pipeline_text.h"
#include "core/net/log.h"
#include "worker/worker_server.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using Elements = std::vector<std::string>;

// With plan steps only, with a filter, with a client stage that holds rows, and
// with passes within an epoch.
constexpr const char* kPipelines[] = {
    "[{shuffle: {}}, {batch: {size: 3}}]",
    "[{shuffle: {}}, {map: 'x + random.integers(0, 1000) * 1000'}, "
    "{filter: 'x % 3 != 0'}]",
    "[{shuffle: {}}, {filter: 'x % 3 != 0'}, {batch: {size: 4}}]",
    "[{filter: 'x % 4 < 3'}, {shuffle: {window: 20}}, {repeat: 2}]",
};

Graph Pipeline(const std::string& steps, const char* options = "{seed: 9}") {
  absl::StatusOr<Graph> graph =
      ParseGraphYaml("source: {range: {stop: 100}}\nsteps: " + steps +
                         "\noptions: " + options + "\n",
                     "/");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph{};
}

class Epochs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
  }
  Epochs() {
    EXPECT_TRUE(dispatcher_.Start().ok());
    for (int w = 0; w < 2; ++w) {
      WorkerConfig config;
      config.dispatcher = dispatcher_.target();
      config.threads = 1;
      config.frame_bytes = w == 0 ? 200 : 3'000;
      workers_.push_back(std::make_unique<WorkerServer>(config));
      EXPECT_TRUE(workers_.back()->Start().ok());
      EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    }
  }

  // Where an application may read: in its process, through the service, and
  // there in a job with a name.
  enum class Way { kLocal, kService, kNamedJob };
  static constexpr Way kWays[] = {Way::kLocal, Way::kService, Way::kNamedJob};
  ReadOptions Of(Way way, const std::string& job = "job") const {
    ReadOptions options;
    if (way != Way::kLocal) options.service = dispatcher_.target();
    if (way == Way::kNamedJob) options.job = job;
    return options;
  }

  static Elements Rest(Reader& reader) {
    Elements elements;
    for (const Element element : reader) elements.push_back(element.ToJson());
    EXPECT_TRUE(reader.status().ok()) << reader.status();
    return elements;
  }
  static Elements ReadEpoch(const Graph& graph, ReadOptions options,
                            uint64_t epoch) {
    options.epoch = epoch;
    auto reader = Read(graph, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    EXPECT_EQ((*reader)->epoch(), epoch);
    return Rest(**reader);
  }

  DispatchServer dispatcher_{DispatcherConfig{}};
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

TEST_F(Epochs, EachHasAnOrderOfItsOwnWhereverItIsRead) {
  for (const char* steps : kPipelines) {
    SCOPED_TRACE(steps);
    const Graph graph = Pipeline(steps);
    std::set<Elements> orders;
    for (const uint64_t epoch : {3U, 0U, 1U}) {  // a job goes back, too
      const Elements local = ReadEpoch(graph, Of(Way::kLocal), epoch);
      EXPECT_TRUE(orders.insert(local).second);
      EXPECT_EQ(ReadEpoch(graph, Of(Way::kService), epoch), local);
      EXPECT_EQ(ReadEpoch(graph, Of(Way::kNamedJob, steps), epoch), local);
    }
  }
}

TEST_F(Epochs, AreTheFirstWithoutAWish) {
  const Graph graph = Pipeline(kPipelines[0]);
  for (const Way way : {Way::kLocal, Way::kService}) {
    for (int times = 0; times < 2; ++times) {
      auto reader = Read(graph, Of(way));
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->epoch(), 0);
      EXPECT_EQ(Rest(**reader), ReadEpoch(graph, Of(Way::kLocal), 0));
    }
  }
  // In a job with a name: the first that was not finished.
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    auto reader = Read(graph, Of(Way::kNamedJob));
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ((*reader)->epoch(), epoch);
    EXPECT_EQ(Rest(**reader), ReadEpoch(graph, Of(Way::kLocal), epoch));
  }
}

TEST_F(Epochs, TheTokensIsReadAndAnotherRefused) {
  const Graph graph = Pipeline(kPipelines[2]);
  const Elements whole = ReadEpoch(graph, Of(Way::kLocal), 2);
  for (const Way from : kWays) {
    ReadOptions options = Of(from, "token");
    options.epoch = 2;
    auto reader = Read(graph, options);
    ASSERT_TRUE(reader.ok()) << reader.status();
    auto element = (*reader)->begin();
    for (int n = 0; n < 3; ++n) ++element;  // after the fourth
    const absl::StatusOr<std::string> token = (*reader)->Save();
    ASSERT_TRUE(token.ok()) << token.status();
    reader->reset();
    for (const Way to : kWays) {
      options = Of(to, "token");
      options.token = *token;
      for (const bool said : {false, true}) {
        if (said) options.epoch = 2;
        auto rest = Read(graph, options);
        ASSERT_TRUE(rest.ok()) << rest.status();
        EXPECT_EQ((*rest)->epoch(), 2);
        EXPECT_EQ(Rest(**rest), Elements(whole.begin() + 4, whole.end()));
      }
      options.epoch = 0;
      const absl::Status refused = Read(graph, options).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(ErrorText(refused), HasSubstr("token is of epoch 2"));
      EXPECT_THAT(ErrorText(ShowBatch(graph, 0, options).status()),
                  HasSubstr("token is of epoch 2"));
    }
  }
}

TEST_F(Epochs, OfAJobThatIsBeingReadAreRefused) {
  const Graph graph = Pipeline(kPipelines[0]);
  ReadOptions options = Of(Way::kNamedJob);
  options.epoch = 1;
  auto first = Read(graph, options);
  ASSERT_TRUE(first.ok()) << first.status();
  for (const uint64_t epoch : {0U, 1U, 2U}) {
    options.epoch = epoch;
    EXPECT_THAT(ErrorText(Read(graph, options).status()),
                HasSubstr("is being read by 'solo'"));
  }
  EXPECT_EQ(Rest(**first), ReadEpoch(graph, Of(Way::kLocal), 1));
}

TEST_F(Epochs, OfAJobThatReadersShareAreTheJobs) {
  const Graph graph = Pipeline("[{map: 'x * x'}]", "{seed: 9, order: any}");
  ReadOptions options = Of(Way::kNamedJob);
  options.epoch = 0;
  EXPECT_THAT(ErrorText(Read(graph, options).status()),
              HasSubstr("the epoch that the job is at"));
  options = Of(Way::kService);
  options.epoch = 4;  // a job of its own
  auto reader = Read(graph, options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->epoch(), 4);
  EXPECT_EQ(Rest(**reader).size(), 100);
}

TEST_F(Epochs, AreBelowTheGreatestNumber) {
  ReadOptions options;
  options.epoch = ~uint64_t{0};
  EXPECT_THAT(ErrorText(Read(Pipeline("[]"), options).status()),
              HasSubstr("below 2^63"));
}

TEST_F(Epochs, AreShownByNumber) {
  const Graph graph = Pipeline(kPipelines[0]);
  ReadOptions options;
  options.epoch = 5;
  const auto shown = ShowBatch(graph, 2, options);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->iteration, 5);
  EXPECT_EQ(Element(&shown->traced.element, 0).ToJson(),
            ReadEpoch(graph, Of(Way::kLocal), 5)[2]);
}

}  // namespace
}  // namespace feedmill
