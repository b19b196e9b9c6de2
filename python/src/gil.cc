#include "python/src/gil.h"

#include <unistd.h>

#include <utility>

namespace feedmill::python {
namespace {

// The state of this thread in a GilRelease, else null. PyGILState_Ensure would
// look for it in memory that the interpreter frees at its end.
thread_local PyThreadState* t_released = nullptr;

void TakeBack() {
  PyThreadState* const state = std::exchange(t_released, nullptr);
  EnterPython([state] { PyEval_RestoreThread(state); });
}

}  // namespace

void BlockForever() {
  for (;;) pause();
}

GilRelease::GilRelease() { t_released = PyEval_SaveThread(); }

GilRelease::~GilRelease() { TakeBack(); }

GilHold::GilHold() : released_(t_released != nullptr) {
  if (released_) {
    TakeBack();
  } else {
    state_ = EnterPython([] { return PyGILState_Ensure(); });
  }
}

GilHold::~GilHold() {
  if (released_) {
    t_released = PyEval_SaveThread();
  } else {
    PyGILState_Release(state_);
  }
}

}  // namespace feedmill::python
