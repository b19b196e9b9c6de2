// tensorflow/python/training/server_lib_test.py (ServerDefTest and the parts of
// GrpcServerTest that apply without sessions) and
// server_lib_sparse_job_test.py. Tests of originals have their names.

#include "feedmill/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/log.h"
#include "feedmill/dataset.h"
#include "feedmill/reader.h"
#include "server/server_def.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kLong = absl::Seconds(20);
using Servers = std::vector<std::unique_ptr<Server>>;

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    SetUpLog(LogLevel::kOff, LogFormat::kText);
    folder_ = std::filesystem::temp_directory_path() /
              ("feedmill-server-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~ServerTest() override { std::filesystem::remove_all(folder_); }

  static ClusterDef Def(std::vector<ClusterDef::Job> jobs) {
    return {.jobs = std::move(jobs)};
  }
  ServerOptions Task(const std::string& job, int64_t index) const {
    ServerOptions options;
    options.task = {.job_name = job, .task_index = index};
    options.config.publish = folder_.string();
    options.config.worker.threads = 1;
    return options;
  }
  static absl::Status Refused(const ServerDef& def,
                              ServerOptions options = {}) {
    return Server::Create(def, std::move(options)).status();
  }
  // Reads 0² … 9² through the dispatcher at `service`.
  static std::vector<int64_t> ReadThrough(const std::string& service) {
    auto reader = Read(Dataset::Range(10).Map([](Expr x) { return x * x; }),
                       {.service = service, .seed = 1});
    EXPECT_TRUE(reader.ok()) << reader.status();
    std::vector<int64_t> values;
    if (!reader.ok()) return values;
    for (const Element element : **reader) {
      values.push_back(element.Get<int64_t>());
    }
    EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
    return values;
  }
  static auto Squares() {
    return ElementsAre(0, 1, 4, 9, 16, 25, 36, 49, 64, 81);
  }

  std::filesystem::path folder_;
};

// ---- ServerDefTest
TEST_F(ServerTest, TestLocalServer) {
  const ClusterDef cluster = Def({{"local", {{0, "localhost:2222"}}}});
  const auto def = CompleteServerDef(
      {.cluster = cluster, .job_name = "local", .task_index = 0});
  ASSERT_TRUE(def.ok());
  EXPECT_EQ(def->cluster, cluster);
  EXPECT_EQ(def->job_name, "local");
  EXPECT_EQ(def->task_index, 0);
  EXPECT_EQ(def->protocol, "tcp");
  EXPECT_EQ(def->port, 2222);
}

TEST_F(ServerTest, TestTwoProcesses) {
  const ClusterDef cluster =
      Def({{"local", {{0, "localhost:2222"}, {1, "localhost:2223"}}}});
  const auto def = CompleteServerDef(
      {.cluster = cluster, .job_name = "local", .task_index = 1});
  ASSERT_TRUE(def.ok());
  EXPECT_EQ(def->task_index, 1);
  EXPECT_EQ(def->port, 2223);
}

TEST_F(ServerTest, TestTwoJobs) {
  const ClusterDef cluster =
      Def({{"ps", {{0, "ps0:2222"}, {1, "ps1:2222"}}},
           {"worker",
            {{0, "worker0:2222"}, {1, "worker1:2222"}, {2, "worker2:2222"}}}});
  const auto def = CompleteServerDef({.cluster = cluster},
                                     {.job_name = "worker", .task_index = 2});
  ASSERT_TRUE(def.ok());
  EXPECT_EQ(def->cluster.jobs[1].tasks.at(2), "worker2:2222");
  EXPECT_EQ(def->job_name, "worker");
}

TEST_F(ServerTest, TestDenseAndSparseJobs) {
  const ClusterDef cluster =
      Def({{"ps", {{0, "ps0:2222"}, {1, "ps1:2222"}}},
           {"worker", {{0, "worker0:2222"}, {2, "worker2:2222"}}}});
  ASSERT_TRUE(CompleteServerDef({.cluster = cluster},
                                {.job_name = "worker", .task_index = 2})
                  .ok());
  EXPECT_TRUE(
      absl::IsNotFound(Refused({.cluster = cluster}, Task("worker", 1))));
}

// ---- server_lib_sparse_job_test
TEST_F(ServerTest, TestSparseJob) {
  const ClusterDef cluster = Def({{"local", {{37, "localhost:0"}}}});
  const auto server = Server::Create(ServerDef{.cluster = cluster});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->server_def().task_index, 37);
  EXPECT_EQ((*server)->server_def().job_name, "local");
}

// ---- GrpcServerTest
TEST_F(ServerTest, TestRunStep) {
  const auto server = Server::CreateLocalServer();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(ReadThrough((*server)->target()), Squares());
}

TEST_F(ServerTest, TestMultipleSessions) {
  const auto server = Server::CreateLocalServer();
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<int64_t> read[2];
  std::thread other([&] { read[0] = ReadThrough((*server)->target()); });
  read[1] = ReadThrough((*server)->target());
  other.join();
  EXPECT_THAT(read[0], Squares());
  EXPECT_THAT(read[1], Squares());
}

TEST_F(ServerTest, TestInvalidHostname) {
  const absl::Status status =
      Refused({.cluster = {.jobs = {{"local", {{0, "localhost"}}}}}});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("port"));
}

TEST_F(ServerTest, TestTimeoutRaisesException) {
  auto options = Task("worker", 0);
  options.config.worker.dispatcher_timeout = absl::Milliseconds(100);
  const auto server =
      Server::Create(Def({{"worker", {{0, "localhost:0"}}},
                          {"dispatcher", {{0, "localhost:0"}}}}),
                     options);
  ASSERT_TRUE(server.ok()) << server.status();
  const absl::Status status = (*server)->Join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(ErrorText(status), HasSubstr(folder_.string()));
}

TEST_F(ServerTest, TestTwoServersSamePort) {
  const auto first = Server::CreateLocalServer();
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status status =
      Refused({.cluster = (*first)->server_def().cluster});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

// ---- a whole cluster in one process
TEST_F(ServerTest, AClusterOfFreePortsFindsItself) {
  const ClusterDef cluster =
      Def({{"dispatcher", {{0, "localhost:0"}}},
           {"worker", {{0, "localhost:0"}, {1, "localhost:0"}}},
           {"ps", {{0, "localhost:0"}}}});
  Servers servers;
  for (const auto& [job, index] : std::vector<std::pair<std::string, int64_t>>{
           {"worker", 0}, {"ps", 0}, {"worker", 1}, {"dispatcher", 0}}) {
    auto server = Server::Create(cluster, Task(job, index));
    ASSERT_TRUE(server.ok()) << server.status();
    servers.push_back(*std::move(server));
  }
  for (const auto& server : servers) {
    EXPECT_TRUE(server->WaitReady(kLong).ok());
  }
  EXPECT_THAT(ReadThrough(servers.back()->target()), Squares());
  // Every task knows every other task's port.
  const auto known = servers.front()->Cluster();
  ASSERT_TRUE(known.ok()) << known.status();
  for (const auto& server : servers) {
    const ServerDef def = server->server_def();
    EXPECT_EQ("tcp://" + *known->TaskAddress(def.job_name, *def.task_index),
              server->target());
  }
}

TEST_F(ServerTest, AWorkerFollowsADispatcherToItsNewPort) {
  const ClusterDef cluster = Def(
      {{"dispatcher", {{0, "localhost:0"}}}, {"worker", {{0, "localhost:0"}}}});
  auto dispatcher = Server::Create(cluster, Task("dispatcher", 0));
  const auto worker = Server::Create(cluster, Task("worker", 0));
  ASSERT_TRUE(dispatcher.ok() && worker.ok());
  ASSERT_TRUE((*worker)->WaitReady(kLong).ok());
  dispatcher->reset();
  dispatcher = Server::Create(cluster, Task("dispatcher", 0));
  ASSERT_TRUE(dispatcher.ok()) << dispatcher.status();
  EXPECT_THAT(ReadThrough((*dispatcher)->target()), Squares());
}

// ---- UpdateServerDef, which Python does not have
TEST_F(ServerTest, AnUpdatedClusterReachesARunningServer) {
  auto cluster = Def({{"dispatcher", {{0, "d0:5050"}}},
                      {"ps", {{0, "localhost:0"}}},
                      {"worker", {{0, "w0:1"}}}});
  const auto server = Server::Create(cluster, Task("ps", 0));
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string own = (*server)->target();
  // A worker joined, one moved, the dispatcher is elsewhere, and this task is
  // no longer listed.
  const auto updated = (*server)->UpdateServerDef(
      {.cluster = Def({{"worker", {{0, "w9:1"}, {1, "w1:1"}}},
                       {"dispatcher", {{0, "d1:5050"}}}})});
  ASSERT_TRUE(updated.ok()) << updated;
  const auto known = (*server)->Cluster();
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->TaskAddress("worker", 0).value(), "w9:1");
  EXPECT_EQ(known->TaskAddress("worker", 1).value(), "w1:1");
  EXPECT_EQ("tcp://" + *known->TaskAddress("ps", 0), own);
  EXPECT_EQ((*server)->target(), own);
  const auto reader = Read(Dataset::Range(3), {.service = own});
  EXPECT_THAT(ErrorText(reader.status()),
              HasSubstr("serves no data; the dispatcher is d1:5050"));
  // A server accepts its own def.
  EXPECT_TRUE((*server)->UpdateServerDef((*server)->server_def()).ok());
  // A server keeps its address even if the cluster lists another one.
  cluster.jobs[1].tasks[0] = "elsewhere:1";
  EXPECT_TRUE((*server)->UpdateServerDef({.cluster = cluster}).ok());
  EXPECT_EQ("tcp://" + *(*server)->Cluster()->TaskAddress("ps", 0), own);
}

TEST_F(ServerTest, AWorkerGoesOverToTheDispatcherOfAnUpdate) {
  const auto first = Server::CreateLocalServer();
  const auto second = Server::CreateLocalServer();
  ASSERT_TRUE(first.ok() && second.ok());
  const auto cluster = [&](const Server& local) {
    return Def({{"dispatcher", {{0, local.target().substr(6)}}},
                {"worker", {{0, "localhost:0"}}}});
  };
  const auto workers = [&](const Server& local) {
    const auto status = FetchStatus(local.target(), kLong);
    EXPECT_TRUE(status.ok()) << status.status();
    return nlohmann::json::parse(*status)["workers"].size();
  };
  // Before Start, an update sets the initial cluster.
  auto options = Task("worker", 0);
  options.start = false;
  const auto worker =
      Server::Create(Def({{"dispatcher", {{0, "nowhere.invalid:1"}}},
                          {"worker", {{0, "localhost:0"}}}}),
                     options);
  ASSERT_TRUE(worker.ok()) << worker.status();
  ASSERT_TRUE((*worker)->UpdateServerDef({.cluster = cluster(**first)}).ok());
  ASSERT_TRUE((*worker)->Start().ok());
  ASSERT_TRUE((*worker)->WaitReady(kLong).ok());
  EXPECT_EQ(workers(**first), 2);
  ASSERT_TRUE((*worker)->UpdateServerDef({.cluster = cluster(**second)}).ok());
  while (workers(**second) != 2) std::this_thread::yield();
  // Without a dispatcher in the update, the worker keeps its present one.
  ASSERT_TRUE((*worker)
                  ->UpdateServerDef(
                      {.cluster = Def({{"worker", {{0, "localhost:0"}}}})})
                  .ok());
  EXPECT_THAT(ReadThrough((*second)->target()), Squares());
}

TEST_F(ServerTest, AnUpdateThatCannotBeChangesNothing) {
  const ClusterDef cluster = Def(
      {{"dispatcher", {{0, "localhost:5"}}}, {"worker", {{0, "localhost:0"}}}});
  auto options = Task("worker", 0);
  options.config.publish = "";
  const auto server = Server::Create(cluster, options);
  ASSERT_TRUE(server.ok()) << server.status();
  const ServerDef before = (*server)->server_def();
  const auto refuses = [&](const ServerDef& def, const std::string& why) {
    const absl::Status status = (*server)->UpdateServerDef(def);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(why));
    EXPECT_EQ((*server)->server_def(), before);
  };
  refuses({.cluster = Def({{"worker", {{0, "no port"}}}})}, "no port");
  refuses({.cluster = cluster, .job_name = "ps"},
          "cannot become task 0 of job \"ps\"");
  refuses({.cluster = cluster, .task_index = 1}, "cannot become task 1");
  refuses({.cluster = cluster, .protocol = "grpc"}, "\"grpc\"");
  refuses({.cluster = cluster, .port = 7}, "port 7");
  refuses({.cluster = Def({{"dispatcher", {{0, "d:1"}, {1, "e:1"}}}})},
          "one dispatcher");
  refuses({.cluster = Def({{"dispatcher", {{0, "d:0"}}}})}, "has no port yet");
  (*server)->Stop();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      (*server)->UpdateServerDef({.cluster = cluster})));
}

TEST_F(ServerTest, ATaskIsWhereItAdvertises) {
  ServerConfig config;
  config.endpoint.advertise = "mill.example.org";
  auto local = Server::CreateLocalServer(config);
  ASSERT_TRUE(local.ok()) << local.status();
  EXPECT_THAT((*local)->target(), StartsWith("tcp://mill.example.org:"));
  config.endpoint.advertise = "mill.example.org:7000";
  const auto ps =
      Server::Create(Def({{"ps", {{0, "localhost:0"}}}}), {.config = config});
  ASSERT_TRUE(ps.ok()) << ps.status();
  EXPECT_EQ((*ps)->target(), "tcp://mill.example.org:7000");
  EXPECT_EQ((*ps)->server_def().cluster.jobs[0].tasks.at(0),
            "mill.example.org:7000");
  config.endpoint.advertise = "mill.example.org:port";
  EXPECT_THAT(ErrorText(Server::CreateLocalServer(config).status()),
              HasSubstr("advertise"));
}

TEST_F(ServerTest, AWildcardIsNeverAdvertised) {
  for (const std::string job : {"dispatcher", "ps", "local"}) {
    ServerOptions options;
    options.config.endpoint.insecure_bind = true;
    options.config.worker.threads = 1;
    const auto server =
        Server::Create(Def({{job, {{0, "0.0.0.0:0"}}}}), options);
    ASSERT_TRUE(server.ok()) << server.status();
    const auto at = ParseAddress((*server)->target());
    ASSERT_TRUE(at.ok()) << at.status();
    EXPECT_FALSE(IsWildcard(at->host)) << job;
  }
}

TEST_F(ServerTest, AnUnlistedWorkerHasTheNextIndex) {
  const ServerDef first =
      UnlistedWorker(Def({{"dispatcher", {{0, "d:1"}}}}), "localhost:0");
  EXPECT_EQ(first.job_name, "worker");
  EXPECT_EQ(first.task_index, 0);
  const ServerDef later = UnlistedWorker(
      Def({{"worker", {{0, "w:1"}, {7, "x:1"}}}, {"dispatcher", {{0, "d:1"}}}}),
      "localhost:0");
  EXPECT_EQ(later.task_index, 8);
  const auto complete = CompleteServerDef(later);
  ASSERT_TRUE(complete.ok()) << complete.status();
  EXPECT_EQ(*complete->task_index, 8);
}

TEST_F(ServerTest, AJobWithoutAServiceShowsItsNameAndJoins) {
  const ClusterDef cluster =
      Def({{"dispatcher", {{0, "d0:5050"}}}, {"ps", {{0, "localhost:0"}}}});
  const auto server = Server::Create(cluster, Task("ps", 0));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE((*server)->WaitReady(kLong).ok());
  const auto said = FetchStatus((*server)->target(), kLong);
  ASSERT_TRUE(said.ok()) << said.status();
  const auto json = nlohmann::json::parse(*said);
  EXPECT_EQ(json["job"], "ps");
  EXPECT_EQ(json["tasks"][0]["address"], "d0:5050");
  const auto reader = Read(Dataset::Range(3), {.service = (*server)->target()});
  EXPECT_THAT(ErrorText(reader.status()),
              HasSubstr("serves no data; the dispatcher is d0:5050"));
  absl::Status joined = Internal("not joined");
  std::thread joiner([&] { joined = (*server)->Join(); });
  (*server)->Stop();
  joiner.join();
  EXPECT_TRUE(joined.ok());
}

TEST_F(ServerTest, AWorkerWithoutADispatcherListensIfItMay) {
  const auto cluster = ClusterSpec::FromJobs(
      {{"worker", std::vector<std::string>{"localhost:0", "localhost:0"}},
       {"ps", std::vector<std::string>{"localhost:0"}}});
  ServerOptions options{.task = {.job_name = "worker", .task_index = 1}};
  EXPECT_TRUE(absl::IsNotFound(Server::Create(*cluster, options).status()));
  options.config.listens_without_dispatcher = true;
  const auto server = Server::Create(*cluster, options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE((*server)->WaitReady(absl::Seconds(20)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition((*server)->ExportState().status()));
}

TEST_F(ServerTest, ADrainedWorkerEndsItsServer) {
  const ClusterDef cluster = Def(
      {{"dispatcher", {{0, "localhost:0"}}}, {"worker", {{0, "localhost:0"}}}});
  const auto dispatcher = Server::Create(cluster, Task("dispatcher", 0));
  const auto worker = Server::Create(cluster, Task("worker", 0));
  ASSERT_TRUE(dispatcher.ok() && worker.ok());
  ASSERT_TRUE((*worker)->WaitReady(kLong).ok());
  (*worker)->Drain();
  EXPECT_TRUE((*worker)->Join().ok());
  (*dispatcher)->Drain();
  EXPECT_TRUE((*dispatcher)->Join().ok());
}

TEST_F(ServerTest, TheTaskIsInferredWhereThereIsOneOnly) {
  const ClusterDef one = Def({{"ps", {{0, "localhost:0"}}}});
  EXPECT_EQ(CompleteServerDef({.cluster = one})->job_name, "ps");
  const ClusterDef two =
      Def({{"ps", {{0, "a:1"}, {1, "b:1"}}}, {"worker", {{0, "w:1"}}}});
  absl::Status status = Refused({.cluster = two});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("2 jobs (ps, worker)"));
  status = Refused({.cluster = two, .job_name = "ps"});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("job \"ps\" has 2 tasks"));
  // The task's fields override the def. The def's index applies only to the
  // def's job.
  const auto def =
      CompleteServerDef({.cluster = two, .job_name = "ps", .task_index = 1},
                        {.job_name = "worker"});
  ASSERT_TRUE(def.ok()) << def.status();
  EXPECT_EQ(def->task_index, 0);
}

TEST_F(ServerTest, BadDefsAreErrorsThatSayWhy) {
  const ClusterDef cluster =
      Def({{"dispatcher", {{0, "d:0"}}}, {"worker", {{0, "w:1"}}}});
  const auto says = [](const absl::Status& status, const std::string& text) {
    EXPECT_THAT(ErrorText(status), HasSubstr(text));
    return status.code();
  };
  EXPECT_EQ(says(Refused({}), "no jobs"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(says(Refused({.cluster = cluster, .job_name = "wroker"}),
                 "did you mean \"worker\""),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(
      says(Refused(
               {.cluster = cluster, .job_name = "worker", .protocol = "grpc"}),
           "no protocol \"grpc\""),
      absl::StatusCode::kNotFound);
  EXPECT_EQ(says(Refused({.cluster = cluster, .job_name = "worker"}),
                 "has no port yet"),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(says(Refused({.cluster = Def({{"worker", {{0, "w:1"}}}})}),
                 "no job \"dispatcher\""),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(
      says(Refused({.cluster = Def({{"dispatcher", {{0, "d:1"}, {1, "e:1"}}},
                                    {"worker", {{0, "w:1"}}}}),
                    .job_name = "worker"}),
           "has one dispatcher"),
      absl::StatusCode::kInvalidArgument);
  auto options = Task("ps", 0);
  options.config.publish = "/no/such/folder";
  EXPECT_EQ(
      says(Refused({.cluster = Def({{"ps", {{0, "localhost:0"}}}})}, options),
           "/no/such/folder"),
      absl::StatusCode::kInvalidArgument);
}

TEST_F(ServerTest, ADamagedBoardIsNamed) {
  std::ofstream(folder_ / "dispatcher-0") << "nonsense\n";
  const auto worker = Server::Create(Def({{"dispatcher", {{0, "localhost:0"}}},
                                          {"worker", {{0, "localhost:0"}}}}),
                                     Task("worker", 0));
  ASSERT_TRUE(worker.ok()) << worker.status();
  const absl::Status status = (*worker)->Join();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("dispatcher-0"));
}

TEST_F(ServerTest, MisuseIsSafeInEveryState) {
  const auto unstarted = Server::CreateLocalServer({}, /*start=*/false);
  ASSERT_TRUE(unstarted.ok());
  EXPECT_EQ((*unstarted)->target(), "");
  EXPECT_TRUE(absl::IsFailedPrecondition((*unstarted)->Join()));
  EXPECT_TRUE(absl::IsFailedPrecondition((*unstarted)->WaitReady(kLong)));
  (*unstarted)->Stop();
  (*unstarted)->Stop();
  EXPECT_TRUE(absl::IsFailedPrecondition((*unstarted)->Start()));
  EXPECT_TRUE((*unstarted)->Join().ok());

  auto running = Server::CreateLocalServer();
  ASSERT_TRUE(running.ok());
  EXPECT_TRUE((*running)->Start().ok());
  { const auto never_started = Server::CreateLocalServer({}, false); }
}

}  // namespace
}  // namespace feedmill
