// The documentation page of tf.data.experimental.service.WorkerServer, in C++.

#include <cstdio>
#include <thread>

#include "core/dataset/graph.h"
#include "examples/seeds/print_list.h"
#include "feedmill/dispatcher.h"
#include "feedmill/worker.h"

using feedmill::Dataset;
using feedmill::DispatchServer;
using feedmill::WorkerServer;

int main() {
  DispatchServer dispatcher({});
  if (!dispatcher.Start().ok()) return 1;
  // dispatcher_address = dispatcher.target.split("://")[1]
  const std::string address = dispatcher.target().substr(6);
  WorkerServer worker({.dispatcher = address});
  if (!worker.Start().ok()) return 1;
  // dataset.apply(distribute(processing_mode="parallel_epochs", …))
  const auto dataset = Dataset::Range(10).WithProcessingMode(
      feedmill::Options::ProcessingMode::kOff);
  if (!PrintList(feedmill::Read(dataset, {.service = dispatcher.target()}))) {
    return 1;
  }
  // "This method currently blocks forever"; here it returns when the worker has
  // drained.
  std::thread somebody([&] { worker.Drain(); });
  const absl::Status joined = worker.Join();
  somebody.join();
  std::puts(joined.ok() ? "joined" : joined.ToString().c_str());
  return joined.ok() ? 0 : 1;
}
