#ifndef FEEDMILL_CORE_PIPELINE_CLIENT_STEP_H_
#define FEEDMILL_CORE_PIPELINE_CLIENT_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/chunk/cursor.h"
#include "core/pipeline/read_place.h"
#include "core/pipeline/read_profile.h"
#include "core/plan/plan.h"
#include "feedmill/element.h"

namespace feedmill {

// Internals of the client stage: client_stage.cc runs a chain of steps.

// Rows between two steps, with the data that later steps need.
struct Flow {
  Chunk chunk;
  // One per row if a random step follows: its counter and its combined pass.
  // A batch has the counter of its first record.
  std::vector<Cursor> counters;
  std::vector<uint64_t> passes;
  // Number of input rows up to and including row r: one entry per row, or
  // consecutive numbers from `first_input` if empty.
  std::vector<uint64_t> inputs;
  uint64_t first_input = 0;
  // If traced: the cursors of the input rows that made each row.
  std::vector<std::vector<Cursor>> origins;

  uint64_t InputOf(size_t row) const {
    return inputs.empty() ? first_input + row : inputs[row];
  }

  Flow Slice(size_t begin, size_t end) const {
    Flow out;
    out.chunk = chunk.Slice(begin, end);
    const auto cut = [&](const auto& from, auto& to) {
      if (from.empty()) return;
      to.assign(from.begin() + static_cast<ptrdiff_t>(begin),
                from.begin() + static_cast<ptrdiff_t>(end));
    };
    cut(counters, out.counters);
    cut(passes, out.passes);
    cut(inputs, out.inputs);
    cut(origins, out.origins);
    out.first_input = first_input + begin;
    return out;
  }

  // If traced, records that rows [begin, end) of `from` made the next row.
  void AddOrigins(const Flow& from, size_t begin, size_t end) {
    if (from.origins.empty()) return;
    std::vector<Cursor>& made_of = origins.emplace_back();
    for (size_t row = begin; row < end; ++row) {
      made_of.insert(made_of.end(), from.origins[row].begin(),
                     from.origins[row].end());
    }
  }
};

// One step, or a run of per-element steps. It passes its output to `next`.
class ClientStep {
 public:
  virtual ~ClientStep() = default;
  absl::Status Push(Flow flow) {
    ReadProfile::Lane* const lane = ReadProfile::Lane::Current();
    if (lane != nullptr) [[unlikely]]
      CountRows(flow, *lane);
    const ProfileSpan span(place);
    return Named([&] { return OnPush(std::move(flow)); });
  }
  // Ends a pass: emits the rows that the step holds and resets its state.
  absl::Status EndPass() {
    const ProfileSpan span(place);
    return Named([this] { return OnEndPass(); });
  }
  // Emits the rows that wait for more rows.
  absl::Status Flush() {
    const ProfileSpan span(place);
    return Named([this] { return OnFlush(); });
  }
  // full: no more rows pass until the next pass. full_for_ever: no more rows
  // pass at all.
  virtual bool full() const { return false; }
  virtual bool full_for_ever() const { return full() && pass_length == 0; }
  // Save and Restore handle the state between two pieces.
  virtual void Save(StageState::Step&) const {}
  virtual bool Restore(const StageState::Step&) { return true; }
  // True if a row takes microseconds or more, and fewer rows less time.
  virtual bool paced() const { return false; }
  // True if the step counts its rows over the whole iteration.
  virtual bool counts() const { return false; }

  ClientStep* next = nullptr;
  uint64_t pass_length = 0;           // 0: the sequence is one pass
  uint64_t epoch = 0;                 // of the current pass
  size_t place = ReadProfile::kRest;  // index in a profile
  std::string name;                   // "steps[2] batch", for errors

 protected:
  virtual absl::Status OnPush(Flow flow) = 0;
  virtual absl::Status OnEndPass() { return absl::OkStatus(); }
  virtual absl::Status OnFlush() { return absl::OkStatus(); }

  // Drops an error if a later step is full: the error lies after the last row
  // that this step takes.
  absl::Status Report(absl::Status error) const {
    for (const ClientStep* step = next; step != nullptr; step = step->next) {
      if (step->full()) return absl::OkStatus();
    }
    return error;
  }

 private:
  // Converts MemoryRefused to an error that names this step.
  template <class F>
  absl::Status Named(const F& run) const {
    try {
      return run();
    } catch (const MemoryRefused& refused) {
      return Annotate(StatusOf(refused), name);
    }
  }

  // Counts rows that come from the current place of `lane`.
  void CountRows(const Flow& flow, ReadProfile::Lane& lane) const {
    ReadProfile::Cost& from = lane.At(lane.place());
    from.rows_out += flow.chunk.rows;
    from.bytes_out += flow.chunk.ElementBytes();
    lane.At(place).rows_in += flow.chunk.rows;
  }
};

using ClientSteps = std::vector<std::unique_ptr<ClientStep>>;

// Collects steps, in order.
template <class... Steps>
ClientSteps ClientStepsOf(std::unique_ptr<Steps>... steps) {
  ClientSteps out;
  (out.push_back(std::move(steps)), ...);
  return out;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_CLIENT_STEP_H_
