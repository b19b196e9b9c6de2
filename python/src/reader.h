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

// A Reader for Python: it gives NumPy arrays, releases the GIL while it waits,
// and lets Ctrl-C end a wait within 50 ms without ending the reading.
//
// A reader that shares its job waits at its end for the job's other readers. If
// this thread has one of them, the wait would not end: it raises
// FailedPrecondition after 2 s.
//
// Thread-safety: one thread at a time; Close from any. Other calls while a
// thread is in one raise FailedPrecondition.
class PythonReader {
 public:
  // Waits as Read does.
  PythonReader(const PythonPipeline& pipeline, ReadOptions options);
  ~PythonReader();
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  // The next element. A new reference; null at the end.
  PyObject* NextElement();
  // The elements of the next chunk (ChunkArrays::Columns), or the rest of the
  // chunk that NextElement is in; None at the end.
  nanobind::object NextColumns();

  // A token of the place after the last element that was handed out.
  std::string Save();
  // JSON of ShowBatch for the last element that was handed out.
  std::string Provenance();
  uint64_t number();
  uint64_t pass();
  uint64_t epoch();
  uint64_t seed();
  uint64_t skipped();
  std::optional<uint64_t> left() { return Usable().left(); }
  bool begun() const { return begun_; }
  std::vector<SpecEntry> Spec();
  // Addresses of the components of the chunk that NextElement is in; for tests.
  std::vector<uintptr_t> Addresses() const { return arrays_.Addresses(); }

  // Ends the reading. A call that waits in another thread ends with Cancelled.
  void Close();
  bool closed() const { return reader_ == nullptr; }

 private:
  // What a wait knows of its reader, beyond the life of either.
  struct Waiting {
    std::string service;
    std::string job;
    const PythonReader* reader = nullptr;
    bool for_others = false;  // only other readers of the job can end it
  };
  static std::unique_ptr<Reader> Open(const Graph& graph, ReadOptions options,
                                      const std::shared_ptr<Waiting>& waiting);
  // True if a signal handler raised, or if another reader of this thread holds
  // what is waited for; raises so.
  static bool MustEnd(const Waiting& waiting);

  // Raises unless the reader can be used now, by this thread.
  Reader& Usable();
  // Moves to the next element; waits without the GIL. False at the end.
  bool Advance();
  // Raises why a call gave nothing, unless that is the end of the data.
  static void CheckEnd(bool ended, const absl::Status& status);

  const Graph graph_;
  const bool shared_;  // elements go to whichever reader asks
  const ProcessMark process_;
  const std::shared_ptr<Waiting> waiting_;
  std::unique_ptr<Reader> reader_;
  Reader::Iterator at_;
  ChunkArrays arrays_;  // of the chunk that at_ is in
  size_t row_ = 0;      // of arrays_, that was handed out
  bool begun_ = false;  // something was handed out
  bool ended_ = false;
  std::thread::id last_used_by_ = std::this_thread::get_id();
  // The thread that is in a call, which may lose the GIL within it. Read and
  // written with the GIL.
  std::thread::id used_by_{};
};

// The token of the beginning of the epoch after that of `token`, for the same
// rank. Raises InvalidArgument for bytes that are no token.
std::string NextEpochToken(std::string_view token);

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_READER_H_
