#ifndef FEEDMILL_CORE_PIPELINE_INFINITE_REPEAT_MONITOR_H_
#define FEEDMILL_CORE_PIPELINE_INFINITE_REPEAT_MONITOR_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "core/chunk/cursor.h"
#include "core/plan/plan.h"

namespace feedmill {

// Detects that passes of an infinite repeat, or of infinite inputs, make no
// element, so that a reader would wait for ever. Pure; not thread-safe.
class InfiniteRepeatMonitor {
 public:
  // `source_round`: SourcePlan::round; inputs with unknown round are not
  // monitored. `from`: first position of the reading.
  InfiniteRepeatMonitor(const Plan& plan, uint64_t source_round, uint64_t from);

  // FailedPrecondition if no element can ever come, because the plan repeats
  // nothing.
  absl::Status Check() const;
  // Reports progress: all positions before `end` were taken, in order. Since
  // the last call, `rows` left the workers and `outputs` left the pipeline.
  // FailedPrecondition if whole passes made none.
  absl::Status Advance(Cursor end, size_t rows, size_t outputs);
  // Same for a reader that shares a job and gets positions in any order:
  // [begin, end) were taken.
  absl::Status AdvanceShared(uint64_t begin, uint64_t end, size_t rows,
                             size_t outputs);

 private:
  absl::Status Empty() const;
  void Cover(uint64_t begin, uint64_t end);

  bool infinite_ = false;
  bool repeats_ = false;   // positions are one pass, repeated
  uint64_t period_ = 0;    // positions of a pass, or of a round of the source
  uint64_t patience_ = 0;  // positions without a row that count as one pass
  uint64_t output_patience_ = 0;  // same without an output
  uint64_t passes_max_ = 1;       // most passes with rows but without an output
  uint64_t last_row_ = 0;         // positions before the end of the last row
  uint64_t last_output_ = 0;
  // For shared jobs: intervals of the pass without an element since the last
  // row, by begin; positions taken since the last row and since the last
  // output.
  std::map<uint64_t, uint64_t> covered_;
  uint64_t without_row_ = 0;
  uint64_t without_output_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_INFINITE_REPEAT_MONITOR_H_
