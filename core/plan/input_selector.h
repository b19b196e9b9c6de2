#ifndef FEEDMILL_CORE_PLAN_INPUT_SELECTOR_H_
#define FEEDMILL_CORE_PLAN_INPUT_SELECTOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// The inputs of a combination, seen as streams that have a next element or end.
class SelectableInputs {
 public:
  enum class Next {
    kElement,
    kEnd,
    kBad,
    kLeftOut,  // an element was skipped; call Look again
  };

  virtual ~SelectableInputs() = default;
  virtual size_t count() const = 0;
  // Returns the state of the input's next element. An error Status concerns
  // this process only, not the data.
  virtual absl::StatusOr<Next> Look(size_t input) = 0;
  // Returns the size of a component of the input's next element, as
  // MixtureMeasure counts it; 0 if an on_error leaves the element out.
  // REQUIRES: Look gave kElement.
  virtual uint64_t Size(size_t input, const MixtureMeasure& measure) const = 0;
  // Begins the input from its start. `turn` is the number of earlier starts.
  virtual absl::Status Begin(size_t input, uint64_t turn) = 0;
};

// Chooses which input of a concatenate, interleave or mixture gives the next
// element. It does not need the sizes of the inputs, and yields the same order
// that Combination (core/plan/combination.h) computes from the sizes.
// Takes constant memory, except for a table of a mixture's period. Not
// thread-safe.
class InputSelector {
 public:
  struct Selection {
    enum class Kind {
      kTake,     // take the next element of `input`
      kEnd,      // the combination has ended
      kBad,      // the next element of `input` is bad
      kNothing,  // `input` has to begin again, but has no elements
      kLeftOut,  // `input` skipped an element: call Next again
    } kind = Kind::kEnd;
    size_t input = 0;

    // Returns the turn for an input that has no element now; nullopt if it has
    // ended.
    static std::optional<Selection> Without(SelectableInputs::Next look,
                                            size_t input);
  };

  virtual ~InputSelector() = default;

  // Returns the next turn. The caller takes the element before it calls Next
  // again, and calls again only after kTake and kLeftOut.
  virtual absl::StatusOr<Selection> Next(SelectableInputs& streams) = 0;

  // Returns numbers from which other turns of the same combination continue.
  virtual std::vector<uint64_t> Save() const = 0;
  // Continues from the numbers of a Save, with `inputs` streams. False: they
  // are none; the turns are then unusable. REQUIRES: Next was not called.
  virtual bool Restore(std::span<const uint64_t> numbers, size_t inputs) = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_INPUT_SELECTOR_H_
