#ifndef FEEDMILL_PYTHON_SRC_READER_H_
#define FEEDMILL_PYTHON_SRC_READER_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "feedmill/reader.h"
#include "python/src/arrays.h"
#include "python/src/pipeline.h"
#include "python/src/process.h"

namespace feedmill::python {

class PythonLoader;
class PythonReader;

// The state that a wait needs of its reader. It outlives both.
struct Waiting;
// Has waits of a reader with these options run signal handlers.
std::shared_ptr<Waiting> WaitInPython(ReadOptions& options);

// Marks an object as in use by this thread. Any call into Python may give the
// GIL to another thread, even to a waiting thread that closes the object.
class Use {
 public:
  explicit Use(std::thread::id& by) : by_(by) {
    by_ = std::this_thread::get_id();
  }
  ~Use() { by_ = std::thread::id(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  std::thread::id& by_;
};

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
  PythonReader(const PythonPipeline& pipeline, ReadOptions options, Nulls nulls,
               bool logical);
  // The reader of an epoch, which `loader` owns. `loader` outlives this object.
  PythonReader(PythonLoader& loader, Reader& reader, bool shared, Nulls nulls,
               std::shared_ptr<Waiting> waiting);
  ~PythonReader();
  PythonReader(const PythonReader&) = delete;
  PythonReader& operator=(const PythonReader&) = delete;

  // Returns the next element as a new reference, or null at the end. With
  // Nulls::kError, raises InvalidArgument for a null. Then this, NextColumns
  // and Save raise the same error again.
  PyObject* NextElement();
  // Returns the elements of the next chunk (ChunkArrays::Columns), or the
  // unread elements of NextElement's current chunk. None at the end. `nulls`
  // replaces the reader's form.
  nanobind::object NextColumns(std::optional<Nulls> nulls);

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

  // Returns the reader. Raises unless this thread can use it now.
  Reader& Usable();
  // Ends the reading. A call that waits in another thread ends with Cancelled.
  void Close();
  bool closed() const { return reader_ == nullptr; }
  // Raises if a null or a text that is not UTF-8 has ended the reading.
  void CheckNoneRefused() const;
  bool refused() const { return !refused_.ok(); }

 private:
  friend std::shared_ptr<Waiting> WaitInPython(ReadOptions& options);
  // True if a signal handler raised, or if another reader of this thread blocks
  // the wait. In both cases a Python exception is set.
  static bool MustEnd(const Waiting& waiting);

  // Returns make(); keeps the reason if it raises for a text.
  template <class F>
  auto KeepingRefusal(const ChunkArrays& arrays, const F& make) {
    try {
      return make();
    } catch (...) {
      refused_ = arrays.bad_text();
      throw;
    }
  }
  // Raises if rows [begin, end) have a null.
  void RefuseNulls(const ChunkArrays& arrays, size_t begin, size_t end);
  // Moves to the next element. Waits without the GIL. False at the end.
  bool Advance();
  void Begin(Reader& reader);
  // Destroys the reader, or has the loader do it, without the GIL.
  void End();
  // Raises the reason for a call without a result, unless it is the end of the
  // data.
  static void CheckEnd(bool ended, const absl::Status& status);

  const bool shared_;  // each element goes to the first reader that asks
  const Nulls nulls_;
  const bool logical_ = true;
  const ProcessMark process_;
  const std::shared_ptr<Waiting> waiting_;
  std::unique_ptr<Reader> own_;  // null: loader_ owns reader_
  PythonLoader* const loader_ = nullptr;
  Reader* reader_ = nullptr;  // null: closed
  Reader::Iterator at_;
  ChunkArrays arrays_;     // arrays of at_'s chunk
  size_t row_ = 0;         // last returned row of arrays_
  bool has_null_ = false;  // arrays_ has one, which is an error
  absl::Status refused_;   // a null, or a text that is not UTF-8
  bool begun_ = false;     // an element was returned
  bool ended_ = false;
  std::thread::id last_used_by_ = std::this_thread::get_id();
  // The thread that is in a call. It may lose the GIL within the call. Read and
  // written with the GIL.
  std::thread::id used_by_{};
};

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_READER_H_
