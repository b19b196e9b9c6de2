// tensorflow/python/data/experimental/kernel_tests/service/data_service_ops_test
// and dynamic_sharding_test, for the modes parallel_epochs (OFF) and
// distributed_epoch (DYNAMIC). Tests of originals have their names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/net/address.h"
#include "core/net/log.h"
#include "feedmill/dataset.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<int64_t>;
using Mode = Options::ProcessingMode;

class DistributeTest : public ::testing::Test {
 protected:
  DistributeTest() {
    SetUpLog(LogLevel::kOff, LogFormat::kText);
    config_.work_dir = (std::filesystem::temp_directory_path() /
                        ("feedmill-distribute-" + std::to_string(getpid())))
                           .string();
    dispatcher_ = std::make_unique<DispatchServer>(config_);
    EXPECT_TRUE(dispatcher_->Start().ok());
    config_.endpoint.port = ParseAddress(dispatcher_->target())->port;
  }
  ~DistributeTest() override {
    workers_.clear();
    dispatcher_.reset();
    std::filesystem::remove_all(config_.work_dir);
  }

  void RestartDispatcher() {
    dispatcher_.reset();
    dispatcher_ = std::make_unique<DispatchServer>(config_);
    EXPECT_TRUE(dispatcher_->Start().ok());
  }

  void GivenWorkers(int count) {
    for (int k = 0; k < count; ++k) {
      WorkerConfig config;
      config.dispatcher = dispatcher_->target();
      config.threads = 1;
      workers_.push_back(std::make_unique<WorkerServer>(config));
      EXPECT_TRUE(workers_.back()->Start().ok());
      EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    }
  }
  ReadOptions Through(Mode mode, const std::string& job = "") const {
    ReadOptions options;
    options.service = dispatcher_->target();
    options.processing_mode = mode;
    options.job.name = job;
    options.seed = 1;
    return options;
  }
  static Values Drain(absl::StatusOr<std::unique_ptr<Reader>> reader) {
    Values values;
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return values;
    for (const Element element : **reader) {
      values.push_back(element.Get<int64_t>());
    }
    EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
    return values;
  }
  Values ReadAll(const Dataset& dataset, Mode mode) const {
    return Drain(Read(dataset, Through(mode)));
  }
  // Returns 0 … count - 1, `times` times.
  // Reads in mode off with one worker. A second worker joins before the first
  // pass is read, and a third one too late.
  Values ReadWhileWorkersJoin(Order order) {
    GivenWorkers(1);
    ReadOptions options = Through(Mode::kOff);
    options.limits.budget_bytes = 64 << 10;  // much less than a pass
    auto reader = Read(Dataset::Range(100'000).WithOrder(order), options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    GivenWorkers(1);
    Values read;
    for (const Element element : **reader) {
      read.push_back(element.Get<int64_t>());
      if (read.size() == 150'000) GivenWorkers(1);
    }
    EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
    return read;
  }
  static Values Range(int64_t count, int times = 1) {
    Values values;
    for (int k = 0; k < times; ++k) {
      for (int64_t v = 0; v < count; ++v) values.push_back(v);
    }
    return values;
  }
  static Values Sorted(Values values) {
    std::sort(values.begin(), values.end());
    return values;
  }

  DispatcherConfig config_;
  std::unique_ptr<DispatchServer> dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

TEST_F(DistributeTest, TestDistributeBasic) {
  GivenWorkers(1);
  for (const Mode mode : {Mode::kOff, Mode::kDynamic}) {
    EXPECT_EQ(ReadAll(Dataset::Range(10), mode), Range(10));
  }
}

TEST_F(DistributeTest, TestMultiWorker) {
  GivenWorkers(3);
  EXPECT_EQ(ReadAll(Dataset::Range(10), Mode::kOff), Range(10, 3));
  EXPECT_EQ(ReadAll(Dataset::Range(10), Mode::kDynamic), Range(10));
}

TEST_F(DistributeTest, TestShuffleOrder) {
  GivenWorkers(2);
  const Dataset shuffled = Dataset::Range(100).Shuffle();
  const Values read = ReadAll(shuffled, Mode::kOff);
  ASSERT_EQ(read.size(), 200);
  const Values first(read.begin(), read.begin() + 100);
  const Values second(read.begin() + 100, read.end());
  EXPECT_NE(first, second);  // each pass has its own order
  EXPECT_EQ(Sorted(first), Range(100));
  EXPECT_EQ(Sorted(second), Range(100));
  EXPECT_EQ(ReadAll(shuffled, Mode::kOff), read);  // same seed
}

TEST_F(DistributeTest, TestMultipleEpochs) {
  GivenWorkers(2);
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(ReadAll(Dataset::Range(100), Mode::kOff), Range(100, 2));
  }
}

TEST_F(DistributeTest, TestRepeatBeforeDistribution) {
  GivenWorkers(2);
  const Dataset repeated = Dataset::Range(5).Repeat(2);
  EXPECT_EQ(ReadAll(repeated, Mode::kOff), Range(5, 4));
  EXPECT_EQ(ReadAll(repeated, Mode::kDynamic), Range(5, 2));
}

TEST_F(DistributeTest, TestForeverRepeat) {
  GivenWorkers(2);
  const Dataset forever = Dataset::Range(7).Repeat();
  auto reader = Read(forever, Through(Mode::kOff));
  ASSERT_TRUE(reader.ok()) << reader.status();
  Values read;
  for (const Element element : **reader) {
    read.push_back(element.Get<int64_t>());
    if (read.size() == 1'000) break;
  }
  Values expected = Range(7, 143);
  expected.resize(1'000);
  EXPECT_EQ(read, expected);
  EXPECT_EQ(ReadAll(forever.Take(10), Mode::kOff),
            (Values{0, 1, 2, 3, 4, 5, 6, 0, 1, 2}));
}

TEST_F(DistributeTest, TestConcurrentEpoch) {
  GivenWorkers(2);
  std::vector<Values> read(3);
  std::vector<std::thread> readers;
  for (Values& values : read) {
    readers.emplace_back(
        [&] { values = ReadAll(Dataset::Range(1'000), Mode::kOff); });
  }
  for (std::thread& reader : readers) reader.join();
  for (const Values& values : read) EXPECT_EQ(values, Range(1'000, 2));
}

TEST_F(DistributeTest, TestSharedJobName) {
  GivenWorkers(2);
  const Dataset dataset = Dataset::Range(10'000).WithOrder(Order::kAny);
  auto first = Read(dataset, Through(Mode::kOff, "shared"));
  auto second = Read(dataset, Through(Mode::kOff, "shared"));
  Values other;
  std::thread reader([&] { other = Drain(std::move(second)); });
  Values all = Drain(std::move(first));
  reader.join();
  all.insert(all.end(), other.begin(), other.end());
  EXPECT_EQ(Sorted(all), Sorted(Range(10'000, 2)));
}

TEST_F(DistributeTest, TestDifferentJobNames) {
  GivenWorkers(1);
  EXPECT_EQ(Drain(Read(Dataset::Range(10), Through(Mode::kOff, "a"))),
            Range(10));
  EXPECT_EQ(Drain(Read(Dataset::Range(10), Through(Mode::kOff, "b"))),
            Range(10));
}

TEST_F(DistributeTest, TestZipDifferentProcessingModesDatasetsSharedJobName) {
  GivenWorkers(1);
  const auto first = Read(Dataset::Range(10), Through(Mode::kOff, "job"));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Read(Dataset::Range(10), Through(Mode::kDynamic, "job"));
  EXPECT_THAT(ErrorText(second.status()), HasSubstr("another pipeline"));
}

TEST_F(DistributeTest, TestBatchDropsAllElements) {
  GivenWorkers(2);
  const Dataset batches =
      Dataset::Range(10).Batch(1'000, {.drop_remainder = true});
  EXPECT_EQ(ReadAll(batches, Mode::kOff), Values());
}

TEST_F(DistributeTest, TestBatchDoesNotDropRemainder) {
  GivenWorkers(2);
  // Each pass ends with its own short batch. A filter moves the batch step to
  // the client.
  for (const bool filtered : {false, true}) {
    Dataset dataset = Dataset::Range(10);
    if (filtered) dataset = dataset.Filter([](Expr x) { return x >= 0; });
    auto reader = Read(dataset.Batch(4), Through(Mode::kOff));
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::vector<std::string> read;
    for (const Element element : **reader) read.push_back(element.ToJson());
    EXPECT_THAT(read, ElementsAre("[0,1,2,3]", "[4,5,6,7]", "[8,9]",
                                  "[0,1,2,3]", "[4,5,6,7]", "[8,9]"));
  }
}

// The original begins the copy of a restarted worker again, and never ends when
// a worker is lost. Here another worker continues the lost worker's pass.
TEST_F(DistributeTest, TestRestartWorker) {
  GivenWorkers(3);
  auto reader = Read(Dataset::Range(300'000), Through(Mode::kOff));
  ASSERT_TRUE(reader.ok()) << reader.status();
  Values read;
  for (const Element element : **reader) {
    read.push_back(element.Get<int64_t>());
    if (read.size() == 100'000) workers_.front()->Stop();
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(read, Range(300'000, 3));
}

// The original gives a worker that joins a copy of its own; so does feedmill,
// until the first pass has ended.
TEST_F(DistributeTest, AWorkerThatJoinsBeforeTheFirstPassEndsHasOne) {
  EXPECT_EQ(ReadWhileWorkersJoin(Order::kDeterministic), Range(100'000, 2));
}

TEST_F(DistributeTest, AWorkerThatJoinsHasAPassOfSharersToo) {
  EXPECT_EQ(Sorted(ReadWhileWorkersJoin(Order::kAny)),
            Sorted(Range(100'000, 2)));
}

// The client's batches also start again with each pass. A token contains the
// passes that its reader knew, all of them after the first, regardless of the
// workers present when it is used.
TEST_F(DistributeTest, ATokenFromBeforeOrAfterAPassWasAddedContinuesExactly) {
  GivenWorkers(1);
  const Dataset batches = Dataset::Range(100'000)
                              .Filter([](Expr x) { return x % 3 == 0; })
                              .Batch(1'000);
  ReadOptions options = Through(Mode::kOff);
  options.limits.budget_bytes = 64 << 10;
  const auto rest = [&](Reader& reader) {
    std::vector<std::string> lines;
    for (const Element element : reader) lines.push_back(element.ToJson());
    EXPECT_TRUE(reader.status().ok()) << reader.status();
    return lines;
  };
  auto reader = Read(batches, options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<std::string> read;
  std::vector<std::string> tokens;
  for (const Element element : **reader) {
    read.push_back(element.ToJson());
    if (read.size() != 3 && read.size() != 36 && read.size() != 40) continue;
    tokens.push_back(*(*reader)->Save());
    if (read.size() == 3) GivenWorkers(1);
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  ASSERT_EQ(read.size(), 68);  // 2 x (33 of 1,000 and one of 334)
  ASSERT_EQ(tokens.size(), 3);
  options.resume.token = tokens[0];  // two workers are present by now
  auto before = Read(batches, options);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(rest(**before), std::vector(read.begin() + 3, read.end()));
  workers_.pop_back();
  for (const auto& [token, from] : {std::pair{1U, 36}, std::pair{2U, 40}}) {
    options.resume.token = tokens[token];
    auto after = Read(batches, options);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(rest(**after), std::vector(read.begin() + from, read.end()));
  }
  options.service.clear();
  EXPECT_THAT(ErrorText(Read(batches, options).status()),
              HasSubstr("a reading of 2 passes, one a worker"));
}

TEST_F(DistributeTest, TestDispatcherRestartDuringReading) {
  GivenWorkers(2);
  auto reader = Read(Dataset::Range(300'000), Through(Mode::kOff, "job"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  Values read;
  for (const Element element : **reader) {
    read.push_back(element.Get<int64_t>());
    if (read.size() == 100'000) RestartDispatcher();
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(read, Range(300'000, 2));
}

TEST_F(DistributeTest, TestDistributedEpochIsAnAlias) {
  for (const auto& [word, mode] : std::vector<std::pair<std::string, Mode>>{
           {"parallel_epochs", Mode::kOff},
           {"off", Mode::kOff},
           {"distributed_epoch", Mode::kDynamic},
           {"dynamic", Mode::kDynamic}}) {
    const auto graph = ParseGraphYaml(
        "source: {range: 3}\noptions: {processing_mode: " + word + "}\n", "");
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->options.processing_mode, mode);
    EXPECT_EQ(ParseGraphJson(CanonicalText(*graph))->options.processing_mode,
              mode);
  }
}

TEST_F(DistributeTest, ARunWaitsForItsFirstWorker) {
  auto options = Through(Mode::kOff);
  Values read;
  std::thread reader([&] { read = Drain(Read(Dataset::Range(10), options)); });
  GivenWorkers(1);
  reader.join();
  EXPECT_EQ(read, Range(10));
}

}  // namespace
}  // namespace feedmill
