#include "tools/command/read_interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>

namespace feedmill {
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
