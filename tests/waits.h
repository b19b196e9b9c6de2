#ifndef FEEDMILL_TESTS_WAITS_H_
#define FEEDMILL_TESTS_WAITS_H_

#include <chrono>
#include <functional>
#include <thread>

namespace feedmill {

// Waits until `fact` holds, at most 60 s; returns the fact. A test waits for a
// fact, never for a time: the machine may be busy. A rule of tests/lint refuses
// other sleeps.
inline bool Eventually(const std::function<bool()>& fact) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fact()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_WAITS_H_
