#include "core/net/in_process_channel.h"

#include <unistd.h>

#include <map>
#include <utility>

namespace feedmill {
namespace {

struct Registry {
  std::mutex mu;
  pid_t process = getpid();  // guarded by mu; whose workers these are
  std::map<std::pair<WorkerId, Incarnation>, std::shared_ptr<InProcessChannel>>
      workers;  // guarded by mu
};

// Never destroyed: servers may outlive static objects.
Registry& TheRegistry() {
  static Registry& registry = *new Registry();
  return registry;
}

}  // namespace

std::shared_ptr<InProcessChannel> InProcessChannel::Make(Reactor& reactor,
                                                         Take take) {
  return std::shared_ptr<InProcessChannel>(
      new InProcessChannel(reactor, std::move(take)));
}

bool InProcessChannel::Put(std::shared_ptr<InProcessChannel> from,
                           Message message) {
  const std::lock_guard lock(mu_);
  if (reactor_ == nullptr) return false;
  return reactor_->Post([self = shared_from_this(), from = std::move(from),
                         message = std::move(message)]() mutable {
    self->take_(from, std::move(message));
  });
}

void InProcessChannel::Close() {
  const std::lock_guard lock(mu_);
  reactor_ = nullptr;
}

void AnnounceWorker(const WorkerId& worker, Incarnation incarnation,
                    std::shared_ptr<InProcessChannel> channel) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mu);
  if (registry.process != getpid()) {
    registry.workers.clear();
    registry.process = getpid();
  }
  registry.workers[{worker, incarnation}] = std::move(channel);
}

void WithdrawWorker(const WorkerId& worker, Incarnation incarnation) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mu);
  registry.workers.erase({worker, incarnation});
}

std::shared_ptr<InProcessChannel> FindWorker(const WorkerId& worker,
                                             Incarnation incarnation) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mu);
  if (registry.process != getpid()) return nullptr;
  const auto found = registry.workers.find({worker, incarnation});
  return found == registry.workers.end() ? nullptr : found->second;
}

}  // namespace feedmill
