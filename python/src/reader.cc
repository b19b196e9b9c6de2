#include "python/src/reader.h"

#include <chrono>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/status.h"
#include "python/src/gil.h"
#include "python/src/loader.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

namespace nb = nanobind;

// ReadWait::what of a reader that has no elements left to return.
constexpr std::string_view kWaitsForReaders = "the other readers of its job";

// The readers of all threads that share a job. Read and written with the GIL.
std::set<const PythonReader*>& Sharers() {
  static auto* const sharers = new std::set<const PythonReader*>;
  return *sharers;
}

}  // namespace

struct Waiting {
  std::string service;
  std::string job;
  const PythonReader* reader = nullptr;
  bool for_others = false;  // only other readers of the job can end it
};

bool PythonReader::MustEnd(const Waiting& waiting) {
  if (SignalRaised()) return true;
  if (!waiting.for_others) return false;
  const GilHold gil;
  for (const PythonReader* other : Sharers()) {
    if (other == waiting.reader || other->ended_ || other->closed() ||
        other->process_.foreign() ||
        other->waiting_->service != waiting.service ||
        other->waiting_->job != waiting.job ||
        other->last_used_by_ != std::this_thread::get_id()) {
      continue;
    }
    try {
      Raise(FailedPrecondition(
          "job \"{}\": this thread has two readers of it, and one waits for "
          "the "
          "elements that the other was given; read them in two threads, or "
          "close the other one before this one ends",
          waiting.job));
    } catch (nb::python_error& error) {
      error.restore();
    }
    return true;
  }
  return false;
}

std::shared_ptr<Waiting> WaitInPython(ReadOptions& options) {
  auto waiting = std::make_shared<Waiting>();
  waiting->service = options.service;
  waiting->job = options.job.name;
  options.hooks.interrupted = [waiting] {
    return PythonReader::MustEnd(*waiting);
  };
  options.hooks.on_wait =
      [waiting, also = std::move(options.hooks.on_wait)](const ReadWait& wait) {
        waiting->for_others = wait.what == kWaitsForReaders;
        if (also) also(wait);
      };
  return waiting;
}

PythonReader::PythonReader(const PythonPipeline& pipeline, ReadOptions options,
                           Nulls nulls, bool logical)
    : shared_(pipeline.unordered()),
      nulls_(nulls),
      logical_(logical),
      waiting_(WaitInPython(options)) {
  own_ = Take(Interruptible(
      [&] { return Read(pipeline.graph(), std::move(options)); }));
  Begin(*own_);
}

PythonReader::PythonReader(PythonLoader& loader, Reader& reader, bool shared,
                           Nulls nulls, std::shared_ptr<Waiting> waiting)
    : shared_(shared),
      nulls_(nulls),
      waiting_(std::move(waiting)),
      loader_(&loader) {
  Begin(reader);
}

void PythonReader::Begin(Reader& reader) {
  reader_ = &reader;
  if (nulls_ == Nulls::kSplit) {
    const absl::Status names = CheckMaskNames(reader.spec());
    if (!names.ok()) {
      End();
      Raise(names);
    }
  }
  waiting_->reader = this;
  if (shared_ && !waiting_->service.empty() && !waiting_->job.empty()) {
    Sharers().insert(this);
  }
}

PythonReader::~PythonReader() {
  Sharers().erase(this);
  // Its threads exist only in the parent process and cannot be joined here.
  if (process_.foreign()) {
    static_cast<void>(own_.release());
    return;
  }
  arrays_ = {};
  End();
}

void PythonReader::End() {
  if (std::exchange(reader_, nullptr) == nullptr) return;
  if (loader_ != nullptr) {
    loader_->EndEpoch();
    return;
  }
  std::unique_ptr<Reader> closing = std::move(own_);
  WithoutGil([&] { closing.reset(); });
}

Reader& PythonReader::Usable() {
  process_.Check("reader");
  if (used_by_ != std::thread::id()) {
    Raise(FailedPrecondition(
        "another thread takes this reader's next element; use a reader from "
        "one thread, or with a lock around it"));
  }
  if (reader_ == nullptr) {
    Raise(FailedPrecondition(
        "this reader is closed; Dataset.read makes another one, which with "
        "state=… continues after the last element"));
  }
  return *reader_;
}

void PythonReader::CheckEnd(bool ended, const absl::Status& status) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (!ended) Raise(status);
}

bool PythonReader::Advance() {
  Reader& reader = *reader_;
  waiting_->for_others = false;
  last_used_by_ = std::this_thread::get_id();
  WithoutGil([&] {
    if (at_ == reader.end()) {
      at_ = reader.begin();
    } else {
      ++at_;
    }
  });
  if (at_ == reader.end()) {
    arrays_ = {};
    ended_ = reader.ended();
    CheckEnd(ended_, reader.status());
    return false;
  }
  row_ = (*at_).row();
  if (row_ == 0) {
    arrays_ = ChunkArrays((*at_).chunk(), nulls_, logical_);
    has_null_ = nulls_ == Nulls::kError && arrays_.FirstNull(0, arrays_.rows());
  }
  begun_ = true;
  return true;
}

void PythonReader::CheckNoneRefused() const { Check(refused_); }

void PythonReader::RefuseNulls(const ChunkArrays& arrays, size_t begin,
                               size_t end) {
  const auto component = arrays.FirstNull(begin, end);
  if (!component) return;
  refused_ = InvalidArgument(
      "component \"{0}\" is null, and nulls=\"error\" is the default: read "
      "with "
      "nulls=\"masked\" for None and masked arrays, or with nulls=\"fill\" for "
      "0 or an empty value; or have no nulls, by "
      ".with_columns({0}=\"fill_null({0}, …)\") or .filter(\"not "
      "is_null({0})\")",
      *component);
  CheckNoneRefused();
}

PyObject* PythonReader::NextElement() {
  Usable();
  CheckNoneRefused();
  const Use use(used_by_);
  // Within a chunk, a call waits only if sharing readers report their progress.
  if (row_ + 1 < arrays_.rows() && !shared_) {
    ++at_;
    ++row_;
  } else if (!Advance()) {
    return nullptr;
  }
  if (has_null_) RefuseNulls(arrays_, row_, row_ + 1);
  return KeepingRefusal(arrays_, [&] {
    PyObject* const element = arrays_.Row(row_);
    if (element == nullptr) throw nb::python_error();
    return element;
  });
}

nb::object PythonReader::NextColumns(std::optional<Nulls> nulls) {
  Reader& reader = Usable();
  CheckNoneRefused();
  const Use use(used_by_);
  at_ = {};
  arrays_ = {};
  waiting_->for_others = false;
  last_used_by_ = std::this_thread::get_id();
  auto chunk = WithoutGil([&] { return reader.Next(); });
  if (!chunk.ok() || !chunk->has_value()) {
    ended_ = reader.ended();
    CheckEnd(reader.ended(), chunk.status());
    return nb::none();
  }
  begun_ = true;
  const Nulls form = nulls.value_or(nulls_);
  const ChunkArrays arrays(**std::move(chunk), form, logical_);
  if (form == Nulls::kError) RefuseNulls(arrays, 0, arrays.rows());
  return KeepingRefusal(arrays, [&] { return arrays.Columns(); });
}

std::string PythonReader::Save() {
  Reader& reader = Usable();
  CheckNoneRefused();
  return Take(reader.Save());
}

uint64_t PythonReader::number() { return Take(Usable().number()); }
uint64_t PythonReader::pass() { return Usable().pass(); }
uint64_t PythonReader::epoch() { return Usable().epoch(); }
uint64_t PythonReader::seed() { return Usable().seed(); }
uint64_t PythonReader::skipped() { return Usable().skipped(); }

std::vector<SpecEntry> PythonReader::Spec() {
  return SpecEntries(Usable().spec());
}

void PythonReader::Close() {
  process_.Check("reader");
  if (used_by_ == std::this_thread::get_id()) {  // e.g. in a finalizer
    reader_->Cancel();
    return;
  }
  while (used_by_ != std::thread::id()) {  // at most 50 ms
    // The interpreter ends, and the other thread is blocked (gil.h).
    if (Py_IsInitialized() == 0) return;
    reader_->Cancel();
    const GilRelease release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  at_ = {};
  arrays_ = {};
  End();
}

}  // namespace feedmill::python
