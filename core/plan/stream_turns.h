#ifndef FEEDMILL_CORE_PLAN_STREAM_TURNS_H_
#define FEEDMILL_CORE_PLAN_STREAM_TURNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// The inputs of a combination, as far as their order depends on them.
class TurnStreams {
 public:
  enum class Next {
    kElement,
    kEnd,
    kBad,
    kLeftOut,  // something was left out: no element, look again
  };

  virtual ~TurnStreams() = default;
  virtual size_t count() const = 0;
  // What comes next of the input. A returned Status is for this machine only.
  virtual absl::StatusOr<Next> Look(size_t input) = 0;
  // Reads it from its beginning: for the turn-th time, from 0.
  virtual absl::Status Begin(size_t input, uint64_t turn) = 0;
};

// Says which input of a concatenate, interleave or mixture gives the next
// element. It needs no number of elements of the inputs, and gives the order
// that Combination (core/plan/combination.h) computes from these numbers.
// Constant memory but for a table of a mixture's period. Not thread-safe.
class StreamTurns {
 public:
  struct Turn {
    enum class Kind {
      kTake,     // the next element of `input`
      kEnd,      // no more come
      kBad,      // that of `input` is bad
      kNothing,  // `input` is to begin again, and has nothing
      kLeftOut,  // `input` has left something out: ask again
    } kind = Kind::kEnd;
    size_t input = 0;

    // The turn of an input that has no element now; absent at its end.
    static std::optional<Turn> Without(TurnStreams::Next look, size_t input);
  };

  virtual ~StreamTurns() = default;

  // The caller takes the element before it asks again, and asks again after
  // kTake and kLeftOut only.
  virtual absl::StatusOr<Turn> Next(TurnStreams& streams) = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_STREAM_TURNS_H_
