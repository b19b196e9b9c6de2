// Real servers and readers on one host, whose large parts go through shared
// memory: the elements are the same with any fault of that memory.

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/chunk/order_hash.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"
#include "tests/integration/wide_elements.h"

namespace feedmill {
namespace {

constexpr size_t kElementBytes = 200'000;

// Returns true if the bytes are a client's view of a worker's memory.
bool IsShared(const Buffer& buffer) {
  const auto at = reinterpret_cast<uintptr_t>(buffer.data());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) ==
            2 &&
        begin <= at && at < end) {
      return line.find("r--s") != line.npos &&
             line.find("feedmill-arena") != line.npos;
    }
  }
  return false;
}

class SharedMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
  }
  SharedMemory() : dispatcher_(DispatcherConfig{}) {
    EXPECT_TRUE(dispatcher_.Start().ok());
  }

  WorkerServer& GivenWorker(uint64_t shared_bytes = uint64_t{256} << 20) {
    WorkerConfig config;
    config.dispatcher = dispatcher_.target();
    config.threads = 1;
    config.shared_bytes = shared_bytes;
    config.in_process = false;  // else nothing lies in shared memory
    workers_.push_back(std::make_unique<WorkerServer>(config));
    EXPECT_TRUE(workers_.back()->Start().ok());
    EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    return *workers_.back();
  }

  static Graph Pipeline(int elements) {
    return testing::WideElements(elements, kElementBytes);
  }
  std::unique_ptr<Reader> Open(int elements,
                               Transport transport = Transport::kAuto) {
    ReadOptions options;
    options.service = dispatcher_.target();
    options.transport.kind = transport;
    auto reader = Read(Pipeline(elements), options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  struct Outcome {
    uint64_t elements = 0;
    uint64_t shared = 0;  // of them, seen in a worker's memory
    std::string hash;
    absl::Status status;
  };
  static void Add(const Chunk& chunk, OrderHash& hash, Outcome& outcome) {
    outcome.elements += chunk.rows;
    if (IsShared(chunk.columns[0].values)) outcome.shared += chunk.rows;
    hash.Add(chunk);
  }
  static Outcome Drain(Reader& reader) {
    Outcome outcome;
    OrderHash hash;
    for (const Chunk& chunk : reader.chunks()) Add(chunk, hash, outcome);
    outcome.hash = hash.Hex();
    outcome.status = reader.status();
    return outcome;
  }
  static void ExpectAll(const Outcome& outcome, int elements) {
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.elements, static_cast<uint64_t>(elements));
    EXPECT_EQ(outcome.hash, Drain(**Read(Pipeline(elements))).hash);
  }
  // Elements number themselves; all their bytes agree.
  static void ExpectNumbered(const Chunk& chunk, int64_t first) {
    for (size_t row = 0; row < chunk.rows; ++row) {
      const auto view = Element(&chunk, row).Tensor<uint8_t>();
      const auto expected =
          static_cast<uint8_t>((first + static_cast<int64_t>(row)) % 251);
      for (const uint8_t byte : view.items) ASSERT_EQ(byte, expected);
    }
  }

  DispatchServer dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

TEST_F(SharedMemory, GivesWhatALocalReadGives) {
  for (int workers = 1; workers <= 3; ++workers) {
    GivenWorker();
    const Outcome outcome = Drain(*Open(1'500));
    ExpectAll(outcome, 1'500);
    EXPECT_GT(outcome.shared, 0u) << workers << " workers";
  }
}

TEST_F(SharedMemory, IsNotUsedWhereItIsForbidden) {
  GivenWorker();
  const Outcome outcome = Drain(*Open(500, Transport::kTcp));
  ExpectAll(outcome, 500);
  EXPECT_EQ(outcome.shared, 0u);
}

TEST_F(SharedMemory, AWorkerThatSharesNoneServesAllTheSame) {
  GivenWorker(0);
  const Outcome outcome = Drain(*Open(500));
  ExpectAll(outcome, 500);
  EXPECT_EQ(outcome.shared, 0u);
}

TEST_F(SharedMemory, AnArenaThatIsTooSmallIsNoMoreThanSlower) {
  GivenWorker(uint64_t{1} << 20);
  const Outcome outcome = Drain(*Open(1'500));
  ExpectAll(outcome, 1'500);
  EXPECT_LT(outcome.shared, 1'500u);
}

TEST_F(SharedMemory, WorkersMayGoMidStream) {
  GivenWorker();
  WorkerServer& second = GivenWorker();
  auto reader = Open(3'000);
  Outcome outcome;
  OrderHash hash;
  for (const Chunk& chunk : reader->chunks()) {
    const bool was_below = outcome.elements < 500;
    Add(chunk, hash, outcome);
    if (was_below && outcome.elements >= 500) {
      second.Stop();
      GivenWorker();
    }
  }
  outcome.hash = hash.Hex();
  outcome.status = reader->status();
  ExpectAll(outcome, 3'000);
  EXPECT_GT(outcome.shared, 0u);
}

TEST_F(SharedMemory, ChunksOutliveReaderAndWorker) {
  GivenWorker();
  std::vector<std::pair<int64_t, Chunk>> kept;
  {
    auto reader = Open(1'500);
    int64_t first = 0;
    for (const Chunk& chunk : reader->chunks()) {
      if (IsShared(chunk.columns[0].values) && kept.size() < 20) {
        kept.emplace_back(first, chunk);
      }
      first += static_cast<int64_t>(chunk.rows);
    }
    EXPECT_TRUE(reader->status().ok()) << reader->status();
  }
  EXPECT_EQ(kept.size(), 20u);
  ExpectAll(Drain(*Open(1'500)), 1'500);
  for (const auto& [first, chunk] : kept) ExpectNumbered(chunk, first);
  workers_.clear();
  for (const auto& [first, chunk] : kept) ExpectNumbered(chunk, first);
}

TEST_F(SharedMemory, AReaderThatKeepsAllChunksStarvesNoOther) {
  GivenWorker(uint64_t{64} << 20);
  std::vector<Chunk> kept;
  auto hoarder = Open(1'000);
  for (const Chunk& chunk : hoarder->chunks()) kept.push_back(chunk);
  EXPECT_TRUE(hoarder->status().ok()) << hoarder->status();
  const Outcome other = Drain(*Open(1'000));
  ExpectAll(other, 1'000);
  EXPECT_GT(other.shared, 0u);
  int64_t first = 0;
  for (const Chunk& chunk : kept) {
    ExpectNumbered(chunk, first);
    first += static_cast<int64_t>(chunk.rows);
  }
}

}  // namespace
}  // namespace feedmill
