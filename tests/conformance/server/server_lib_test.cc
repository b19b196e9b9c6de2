// tensorflow/python/data/experimental/service/server_lib_test.py: the
// lifecycles of a dispatcher and of a worker. Each test has the name of its
// original.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/log.h"
#include "feedmill/dispatcher.h"
#include "feedmill/worker.h"

namespace feedmill {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr absl::Duration kLibraryTimeout = absl::Seconds(20);

class ServerLibTest : public ::testing::Test {
 protected:
  ServerLibTest() {
    SetUpLog(LogLevel::kOff, LogFormat::kText);
    folder_ = std::filesystem::temp_directory_path() /
              ("feedmill-server-lib-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~ServerLibTest() override { std::filesystem::remove_all(folder_); }

  static std::unique_ptr<DispatchServer> GivenDispatcher(
      DispatcherConfig config = {}) {
    auto dispatcher = std::make_unique<DispatchServer>(std::move(config));
    EXPECT_TRUE(dispatcher->Start().ok());
    return dispatcher;
  }
  static std::unique_ptr<WorkerServer> GivenWorker(
      const DispatchServer& dispatcher) {
    auto worker =
        std::make_unique<WorkerServer>(WorkerFor(dispatcher.target()));
    EXPECT_TRUE(worker->Start().ok());
    EXPECT_TRUE(worker->WaitRegistered(kLibraryTimeout).ok());
    return worker;
  }
  static WorkerConfig WorkerFor(const std::string& dispatcher) {
    WorkerConfig config;
    config.dispatcher = dispatcher;
    config.threads = 1;
    return config;
  }
  static size_t NumWorkers(const DispatchServer& dispatcher) {
    const auto state = dispatcher.ExportState();
    EXPECT_TRUE(state.ok()) << state.status();
    return nlohmann::json::parse(state.value_or("{}"))["workers"].size();
  }
  // Returns a port that was free a moment ago.
  static uint16_t FreePort() {
    return ParseAddress(GivenDispatcher()->target())->port;
  }

  std::filesystem::path folder_;
};

TEST_F(ServerLibTest, TestStartDispatcher) {
  DispatchServer dispatcher({});
  EXPECT_EQ(dispatcher.target(), "");
  EXPECT_FALSE(dispatcher.running());
  ASSERT_TRUE(dispatcher.Start().ok());
  EXPECT_TRUE(dispatcher.running());
}

TEST_F(ServerLibTest, TestStartDispatcherWithPortConfig) {
  const uint16_t port = FreePort();
  const auto dispatcher = GivenDispatcher({.endpoint = {.port = port}});
  EXPECT_EQ(dispatcher->target(), fmt::format("tcp://127.0.0.1:{}", port));
}

TEST_F(ServerLibTest, TestStartDispatcherWithWorkDirConfig) {
  const auto dispatcher = GivenDispatcher({.work_dir = folder_.string()});
  EXPECT_TRUE(dispatcher->running());
}

TEST_F(ServerLibTest, TestStartDispatcherWithFaultTolerantConfig) {
  const auto dispatcher = GivenDispatcher(
      {.work_dir = folder_.string(), .fault_tolerant_mode = true});
  EXPECT_TRUE(dispatcher->running());
}

TEST_F(ServerLibTest, TestStartDispatcherWithWrongFaultTolerantConfig) {
  DispatchServer dispatcher({.fault_tolerant_mode = true});
  const absl::Status status = dispatcher.Start();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("needs a work_dir"));
}

TEST_F(ServerLibTest, TestMultipleStartDispatcher) {
  const auto dispatcher = GivenDispatcher();
  const std::string target = dispatcher->target();
  EXPECT_TRUE(dispatcher->Start().ok());
  EXPECT_EQ(dispatcher->target(), target);
}

TEST_F(ServerLibTest, TestStartWorker) {
  const auto dispatcher = GivenDispatcher();
  EXPECT_TRUE(GivenWorker(*dispatcher)->running());
}

TEST_F(ServerLibTest, TestStartWorkerWithPortConfig) {
  const auto dispatcher = GivenDispatcher();
  WorkerConfig config = WorkerFor(dispatcher->target());
  config.endpoint.port = FreePort();
  WorkerServer worker(config);
  ASSERT_TRUE(worker.Start().ok());
  EXPECT_THAT(worker.target(),
              EndsWith(fmt::format(":{}", config.endpoint.port)));
}

TEST_F(ServerLibTest, TestMultipleStartWorker) {
  const auto dispatcher = GivenDispatcher();
  EXPECT_TRUE(GivenWorker(*dispatcher)->Start().ok());
}

TEST_F(ServerLibTest, TestStopDispatcher) {
  const auto dispatcher = GivenDispatcher();
  dispatcher->Stop();
  dispatcher->Stop();
  EXPECT_FALSE(dispatcher->running());
}

TEST_F(ServerLibTest, TestStopWorker) {
  const auto dispatcher = GivenDispatcher();
  const auto worker = GivenWorker(*dispatcher);
  worker->Stop();
  worker->Stop();
  EXPECT_FALSE(worker->running());
}

TEST_F(ServerLibTest, TestStopStartDispatcher) {
  const auto dispatcher = GivenDispatcher();
  dispatcher->Stop();
  const absl::Status status = dispatcher->Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(ErrorText(status),
              HasSubstr("cannot be started after it has been stopped"));
}

TEST_F(ServerLibTest, TestStopStartWorker) {
  const auto dispatcher = GivenDispatcher();
  const auto worker = GivenWorker(*dispatcher);
  worker->Stop();
  const absl::Status status = worker->Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(ErrorText(status),
              HasSubstr("cannot be started after it has been stopped"));
}

TEST_F(ServerLibTest, TestJoinDispatcher) {
  const auto dispatcher = GivenDispatcher();
  dispatcher->Stop();
  EXPECT_TRUE(dispatcher->Join().ok());
}

TEST_F(ServerLibTest, TestJoinWorker) {
  const auto dispatcher = GivenDispatcher();
  const auto worker = GivenWorker(*dispatcher);
  worker->Stop();
  EXPECT_TRUE(worker->Join().ok());
}

TEST_F(ServerLibTest, TestDispatcherNumWorkers) {
  const auto dispatcher = GivenDispatcher();
  EXPECT_EQ(NumWorkers(*dispatcher), 0);
  const auto first = GivenWorker(*dispatcher);
  EXPECT_EQ(NumWorkers(*dispatcher), 1);
  const auto second = GivenWorker(*dispatcher);
  EXPECT_EQ(NumWorkers(*dispatcher), 2);
}

// ---- faults of the originals (tests/conformance/README.md)
using FaultsOfTheOriginals = ServerLibTest;

TEST_F(FaultsOfTheOriginals, JoinBeforeStartIsAnError) {
  DispatchServer dispatcher({});
  EXPECT_TRUE(absl::IsFailedPrecondition(dispatcher.Join()));
  EXPECT_TRUE(absl::IsFailedPrecondition(dispatcher.ExportState().status()));
  WorkerServer worker(WorkerFor("127.0.0.1:1"));
  EXPECT_TRUE(absl::IsFailedPrecondition(worker.Join()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(worker.WaitRegistered(kLibraryTimeout)));
}

TEST_F(FaultsOfTheOriginals, AServerMayBeDestroyedInAnyState) {
  { const DispatchServer never_started({}); }
  { const WorkerServer never_started(WorkerFor("127.0.0.1:1")); }
  const auto dispatcher = GivenDispatcher();
  const uint16_t port = ParseAddress(dispatcher->target())->port;
  {
    DispatchServer failed({.endpoint = {.port = port}});
    EXPECT_TRUE(absl::IsUnavailable(failed.Start()));
  }
  { const auto running = GivenDispatcher(); }
  GivenDispatcher()->Stop();
  {
    WorkerServer waiting(WorkerFor("127.0.0.1:1"));
    EXPECT_TRUE(waiting.Start().ok());
  }
  { const auto running = GivenWorker(*dispatcher); }
}

TEST_F(FaultsOfTheOriginals, AJoinEndsWhenAnotherThreadStopsOrDestroys) {
  auto dispatcher = GivenDispatcher();
  auto worker = GivenWorker(*dispatcher);
  absl::Status joined[2] = {Internal("not joined"), Internal("not joined")};
  std::thread first([&, raw = worker.get()] { joined[0] = raw->Join(); });
  std::thread stopper([raw = worker.get()] { raw->Stop(); });
  stopper.join();
  first.join();
  std::thread second([&, raw = dispatcher.get()] { joined[1] = raw->Join(); });
  dispatcher->Stop();
  second.join();
  EXPECT_TRUE(joined[0].ok());
  EXPECT_TRUE(joined[1].ok());
}

TEST_F(FaultsOfTheOriginals, ManyMayStartAndStopAtOnce) {
  DispatchServer dispatcher({});
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k) {
    threads.emplace_back([&, k] {
      if (k % 2 == 0) {
        dispatcher.Start().IgnoreError();
      } else {
        dispatcher.Stop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(dispatcher.running());
}

TEST_F(FaultsOfTheOriginals, TwoDispatchersCannotShareAPort) {
  const auto dispatcher = GivenDispatcher();
  const uint16_t port = ParseAddress(dispatcher->target())->port;
  DispatchServer second({.endpoint = {.port = port}});
  const absl::Status status = second.Start();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(ErrorText(status), HasSubstr(std::to_string(port)));
}

TEST_F(FaultsOfTheOriginals, AFailedStartMayBeTriedAgain) {
  auto dispatcher = GivenDispatcher();
  const uint16_t port = ParseAddress(dispatcher->target())->port;
  DispatchServer second({.endpoint = {.port = port}});
  ASSERT_TRUE(absl::IsUnavailable(second.Start()));
  dispatcher.reset();
  EXPECT_TRUE(second.Start().ok());
}

TEST_F(FaultsOfTheOriginals, RegistrationHeedsTheDispatcherTimeout) {
  WorkerConfig config = WorkerFor("127.0.0.1:1");
  config.dispatcher_timeout = absl::Milliseconds(100);
  WorkerServer worker(config);
  ASSERT_TRUE(worker.Start().ok());  // does not wait
  EXPECT_TRUE(absl::IsDeadlineExceeded(worker.Join()));
  EXPECT_FALSE(worker.running());
}

TEST_F(FaultsOfTheOriginals, TheTargetIsWhatIsAdvertised) {
  const auto dispatcher =
      GivenDispatcher({.endpoint = {.advertise = "d0.example.com:5050"}});
  EXPECT_EQ(dispatcher->target(), "tcp://d0.example.com:5050");
  const auto named =
      GivenDispatcher({.endpoint = {.advertise = "d0.example.com"}});
  EXPECT_THAT(named->target(), HasSubstr("tcp://d0.example.com:"));
  const auto everywhere =
      GivenDispatcher({.endpoint = {.host = "0.0.0.0", .insecure_bind = true}});
  EXPECT_THAT(everywhere->target(), testing::Not(HasSubstr("0.0.0.0")));
}

TEST_F(FaultsOfTheOriginals, BadFieldsAreNamed) {
  const auto refused = [](DispatcherConfig config, const std::string& text) {
    const absl::Status status = DispatchServer(std::move(config)).Start();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(text));
  };
  refused({.endpoint = {.host = "no such host"}}, "no such host");
  refused({.endpoint = {.advertise = "a:b:c"}}, "a:b:c");
  refused({.work_dir = "gs://bucket/work_dir"}, "gs://bucket/work_dir");
  refused({.settings = {.heartbeat_interval = absl::ZeroDuration()}},
          "heartbeat_interval");
  refused({.settings = {.worker_timeout = -absl::Seconds(1)}},
          "worker_timeout");
  refused({.settings = {.client_timeout = absl::ZeroDuration()}},
          "client_timeout");
  for (const char* bad : {"", "localhost", "h:0", "http://h:1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(WorkerServer(WorkerFor(bad)).Start()));
  }
}

}  // namespace
}  // namespace feedmill
