#include "tools/command/verdict_watch.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace feedmill {

std::string VerdictOf(const std::string& status, const std::string& job) {
  const auto parsed = nlohmann::json::parse(status, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("jobs")) return "";
  for (const auto& each : parsed["jobs"]) {
    if (!each.is_object() || each.value("name", "") != job) continue;
    const auto verdict = each.value("verdict", nlohmann::json::object());
    if (!verdict.is_object() || verdict.value("bound_by", "none") == "none") {
      return "";
    }
    return verdict.value("sentence", "");
  }
  return "";
}

VerdictWatch::VerdictWatch(std::function<absl::StatusOr<std::string>()> status,
                           std::string job)
    : status_(std::move(status)),
      job_(std::move(job)),
      thread_([this] { Run(); }) {}

void VerdictWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!stopped_changed_.wait_for(lock, std::chrono::milliseconds(500),
                                    [this] { return stopped_; })) {
    lock.unlock();
    const absl::StatusOr<std::string> status = status_();
    std::string sentence = status.ok() ? VerdictOf(*status, job_) : "";
    if (!sentence.empty()) last_ = std::move(sentence);
    lock.lock();
  }
}

std::string VerdictWatch::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stopped_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return last_;
}

}  // namespace feedmill
