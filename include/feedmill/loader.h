#ifndef FEEDMILL_LOADER_H_
#define FEEDMILL_LOADER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
  // valid until the epoch after it begins. The errors: see Read. If an epoch
  // cannot be opened, the next call tries again. After an error within an
  // epoch, the same error again (failed).
  absl::StatusOr<Reader*> NextEpoch();

  // Why a loop ended: OK at the end of an epoch.
  const absl::Status& status() const;
  // True after an error within an epoch, which no further epoch follows until
  // Load is called. Cancelled is no such error: the next begin() continues with
  // the next epoch.
  bool failed() const;

  // The epoch that the next begin() reads.
  uint64_t next_epoch() const;
  // Sets that epoch. If an unused token is of the same epoch, the next begin()
  // begins at its place; else it begins at the beginning of the epoch. After
  // a loop that reaches its end, the next epoch follows even if another one was
  // set within the loop. No effect on readers that share a job.
  void SetEpoch(uint64_t epoch);
  // Ends the present epoch and forgets an error. The next begin() begins at the
  // place of `token` (Save, or Token::Merge for all ranks), with its seed.
  // InvalidArgument if it is no token; the loader then stays as it is. Only the
  // next begin() compares it with the dataset.
  absl::Status Load(std::string token);
  // Ends the present epoch: its reader is destroyed.
  void Close();

  // The options of the next begin(), with its epoch, seed, token and skipped
  // batches: a Loader that is made with them begins there.
  const ReadOptions& options() const { return options_; }
  // The reader of the present epoch (or of the last one, between two epochs):
  // its epoch, spec, seed, links. Null before the first begin() and after
  // Close.
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
  // begin() it is the token that was given; without one it opens the first
  // epoch. Token::Merge makes one of the tokens of all ranks.
  // FailedPrecondition with order any.
  absl::StatusOr<std::string> Save();

  // Number of elements that this rank gets in a whole epoch: the present one,
  // else the next one, which is then planned by a reading of its own. Nullopt
  // as for Reader::total.
  absl::StatusOr<std::optional<uint64_t>> Size();
  // Number of this rank's elements before the present place of the epoch; 0
  // between two epochs. FailedPrecondition within an epoch of order any.
  absl::StatusOr<uint64_t> Done();

  // An element that was given, by its number in an epoch.
  struct Given {
    uint64_t number = 0;
    uint64_t epoch = 0;
    uint64_t seed = 0;
  };
  // The element that was given last, also after the end of its epoch: ShowBatch
  // lists its records. OutOfRange if none was given, FailedPrecondition with
  // order any.
  absl::StatusOr<Given> Last() const;

 private:
  // Opens the next epoch unless an epoch is open.
  absl::Status Open();
  absl::Status OpenNext();
  absl::Status KeepFunctions();
  // Has the next epoch begin at the place of a token.
  absl::Status GoTo(std::string token);
  // Number of elements of all ranks in a whole epoch. See Size.
  absl::StatusOr<std::optional<uint64_t>> Total();
  // True if the elements of a job go to whichever of its readers asks.
  bool shares() const;

  const Dataset dataset_;
  ReadOptions options_;  // of the next epoch
  uint64_t next_epoch_ = 0;
  absl::Status status_;  // of the reader that was closed, or not opened
  bool failed_ = false;  // only Load continues after status_
  std::unique_ptr<Reader> reader_;
  bool begun_ = false;         // reader_ was given to a loop
  std::optional<Given> last_;  // of readers that were closed
  // Total of the elements of an epoch, by the epoch: of Size.
  std::optional<std::pair<uint64_t, std::optional<uint64_t>>> counted_;
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_LOADER_H_
