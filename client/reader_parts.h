#ifndef FEEDMILL_CLIENT_READER_PARTS_H_
#define FEEDMILL_CLIENT_READER_PARTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/even_elements.h"
#include "client/measured_read.h"
#include "client/read_times.h"
#include "client/read_token.h"
#include "client/shared_hand_out.h"
#include "core/base/status.h"
#include "core/dataset/graph.h"
#include "core/pipeline/piece_source.h"
#include "core/pipeline/sequence_reader.h"
#include "feedmill/reader.h"

namespace feedmill {

// The source of a reader: makes the pieces in this process, or receives them
// from a service (service_source.h). The defaults are for this process.
class ReadSource : public PieceSource {
 public:
  // Reports a wait that began at `begun` (SteadyNow) from time to time. Returns
  // an error if the wait is too long.
  virtual absl::Status Late(absl::Time begun, bool had_element) {
    static_cast<void>(begun), static_cast<void>(had_element);
    return absl::OkStatus();
  }
  // The reader takes no further piece.
  virtual void Leave(LeaveReason why) = 0;
  // Adds the facts of a session to a token.
  virtual void AddTo(ReadToken& token) const { static_cast<void>(token); }
  virtual std::vector<LinkReport> Links() const { return {}; }
  virtual ReadTimes& times() = 0;
};

// The application's wish to end a reading: Reader::Cancel, ReadHooks::cancel
// and ReadHooks::interrupted. Thread-safety: Cancel from any thread.
class Cancellation {
 public:
  explicit Cancellation(const ReadHooks& hooks)
      : flag_(hooks.cancel), interrupted_(hooks.interrupted) {}

  void Cancel() { cancelled_.store(true); }
  bool cancelled() const {
    return cancelled_.load() || (flag_ != nullptr && flag_->load());
  }
  static absl::Status Error() { return Cancelled("reading was cancelled"); }
  // Cancelled if the reading ends, or only the present call of the reader.
  absl::Status Check() const {
    if (cancelled()) return Error();
    if (!interrupted_ || !interrupted_()) return absl::OkStatus();
    return Cancelled("reading was interrupted");
  }

 private:
  std::atomic<bool> cancelled_{false};
  const std::atomic<bool>* const flag_;
  const std::function<bool()> interrupted_;
};

// The private state of a Reader: a sequence accepts the pieces of a source.
struct ReaderParts {
  explicit ReaderParts(const ReadOptions& options)
      : element_bytes_max(options.limits.element_bytes_max),
        lane(MeasurementsOf(options.hooks)),
        cancellation(options.hooks) {}

  Graph graph;      // of tokens
  ReadRules rules;  // of tokens
  std::unique_ptr<ReadSource> source;
  std::unique_ptr<SequenceReader> sequence;
  // Order any, through a service; else null. Uses the source.
  std::unique_ptr<SharedHandOut> shared;
  std::unique_ptr<EvenElements> even;  // null: the ranks are not evened out
  const uint64_t element_bytes_max;
  ReadingLane lane;
  Cancellation cancellation;
  absl::Time opened;  // begin of the wait for the first element
  bool had_element = false;
  bool lost = false;  // the sequence holds rows that are another reader's
};

// Fills the registry of the hooks, with Python if they allow it.
absl::Status PrepareRegistry(ReadHooks& hooks);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READER_PARTS_H_
