#include "monitoring/handler_pool.h"

#include <utility>

namespace feedmill {

HandlerPool::HandlerPool(size_t waiting_max) : waiting_max_(waiting_max) {
  for (size_t k = 0; k < kThreads; ++k) {
    threads_.emplace_back([this, probes_only = k == 0] { Run(probes_only); });
  }
}

HandlerPool::~HandlerPool() {
  {
    const std::lock_guard lock(mu_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool HandlerPool::Add(bool is_probe, std::function<void()> work) {
  {
    const std::lock_guard lock(mu_);
    Queue& queue = is_probe ? probes_ : others_;
    if (queue.size() >= waiting_max_) return false;
    queue.push_back(std::move(work));
  }
  // Not every thread takes every work.
  changed_.notify_all();
  return true;
}

HandlerPool::Queue* HandlerPool::Next(bool probes_only) {
  if (!probes_.empty()) return &probes_;
  if (!probes_only && !others_.empty()) return &others_;
  return nullptr;
}

void HandlerPool::Run(bool probes_only) {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mu_);
      changed_.wait(lock,
                    [&] { return ends_ || Next(probes_only) != nullptr; });
      if (ends_) return;
      Queue& queue = *Next(probes_only);
      work = std::move(queue.front());
      queue.pop_front();
    }
    work();
  }
}

}  // namespace feedmill
