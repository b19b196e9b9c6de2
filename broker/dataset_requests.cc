#include "broker/dataset_requests.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kDatasetIdMax = 256;

}  // namespace

void DatasetRequests::Take(const PeerId& from, const DatasetRequest& request) {
  DatasetReply reply;
  reply.id = request.id;
  reply.seen = context_.state.seen();
  const bool registers = !request.graph.empty();
  const auto known = context_.state->datasets.find(request.id);
  if (known != context_.state->datasets.end()) {
    if (registers && known->second != request.graph) {
      reply.status = FailedPrecondition(
          "dataset '{}' is registered with another pipeline; choose another "
          "id, or leave the id out",
          request.id);
    }
  } else if (!registers) {
    reply.status = NotFound(
        "there is no dataset '{}': the dispatcher has {}; register it first",
        request.id, context_.state->datasets.size());
  } else {
    reply.status = CheckNew(request);
    if (reply.status.ok()) {
      context_.state.Commit(DatasetRegistered{request.id, request.graph});
    }
  }
  if (reply.status.ok()) reply.graph = context_.state->datasets.at(request.id);
  context_.outbox.Send(from, std::move(reply));
}

absl::Status DatasetRequests::CheckNew(const DatasetRequest& request) const {
  if (request.id.empty() || request.id.size() > kDatasetIdMax) {
    return InvalidArgument("the id of a dataset has 1 to {} bytes, not {}",
                           kDatasetIdMax, request.id.size());
  }
  FM_RETURN_IF_ERROR(context_.planner.fingerprint(request.graph).status());
  if (context_.state->datasets.size() >= context_.settings.datasets_max) {
    return ResourceExhausted(
        "the dispatcher has {} datasets, its limit; use one of them, or start "
        "it with another work-dir",
        context_.state->datasets.size());
  }
  uint64_t bytes = request.id.size() + request.graph.size();
  for (const auto& [id, graph] : context_.state->datasets) {
    bytes += id.size() + graph.size();
  }
  if (bytes <= context_.settings.dataset_bytes_max) return absl::OkStatus();
  return ResourceExhausted(
      "the datasets of the dispatcher would have {} bytes, its limit is {}",
      bytes, context_.settings.dataset_bytes_max);
}

}  // namespace feedmill
