#ifndef FEEDMILL_MONITORING_HANDLER_POOL_H_
#define FEEDMILL_MONITORING_HANDLER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace feedmill {

// Threads that run the handlers of requests. Probes pass other work, and one
// thread takes only probes, so that health checks are answered while handlers
// of other requests take seconds.
//
// Thread-safety: Add from any thread.
class HandlerPool {
 public:
  static constexpr size_t kThreads = 4;

  // At most `waiting_max` probes, and as many other tasks, wait.
  explicit HandlerPool(size_t waiting_max);
  // Waits for the work that runs. Work that waits is dropped.
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // False if too much work waits already.
  bool Add(bool is_probe, std::function<void()> work);

 private:
  using Queue = std::deque<std::function<void()>>;

  void Run(bool probes_only);
  // Returns the queue with the next work of such a thread; null if none waits.
  Queue* Next(bool probes_only);

  const size_t waiting_max_;
  std::mutex mu_;
  std::condition_variable changed_;
  Queue probes_;       // guarded by mu_
  Queue others_;       // guarded by mu_
  bool ends_ = false;  // guarded by mu_
  std::vector<std::thread> threads_;
};

}  // namespace feedmill

#endif  // FEEDMILL_MONITORING_HANDLER_POOL_H_
