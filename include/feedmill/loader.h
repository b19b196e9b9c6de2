#ifndef FEEDMILL_LOADER_H_
#define FEEDMILL_LOADER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feedmill/reader.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Reads a pipeline epoch after epoch. Each begin() is the next epoch, with an
// order and random numbers of its own:
//
//   feedmill::Loader loader(photos, {.service = "tcp://10.0.0.1:5050"});
//   for (int epoch = 0; epoch < 10; ++epoch) {
//     for (const feedmill::Element& batch : loader) Train(batch);
//     if (!loader.status().ok()) return loader.status();
//   }
//
// A token (Save) says which epoch it is of, and a place in it. A loader that is
// given one reads the rest of that epoch first, then the epochs after it:
//
//   feedmill::Loader loader(photos, {.resume = {.token = checkpoint.token}});
//   while (loader.next_epoch() < 10) {
//     for (const feedmill::Element& batch : loader) {
//       Train(batch);
//       if (IsTimeToSave()) checkpoint.token = loader.Save().value();
//     }
//     if (!loader.status().ok()) return loader.status();
//   }
//
// Epoch k is what Read gives for ReadOptions::epoch = k: the same elements in
// the same order in this process and through a service, with a job name or
// without. All epochs have one seed: the one given, or the one drawn for the
// first epoch. In a job with a name and with ranks, an epoch begins when all
// ranks have finished the one before.
//
// Readers that share a job (a job with a name and order any) read the epoch
// that the job is at: begin() is the job's next epoch if the present one is
// over, and else the rest of the present one.
//
// Thread-safety: one thread at a time; ReadHooks::cancel from any thread.
class Loader {
 public:
  // Opens nothing: the first begin() does. The first epoch is in
  // options.resume.token, else options.epoch, else 0.
  // options.resume.skip_batches are left out of the first epoch only.
  explicit Loader(Dataset dataset, ReadOptions options = {});

  // Begins the next epoch. If the last loop ended early, the rest of its epoch
  // is skipped. begin() == end() if the epoch has no elements, or after an
  // error, which status() returns.
  Reader::Iterator begin();
  Reader::End end() const { return {}; }

  // The same, for a loop over chunks: the reader of the next epoch, which is
  // valid until the epoch after it begins. The errors: see Read. After
  // an error, the same error again.
  absl::StatusOr<Reader*> NextEpoch();

  // Why a loop ended: OK at the end of an epoch. Sticky: after an error make a
  // loader from the last token.
  const absl::Status& status() const;

  // The epoch that the next begin() reads.
  uint64_t next_epoch() const;
  // The reader of the present epoch (or of the last one, between two epochs):
  // its epoch, spec, seed, links. Null before the first begin().
  Reader* reader() const { return begun_ ? reader_.get() : nullptr; }

  // Reader::Column, for the elements of every epoch. Before the first begin()
  // it opens the first epoch, whose errors it returns.
  template <class T>
  absl::StatusOr<ElementColumn<T>> Column(std::string_view name = "") {
    if (const absl::Status opened = Open(); !opened.ok()) return opened;
    return reader_->Column<T>(name);
  }

  // A token of the place that the loop has reached: Reader::Save within an
  // epoch, the beginning of the next epoch after its end. Before the first
  // begin() it opens the first epoch. Token::Merge makes one of the tokens
  // of all ranks. FailedPrecondition with order any.
  absl::StatusOr<std::string> Save();

 private:
  // Opens the next epoch unless it is open.
  absl::Status Open();
  absl::Status KeepFunctions();
  // True if the elements of a job go to whichever of its readers asks.
  bool shares() const;
  // Readies the options for the epoch after the reader's, and ends the reader.
  void Leave();

  const Dataset dataset_;
  ReadOptions options_;  // of the next epoch
  absl::Status status_;
  uint64_t first_epoch_ = 0;
  std::unique_ptr<Reader> reader_;
  bool begun_ = false;  // reader_ was given to a loop
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_LOADER_H_
