#ifndef FEEDMILL_PYTHON_SRC_PROCESS_H_
#define FEEDMILL_PYTHON_SRC_PROCESS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/io/read_stop.h"
#include "python/src/gil.h"

namespace feedmill::python {

// Number of forks between the process that loaded the extension and this one.
// Threads do not survive a fork: an object made at another number has no
// threads.
uint64_t ForkCount();

// True if a Python signal handler raised, as Ctrl-C does by default. Takes the
// GIL. Call it on the thread that waits.
bool SignalRaised();

// The same, for work that lists or reads files. If a Python signal handler
// raises, the work ends soon, and its exception is thrown.
template <class Work>
auto Interruptible(Work&& work) {
  auto result = WithoutGil([&] {
    const ReadStop stop{std::function<bool()>{&SignalRaised}};
    return work();
  });
  if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
  return result;
}

// Remembers the process that made an object.
class ProcessMark {
 public:
  bool foreign() const { return forks_ != ForkCount(); }
  // Raises FailedPrecondition in a forked child of that process. `what` names
  // the object.
  void Check(const char* what) const {
    if (foreign()) RaiseForeign(what);
  }

 private:
  [[noreturn]] static void RaiseForeign(const char* what);

  uint64_t forks_ = ForkCount();
};

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_PROCESS_H_
