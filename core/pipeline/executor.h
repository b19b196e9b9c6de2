#ifndef FEEDMILL_CORE_PIPELINE_EXECUTOR_H_
#define FEEDMILL_CORE_PIPELINE_EXECUTOR_H_

#include <functional>
#include <memory>

namespace feedmill {

// The threads of a process that run pipeline stages: one long OpenMP parallel
// region, entered by one executor thread, whose threads take work from a
// bounded queue and sleep when there is none. The only user of OpenMP.
//
// Thread-safety: Submit from any thread.
class Executor {
 public:
  // `threads` 0: as many as the cgroup's CPU quota (or the cores) allow.
  explicit Executor(int threads);
  // Work that has not begun is dropped; what runs is waited for. Its reads that
  // wait for a network end (core/io/read_stop.h).
  ~Executor();

  int threads() const;

  // True while an executor of this process starts its threads. If libgomp ends
  // the process then, it got none.
  static bool Starting();

  // Queues work; `work` gets the index of the thread that runs it, in
  // [0, threads()). False if the queue is full or the executor stops.
  bool Submit(std::function<void(int thread)> work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The CPUs that this process may use: its cgroup's quota, its affinity mask.
int AvailableCpus();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_EXECUTOR_H_
