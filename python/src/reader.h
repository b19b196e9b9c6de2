#ifndef FEEDMILL_PYTHON_SRC_READER_H_
#define FEEDMILL_PYTHON_SRC_READER_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "feedmill/reader.h"
#include "python/src/arrays.h"
#include "python/src/pipeline.h"
#include "python/src/process.h"

namespace feedmill::python {

// A Reader for Python. It returns NumPy arrays and releases the GIL while it
// waits. Ctrl-C ends a wait within 50 ms but does not end the reading.
//
// A reader that shares its job waits at its end for the other readers of the
// job. If this thread holds one of them, the wait would never end: after 2 s it
// raises FailedPrecondition.
//
// Thread-safety: one thread at a time; Close from any thread. Any other call
// raises FailedPrecondition while a thread is in a call.
class PythonReader {
 public:
  // Opens the reader. Waits as Read does.
  PythonReader(const PythonPipeline& pipeline, ReadOptions options);
  ~PythonReader();
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  // Returns the next element as a new reference, or null at the end.
  PyObject* NextElement();
  // Returns the elements of the next chunk (ChunkArrays::Columns), or the
  // unread elements of NextElement's current chunk. None at the end.
  nanobind::object NextColumns();

  // Returns a token of the position after the last returned element.
  std::string Save();
  uint64_t number();
  uint64_t pass();
  uint64_t epoch();
  uint64_t seed();
  uint64_t skipped();
  std::optional<uint64_t> left() { return Usable().left(); }
  bool begun() const { return begun_; }
  std::vector<SpecEntry> Spec();
  // Returns the addresses of the components of NextElement's current chunk. For
  // tests.
  std::vector<uintptr_t> Addresses() const { return arrays_.Addresses(); }

  // Ends the reading. A call that waits in another thread ends with Cancelled.
  void Close();
  bool closed() const { return reader_ == nullptr; }

 private:
  // State that a wait needs of its reader. It outlives both.
  struct Waiting {
    std::string service;
    std::string job;
    const PythonReader* reader = nullptr;
    bool for_others = false;  // only other readers of the job can end it
  };
  static std::unique_ptr<Reader> Open(const Graph& graph, ReadOptions options,
                                      const std::shared_ptr<Waiting>& waiting);
  // True if a signal handler raised, or if another reader of this thread blocks
  // the wait. In both cases a Python exception is set.
  static bool MustEnd(const Waiting& waiting);

  // Returns the reader. Raises unless this thread can use it now.
  Reader& Usable();
  // Moves to the next element. Waits without the GIL. False at the end.
  bool Advance();
  // Raises the reason for a call without a result, unless it is the end of the
  // data.
  static void CheckEnd(bool ended, const absl::Status& status);

  const bool shared_;  // each element goes to the first reader that asks
  const ProcessMark process_;
  const std::shared_ptr<Waiting> waiting_;
  std::unique_ptr<Reader> reader_;
  Reader::Iterator at_;
  ChunkArrays arrays_;  // arrays of at_'s chunk
  size_t row_ = 0;      // last returned row of arrays_
  bool begun_ = false;  // an element was returned
  bool ended_ = false;
  std::thread::id last_used_by_ = std::this_thread::get_id();
  // The thread that is in a call. It may lose the GIL within the call. Read and
  // written with the GIL.
  std::thread::id used_by_{};
};

// Returns the token for the beginning of the next epoch after `token`'s,
// for the same rank. Raises InvalidArgument if the bytes are no token.
std::string NextEpochToken(std::string_view token);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_READER_H_
