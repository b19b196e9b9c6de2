#include "feedmill/loader.h"

#include <utility>

#include "client/read_token.h"
#include "core/base/status.h"
#include "core/ops/plugin_functions.h"
#include "core/python/python_pool.h"

namespace feedmill {
namespace {

// Returns the token of the next epoch's beginning. That epoch reads the files
// that exist when it begins.
absl::StatusOr<std::string> TokenAfter(const Reader& reader) {
  FM_ASSIGN_OR_RETURN(const std::string bytes, reader.Save());
  FM_ASSIGN_OR_RETURN(const ReadToken token, DecodeToken(bytes));
  ReadToken next;
  next.parts = token.parts;
  next.fingerprint = token.fingerprint;
  next.seed = token.seed;
  next.iteration = token.iteration + 1;
  next.incarnation = token.incarnation;
  next.share = token.share;
  return EncodeToken(next);
}

}  // namespace

Loader::Loader(Dataset dataset, ReadOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  if (!options_.resume.token.empty()) {
    const absl::StatusOr<ReadToken> token = DecodeToken(options_.resume.token);
    status_ = token.status();
    if (token.ok()) first_epoch_ = token->iteration;
  } else if (!shares()) {
    first_epoch_ = options_.epoch.value_or(0);
    options_.epoch = first_epoch_;
  }
}

bool Loader::shares() const {
  return dataset_.graph().options.order == Order::kAny &&
         !options_.service.empty() && !options_.job.name.empty();
}

// Python functions stay loaded from one epoch to the next.
absl::Status Loader::KeepFunctions() {
  ReadHooks& hooks = options_.hooks;
  if (hooks.allow_python.empty()) return absl::OkStatus();
  if (hooks.registry == nullptr) {
    FM_ASSIGN_OR_RETURN(hooks.registry, DefaultFunctions());
  }
  FM_ASSIGN_OR_RETURN(
      hooks.registry,
      WithPython(hooks.registry, {hooks.allow_python, hooks.python_path}));
  hooks.allow_python.clear();
  return absl::OkStatus();
}

absl::Status Loader::Open() {
  if (!status_.ok() || reader_ != nullptr) return status_;
  status_ = KeepFunctions();
  if (!status_.ok()) return status_;
  absl::StatusOr<std::unique_ptr<Reader>> reader = Read(dataset_, options_);
  status_ = reader.status();
  if (reader.ok()) reader_ = *std::move(reader);
  return status_;
}

void Loader::Leave() {
  first_epoch_ = reader_->epoch() + 1;
  if (!shares()) options_.epoch = first_epoch_;
  options_.seed = reader_->seed();
  options_.resume.token.clear();
  options_.resume.skip_batches.clear();
  reader_.reset();
  begun_ = false;
}

absl::StatusOr<Reader*> Loader::NextEpoch() {
  FM_RETURN_IF_ERROR(status());
  if (begun_) Leave();
  FM_RETURN_IF_ERROR(Open());
  begun_ = true;
  return reader_.get();
}

Reader::Iterator Loader::begin() {
  const absl::StatusOr<Reader*> reader = NextEpoch();
  return reader.ok() ? (*reader)->begin() : Reader::Iterator();
}

const absl::Status& Loader::status() const {
  return reader_ == nullptr || !status_.ok() ? status_ : reader_->status();
}

uint64_t Loader::next_epoch() const {
  return begun_ ? reader_->epoch() + 1 : first_epoch_;
}

absl::StatusOr<std::string> Loader::Save() {
  FM_RETURN_IF_ERROR(Open());
  return begun_ && reader_->ended() ? TokenAfter(*reader_) : reader_->Save();
}

}  // namespace feedmill
