// The documentation page of tf.data.experimental.service.DispatchServer, in
// C++.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "core/dataset/graph.h"
#include "examples/seeds/print_list.h"
#include "feedmill/dataset.h"
#include "feedmill/dispatcher.h"
#include "feedmill/worker.h"

using feedmill::Dataset;
using feedmill::DispatchServer;
using Mode = feedmill::Options::ProcessingMode;
using feedmill::WorkerServer;

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

// dispatcher = DispatchServer(); worker = WorkerServer(WorkerConfig(…));
// print(list(dataset.as_numpy_iterator()))
int ReadThroughAService() {
  DispatchServer dispatcher({});
  if (auto status = dispatcher.Start(); !status.ok()) return Fail(status);
  WorkerServer worker({.dispatcher = dispatcher.target()});
  if (auto status = worker.Start(); !status.ok()) return Fail(status);
  // dataset.apply(distribute(processing_mode="parallel_epochs", …))
  const auto dataset = Dataset::Range(10).WithProcessingMode(Mode::kOff);
  return PrintList(feedmill::Read(dataset, {.service = dispatcher.target()}))
             ? 0
             : 1;
}

// dispatcher = DispatchServer(DispatcherConfig(port=…)); dispatcher.join()
int JoinUntilStopped() {
  DispatchServer dispatcher({.endpoint = {.port = 0}});  // the page: 5050
  if (auto status = dispatcher.Start(); !status.ok()) return Fail(status);
  std::thread somebody([&] { dispatcher.Stop(); });
  const absl::Status joined = dispatcher.Join();
  somebody.join();
  if (!joined.ok()) return Fail(joined);
  std::puts("joined");
  return 0;
}

// DispatcherConfig(work_dir=…, fault_tolerant_mode=True)
int KeepStateInAFolder() {
  // Once in a process: file systems behind URLs.
  if (auto status = feedmill::AddStores(); !status.ok()) return Fail(status);
  DispatchServer in_a_bucket({.work_dir = "gs://my-bucket/dispatcher/work_dir",
                              .fault_tolerant_mode = true});
  std::printf("gs://: %s\n",
              in_a_bucket.Start().ok() ? "started" : "refused without a login");
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("feedmill-seed-" + std::to_string(getpid()));
  absl::Status status;
  {
    DispatchServer dispatcher(
        {.work_dir = folder.string(), .fault_tolerant_mode = true});
    status = dispatcher.Start();
  }
  std::filesystem::remove_all(folder);
  if (!status.ok()) return Fail(status);
  std::puts("a folder: started");
  return 0;
}

// dispatcher = DispatchServer(start=False); dispatcher.start()
int StartLater() {
  DispatchServer dispatcher({});
  std::printf("before start: \"%s\"\n", dispatcher.target().c_str());
  if (auto status = dispatcher.Start(); !status.ok()) return Fail(status);
  std::puts("started");
  return 0;  // the destructor stops it
}

}  // namespace

int main() {
  return ReadThroughAService() + JoinUntilStopped() + KeepStateInAFolder() +
         StartLater();
}
