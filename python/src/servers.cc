#include "python/src/servers.h"

#include <chrono>
#include <thread>

namespace feedmill::python {

void AwaitEnd(const std::function<bool()>& running) {
  for (;;) {
    {
      const nanobind::gil_scoped_release release;
      if (!running()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }
}

}  // namespace feedmill::python
