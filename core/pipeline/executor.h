#ifndef FEEDMILL_CORE_PIPELINE_EXECUTOR_H_
#define FEEDMILL_CORE_PIPELINE_EXECUTOR_H_

#include <functional>
#include <memory>

namespace feedmill {

// The threads of a process that run pipeline stages. One executor thread enters
// one long OpenMP parallel region. Its threads take work from a bounded queue
// and sleep when the queue is empty. The only user of OpenMP.
//
// Thread-safety: Submit from any thread.
class Executor {
 public:
  // `threads`: 0 means as many as the cgroup's CPU quota (or the cores) allow.
  explicit Executor(int threads);
  // Drops work that has not begun, and waits for running work. Network reads of
  // running work are interrupted (core/io/read_stop.h).
  ~Executor();

  int threads() const;

  // True while an executor of this process starts its threads. If libgomp ends
  // the process during that time, it could not create a thread.
  static bool Starting();

  // True if work waits for a thread.
  bool HasQueued() const;
  // Queues `work`, which receives the index in [0, threads()) of its thread.
  // Returns false if the queue is full or the executor stops.
  bool Submit(std::function<void(int thread)> work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_EXECUTOR_H_
