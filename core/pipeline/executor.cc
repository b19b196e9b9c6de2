#include "core/pipeline/executor.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/io/read_stop.h"
#include "core/process/process_quota.h"

namespace feedmill {
namespace {

constexpr size_t kQueueMaxPerThread = 256;

// Gives the calling thread, and threads that it starts, the policy SCHED_BATCH.
// When woken for work, they take an idle core, but do not preempt the thread
// that reads their output. Threads that transport data do not use it: on a busy
// machine, a chain of threads that each wait for the end of a time slice is
// slow. Does nothing if the kernel refuses or the policy is not SCHED_OTHER.
void UseBatchScheduling() {
  int policy = SCHED_OTHER;
  sched_param priority{};
  if (pthread_getschedparam(pthread_self(), &policy, &priority) != 0) return;
  if (policy != SCHED_OTHER) return;
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority);
}

}  // namespace

namespace {

std::atomic<int> g_starting = 0;  // executors that start threads

}  // namespace

bool Executor::Starting() { return g_starting.load() > 0; }

struct Executor::State {
  explicit State(int count) : threads(count) {}

  // Main loop of each thread of the region, until the executor stops.
  void Serve(int thread) {
    // By now, the region's first thread has started all other threads.
    if (thread == 0) --g_starting;
    const ReadStop stop(stopping);
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return stopping || !queue.empty(); });
      if (stopping) return;
      std::function<void(int)> work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      work(thread);
      work = nullptr;  // destroy captured objects outside the lock
      lock.lock();
    }
  }

  const int threads;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void(int)>> queue;  // guarded by mutex
  std::atomic<bool> stopping = false;          // set under mutex
  std::thread region;  // the executor thread, first of the region
};

Executor::Executor(int threads)
    : state_(std::make_shared<State>(threads > 0 ? threads : AvailableCpus())) {
  state_->region = std::thread([state = state_.get()] {
    UseBatchScheduling();
    omp_set_dynamic(0);  // for this thread only: it gets num_threads threads
    ++g_starting;
    // If the runtime gives fewer threads, they still serve the whole queue.
#pragma omp parallel num_threads(state->threads)
    state->Serve(omp_get_thread_num());
  });
}

Executor::~Executor() {
  std::deque<std::function<void(int)>> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->queue);
  }
  state_->wake.notify_all();
  state_->region.join();
}

bool Executor::HasQueued() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->queue.empty();
}

int Executor::threads() const { return state_->threads; }

bool Executor::Submit(std::function<void(int thread)> work) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping ||
        state_->queue.size() >=
            kQueueMaxPerThread * static_cast<size_t>(state_->threads)) {
      return false;
    }
    state_->queue.push_back(std::move(work));
  }
  state_->wake.notify_one();
  return true;
}

}  // namespace feedmill
