#include "python/src/process.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>

#include "core/base/status.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

std::atomic<uint64_t> g_forks{0};

const bool g_counts_forks =
    pthread_atfork(nullptr, nullptr, [] { ++g_forks; }) == 0;

}  // namespace

uint64_t ForkCount() { return g_forks.load(std::memory_order_relaxed); }

bool SignalRaised() {
  const GilHold gil;
  return EnterPython([] { return PyErr_CheckSignals(); }) != 0;
}

void ProcessMark::RaiseForeign(const char* what) {
  Raise(FailedPrecondition(
      "this {} was made before the process forked, and its threads are in the "
      "parent; make another one in the child, or start the child with "
      "multiprocessing's \"spawn\" or \"forkserver\"",
      what));
}

}  // namespace feedmill::python
