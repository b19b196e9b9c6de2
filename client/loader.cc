#include "feedmill/loader.h"

#include <optional>
#include <string>
#include <utility>

#include "client/read_token.h"
#include "client/reader_parts.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

// Returns the token of the beginning of another epoch, for the same rank. That
// epoch reads the files that exist when it begins.
absl::StatusOr<std::string> EpochToken(std::string_view bytes, uint64_t epoch) {
  FM_ASSIGN_OR_RETURN(const ReadToken token, DecodeToken(bytes));
  ReadToken beginning;
  beginning.parts = token.parts;
  beginning.fingerprint = token.fingerprint;
  beginning.seed = token.seed;
  beginning.iteration = epoch;
  beginning.incarnation = token.incarnation;
  beginning.share = token.share;
  return EncodeToken(beginning);
}

}  // namespace

Loader::Loader(Dataset dataset, ReadOptions options)
    : dataset_(std::move(dataset)),
      options_(std::move(options)),
      next_epoch_(options_.epoch.value_or(0)),
      status_(MakeRules({options_.rank.index, options_.rank.count}, {},
                        std::nullopt)
                  .status()) {
  if (!options_.resume.token.empty() && status_.ok()) {
    const std::optional<uint64_t> seed = options_.seed;
    status_ = GoTo(options_.resume.token);
    if (seed) options_.seed = seed;  // Read compares it with the token's
  } else if (!shares()) {
    options_.epoch = next_epoch_;
  }
  failed_ = !status_.ok();
}

bool Loader::shares() const {
  return dataset_.graph().options.order == Order::kAny &&
         !options_.service.empty() && !options_.job.name.empty();
}

// Python functions stay loaded from one epoch to the next.
absl::Status Loader::KeepFunctions() {
  FM_RETURN_IF_ERROR(PrepareRegistry(options_.hooks));
  options_.hooks.allow_python.clear();
  return absl::OkStatus();
}

// ---- epochs

absl::Status Loader::OpenNext() {
  FM_RETURN_IF_ERROR(KeepFunctions());
  FM_ASSIGN_OR_RETURN(reader_, Read(dataset_, options_));
  options_.seed = reader_->seed();
  next_epoch_ = reader_->epoch();
  return absl::OkStatus();
}

absl::Status Loader::Open() {
  if (reader_ != nullptr) return absl::OkStatus();
  if (!failed_) status_ = OpenNext();
  return status_;
}

absl::StatusOr<Reader*> Loader::NextEpoch() {
  if (failed()) return status();
  if (begun_) Close();
  FM_RETURN_IF_ERROR(Open());
  begun_ = true;
  options_.resume = {};
  next_epoch_ = reader_->epoch() + 1;
  if (!shares()) options_.epoch = next_epoch_;
  return reader_.get();
}

Reader::Iterator Loader::begin() {
  const absl::StatusOr<Reader*> reader = NextEpoch();
  return reader.ok() ? (*reader)->begin() : Reader::Iterator();
}

void Loader::Close() {
  if (reader_ == nullptr) return;
  if (failed()) {
    failed_ = true;
    status_ = reader_->status();
  }
  if (const auto last = Last(); last.ok()) last_ = *last;
  if (begun_ && reader_->ended()) {
    next_epoch_ = next_epoch();
    if (!shares()) options_.epoch = next_epoch_;
    options_.resume.token = Save().value_or("");
  }
  begun_ = false;
  reader_.reset();
}

uint64_t Loader::next_epoch() const {
  return begun_ && reader_->ended() ? reader_->epoch() + 1 : next_epoch_;
}

const absl::Status& Loader::status() const {
  return reader_ == nullptr || failed_ ? status_ : reader_->status();
}

bool Loader::failed() const {
  return failed_ || (begun_ && !reader_->status().ok() &&
                     !absl::IsCancelled(reader_->status()));
}

// ---- the place

void Loader::SetEpoch(uint64_t epoch) {
  if (epoch == next_epoch()) return;
  if (!begun_ || reader_->ended()) Close();
  next_epoch_ = epoch;
  if (!shares()) options_.epoch = epoch;
  options_.resume = {};
}

absl::Status Loader::GoTo(std::string token) {
  FM_ASSIGN_OR_RETURN(const ReadToken read, DecodeToken(token));
  FM_RETURN_IF_ERROR(CheckTokenEpoch(read, options_.epoch));
  options_.seed = read.seed;
  options_.epoch = next_epoch_ = read.iteration;
  options_.resume.token = std::move(token);
  return absl::OkStatus();
}

absl::Status Loader::Load(std::string token) {
  FM_RETURN_IF_ERROR(DecodeToken(token).status());
  Close();
  options_.epoch.reset();
  status_ = GoTo(std::move(token));
  failed_ = false;
  return status_;
}

absl::StatusOr<std::string> Loader::Save() {
  const std::string& given = options_.resume.token;
  if (reader_ == nullptr && !failed_ && !given.empty()) return given;
  FM_RETURN_IF_ERROR(Open());
  FM_ASSIGN_OR_RETURN(std::string token, reader_->Save());
  if (!begun_ || !reader_->ended()) return token;
  return EpochToken(token, next_epoch());
}

absl::StatusOr<Loader::Given> Loader::Last() const {
  if (dataset_.graph().options.order == Order::kAny) {
    return FailedPrecondition(
        "with order any elements have no numbers in a sequence; use order "
        "deterministic");
  }
  const absl::StatusOr<uint64_t> number =
      reader_ == nullptr ? OutOfRange("closed") : reader_->number();
  if (number.ok()) return Given{*number, reader_->epoch(), reader_->seed()};
  if (last_) return *last_;
  return OutOfRange("no element was handed out yet");
}

// ---- numbers of elements

absl::StatusOr<std::optional<uint64_t>> Loader::Total() {
  if (reader_ != nullptr) return reader_->total();
  if (counted_ && counted_->first == next_epoch_) return counted_->second;
  FM_RETURN_IF_ERROR(KeepFunctions());
  ReadOptions whole = options_;
  whole.epoch = next_epoch_;
  whole.job = {.weight = options_.job.weight};
  whole.rank = {};
  whole.resume = {};
  whole.hooks.profile = nullptr;
  FM_ASSIGN_OR_RETURN(const auto reader, Read(dataset_, std::move(whole)));
  counted_.emplace(next_epoch_, reader->total());
  return counted_->second;
}

absl::StatusOr<std::optional<uint64_t>> Loader::Size() {
  Share share{options_.rank.index, options_.rank.count};
  if (!share.sound()) return status_;
  FM_ASSIGN_OR_RETURN(const std::optional<uint64_t> total, Total());
  if (!total) return std::nullopt;
  // The first rank has the most elements, the last one the fewest.
  if (options_.rank.even == Even::kPad) share.rank = 0;
  if (options_.rank.even == Even::kDrop) share.rank = share.ranks - 1;
  return share.Below(*total);
}

absl::StatusOr<uint64_t> Loader::Done() {
  if (reader_ == nullptr && options_.resume.token.empty()) return 0;
  FM_ASSIGN_OR_RETURN(const std::string bytes, Save());
  FM_ASSIGN_OR_RETURN(const ReadToken token, DecodeToken(bytes));
  const Share share{options_.rank.index, options_.rank.count};
  return share.Below(token.place.elements);
}

}  // namespace feedmill
