// Readers that share a job and stop before its end, in every way that a C++
// application can: each element is used by exactly one of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/definition/pipeline_text.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"

namespace feedmill {
namespace {

using ::testing::Each;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr uint64_t kElements = 9'000;
constexpr char kNumbers[] =
    "source: {range: {stop: 9000}}\n"
    "options: {seed: 1, order: any}\n";
// The client makes the batches.
constexpr char kBatches[] =
    "source: {range: {stop: 18000}}\n"
    "steps: [{filter: 'x < 9000'}, {batch: {size: 7}}]\n"
    "options: {seed: 1, order: any}\n";
// It moves elements about, and takes batches apart.
constexpr char kShuffled[] =
    "source: {range: {stop: 18000}}\n"
    "steps: [{filter: 'x < 9000'}, {shuffle: {window: 50}}]\n"
    "options: {seed: 1, order: any}\n";
constexpr char kRebatched[] =
    "source: {range: {stop: 18000}}\n"
    "steps: [{filter: 'x < 9000'}, {batch: {size: 7}}, {rebatch: 5}]\n"
    "options: {seed: 1, order: any}\n";

using Numbers = std::vector<int64_t>;

void Append(const Element& element, Numbers& numbers) {
  const auto items = element.Tensor<int64_t>(0).items;
  numbers.insert(numbers.end(), items.begin(), items.end());
}
void Append(const Chunk& chunk, size_t rows, Numbers& numbers) {
  for (size_t row = 0; row < rows; ++row) {
    Append(Element(&chunk, row), numbers);
  }
}

class SharersThatStop : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
  }
  explicit SharersThatStop(absl::Duration timeout = absl::Seconds(30),
                           int workers = 2)
      : dispatcher_(MakeDispatcherConfig(timeout)) {
    EXPECT_TRUE(dispatcher_.Start().ok());
    for (int k = 0; k < workers; ++k) {
      WorkerConfig config;
      config.dispatcher = dispatcher_.target();
      config.threads = 1;
      config.in_process = false;
      workers_.push_back(std::make_unique<WorkerServer>(config));
      EXPECT_TRUE(workers_.back()->Start().ok());
      EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    }
  }

  static DispatcherConfig MakeDispatcherConfig(absl::Duration timeout) {
    DispatcherConfig config;
    config.settings.sharer_timeout = timeout;
    return config;
  }
  std::unique_ptr<Reader> GivenReader(const std::string& yaml,
                                      const std::string& job) {
    ReadOptions options;
    options.service = dispatcher_.target();
    options.job.name = job;
    options.limits.timeout = absl::Seconds(5);
    const absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "/");
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto reader = Read(*graph, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }
  static void Drain(Reader& reader, Numbers& got) {
    for (const Element element : reader) Append(element, got);
    EXPECT_TRUE(reader.status().ok()) << reader.status();
  }
  // One reader does that and is destroyed; another reads to the end.
  void ExpectTheRestFor(const std::string& yaml,
                        const std::function<void(Reader&, Numbers&)>& stop,
                        bool exact = true) {
    const std::string job = "job-" + std::to_string(++jobs_);
    std::unique_ptr<Reader> stops = GivenReader(yaml, job);
    Numbers used;
    stop(*stops, used);
    EXPECT_LT(used.size(), kElements) << "it stopped too late to show anything";
    stops.reset();
    Drain(*GivenReader(yaml, job), used);
    if (exact) return ExpectEachOnce(used);
    ExpectEach(used);
  }
  static std::map<int64_t, int> ExpectEach(const Numbers& used) {
    std::map<int64_t, int> times;
    for (const int64_t number : used) ++times[number];
    EXPECT_THAT(times, SizeIs(kElements));
    return times;
  }
  static void ExpectEachOnce(const Numbers& used) {
    EXPECT_THAT(ExpectEach(used), Each(Pair(::testing::_, 1)));
  }

  DispatchServer dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
  int jobs_ = 0;
};

TEST_F(SharersThatStop, UsedTheElementsThatALoopReached) {
  for (const char* yaml : {kNumbers, kBatches}) {
    for (const size_t count : {1U, 2U, 17U, 500U}) {
      ExpectTheRestFor(yaml, [&](Reader& reader, Numbers& used) {
        for (const Element element : reader) {
          Append(element, used);
          if (used.size() >= count) break;
        }
      });
    }
  }
}

// Elements that such steps emit out of order may come again.
TEST_F(SharersThatStop, LoseNothingThatAClientStepHolds) {
  for (const char* yaml : {kShuffled, kRebatched}) {
    for (const size_t count : {1U, 13U, 501U}) {
      ExpectTheRestFor(
          yaml,
          [&](Reader& reader, Numbers& used) {
            for (const Element element : reader) {
              Append(element, used);
              if (used.size() >= count) break;
            }
          },
          /*exact=*/false);
    }
  }
}

TEST_F(SharersThatStop, UsedNothingIfTheyAskedForNothing) {
  ExpectTheRestFor(kNumbers, [](Reader&, Numbers&) {});
}

TEST_F(SharersThatStop, UsedTheElementThatTheLoopsExceptionIsOf) {
  ExpectTheRestFor(kNumbers, [&](Reader& reader, Numbers& used) {
    const auto train = [&] {
      for (const Element element : reader) {
        Append(element, used);
        if (used.size() == 3) throw std::runtime_error("no memory left");
      }
    };
    EXPECT_THROW(train(), std::runtime_error);
  });
}

TEST_F(SharersThatStop, UsedWholeChunks) {
  for (const char* yaml : {kNumbers, kBatches}) {
    ExpectTheRestFor(yaml, [](Reader& reader, Numbers& used) {
      const auto chunk = reader.Next();
      ASSERT_TRUE(chunk.ok() && chunk->has_value());
      Append(**chunk, (*chunk)->rows, used);
    });
    ExpectTheRestFor(yaml, [](Reader& reader, Numbers& used) {
      for (const Chunk& chunk : reader.chunks()) {
        Append(chunk, chunk.rows, used);
        break;
      }
    });
  }
}

TEST_F(SharersThatStop, HaveUsedTheReportedPartOfAChunk) {
  for (const char* yaml : {kNumbers, kBatches}) {
    for (const size_t unread : {0U, 1U, 5U}) {
      ExpectTheRestFor(yaml, [&](Reader& reader, Numbers& used) {
        const auto chunk = reader.Next();
        ASSERT_TRUE(chunk.ok() && chunk->has_value());
        const size_t rows = (*chunk)->rows;
        const size_t left = std::min(rows, unread);
        Append(**chunk, rows - left, used);
        EXPECT_TRUE(reader.ReportProgress(rows));
        EXPECT_TRUE(reader.ReportProgress(left));
      });
    }
  }
}

TEST_F(SharersThatStop, ContinueWhereALoopStopped) {
  ExpectTheRestFor(kNumbers, [](Reader& reader, Numbers& used) {
    for (const size_t until : {3U, 4U, 9U}) {
      for (const Element element : reader) {
        Append(element, used);
        if (used.size() == until) break;
      }
    }
    const auto rest = reader.Next();
    ASSERT_TRUE(rest.ok() && rest->has_value());
    Append(**rest, (*rest)->rows, used);
  });
}

// Ten variants: three readers at once, of which two stop anywhere, anyhow.
TEST_F(SharersThatStop, LoseAndRepeatNothingAtAnyPlace) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    const char* const yaml = std::vector{kNumbers, kBatches}[random() % 2];
    const std::string job = "random-" + std::to_string(seed);
    std::vector<std::unique_ptr<Reader>> readers;
    for (int r = 0; r < 3; ++r) readers.push_back(GivenReader(yaml, job));
    std::vector<Numbers> used(3);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < 2; ++r) {
      const size_t until = 1 + random() % 4'000;
      const auto way = random() % 3;
      threads.emplace_back([&, r, until, way] {
        Reader& reader = *readers[r];
        if (way < 2) {
          for (const Element element : reader) {
            Append(element, used[r]);
            if (used[r].size() >= until) {
              if (way == 1) reader.Cancel();
              break;
            }
          }
        } else {
          while (used[r].size() < until) {
            auto chunk = reader.Next();
            if (!chunk.ok() || !chunk->has_value()) break;
            const size_t rows = (*chunk)->rows;
            const size_t take = std::min(rows, until - used[r].size());
            if (!reader.ReportProgress(rows - take)) continue;
            Append(**chunk, take, used[r]);
          }
        }
        readers[r].reset();
      });
    }
    threads.emplace_back([&] { Drain(*readers[2], used[2]); });
    for (std::thread& thread : threads) thread.join();
    Numbers all;
    for (const Numbers& each : used) {
      all.insert(all.end(), each.begin(), each.end());
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    ExpectEachOnce(all);
  }
}

class SharersOfOneWorker : public SharersThatStop {
 protected:
  SharersOfOneWorker() : SharersThatStop(absl::Seconds(30), 1) {}
};

// One worker makes the elements in order, so that all before the error are
// there when it comes.
TEST_F(SharersOfOneWorker, HaveAllThatCameBeforeADataError) {
  for (const char* step : {"", ", {batch: {size: 7}}"}) {
    const std::string yaml = fmt::format(
        "source: {{range: {{stop: 9000}}}}\n"
        "steps: [{{map: 'x + 1 // (7000 - x) * 0'}}{}]\n"
        "options: {{seed: 1, order: any}}\n",
        step);
    const auto reader = GivenReader(yaml, fmt::format("bad-{}", ++jobs_));
    Numbers got;
    for (const Element element : *reader) Append(element, got);
    EXPECT_EQ(reader->status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(got, SizeIs(7'000));
  }
}

class SharersThatAreSilent : public SharersThatStop {
 protected:
  SharersThatAreSilent() : SharersThatStop(absl::Seconds(2)) {}
};

TEST_F(SharersThatAreSilent, MayNotUseTheRestOfAChunk) {
  const std::unique_ptr<Reader> reader = GivenReader(kNumbers, "silent");
  size_t rows = 0;
  while (rows < 2) {
    const auto chunk = reader->Next();
    ASSERT_TRUE(chunk.ok() && chunk->has_value());
    rows = (*chunk)->rows;
  }
  EXPECT_TRUE(reader->ReportProgress(rows - 1));
  dispatcher_.Stop();
  while (reader->ReportProgress(rows - 1)) std::this_thread::yield();
  EXPECT_EQ(reader->Next().status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

// Facts that hold for all readers.
TEST(ReadersThatStop, ContinueWithTheNextElement) {
  auto reader = Read(Dataset::Range(100).WithSeed(1));
  ASSERT_TRUE(reader.ok()) << reader.status();
  Numbers got;
  for (const size_t until : {3U, 4U, 9U}) {
    for (const Element element : **reader) {
      Append(element, got);
      if (got.size() == until) break;
    }
  }
  const absl::StatusOr<std::string> token = (*reader)->Save();
  ASSERT_TRUE(token.ok()) << token.status();
  while (true) {
    const auto chunk = (*reader)->Next();
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    if (!chunk->has_value()) break;
    Append(**chunk, (*chunk)->rows, got);
  }
  Numbers all(100);
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
  EXPECT_EQ(got, all);

  ReadOptions options;
  options.resume.token = *token;
  auto later = Read(Dataset::Range(100).WithSeed(1), options);
  ASSERT_TRUE(later.ok()) << later.status();
  Numbers rest;
  for (const Element element : **later) Append(element, rest);
  EXPECT_EQ(rest, Numbers(all.begin() + 9, all.end()));
}

}  // namespace
}  // namespace feedmill
