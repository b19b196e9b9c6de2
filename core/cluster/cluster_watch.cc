#include "core/cluster/cluster_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace feedmill {

std::vector<ClusterChange> CompareClusters(const ClusterSpec& before,
                                           const ClusterSpec& after) {
  using Addresses = std::pair<std::string, std::string>;
  std::map<std::pair<std::string, int64_t>, Addresses> tasks;
  for (const ClusterDef::Job& job : before.AsClusterDef().jobs) {
    for (const auto& [index, address] : job.tasks) {
      tasks[{job.name, index}].first = address;
    }
  }
  for (const ClusterDef::Job& job : after.AsClusterDef().jobs) {
    for (const auto& [index, address] : job.tasks) {
      tasks[{job.name, index}].second = address;
    }
  }
  std::vector<ClusterChange> changes;
  for (const auto& [task, addresses] : tasks) {
    if (addresses.first == addresses.second) continue;
    changes.push_back(
        {task.first, task.second, addresses.first, addresses.second});
  }
  return changes;
}

std::string ToString(const ClusterChange& change) {
  const std::string task = fmt::format("{}/{}", change.job, change.index);
  if (change.before.empty()) return task + " came at " + change.after;
  if (change.after.empty()) return task + " went from " + change.before;
  return fmt::format("{} moved from {} to {}", task, change.before,
                     change.after);
}

namespace {

constexpr int kBackoffMax = 3;  // doublings

}  // namespace

ClusterWatch::ClusterWatch(std::shared_ptr<const ClusterResolver> resolver,
                           ClusterWatchOptions options)
    : resolver_(std::move(resolver)),
      options_(std::move(options)),
      known_(options_.known),
      thread_([this] { Run(); }) {}

ClusterWatch::~ClusterWatch() { Stop(); }

void ClusterWatch::Stop() {
  {
    const std::lock_guard lock(mu_);
    stopping_ = true;
    stopped_.notify_all();
    if (std::this_thread::get_id() == own_thread_) return;
  }
  const std::lock_guard lock(join_mu_);
  if (thread_.joinable()) thread_.join();
}

void ClusterWatch::Run() {
  std::unique_lock lock(mu_);
  own_thread_ = std::this_thread::get_id();
  while (!stopping_) {
    lock.unlock();
    LookOnce();
    lock.lock();
    const absl::Duration pause =
        options_.interval * (1 << std::min(failures_, kBackoffMax));
    stopped_.wait_for(lock, absl::ToChronoNanoseconds(pause),
                      [this] { return stopping_; });
  }
}

void ClusterWatch::LookOnce() {
  const absl::StatusOr<ClusterView> view = resolver_->Resolve();
  {
    // Stop() was called meanwhile: drop the result.
    const std::lock_guard lock(mu_);
    if (stopping_) return;
  }
  if (!view.ok()) {
    ++failures_;
    const bool same = view.status() == trouble_;
    trouble_ = view.status();
    if (!same && options_.on_trouble) options_.on_trouble(trouble_);
    return;
  }
  failures_ = 0;
  trouble_ = absl::OkStatus();
  const std::vector<ClusterChange> changes =
      CompareClusters(known_, view->spec);
  if (changes.empty()) return;
  known_ = view->spec;
  if (options_.on_change) options_.on_change(*view, changes);
}

}  // namespace feedmill
