// Real servers and readers, and the ways from one to the other: whichever it
// is, what the service gives is the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/chunk/order_hash.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"
#include "tests/integration/wide_elements.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr int kElements = 500;
constexpr size_t kElementBytes = 100'000;

class ServiceLinks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
  }

  void GivenDispatcher(DispatcherConfig config = {}) {
    dispatcher_ = std::make_unique<DispatchServer>(std::move(config));
    ASSERT_TRUE(dispatcher_->Start().ok());
  }
  WorkerServer& GivenWorker(bool in_process,
                            const std::string& advertise = "") {
    WorkerConfig config;
    config.dispatcher = dispatcher_->target();
    config.threads = 1;
    config.in_process = in_process;
    config.endpoint.advertise = advertise;
    workers_.push_back(std::make_unique<WorkerServer>(config));
    EXPECT_TRUE(workers_.back()->Start().ok());
    EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    return *workers_.back();
  }
  // No process listens at the address that it advertises.
  WorkerServer& GivenWorkerOutOfReach() {
    return GivenWorker(false, fmt::format("127.0.0.1:{}", ++nowhere_));
  }

  static Graph Pipeline(int elements = kElements) {
    return testing::WideElements(elements, kElementBytes);
  }
  ReadOptions Options(Transport transport = Transport::kAuto,
                      LinkCompression compression = LinkCompression::kNone) {
    ReadOptions options;
    options.service = dispatcher_->target();
    options.transport.kind = transport;
    options.transport.compression = compression;
    return options;
  }

  struct Outcome {
    uint64_t elements = 0;
    std::string hash;
    absl::Status status;
    std::vector<LinkReport> links;
  };
  template <class Then>
  static Outcome Drain(Reader& reader, Then then) {
    Outcome outcome;
    OrderHash hash;
    for (const Chunk& chunk : reader.chunks()) {
      hash.Add(chunk);
      outcome.elements += chunk.rows;
      then(outcome.elements);
    }
    outcome.hash = hash.Hex();
    outcome.status = reader.status();
    outcome.links = reader.links();
    return outcome;
  }
  static Outcome Drain(Reader& reader) {
    return Drain(reader, [](uint64_t) {});
  }
  Outcome ReadWith(const ReadOptions& options, int elements = kElements) {
    auto reader = Read(Pipeline(elements), options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? Drain(**reader) : Outcome{};
  }
  static void ExpectAll(const Outcome& outcome, LinkKind kind,
                        int elements = kElements) {
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.hash, Drain(**Read(Pipeline(elements))).hash);
    EXPECT_FALSE(outcome.links.empty());
    uint64_t bytes = 0;
    for (const LinkReport& link : outcome.links) {
      EXPECT_EQ(LinkName(link.kind), std::string(LinkName(kind)));
      bytes += link.element_bytes;
    }
    EXPECT_GE(bytes, static_cast<uint64_t>(elements) * kElementBytes);
  }
  static uint64_t WireBytes(const Outcome& outcome) {
    uint64_t bytes = 0;
    for (const LinkReport& link : outcome.links) bytes += link.wire_bytes;
    return bytes;
  }

  std::unique_ptr<DispatchServer> dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
  int nowhere_ = 0;
};

// ---- in one process

TEST_F(ServiceLinks, NothingIsSentWithinAProcess) {
  GivenDispatcher();
  for (int workers = 1; workers <= 2; ++workers) {
    GivenWorker(true);
    const Outcome outcome = ReadWith(Options());
    ExpectAll(outcome, LinkKind::kProcess);
    EXPECT_EQ(WireBytes(outcome), 0u);
  }
}

TEST_F(ServiceLinks, AWorkerOfTheProcessMayGoMidStream) {
  GivenDispatcher();
  GivenWorker(true);
  WorkerServer& second = GivenWorker(true);
  auto reader = Read(Pipeline(2'000), Options());
  ASSERT_TRUE(reader.ok()) << reader.status();
  bool gone = false;
  const Outcome outcome = Drain(**reader, [&](uint64_t elements) {
    if (gone || elements < 300) return;
    gone = true;
    second.Stop();
    GivenWorker(true);
  });
  ExpectAll(outcome, LinkKind::kProcess, 2'000);
}

TEST_F(ServiceLinks, ChunksOutliveReaderAndWorkerOfTheProcess) {
  GivenDispatcher();
  GivenWorker(true);
  std::vector<Chunk> kept;
  {
    auto reader = Read(Pipeline(50), Options());
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (const Chunk& chunk : (*reader)->chunks()) kept.push_back(chunk);
  }
  workers_.clear();
  OrderHash hash;
  for (const Chunk& chunk : kept) hash.Add(chunk);
  EXPECT_EQ(hash.Hex(), Drain(**Read(Pipeline(50))).hash);
}

// ---- through the dispatcher

TEST_F(ServiceLinks, ReadsThroughTheDispatcherIfNoWorkerIsReachable) {
  GivenDispatcher();
  for (int workers = 1; workers <= 2; ++workers) {
    GivenWorkerOutOfReach();
    ReadOptions direct = Options();
    direct.limits.first_timeout = absl::Milliseconds(500);
    direct.limits.timeout = absl::Milliseconds(500);
    EXPECT_TRUE(absl::IsDeadlineExceeded(ReadWith(direct).status));
    ExpectAll(ReadWith(Options(Transport::kRelay)), LinkKind::kRelay);
  }
  EXPECT_THAT(*dispatcher_->ExportState(), HasSubstr("\"relay\":{\"bytes\":"));
}

TEST_F(ServiceLinks, ARelayedWorkerMayGoMidStream) {
  GivenDispatcher();
  GivenWorkerOutOfReach();
  WorkerServer& second = GivenWorkerOutOfReach();
  auto reader = Read(Pipeline(1'000), Options(Transport::kRelay));
  ASSERT_TRUE(reader.ok()) << reader.status();
  bool gone = false;
  const Outcome outcome = Drain(**reader, [&](uint64_t elements) {
    if (gone || elements < 200) return;
    gone = true;
    second.Stop();
    GivenWorkerOutOfReach();
  });
  ExpectAll(outcome, LinkKind::kRelay, 1'000);
}

// Frames that find no room are lost, asked for again, and come.
TEST_F(ServiceLinks, FramesThatTheDispatcherDropsComeAgain) {
  DispatcherConfig config;
  config.relay_bytes = uint64_t{1} << 20;
  GivenDispatcher(config);
  GivenWorkerOutOfReach();
  ExpectAll(ReadWith(Options(Transport::kRelay), 100), LinkKind::kRelay, 100);
}

TEST_F(ServiceLinks, RelayedFramesMayBePacked) {
  GivenDispatcher();
  GivenWorkerOutOfReach();
  const Outcome outcome =
      ReadWith(Options(Transport::kRelay, LinkCompression::kZstd));
  ExpectAll(outcome, LinkKind::kRelay);
  EXPECT_LT(WireBytes(outcome), kElements * kElementBytes / 4);
}

// ---- packed

TEST_F(ServiceLinks, PackedFramesAreSmallerAndTheSame) {
  GivenDispatcher();
  GivenWorker(false);
  for (const LinkCompression codec :
       {LinkCompression::kLz4, LinkCompression::kZstd}) {
    const Outcome outcome = ReadWith(Options(Transport::kTcp, codec));
    ExpectAll(outcome, LinkKind::kTcp);
    EXPECT_LT(WireBytes(outcome), kElements * kElementBytes / 4);
  }
}

TEST_F(ServiceLinks, WithoutAWishNothingIsPacked) {
  GivenDispatcher();
  GivenWorker(false);
  const Outcome outcome = ReadWith(Options(Transport::kTcp));
  ExpectAll(outcome, LinkKind::kTcp);
  EXPECT_GT(WireBytes(outcome), kElements * kElementBytes);
}

TEST_F(ServiceLinks, TheWorkerMayChoose) {
  GivenDispatcher();
  GivenWorker(false);
  ExpectAll(ReadWith(Options(Transport::kTcp, LinkCompression::kAuto)),
            LinkKind::kTcp);
}

}  // namespace
}  // namespace feedmill
