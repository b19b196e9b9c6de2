// Real servers and readers in one process, on 127.0.0.1: the service gives the
// elements that one thread makes, with any fault of workers and dispatcher.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/order_hash.h"
#include "core/definition/pipeline_text.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/log.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// nap(x): x, a millisecond a row later.
FunctionRegistry::Function Nap() {
  FunctionRegistry::Function nap;
  nap.infer = [](const std::vector<ValueType>&) {
    return absl::StatusOr<ValueType>(ValueType{});
  };
  nap.compute = [](std::span<const Argument> arguments, size_t rows,
                   const ValueType& type, OutputColumn& out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rows));
    out.Reset(type.dtype, type.shape);
    out.values.Append(arguments[0].column->values.data(),
                      rows * sizeof(int64_t));
    return absl::OkStatus();
  };
  nap.heavy = true;
  return nap;
}

std::shared_ptr<const FunctionRegistry> Registry() {
  static const auto registry = [] {
    auto made = std::make_shared<FunctionRegistry>(BuiltinFunctions());
    made->Add("nap", Nap());
    return made;
  }();
  return registry;
}

class Service : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // FEEDMILL_TEST_LOG=debug tells the dispatcher's events.
    LogLevel level = LogLevel::kError;
    if (const char* name = std::getenv("FEEDMILL_TEST_LOG")) {
      EXPECT_TRUE(ParseLogLevel(name, level).ok());
    }
    SetUpLog(level, LogFormat::kText, "test");
  }

  Service() : dispatcher_(MakeDispatcherConfig()) {
    EXPECT_TRUE(dispatcher_.Start().ok());
    directory_ = std::filesystem::temp_directory_path() /
                 ("feedmill-service-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~Service() override { std::filesystem::remove_all(directory_); }

  static DispatcherConfig MakeDispatcherConfig() {
    DispatcherConfig config;
    config.registry = Registry();
    return config;
  }
  WorkerServer& GivenWorker(int threads = 1) {
    WorkerConfig config;
    config.dispatcher = dispatcher_.target();
    config.threads = threads;
    config.in_process = false;  // as between machines
    config.registry = Registry();
    workers_.push_back(std::make_unique<WorkerServer>(config));
    EXPECT_TRUE(workers_.back()->Start().ok());
    EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
    return *workers_.back();
  }
  std::string GivenFile(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  void ExpectAllNapsDespite(const std::function<void()>& fault);

  static Graph Pipeline(const std::string& yaml) {
    absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "/");
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph.ok() ? *graph : Graph{};
  }
  ReadOptions ThroughService() const {
    ReadOptions options;
    options.service = dispatcher_.target();
    options.hooks.registry = Registry();
    return options;
  }
  static ReadOptions Locally() {
    ReadOptions options;
    options.hooks.registry = Registry();
    return options;
  }

  // The elements up to the end, folded.
  struct Outcome {
    uint64_t elements = 0;
    std::string hash;
    absl::Status status;
    friend bool operator==(const Outcome&, const Outcome&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
      return out << o.elements << " elements, " << o.hash << ", " << o.status;
    }
  };
  static Outcome Drain(Reader& reader) {
    Outcome outcome;
    OrderHash hash;
    for (const Chunk& chunk : reader.chunks()) {
      outcome.elements += chunk.rows;
      hash.Add(chunk);
    }
    outcome.hash = hash.Hex();
    outcome.status = reader.status();
    return outcome;
  }
  static Outcome ReadAll(const std::string& yaml, const ReadOptions& options) {
    auto reader = Read(Pipeline(yaml), options);
    if (!reader.ok()) return {0, "", reader.status()};
    return Drain(**reader);
  }
  void ExpectSameAsLocal(const std::string& yaml) {
    const Outcome local = ReadAll(yaml, Locally());
    const Outcome service = ReadAll(yaml, ThroughService());
    EXPECT_EQ(local.elements, service.elements) << yaml;
    EXPECT_EQ(local.hash, service.hash) << yaml;
    EXPECT_EQ(local.status.code(), service.status.code())
        << yaml << local.status << " but " << service.status;
  }

  DispatchServer dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
  std::filesystem::path directory_;
};

constexpr char kSquares[] =
    "source: {range: {stop: 200000}}\n"
    "steps:\n"
    "  - map: 'x * x + 1'\n"
    "  - filter: 'x % 3 != 0'\n"
    "  - shuffle: {seed: 7}\n"
    "options: {seed: 7}\n";
// A millisecond an element: long enough for things to happen.
constexpr char kNaps[] =
    "source: {range: {stop: 3000}}\n"
    "steps: [{map: nap(x)}]\n"
    "options: {seed: 1}\n";
// 150 ms a batch: longer than the 50 ms between two looks at `interrupted`.
constexpr char kBatchedNaps[] =
    "source: {range: {stop: 450}}\n"
    "steps: [{map: nap(x)}, {filter: x >= 0}, {batch: 150}]\n"
    "options: {seed: 1}\n";
constexpr char kSharedNaps[] =
    "source: {range: {stop: 2000}}\n"
    "steps: [{map: nap(x)}]\n"
    "options: {seed: 1, order: any}\n";

TEST_F(Service, GivesWhatALocalReadGives) {
  GivenWorker();
  GivenWorker(2);
  ExpectSameAsLocal(kSquares);
  for (const char* steps :
       {"", "  - batch: {size: 7}\n", "  - take: 10\n",
        "  - shuffle: {}\n  - repeat: 3\n  - batch: {size: 64}\n",
        "  - filter: 'x % 5 == 1'\n  - batch: {size: 32}\n",
        "  - filter: 'x % 5 == 1'\n  - take: 100\n  - repeat: 2\n",
        // The rest of each pass, with an error in it, is not computed.
        "  - map: '10 // (9000 - x)'\n  - filter: 'x < 1'\n  - take: 3\n"
        "  - repeat: 3\n",
        "  - filter: 'x < 0'\n", "  - repeat: 0\n",
        "  - shuffle: {}\n  - filter: 'x % 2 == 0'\n  - skip: 10\n"
        "  - batch: {size: 100, drop_remainder: true}\n",
        "  - batch: {size: 10}\n  - map: {sum: 'sum(x)', first: 'x[0]'}\n",
        "  - repeat: 1000\n  - take: 20000\n"}) {
    ExpectSameAsLocal(
        fmt::format("source: {{range: {{stop: 10000}}}}\n"
                    "{}{}options: {{seed: 3}}\n",
                    *steps == '\0' ? "" : "steps:\n", steps));
  }
}

TEST_F(Service, ReadsFilesThatItsWorkersFind) {
  GivenWorker(2);
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += "line " + std::to_string(i) + "\n";
  GivenFile("a.txt", lines);
  GivenFile("b.txt", "last\nwithout end");
  const std::string source = fmt::format("source: {{text: {{files: '{}'}}}}\n",
                                         (directory_ / "*.txt").string());
  ExpectSameAsLocal(source);
  ExpectSameAsLocal(source +
                    "steps:\n  - shuffle: {}\n  - batch: {size: 9}\n"
                    "options: {seed: 11}\n");
}

TEST_F(Service, ADataErrorComesAfterAllBeforeIt) {
  GivenWorker();
  ExpectSameAsLocal(
      "source: {range: {stop: 100000}}\n"
      "steps: [{map: '1000 // (77777 - x)'}]\n"
      "options: {seed: 1}\n");
}

TEST_F(Service, AWrongPipelineIsRefusedAtOnce) {
  GivenWorker();
  const Outcome outcome =
      ReadAll(fmt::format("source: {{text: {{files: '{}'}}}}\n",
                          (directory_ / "nothing-here").string()),
              ThroughService());
  EXPECT_TRUE(absl::IsNotFound(outcome.status)) << outcome.status;
  EXPECT_THAT(ErrorText(outcome.status), HasSubstr("nothing-here"));
}

TEST_F(Service, ElementsComeOneByOneWithTheirTypes) {
  GivenWorker();
  const Dataset dataset =
      Dataset::Range(1'000)
          .Map({{"twice", Expr::Named("x") * 2}, {"x", Expr::Named("x")}})
          .WithSeed(1);
  auto reader = Read(dataset, ThroughService());
  ASSERT_TRUE(reader.ok()) << reader.status();
  int64_t expected = 0;
  for (const Element element : **reader) {
    ASSERT_EQ(element.Get<int64_t>("x"), expected);
    ASSERT_EQ(element.Get<int64_t>(0), 2 * expected);
    ++expected;
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(expected, 1'000);
}

TEST_F(Service, SharersGetEachElementOnce) {
  GivenWorker();
  GivenWorker();
  ReadOptions options = ThroughService();
  options.job.name = "shared";
  constexpr int kReaders = 3;
  std::vector<std::vector<int64_t>> got(kReaders);
  std::vector<absl::Status> statuses(kReaders);
  std::vector<std::unique_ptr<Reader>> readers;
  for (int r = 0; r < kReaders; ++r) {
    auto reader = Read(Pipeline(kSharedNaps), options);
    ASSERT_TRUE(reader.ok()) << reader.status();
    readers.push_back(*std::move(reader));
  }
  std::vector<std::thread> threads;
  for (size_t r = 0; r < kReaders; ++r) {
    threads.emplace_back([&, r] {
      for (const Element element : *readers[r]) {
        got[r].push_back(element.Get<int64_t>());
      }
      statuses[r] = readers[r]->status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<int64_t, int> times;
  for (size_t r = 0; r < kReaders; ++r) {
    EXPECT_TRUE(statuses[r].ok()) << statuses[r];
    EXPECT_FALSE(got[r].empty()) << "reader " << r << " got nothing";
    for (const int64_t x : got[r]) ++times[x];
  }
  EXPECT_EQ(times.size(), 2'000U);
  for (const auto& [x, count] : times) EXPECT_EQ(count, 1) << x;
}

TEST_F(Service, AnInfiniteReadWithoutElementsEndsInEachOrder) {
  GivenWorker();
  for (const char* steps :
       {"  - filter: 'x < 0'\n  - repeat:\n",
        "  - filter: 'x < 9'\n  - skip: 100\n  - repeat:\n"}) {
    const std::string yaml =
        std::string("source: {range: {stop: 3000}}\nsteps:\n") + steps +
        "options: {seed: 1, order: ";
    const Outcome alone = ReadAll(yaml + "deterministic}", ThroughService());
    const Outcome shared = ReadAll(yaml + "any}", ThroughService());
    EXPECT_EQ(alone.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(shared.status, alone.status);
  }
}

TEST_F(Service, InfiniteInputsWithoutElementsEndInEachOrder) {
  GivenWorker();
  for (const char* steps :
       {"filter: 'x < 0'", "filter: 'x < 0', batch: {size: 8}",
        "filter: 'x < 9', batch: {size: 8}, filter: 'sum(x) < 0'"}) {
    const std::string yaml = fmt::format(
        "source: {{mixture: {{stop: repeat, weights: [1, 1], inputs: "
        "[{{source: {{range: "
        "{{stop: 3000}}}}}}, {{source: {{range: {{stop: 70}}}}}}]}}}}\n"
        "steps: [{}]\noptions: {{seed: 1, order: ",
        steps);
    const Outcome alone = ReadAll(yaml + "deterministic}", ThroughService());
    const Outcome shared = ReadAll(yaml + "any}", ThroughService());
    EXPECT_EQ(alone.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(shared.status, alone.status);
  }
}

// Reads kNaps in order and does `fault` after 500 elements.
void Service::ExpectAllNapsDespite(const std::function<void()>& fault) {
  auto reader = Read(Pipeline(kNaps), ThroughService());
  ASSERT_TRUE(reader.ok()) << reader.status();
  int64_t expected = 0;
  for (const Element element : **reader) {
    ASSERT_EQ(element.Get<int64_t>(), expected);
    if (++expected == 500) fault();
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(expected, 3'000);
}

TEST_F(Service, AWorkerThatGoesIsReplacedByAnother) {
  WorkerServer& first = GivenWorker();
  ExpectAllNapsDespite([&] {
    GivenWorker();
    first.Stop();
  });
}

TEST_F(Service, ADrainedWorkerHandsItsWorkOn) {
  WorkerServer& first = GivenWorker();
  ExpectAllNapsDespite([&] {
    GivenWorker();
    first.Drain();
  });
  EXPECT_TRUE(first.Join().ok());
}

// Inputs that cannot be counted.
constexpr char kMixedNaps[] =
    "source:\n"
    "  interleave:\n"
    "  - {source: {range: 1200}, steps: [{map: nap(x)}, {filter: x % 3 > 0}]}\n"
    "  - {source: {range: 900}, steps: [shuffle, {filter: x % 4 > 0}, "
    "{map: 'nap(x) + random.integers(0, 9)'}, {batch: 2}, unbatch]}\n"
    "options: {seed: 1}\n";

TEST_F(Service, AllWorkersMakeTheInputsOfAMixture) {
  const Outcome local = ReadAll(kMixedNaps, Locally());
  for (int i = 0; i < 3; ++i) GivenWorker();
  auto reader = Read(Pipeline(kMixedNaps), ThroughService());
  ASSERT_TRUE(reader.ok()) << reader.status();
  Outcome outcome;
  OrderHash hash;
  std::string inputs;
  for (const Chunk& chunk : (*reader)->chunks()) {
    outcome.elements += chunk.rows;
    hash.Add(chunk);
    if (!inputs.empty()) continue;
    const auto status = FetchStatus(dispatcher_.target(), absl::Seconds(20));
    ASSERT_TRUE(status.ok()) << status.status();
    // Each input is a job of its own, and begins when it likes.
    if (status->find("-inputs[0]-") == std::string::npos) continue;
    if (status->find("-inputs[1]-") == std::string::npos) continue;
    inputs = *status;
    workers_[outcome.elements % 3]->Stop();
  }
  outcome.hash = hash.Hex();
  outcome.status = (*reader)->status();
  EXPECT_EQ(outcome, local);
  EXPECT_FALSE(inputs.empty()) << "no status named the jobs of both inputs";
}

TEST_F(Service, AWorkerThatComesLateIsWaitedFor) {
  std::thread late([this] { GivenWorker(); });
  const Outcome outcome = ReadAll(kSquares, ThroughService());
  late.join();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_GT(outcome.elements, 0U);
}

TEST_F(Service, NoAnswerIsAnErrorThatNamesTheMissingProcess) {
  ReadOptions options = ThroughService();
  options.limits.first_timeout = options.limits.timeout =
      absl::Milliseconds(300);
  const Outcome no_workers = ReadAll(kSquares, options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(no_workers.status));
  EXPECT_THAT(ErrorText(no_workers.status), HasSubstr("no workers"));
  dispatcher_.Stop();
  const Outcome no_dispatcher = ReadAll(kSquares, options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(no_dispatcher.status));
  EXPECT_THAT(ErrorText(no_dispatcher.status),
              HasSubstr("no dispatcher answered at " + options.service));
}

TEST_F(Service, BufferedElementsComeBeforeTheTimeout) {
  WorkerServer& worker = GivenWorker();
  ReadOptions options = ThroughService();
  options.limits.timeout = absl::Milliseconds(300);
  auto reader = Read(Pipeline(kNaps), options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto iterator = (*reader)->begin();
  worker.Stop();
  dispatcher_.Stop();
  int64_t expected = 0;
  for (; !(iterator == (*reader)->end()); ++iterator) {
    ASSERT_EQ((*iterator).Get<int64_t>(), expected++);
  }
  EXPECT_GT(expected, 0);
  EXPECT_TRUE(absl::IsDeadlineExceeded((*reader)->status()))
      << (*reader)->status();
  EXPECT_THAT(ErrorText((*reader)->status()), HasSubstr("has not answered"));
}

TEST_F(Service, CancellingEndsAWait) {
  std::atomic<bool> cancel{false};
  ReadOptions options = ThroughService();
  options.hooks.cancel = &cancel;
  std::thread canceller([&] { cancel = true; });
  const Outcome outcome = ReadAll(kSquares, options);
  canceller.join();
  EXPECT_TRUE(absl::IsCancelled(outcome.status)) << outcome.status;
}

TEST_F(Service, AnInterruptedReadContinuesWithTheNextCall) {
  const std::string yaml = std::string(kBatchedNaps);
  const Outcome expected = ReadAll(yaml, Locally());
  GivenWorker();
  for (ReadOptions options : {Locally(), ThroughService()}) {
    options.limits.threads = 1;
    int asked = 0;
    options.hooks.interrupted = [&asked] { return ++asked % 2 == 0; };
    auto reader = Read(Pipeline(yaml), options);
    while (!reader.ok() && absl::IsCancelled(reader.status())) {
      reader = Read(Pipeline(yaml), options);
    }
    ASSERT_TRUE(reader.ok()) << reader.status();
    uint64_t interrupted = 0;
    OrderHash hash;
    for (;;) {
      const auto chunk = (*reader)->Next();
      if (!chunk.ok()) {
        ASSERT_TRUE(absl::IsCancelled(chunk.status())) << chunk.status();
        ++interrupted;
        continue;
      }
      if (!chunk->has_value()) break;
      hash.Add(**chunk);
    }
    EXPECT_GT(interrupted, 0);
    EXPECT_EQ(hash.Hex(), expected.hash);
  }
}

TEST_F(Service, AnotherClusterIsRefused) {
  GivenWorker();
  ReadOptions options = ThroughService();
  options.cluster_id = "elsewhere";
  const Outcome outcome = ReadAll(kSquares, options);
  EXPECT_TRUE(absl::IsFailedPrecondition(outcome.status)) << outcome.status;
}

TEST_F(Service, AWorkerIsNoDispatcher) {
  ReadOptions options = ThroughService();
  options.service = GivenWorker().target();
  const Outcome outcome = ReadAll(kSquares, options);
  EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << outcome.status;
  EXPECT_THAT(ErrorText(outcome.status), HasSubstr("a worker listens"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      FetchStatus(options.service, absl::Seconds(20)).status()));
}

// The only consumer of a job has it created again and continues at its place.
TEST_F(Service, ADispatcherThatLostItsStateGetsTheReadersPlace) {
  GivenWorker();
  auto reader = Read(Pipeline(kNaps), ThroughService());
  ASSERT_TRUE(reader.ok()) << reader.status();
  DispatcherConfig config = MakeDispatcherConfig();
  config.endpoint.port = ParseAddress(dispatcher_.target())->port;
  DispatchServer next(config);
  int64_t expected = 0;
  for (const Element element : **reader) {
    ASSERT_EQ(element.Get<int64_t>(), expected);
    ++expected;
    if (expected == 500) {
      dispatcher_.Stop();
      while (!next.Start().ok()) std::this_thread::yield();
    }
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(expected, 3'000);
}

TEST_F(Service, TheSeedOfANamedJobIsOnRecord) {
  GivenWorker();
  ReadOptions options = ThroughService();
  options.job.name = "drawn";
  auto reader = Read(Dataset::Range(10).Shuffle(), options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ReadOptions again = Locally();
  again.seed = (*reader)->seed();
  auto local = Read(Dataset::Range(10).Shuffle(), again);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_EQ(Drain(**reader), Drain(**local));
}

// Sends what no peer would to `port`, as ZMTP and not.
void SendNoise(uint16_t port) {
  std::mt19937_64 random(port);
  for (int round = 0; round < 16; ++round) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(
        connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    std::string noise(random() % 8'192, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    if (round % 2 == 0 && noise.size() > 10) {
      noise.replace(0, 10, "\xff\0\0\0\0\0\0\0\x01\x7f", 10);
    }
    EXPECT_GE(send(fd, noise.data(), noise.size(), MSG_NOSIGNAL), -1);
    close(fd);
  }
}

TEST_F(Service, NoiseOnItsPortsDoesNoHarm) {
  WorkerServer& worker = GivenWorker();
  SendNoise(ParseAddress(dispatcher_.target())->port);
  SendNoise(ParseAddress(worker.target())->port);
  ExpectSameAsLocal(kSquares);
}

TEST_F(Service, ATakenPortIsAnErrorThatNamesIt) {
  const uint16_t port = ParseAddress(dispatcher_.target())->port;
  DispatcherConfig config = MakeDispatcherConfig();
  config.endpoint.port = port;
  DispatchServer second(config);
  const absl::Status status = second.Start();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(ErrorText(status), HasSubstr(std::to_string(port)));
  EXPECT_TRUE(absl::IsFailedPrecondition(second.Join()));
}

TEST_F(Service, ServersStartAndStopInAnyOrder) {
  EXPECT_TRUE(dispatcher_.Start().ok());  // again
  WorkerConfig config;
  config.dispatcher = dispatcher_.target();
  WorkerServer worker(config);
  EXPECT_TRUE(absl::IsFailedPrecondition(worker.Join()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(worker.WaitRegistered(absl::ZeroDuration())));
  worker.Drain();
  EXPECT_TRUE(worker.Start().ok());
  EXPECT_TRUE(worker.Start().ok());
  worker.Stop();
  worker.Stop();
  EXPECT_TRUE(worker.Join().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(worker.Start()));
  WorkerServer never(config);
  never.Stop();
  EXPECT_TRUE(never.Join().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(never.Start()));
}

TEST_F(Service, AWorkerGivesUpOnASilentDispatcher) {
  const std::string silent = dispatcher_.target();
  dispatcher_.Stop();
  WorkerConfig config;
  config.dispatcher = silent;
  config.dispatcher_timeout = absl::Milliseconds(200);
  WorkerServer worker(config);
  ASSERT_TRUE(worker.Start().ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(worker.Join()));
  EXPECT_FALSE(worker.registered());
}

TEST_F(Service, FetchesTheStatus) {
  GivenWorker();
  const auto status = FetchStatus(dispatcher_.target(), absl::Seconds(20));
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(*status, HasSubstr("\"workers\""));
  dispatcher_.Stop();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      FetchStatus(dispatcher_.target(), absl::Milliseconds(100)).status()));
}

}  // namespace
}  // namespace feedmill
