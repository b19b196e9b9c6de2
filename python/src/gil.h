#ifndef FEEDMILL_PYTHON_SRC_GIL_H_
#define FEEDMILL_PYTHON_SRC_GIL_H_

#include <cxxabi.h>
#include <nanobind/nanobind.h>

// The GIL, and the end of the interpreter. Nothing else in python/src releases
// or takes the GIL, or calls functions written in Python.
//
// If a daemon thread takes the GIL after the interpreter began to end, CPython
// before 3.14 ends the thread by pthread_exit. The unwinding would abort the
// process in the first noexcept function, such as a destructor. The scopes and
// functions below block the thread instead until the process ends, as CPython
// 3.14 does.

namespace feedmill::python {

[[noreturn]] void BlockForever();

// Returns work(), which may take the GIL. REQUIRES: work() has no object with a
// destructor, which would run without the GIL.
template <class Work>
auto EnterPython(Work&& work) {
  try {
    return work();
  } catch (const abi::__forced_unwind&) {
    BlockForever();
  }
}

// Gives up the GIL in a scope.
class GilRelease {
 public:
  GilRelease();
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
};

// Holds the GIL in a scope, also within a GilRelease of this thread.
class GilHold {
 public:
  GilHold();
  ~GilHold();
  GilHold(const GilHold&) = delete;
  GilHold& operator=(const GilHold&) = delete;

 private:
  PyGILState_STATE state_{};
  bool released_;  // in a GilRelease of this thread
};

// Returns work(), which runs without the GIL.
template <class Work>
auto WithoutGil(Work&& work) {
  const GilRelease release;
  return work();
}

// Calls a Python function. Throws python_error if it raises.
template <class... Arguments>
nanobind::object CallPython(PyObject* function, const Arguments&... arguments) {
  PyObject* const result = EnterPython([&] {
    return PyObject_CallFunctionObjArgs(function, arguments.ptr()..., nullptr);
  });
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_GIL_H_
