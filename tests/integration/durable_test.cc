// A dispatcher with a work-dir, as a process of its own that is killed in the
// middle of reads: readers and workers continue, and nothing is lost or
// repeated.
//
// The process is this binary again ("--dispatch"), so that it knows nap().

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/unacknowledged_leaves.h"
#include "core/base/status.h"
#include "core/chunk/order_hash.h"
#include "core/definition/pipeline_text.h"
#include "core/net/address.h"
#include "core/net/log.h"
#include "core/ops/builtin_functions.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"
#include "tests/waits.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// nap(x): x, a tenth of a millisecond a row later if `tired`.
FunctionRegistry::Function Nap(bool tired) {
  FunctionRegistry::Function nap;
  nap.infer = [](const std::vector<ValueType>&) {
    return absl::StatusOr<ValueType>(ValueType{});
  };
  nap.compute = [tired](std::span<const Argument> arguments, size_t rows,
                        const ValueType& type, OutputColumn& out) {
    if (tired) {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * rows));
    }
    out.Reset(type.dtype, type.shape);
    out.values.Append(arguments[0].column->values.data(),
                      rows * sizeof(int64_t));
    return absl::OkStatus();
  };
  nap.heavy = true;
  return nap;
}

std::shared_ptr<const FunctionRegistry> Registry(bool tired = true) {
  auto made = std::make_shared<FunctionRegistry>(BuiltinFunctions());
  made->Add("nap", Nap(tired));
  return made;
}

DispatcherConfig MakeConfig(const std::string& work_dir, uint16_t port) {
  DispatcherConfig config;
  config.endpoint.port = port;
  config.work_dir = work_dir;
  config.registry = Registry();
  // Many splits, so that there is always one in every state.
  config.settings.split_time = absl::Milliseconds(20);
  return config;
}

// The other process: serves until it is killed, says where in `ready`.
int Dispatch(uint16_t port, const std::string& work_dir,
             const std::string& ready) {
  SetUpLog(LogLevel::kError, LogFormat::kText, "dispatcher");
  DispatchServer server(MakeConfig(work_dir, port));
  const absl::Status status = server.Start();
  if (!status.ok()) {
    LogError("{}", ErrorText(status));
    return 1;
  }
  std::ofstream(ready + ".new") << server.target();
  fs::rename(ready + ".new", ready);
  return server.Join().ok() ? 0 : 1;
}

class DispatcherProcess {
 public:
  explicit DispatcherProcess(fs::path folder) : folder_(std::move(folder)) {}
  ~DispatcherProcess() { Kill(); }

  std::string work_dir() const { return (folder_ / "work").string(); }
  const std::string& target() const { return target_; }

  // The first time at any port, then at the same.
  void Start() {
    const std::string ready = (folder_ / "ready").string();
    fs::remove(ready);
    const std::string port =
        target_.empty() ? "0" : target_.substr(target_.rfind(':') + 1);
    const std::string work = work_dir();
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {  // only what is safe beside other threads
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      execl("/proc/self/exe", "durable_test", "--dispatch", port.c_str(),
            work.c_str(), ready.c_str(), nullptr);
      _exit(127);
    }
    Eventually([&] {
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
      return pid_ == 0 || fs::exists(ready);
    });
    std::ifstream file(ready);
    std::getline(file, target_);
    ASSERT_FALSE(target_.empty()) << "the dispatcher did not start";
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void Restart() {
    Kill();
    Start();
  }

 private:
  const fs::path folder_;
  std::string target_;
  pid_t pid_ = 0;
};

constexpr uint64_t kElements = 8'000;
constexpr char kNaps[] =
    "source: {range: {stop: 12000}}\n"
    "steps:\n"
    "  - shuffle: {seed: 7}\n"
    "  - map: nap(x)\n"
    "  - filter: 'x % 3 != 0'\n"
    "options: {seed: 7}\n";
constexpr char kSharedNaps[] =
    "source: {range: {stop: 8000}}\n"
    "steps: [{map: nap(x)}]\n"
    "options: {seed: 1, order: any}\n";

class Durable : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetUpLog(LogLevel::kOff, LogFormat::kText, "test");
  }
  Durable() : folder_(MakeFolder()), dispatcher_(folder_) {
    dispatcher_.Start();
    for (int k = 0; k < 2; ++k) GivenWorker();
  }
  ~Durable() override {
    workers_.clear();
    dispatcher_.Kill();
    fs::remove_all(folder_);
  }

  static fs::path MakeFolder() {
    std::string path =
        (fs::temp_directory_path() / "feedmill-durable-XXXXXX").string();
    return mkdtemp(path.data());
  }
  void GivenWorker() {
    WorkerConfig config;
    config.dispatcher = dispatcher_.target();
    config.threads = 1;
    config.in_process = false;  // as between machines
    config.registry = Registry();
    workers_.push_back(std::make_unique<WorkerServer>(config));
    EXPECT_TRUE(workers_.back()->Start().ok());
    EXPECT_TRUE(workers_.back()->WaitRegistered(absl::Seconds(20)).ok());
  }
  std::unique_ptr<Reader> GivenReader(const char* yaml,
                                      const std::string& job = "") {
    ReadOptions options;
    options.service = dispatcher_.target();
    options.job.name = job;
    options.hooks.registry = Registry();
    return MustRead(yaml, options);
  }
  static std::unique_ptr<Reader> MustRead(const char* yaml,
                                          const ReadOptions& options) {
    const absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "/");
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto reader = Read(*graph, options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  struct Outcome {
    uint64_t elements = 0;
    std::string hash;
    absl::Status status;
    friend bool operator==(const Outcome&, const Outcome&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Outcome& o) {
      return out << o.elements << " elements, " << o.hash << ", " << o.status;
    }
  };
  // Reads to the end; when the number of elements that came has passed one of
  // `moments` (in order), `action` happens.
  static Outcome Drain(Reader& reader, std::vector<uint64_t> moments = {},
                       const std::function<void()>& action = {}) {
    Outcome outcome;
    OrderHash hash;
    size_t next = 0;
    const auto act = [&] {
      for (; next < moments.size() && outcome.elements >= moments[next];
           ++next) {
        action();
      }
    };
    act();
    for (const Chunk& chunk : reader.chunks()) {
      outcome.elements += chunk.rows;
      hash.Add(chunk);
      act();
    }
    outcome.hash = hash.Hex();
    outcome.status = reader.status();
    return outcome;
  }
  static Outcome Local() {
    ReadOptions options;
    options.hooks.registry = Registry(/*tired=*/false);
    return Drain(*MustRead(kNaps, options));
  }

  const fs::path folder_;
  DispatcherProcess dispatcher_;
  std::vector<std::unique_ptr<WorkerServer>> workers_;
};

TEST_F(Durable, AReadContinuesWhenTheDispatcherIsKilledAtAnyMoment) {
  const Outcome local = Local();
  EXPECT_EQ(local.elements, kElements);
  for (const uint64_t moment : {uint64_t{0}, uint64_t{1}, kElements / 4,
                                kElements / 2, kElements - kElements / 8}) {
    const auto reader = GivenReader(kNaps);
    const Outcome outcome =
        Drain(*reader, {moment}, [&] { dispatcher_.Restart(); });
    EXPECT_EQ(outcome, local) << "killed after " << moment << " elements";
  }
}

TEST_F(Durable, AReadContinuesWhenTheDispatcherIsKilledAgainAndAgain) {
  const auto reader = GivenReader(kNaps, "named");
  EXPECT_EQ(Drain(*reader, {100, 2'000, 2'001, 5'000},
                  [&] { dispatcher_.Restart(); }),
            Local());
}

// The reader leaves while no dispatcher runs that could hear it.
TEST_F(Durable, AnIterationThatEndedWhileTheDispatcherWasAwayHasEnded) {
  constexpr char kShuffled[] =
      "source: {range: {stop: 1000}}\n"
      "steps: [shuffle]\n"
      "options: {seed: 7}\n";
  std::vector<Outcome> calm(3);
  for (Outcome& iteration : calm) {
    iteration = Drain(*GivenReader(kShuffled, "calm"));
  }
  ASSERT_NE(calm[0].hash, calm[1].hash);
  for (const Outcome& outcome : calm) {
    EXPECT_EQ(Drain(*GivenReader(kShuffled, "shaken"), {1'000},
                    [&] { dispatcher_.Kill(); }),
              outcome);
    dispatcher_.Start();
  }
}

// A reader's end is known when it is gone, so that readers of other processes
// find the iteration over.
TEST_F(Durable, AReaderWaitsAtItsEndForARestartedDispatcher) {
  constexpr char kFew[] = "source: {range: {stop: 1000}}\noptions: {seed: 7}\n";
  const auto unsaid = [&] {
    return UnacknowledgedLeaves::OfThisProcess()
        .Of(dispatcher_.target(), JobName("few"))
        .size();
  };
  Drain(*GivenReader(kFew, "few"));
  EXPECT_EQ(unsaid(), 0);
  Drain(*GivenReader(kFew, "few"), {1'000}, [&] { dispatcher_.Restart(); });
  EXPECT_EQ(unsaid(), 0);
  Drain(*GivenReader(kFew, "few"), {1'000}, [&] { dispatcher_.Kill(); });
  EXPECT_EQ(unsaid(), 1);
}

TEST_F(Durable, AWorkerThatDiesWithTheDispatcherIsReplaced) {
  const auto reader = GivenReader(kNaps);
  EXPECT_EQ(Drain(*reader, {kElements / 2},
                  [&] {
                    dispatcher_.Kill();
                    workers_.front()->Stop();
                    dispatcher_.Start();
                  }),
            Local());
}

TEST_F(Durable, SharersGetEachElementOnce) {
  constexpr size_t kReaders = 2;
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<std::vector<int64_t>> got(kReaders);
  for (size_t r = 0; r < kReaders; ++r) {
    readers.push_back(GivenReader(kSharedNaps, "shared"));
  }
  std::atomic<uint64_t> elements{0};
  std::atomic<size_t> ended{0};
  std::vector<std::thread> threads;
  for (size_t r = 0; r < kReaders; ++r) {
    threads.emplace_back([&, r] {
      for (const Element element : *readers[r]) {
        got[r].push_back(element.Get<int64_t>());
        ++elements;
      }
      ++ended;
    });
  }
  EXPECT_TRUE(Eventually([&] { return elements >= 2'000 || ended > 0; }));
  dispatcher_.Restart();
  for (std::thread& thread : threads) thread.join();
  std::map<int64_t, int> times;
  for (size_t r = 0; r < kReaders; ++r) {
    EXPECT_TRUE(readers[r]->status().ok()) << readers[r]->status();
    for (const int64_t x : got[r]) ++times[x];
  }
  EXPECT_EQ(times.size(), 8'000U);
  for (const auto& [x, count] : times) EXPECT_EQ(count, 1) << x;
}

TEST_F(Durable, AReaderContinuesWithAnEmptyWorkDir) {
  const auto reader = GivenReader(kNaps, "named");
  EXPECT_EQ(Drain(*reader, {kElements / 2},
                  [&] {
                    dispatcher_.Kill();
                    fs::remove_all(dispatcher_.work_dir());
                    dispatcher_.Start();
                  }),
            Local());
}

TEST_F(Durable, AnOlderCopyOfTheWorkDirIsNoticedByItsPeers) {
  const auto reader = GivenReader(kNaps);
  const fs::path copy = folder_ / "copy";
  const Outcome outcome = Drain(*reader, {1'000, 4'000}, [&] {
    dispatcher_.Kill();
    if (!fs::exists(copy)) {
      fs::copy(dispatcher_.work_dir(), copy);
    } else {
      fs::remove_all(dispatcher_.work_dir());
      fs::rename(copy, dispatcher_.work_dir());
    }
    dispatcher_.Start();
  });
  EXPECT_TRUE(absl::IsDataLoss(outcome.status)) << outcome;
  EXPECT_THAT(ErrorText(outcome.status), HasSubstr("older copy"));
}

TEST_F(Durable, ASecondDispatcherIsRefusedNamingTheFirst) {
  DispatchServer second(MakeConfig(dispatcher_.work_dir(), 0));
  const absl::Status status = second.Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr(dispatcher_.target()));
  EXPECT_THAT(ErrorText(status), HasSubstr(dispatcher_.work_dir()));
  dispatcher_.Kill();
  EXPECT_TRUE(second.Start().ok());
}

TEST_F(Durable, AJobIsThereAfterAKillAndAfterAStop) {
  const auto reader = GivenReader(kNaps, "remembered");
  dispatcher_.Kill();
  for (int time = 0; time < 2; ++time) {
    DispatchServer server(MakeConfig(dispatcher_.work_dir(), 0));
    ASSERT_TRUE(server.Start().ok());
    const auto status = FetchStatus(server.target(), absl::Seconds(20));
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_THAT(*status, HasSubstr("remembered"));
    server.Stop();
  }
}

TEST_F(Durable, ATakenPortLeavesTheWorkDirFree) {
  const std::string work = (folder_ / "other").string();
  DispatchServer second(
      MakeConfig(work, ParseAddress(dispatcher_.target())->port));
  EXPECT_TRUE(absl::IsUnavailable(second.Start()));
  DispatchServer third(MakeConfig(work, 0));
  EXPECT_TRUE(third.Start().ok());
}

}  // namespace
}  // namespace feedmill

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--dispatch") {
    return feedmill::Dispatch(static_cast<uint16_t>(std::stoi(argv[2])),
                              argv[3], argv[4]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
