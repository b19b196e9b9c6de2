#include "python/src/loader.h"

#include <utility>

#include "core/base/status.h"
#include "feedmill/token.h"
#include "python/src/gil.h"
#include "python/src/status.h"

namespace feedmill::python {

PythonLoader::PythonLoader(const PythonPipeline& pipeline, ReadOptions options,
                           Nulls nulls)
    : unordered_(pipeline.unordered()),
      nulls_(nulls),
      waiting_(WaitInPython(options)) {
  loader_ = std::make_unique<Loader>(pipeline.graph(), std::move(options));
  Check(loader_->status());
}

PythonLoader::~PythonLoader() {
  // Its threads exist only in the parent process and cannot be joined here.
  if (foreign()) {
    static_cast<void>(loader_.release());
    return;
  }
  const GilRelease release;
  loader_.reset();
}

void PythonLoader::CheckIdle() const {
  process_.Check("loader");
  if (used_by_ != std::thread::id()) {
    Raise(FailedPrecondition(
        "another thread begins or ends an epoch of this loader; use a loader "
        "from one thread, or with a lock around it"));
  }
}

void PythonLoader::Usable() {
  CheckIdle();
  if (current_ != nullptr) static_cast<void>(current_->Usable());
}

void PythonLoader::CloseReader() {
  Usable();
  while (current_ != nullptr) {
    current_->Close();
    Usable();  // another thread may have begun an epoch
  }
}

PythonReader* PythonLoader::NextEpoch() {
  Usable();
  if (loader_->failed() || (current_ != nullptr && current_->refused())) {
    Raise(FailedPrecondition(
        "the epoch before ended with an error; continue with "
        "load_state_dict(state)"));
  }
  CloseReader();
  // A call that a signal ended may have begun the epoch.
  if (loader_->reader() == nullptr) CallIdle(&Loader::NextEpoch);
  current_ =
      new PythonReader(*this, *loader_->reader(), unordered_, nulls_, waiting_);
  return current_;
}

std::string PythonLoader::Save() {
  Usable();
  if (current_ != nullptr) current_->CheckNoneRefused();
  return CallIdle(&Loader::Save);
}

void PythonLoader::EndEpoch() {
  current_ = nullptr;
  const Use use(used_by_);
  WithoutGil([this] { loader_->Close(); });
}

void PythonLoader::Close() {
  if (current_ != nullptr) {
    current_->Close();
  } else {
    CheckIdle();
    EndEpoch();
  }
}

void PythonLoader::Load(std::string token) {
  Take(Token::Describe(token));
  CloseReader();
  CallIdle([&](Loader& loader) { return loader.Load(std::move(token)); });
}

void PythonLoader::SetEpoch(uint64_t epoch) {
  Usable();
  if (current_ != nullptr && loader_->reader()->ended()) CloseReader();
  CallIdle([epoch](Loader& loader) {
    loader.SetEpoch(epoch);
    return absl::OkStatus();
  });
}

std::optional<uint64_t> PythonLoader::Size() {
  CheckIdle();
  // With a reader, Loader::Size does not wait.
  return current_ != nullptr ? Take(loader_->Size()) : CallIdle(&Loader::Size);
}

}  // namespace feedmill::python
