#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "feedmill/status.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"
#include "tools/command/security_flags.h"
#include "tools/command/stop_signals.h"
#include "tools/command/top_screen.h"
#include "tools/command/top_view.h"

namespace feedmill {
namespace {

constexpr char kTopSummary[] =
    "Shows in a terminal what a service is doing, live: why each job is not\n"
    "faster, jobs, waits of readers, steps, workers and events. q quits.";
constexpr char kTopExamples[] =
    "Up and down choose a job; PgUp and PgDn move the list of workers.\n"
    "\n"
    "Examples:\n"
    "  feedmill top --service localhost:5050\n"
    "  feedmill top --service 10.0.0.1:5050 --keys /etc/feedmill/keys";

constexpr absl::Duration kRedraw = absl::Milliseconds(200);

// Fetches the status again and again, in a thread: the keys must not wait for a
// dispatcher that does not answer.
class StatusFetcher {
 public:
  using Fetch = std::function<absl::StatusOr<std::string>()>;
  StatusFetcher(Fetch fetch, absl::Duration interval)
      : fetch_(std::move(fetch)), interval_(interval) {
    thread_ = std::thread([this] { Run(); });
  }
  ~StatusFetcher() {
    {
      const std::lock_guard lock(mu_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  StatusFetcher(const StatusFetcher&) = delete;
  StatusFetcher& operator=(const StatusFetcher&) = delete;

  // Takes the status that came since the last call; nullopt: none.
  std::optional<absl::StatusOr<std::string>> Take() {
    const std::lock_guard lock(mu_);
    return std::exchange(last_, std::nullopt);
  }

 private:
  void Run() {
    std::unique_lock lock(mu_);
    while (!ends_) {
      lock.unlock();
      absl::StatusOr<std::string> fetched = fetch_();
      lock.lock();
      last_ = std::move(fetched);
      changed_.wait_for(lock, absl::ToChronoNanoseconds(interval_),
                        [this] { return ends_; });
    }
  }

  const Fetch fetch_;
  const absl::Duration interval_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<std::string>> last_;  // guarded by mu_
  bool ends_ = false;                                // guarded by mu_
  std::thread thread_;
};

// Until q is pressed, or a signal comes.
void ShowUntilQuit(StopSignals& signals, TopScreen& screen, TopView& view,
                   StatusFetcher& fetcher) {
  for (;;) {
    if (auto fetched = fetcher.Take()) {
      view.Add(SteadyNow(), fetched->status(), fetched->value_or(""));
    }
    const auto [width, height] = screen.Size();
    screen.Draw(view.Lines(SteadyNow(), width, height));
    const std::optional<int> signal = signals.Wait(STDIN_FILENO, kRedraw);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return;
    while (const auto pressed = screen.NextKey()) {
      if (pressed->quits) return;
      if (pressed->key.has_value()) view.Press(*pressed->key);
    }
  }
}

}  // namespace

absl::StatusOr<int> RunTop(const Invocation& invocation) {
  std::string service;
  std::string cluster_id;
  SecurityConfig security;
  absl::Duration timeout = absl::Seconds(2);
  absl::Duration interval = absl::Seconds(1);
  FlagSet flags("top", kTopSummary, kTopExamples);
  flags.Text("--service", "HOST:PORT", "Address of the dispatcher (required)",
             &service);
  flags.Duration("--interval", "Pause between two requests", &interval);
  flags.Duration("--timeout", "Longest wait for an answer", &timeout);
  flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
             &cluster_id);
  DeclareKeys(flags, &security);
  DeclareServerKey(flags, &security);
  flags.Configurable();
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (service.empty()) return flags.Error("--service HOST:PORT is missing");

  StopSignals signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
  TopView view(service);
  StatusFetcher fetcher(
      [=] { return FetchStatus(service, timeout, cluster_id, security); },
      interval);
  FM_ASSIGN_OR_RETURN(const std::unique_ptr<TopScreen> screen,
                      TopScreen::Open());
  ShowUntilQuit(signals, *screen, view, fetcher);
  return 0;
}

}  // namespace feedmill
