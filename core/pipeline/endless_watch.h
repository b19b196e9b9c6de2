#ifndef FEEDMILL_CORE_PIPELINE_ENDLESS_WATCH_H_
#define FEEDMILL_CORE_PIPELINE_ENDLESS_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "core/chunk/cursor.h"
#include "core/plan/plan.h"

namespace feedmill {

// Notices that passes of an endless repeat, or of inputs without end, make no
// element, which would be a wait without end. Pure; not thread-safe.
class EndlessWatch {
 public:
  // `source_round`: SourcePlan::round; inputs of which that is not known are
  // not watched. `from`: where the reading begins.
  EndlessWatch(const Plan& plan, uint64_t source_round, uint64_t from);

  // FailedPrecondition if nothing can ever come: the plan repeats nothing.
  absl::Status Check() const;
  // All positions before `end` were taken, in order; `rows` left the workers
  // and `outputs` the pipeline since the last call. FailedPrecondition if
  // whole passes went by without any.
  absl::Status Advance(Cursor end, size_t rows, size_t outputs);
  // The same for a reader among others, who gets positions in any order:
  // [begin, end) were taken.
  absl::Status AdvanceShared(uint64_t begin, uint64_t end, size_t rows,
                             size_t outputs);

 private:
  absl::Status Empty() const;
  void Cover(uint64_t begin, uint64_t end);

  bool endless_ = false;
  bool repeats_ = false;   // positions are those of a pass, again and again
  uint64_t period_ = 0;    // positions of a pass, or of a round of the source
  uint64_t patience_ = 0;  // positions that count as one
  uint64_t output_patience_ = 0;  // likewise, while workers make rows
  uint64_t passes_max_ = 1;       // without an output, while workers make rows
  uint64_t last_row_ = 0;         // positions before which the last one came
  uint64_t last_output_ = 0;
  // Shared: places within the pass that were seen empty since the last row, by
  // begin; positions taken since the last row, and since the last output.
  std::map<uint64_t, uint64_t> covered_;
  uint64_t without_row_ = 0;
  uint64_t without_output_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ENDLESS_WATCH_H_
