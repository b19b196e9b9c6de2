#include "tools/command/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <thread>

#include "core/base/check.h"
#include "core/net/clock.h"

namespace feedmill {

StopSignals::StopSignals(std::initializer_list<int> signals) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : signals) sigaddset(&mask, signal);
  FM_CHECK(pthread_sigmask(SIG_BLOCK, &mask, &old_mask_) == 0);
  signal_fd_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot wait for signals");
  }
}

StopSignals::~StopSignals() {
  close(signal_fd_);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

std::optional<int> StopSignals::Wait(int fd, absl::Duration timeout) {
  pollfd waits[2] = {{signal_fd_, POLLIN, 0}, {fd, POLLIN, 0}};
  int milliseconds = -1;
  if (timeout < absl::Hours(1)) {
    milliseconds = static_cast<int>(std::max<int64_t>(
        0, absl::ToInt64Milliseconds(timeout + absl::Microseconds(999))));
  }
  if (poll(waits, fd < 0 ? 1 : 2, milliseconds) <= 0) return std::nullopt;
  signalfd_siginfo info;
  if (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    return static_cast<int>(info.ssi_signo);
  }
  return std::nullopt;
}

absl::Status ServeUntilStopped(StopSignals& signals, ServiceNotifier& notifier,
                               const std::function<absl::Status()>& join,
                               const std::function<void(int signal)>& stop) {
  const int ended = eventfd(0, EFD_CLOEXEC);
  if (ended < 0) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot wait for an end");
  }
  absl::Status result;
  std::thread joiner([&] {
    result = join();
    eventfd_write(ended, 1);
  });
  pollfd over{ended, POLLIN, 0};
  while (poll(&over, 1, 0) == 0) {
    if (notifier.NextCheck() <= SteadyNow()) notifier.Check();
    const std::optional<int> signal =
        signals.Wait(ended, notifier.NextCheck() - SteadyNow());
    if (!signal.has_value()) continue;
    notifier.Stopping();
    stop(*signal);
  }
  joiner.join();
  close(ended);
  return result;
}

namespace {

std::atomic<bool> g_cancel = false;
std::atomic<int> g_signal = 0;
std::atomic<int64_t> g_signal_ms = 0;  // time of the signal
pthread_t g_reading_thread;
// A second signal within this time is a copy of the first: timeout(1) signals
// the process and its group.
constexpr int64_t kDuplicateSignalMs = 1'000;

int64_t MonotonicMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe
  return int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

void OnSignal(int signal) {
  if (pthread_equal(pthread_self(), g_reading_thread) == 0) {
    pthread_kill(g_reading_thread, signal);  // interrupts its wait in a write
    return;
  }
  if (g_cancel.exchange(true)) {
    if (MonotonicMs() - g_signal_ms < kDuplicateSignalMs) return;
    _exit(128 + signal);  // the user wants to stop at once
  }
  g_signal_ms = MonotonicMs();
  g_signal = signal;
}

}  // namespace

void ReadInterrupt::CatchSignals() {
  g_reading_thread = pthread_self();
  struct sigaction action {};
  // without SA_RESTART: system calls are interrupted
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& ReadInterrupt::cancel() { return g_cancel; }
int ReadInterrupt::signal() { return g_signal; }

}  // namespace feedmill
