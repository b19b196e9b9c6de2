// The documentation page of tf.train.Server, in C++.

#include "feedmill/server.h"

#include <cstdio>
#include <thread>

#include "core/base/status.h"
#include "examples/seeds/print_list.h"

using feedmill::Dataset;
using feedmill::Server;

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main() {
  // server = tf.train.Server.create_local_server(): one task of job "local".
  const auto local = Server::CreateLocalServer();
  if (!local.ok()) return Fail(local.status());
  const feedmill::ServerDef def = (*local)->server_def();
  std::printf("/job:%s/task:%d, %s\n", def.job_name.c_str(),
              static_cast<int>(*def.task_index), def.protocol.c_str());
  // with tf.Session(server.target): …
  if (!PrintList(
          feedmill::Read(Dataset::Range(5), {.service = (*local)->target()}))) {
    return 1;
  }

  // server = tf.train.Server(cluster, job_name="ps", task_index=0, start=False)
  const feedmill::ClusterDef cluster{
      .jobs = {{"ps", {{0, "localhost:0"}}},
               {"worker", {{0, "worker0.example.com:2222"}}}}};
  const auto ps = Server::Create(
      cluster, {.task = {.job_name = "ps", .task_index = 0}, .start = false});
  if (!ps.ok()) return Fail(ps.status());
  if (auto status = (*ps)->Start(); !status.ok()) return Fail(status);
  std::puts((*ps)->target().starts_with("tcp://localhost:") ? "started" : "?");
  // server.join() "currently blocks forever"; here it returns when another
  // thread stops the server.
  std::thread somebody([&] { (*ps)->Stop(); });
  const absl::Status joined = (*ps)->Join();
  somebody.join();
  if (!joined.ok()) return Fail(joined);
  std::puts("joined");
  return 0;
}
