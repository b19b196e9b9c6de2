#ifndef FEEDMILL_TESTS_INTEGRATION_EPOCH_VOCABULARY_H_
#define FEEDMILL_TESTS_INTEGRATION_EPOCH_VOCABULARY_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/definition/pipeline_text.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "feedmill/loader.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"

// Words for readings of epochs: a service, and the ways to read.

namespace feedmill {

using Elements = std::vector<std::string>;

inline Graph GraphOf(const std::string& steps,
                     const char* options = "{seed: 9}") {
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

  // The places where an application may read: in its process, through the
  // service, and through the service in a job with a name.
  enum class Way { kLocal, kService, kNamedJob };
  static constexpr Way kWays[] = {Way::kLocal, Way::kService, Way::kNamedJob};
  ReadOptions Of(Way way, const std::string& job = "job") const {
    ReadOptions options;
    if (way != Way::kLocal) options.service = dispatcher_.target();
    if (way == Way::kNamedJob) options.job.name = job;
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
  // Up to `count` elements of the loader's next epoch.
  static Elements ReadNext(Loader& loader, size_t count = 10'000) {
    Elements elements;
    for (const Element element : loader) {
      elements.push_back(element.ToJson());
      if (elements.size() == count) break;
    }
    EXPECT_TRUE(loader.status().ok()) << loader.status();
    return elements;
  }
  static std::string Saved(Loader& loader) {
    absl::StatusOr<std::string> token = loader.Save();
    EXPECT_TRUE(token.ok()) << token.status();
    return token.ok() ? *std::move(token) : "";
  }

  DispatchServer dispatcher_{DispatcherConfig{}};
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_INTEGRATION_EPOCH_VOCABULARY_H_
