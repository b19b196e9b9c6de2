#ifndef FEEDMILL_CORE_PIPELINE_COMBINING_STEP_H_
#define FEEDMILL_CORE_PIPELINE_COMBINING_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/pipeline/client_step.h"
#include "core/pipeline/row_groups.h"

namespace feedmill {

// Base of steps that combine several rows into one. They queue groups of rows,
// and many groups are combined together.
class CombiningStep : public ClientStep {
 public:
  CombiningStep(const Plan& plan, size_t s)
      : CombiningStep(plan, s, plan.graph().InputOf(s)) {}
  // `spec`: of the rows after Prepare.
  CombiningStep(const Plan& plan, size_t s, const ElementSpec& spec)
      : rows_(spec), output_(plan.graph().steps[s].output) {}

  absl::Status OnPush(Flow flow) final {
    FM_RETURN_IF_ERROR(Prepare(flow));
    rows_.Begin(flow);
    absl::Status error;
    for (size_t row = 0; row < flow.chunk.rows && error.ok(); ++row) {
      fed_ = flow.InputOf(row) - (Continues(row) ? 1 : 0);
      error = Take(rows_.At(row));
      if (error.ok() && queued_.size() >= kQueuedRows) error = Send();
    }
    // Groups queued before an error come before the error.
    const absl::Status sent = Send();
    rows_.Compact();
    if (!sent.ok()) return sent;
    CheckHeld();
    return Report(error);
  }
  absl::Status OnFlush() final {
    QueueIncomplete();
    FM_RETURN_IF_ERROR(Send());
    for (auto& group : rows_.groups) group.clear();
    rows_.Compact();
    return absl::OkStatus();
  }
  absl::Status OnEndPass() final {
    const absl::Status status = OnFlush();
    Begin();
    return status;
  }
  bool counts() const final { return true; }
  void Save(StageState::Step& state) const override {
    state.made = made_;
    rows_.Save(state);
  }
  bool Restore(const StageState::Step& state) override {
    made_ = state.made;
    return rows_.Restore(state);
  }

 protected:
  // Changes rows before they are taken.
  virtual absl::Status Prepare(Flow&) { return absl::OkStatus(); }
  // True if the next row is a part of the same input row.
  virtual bool Continues(size_t) const { return false; }
  // Adds the next row to a group, and queues groups that are complete.
  virtual absl::Status Take(RowRef row) = 0;
  // Queues all groups that have to be emitted although more rows may come.
  virtual void QueueIncomplete() = 0;
  // Begins a pass.
  virtual void Begin() {}
  // Makes one row of each group; after an error, of the groups before the
  // failed one.
  virtual absl::Status Combine(const Chunk& rows,
                               std::span<const size_t> groups,
                               std::shared_ptr<const ElementSpec> spec,
                               Chunk& out, size_t& count) const = 0;
  // Returns by how much a combined row of `rows` rows advances the counter of
  // random steps.
  virtual uint64_t CountsAs(size_t rows) const = 0;

  // Queues a group: its rows become one row. Rows that are in no group any more
  // count as emitted with it.
  void Queue(std::span<const RowRef> rows) {
    queued_.insert(queued_.end(), rows.begin(), rows.end());
    sizes_.push_back(rows.size());
    done_.push_back(rows_.Done(fed_, true));
  }

  RowGroups rows_;

 private:
  // Number of queued rows that are combined together.
  static constexpr size_t kQueuedRows = 2048;

  absl::Status Send() {
    if (sizes_.empty()) return absl::OkStatus();
    const std::vector<RowRef> queued = std::exchange(queued_, {});
    const std::vector<size_t> sizes = std::exchange(sizes_, {});
    const std::vector<uint64_t> done = std::exchange(done_, {});
    Flow out;
    size_t count = 0;
    absl::Status error;
    try {
      error = CombineQueued(queued, sizes, done, out, count);
    } catch (const MemoryRefused&) {
      if (sizes.size() == 1) throw;
      return SendOneByOne(queued, sizes, done);
    }
    if (count > 0) FM_RETURN_IF_ERROR(next->Push(std::move(out)));
    return Report(error);
  }

  // Combines the groups one at a time, because they may only be too large
  // together.
  absl::Status SendOneByOne(std::span<const RowRef> queued,
                            std::span<const size_t> sizes,
                            std::span<const uint64_t> done) {
    for (size_t k = 0; k < sizes.size(); ++k) {
      Flow out;
      size_t count = 0;
      const absl::Status error =
          CombineQueued(queued.first(sizes[k]), sizes.subspan(k, 1),
                        done.subspan(k, 1), out, count);
      queued = queued.subspan(sizes[k]);
      if (count > 0) FM_RETURN_IF_ERROR(next->Push(std::move(out)));
      if (!error.ok()) return Report(error);
    }
    return absl::OkStatus();
  }

  // `done`: number of input rows that are emitted with each group.
  absl::Status CombineQueued(std::span<const RowRef> queued,
                             std::span<const size_t> sizes,
                             std::span<const uint64_t> done, Flow& out,
                             size_t& count) {
    const Flow rows = rows_.Gather(queued);
    const absl::Status error =
        Combine(rows.chunk, sizes, output_, out.chunk, count);
    size_t first = 0;
    for (size_t k = 0; k < count; ++k) {
      if (!rows.passes.empty()) {
        out.counters.push_back({made_, 0});
        out.passes.push_back(rows.passes[first]);
      }
      made_ += CountsAs(sizes[k]);
      out.AddOrigins(rows, first, first + sizes[k]);
      first += sizes[k];
    }
    out.inputs.assign(done.begin(),
                      done.begin() + static_cast<ptrdiff_t>(count));
    return error;
  }

  // The element made of a group takes as much memory as its rows. A group that
  // is already too large is refused before more rows are held.
  void CheckHeld() {
    const uint64_t held = rows_.BytesAtMost();
    if (held < check_at_ || held <= ByteBudget::Limit()) return;
    ByteBudget::Check(rows_.LargestGroupBytes(), 1);
    check_at_ = 2 * held;  // amortises the look at all rows
  }

  const std::shared_ptr<const ElementSpec> output_;
  std::vector<RowRef> queued_;
  std::vector<size_t> sizes_;
  std::vector<uint64_t> done_;
  uint64_t check_at_ = 0;  // bytes held
  uint64_t fed_ = 0;
  uint64_t made_ = 0;  // over the whole iteration
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_COMBINING_STEP_H_
