#include <string>

#include "core/base/status.h"
#include "tests/sim/world.h"

// A process that registers datasets and looks them up. It repeats requests
// until they are answered. A registration that was acknowledged must last.

namespace feedmill::sim {
namespace {

constexpr absl::Duration kAskEvery = absl::Milliseconds(40);
constexpr uint64_t kIds = 8;

}  // namespace

void World::AskRegistry() {
  const uint64_t number = registrar_->Between(0, kIds - 1);
  DatasetRequest request{fmt::format("dataset {}", number), ""};
  // Now and then another graph than before, which is refused.
  if (registrar_->OneIn(2)) {
    request.graph = fmt::format("graph {}", registrar_->OneIn(5) ? 99 : number);
  }
  ++result_.totals["datasets asked for"];
  network_->Send(kRegistrar, kDispatcher, Message(std::move(request)));
  timeline_.After(registrar_->UpTo(kAskEvery), [this] { AskRegistry(); });
}

void World::TakeReply(const DatasetReply& reply) {
  if (reply.seen.journal != journal_) return;  // of a store that is lost
  const auto known = registered_.find(reply.id);
  if (!reply.status.ok()) {
    if (absl::IsNotFound(reply.status)) return;  // it may be late
    ++result_.totals["datasets refused"];
    return;
  }
  if (known == registered_.end()) {
    ++result_.totals["datasets registered"];
    registered_.emplace(reply.id, reply.graph);
    CheckDatasets();
  } else if (known->second != reply.graph) {
    Fail(fmt::format("{} was '{}', and is '{}'", reply.id, known->second,
                     reply.graph));
  }
}

void World::CheckDatasets() {
  for (const auto& [id, graph] : registered_) {
    const auto kept = replica_.datasets.find(id);
    if (kept == replica_.datasets.end() || kept->second != graph) {
      Fail(fmt::format("{} was registered, and is lost", id));
    }
  }
}

}  // namespace feedmill::sim
