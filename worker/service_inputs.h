#ifndef FEEDMILL_WORKER_SERVICE_INPUTS_H_
#define FEEDMILL_WORKER_SERVICE_INPUTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/dataset/graph.h"
#include "core/net/address.h"
#include "core/pipeline/input_service.h"

namespace feedmill {

// The data that all services of inputs in a worker share.
struct ServicePlace {
  Address dispatcher;
  std::string cluster_id;
  std::atomic<uint32_t> workers{0};  // that take leases
  std::atomic<size_t> open{0};       // inputs that are read now
  // Elements that are received ahead, roughly, of all inputs together.
  size_t bytes_max = 0;
  // No input is read before this time (SteadyNow, nanoseconds): a worker could
  // not be reached.
  std::atomic<int64_t> not_before{0};
};

// Returns the service of a pipeline's inputs. An input is read as any reader
// reads it: by a job without a name, whose pipeline is that part of `graph`.
std::shared_ptr<InputService> MakeServiceInputs(
    Graph graph, std::shared_ptr<ServicePlace> place);

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_SERVICE_INPUTS_H_
