#ifndef FEEDMILL_PYTHON_SRC_LOADER_H_
#define FEEDMILL_PYTHON_SRC_LOADER_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "feedmill/loader.h"
#include "python/src/pipeline.h"
#include "python/src/process.h"
#include "python/src/reader.h"
#include "python/src/status.h"

namespace feedmill::python {

// A Loader for Python. A PythonReader gives the elements of each epoch. Waits
// as it does.
//
// Thread-safety: one thread at a time; Close from any thread. Any other call
// raises FailedPrecondition while a thread is in a call.
class PythonLoader {
 public:
  // Raises the error of the options' token.
  PythonLoader(const PythonPipeline& pipeline, ReadOptions options,
               Nulls nulls);
  ~PythonLoader();
  PythonLoader(const PythonLoader&) = delete;
  PythonLoader& operator=(const PythonLoader&) = delete;

  // Closes the present reader, and returns the one of the next epoch. It must
  // not outlive this object. Raises FailedPrecondition after an error within an
  // epoch.
  PythonReader* NextEpoch();
  void Close();
  // Closes the present reader, and goes to a token.
  void Load(std::string token);
  // Closes the present reader if it has reached its end, and sets the epoch.
  void SetEpoch(uint64_t epoch);
  std::string Save();
  // Returns the number of elements of an epoch. Also while another thread waits
  // for an element.
  std::optional<uint64_t> Size();
  // Returns the result of another method of Loader.
  template <class Method>
  auto Call(Method method) {
    Usable();
    return CallIdle(method);
  }
  // For methods that neither wait nor change the loader. Also in a forked
  // child.
  const Loader& loader() const { return *loader_; }
  // True in a forked child of the process that made it.
  bool foreign() const { return process_.foreign(); }

  // Ends the epoch of a PythonReader, which is closed.
  void EndEpoch();

 private:
  // Raises if a thread opens or closes a reader.
  void CheckIdle() const;
  // Raises unless this thread can use the loader and its reader.
  void Usable();
  // The same, after the present reader is closed.
  void CloseReader();
  template <class Method>
  auto CallIdle(Method method) {
    const Use use(used_by_);
    return Take(Interruptible([&] { return std::invoke(method, *loader_); }));
  }

  const bool unordered_;
  const Nulls nulls_;
  const ProcessMark process_;
  std::shared_ptr<Waiting> waiting_;
  std::unique_ptr<Loader> loader_;
  PythonReader* current_ = nullptr;  // not closed
  // The thread that is in a call. See PythonReader.
  std::thread::id used_by_{};
};

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_LOADER_H_
