// Steps of the client stage whose rows wait, and may leave in another order.

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/client_step.h"
#include "core/pipeline/combining_step.h"
#include "core/pipeline/row_groups.h"
#include "core/plan/permutation.h"

namespace feedmill {
namespace {

// A window shuffle of elements whose places are not known: as many as the
// window are held, and each that comes sends one of them out.
class ReservoirRows final : public ClientStep {
 public:
  ReservoirRows(std::shared_ptr<const Plan> plan, size_t step, int64_t window)
      : plan_(std::move(plan)),
        step_(step),
        size_(static_cast<size_t>(window)),
        rows_(plan_->graph().InputOf(step)) {
    rows_.groups.resize(1);
  }

  absl::Status OnPush(Flow flow) override {
    if (flow.chunk.rows == 0) return absl::OkStatus();
    const uint64_t fed = flow.InputOf(0);
    const uint64_t held = rows_.Done(fed - std::min<uint64_t>(fed, 1), false);
    rows_.Begin(flow);
    std::vector<RowRef>& slots = rows_.groups[0];
    std::vector<RowRef> out;
    for (size_t row = 0; row < flow.chunk.rows; ++row) {
      if (slots.size() < size_) {
        slots.push_back(rows_.At(row));
        continue;
      }
      RowRef& slot = slots[Draw(size_)];
      out.push_back(std::exchange(slot, rows_.At(row)));
    }
    return Send(out, held, flow.InputOf(flow.chunk.rows - 1));
  }

  absl::Status OnFlush() override {
    std::vector<RowRef>& slots = rows_.groups[0];
    std::vector<RowRef> out;
    uint64_t fed = 0;
    while (!slots.empty()) {
      RowRef& slot = slots[Draw(slots.size())];
      fed = std::max(fed, rows_.InputOf(slot));
      out.push_back(std::exchange(slot, slots.back()));
      slots.pop_back();
    }
    return Send(out, 0, fed);
  }
  absl::Status OnEndPass() override {
    FM_RETURN_IF_ERROR(OnFlush());
    drawn_ = 0;
    return absl::OkStatus();
  }
  void Save(StageState::Step& state) const override {
    state.made = drawn_;
    rows_.Save(state);
  }
  bool Restore(const StageState::Step& state) override {
    drawn_ = state.made;
    return rows_.Restore(state) && rows_.groups.size() == 1 &&
           rows_.groups[0].size() <= size_;
  }

 private:
  size_t Draw(size_t below) {
    if (key_epoch_ != epoch || !have_key_) {
      key_ = plan_->KeyOf(step_, epoch, 0);
      key_epoch_ = epoch;
      have_key_ = true;
    }
    return static_cast<size_t>(
        uint64_t{Philox(key_, drawn_++, 0)[0]} * uint64_t{below} >> 32);
  }

  // `done`: input rows that were out before, with all but the last of `out`.
  absl::Status Send(std::span<const RowRef> out, uint64_t done, uint64_t fed) {
    std::vector<Flow> flows;
    Gather(out, flows);
    for (Flow& flow : flows) flow.inputs.assign(flow.chunk.rows, done);
    if (!flows.empty()) flows.back().inputs.back() = rows_.Done(fed, false);
    rows_.Compact();
    for (Flow& flow : flows) FM_RETURN_IF_ERROR(next->Push(std::move(flow)));
    return absl::OkStatus();
  }

  // Rows that are too large together are several flows.
  void Gather(std::span<const RowRef> out, std::vector<Flow>& flows) const {
    if (out.empty()) return;
    try {
      flows.push_back(rows_.Gather(out));
    } catch (const MemoryRefused&) {
      if (out.size() == 1) throw;
      Gather(out.first(out.size() / 2), flows);
      Gather(out.subspan(out.size() / 2), flows);
    }
  }

  const std::shared_ptr<const Plan> plan_;
  const size_t step_;
  const size_t size_;
  RowGroups rows_;
  uint64_t drawn_ = 0;  // in this pass
  RandomKey key_;
  uint64_t key_epoch_ = 0;
  bool have_key_ = false;
};

class WindowRows final : public CombiningStep {
 public:
  WindowRows(const Plan& plan, size_t s, const WindowStep& step)
      : CombiningStep(plan, s),
        size_(static_cast<size_t>(step.size)),
        shift_(static_cast<size_t>(step.shift == 0 ? step.size : step.shift)),
        stride_(static_cast<size_t>(step.stride)),
        span_((size_ - 1) * stride_ + 1),
        drop_remainder_(step.drop_remainder),
        stacker_(BatchLayout::kEqual, {}, plan.graph().InputOf(s)) {
    rows_.groups.resize(1);
  }

  void Save(StageState::Step& state) const override {
    CombiningStep::Save(state);
    state.left = skip_;
  }
  bool Restore(const StageState::Step& state) override {
    skip_ = static_cast<size_t>(state.left);
    return CombiningStep::Restore(state) && rows_.groups.size() == 1 &&
           rows_.groups[0].size() < span_ && skip_ < shift_;
  }

 protected:
  absl::Status Take(RowRef row) override {
    if (skip_ > 0) {
      --skip_;
      return absl::OkStatus();
    }
    rows_.groups[0].push_back(row);
    if (rows_.groups[0].size() == span_) Next();
    return absl::OkStatus();
  }
  void LetGo() override {
    while (!drop_remainder_ && !rows_.groups[0].empty()) Next();
  }
  void Begin() override { skip_ = 0; }
  absl::Status Combine(const Chunk& rows, std::span<const size_t> groups,
                       std::shared_ptr<const ElementSpec> spec, Chunk& out,
                       size_t& count) const override {
    return stacker_.Stack(rows, groups, std::move(spec), out, count);
  }
  uint64_t CountsAs(size_t) const override { return size_; }

 private:
  // Queues the window that begins with the first row, and moves on.
  void Next() {
    std::vector<RowRef>& held = rows_.groups[0];
    std::vector<RowRef> window;
    for (size_t k = 0; k < held.size(); k += stride_) window.push_back(held[k]);
    const size_t drop = std::min(shift_, held.size());
    held.erase(held.begin(), held.begin() + static_cast<ptrdiff_t>(drop));
    skip_ = shift_ - drop;
    Queue(window);
  }

  const size_t size_;
  const size_t shift_;
  const size_t stride_;
  const size_t span_;  // from a window's first element to its last
  const bool drop_remainder_;
  const BatchStacker stacker_;
  size_t skip_ = 0;  // rows between two windows
};

}  // namespace

std::unique_ptr<ClientStep> MakeHoldingStep(std::shared_ptr<const Plan> plan,
                                            size_t s) {
  const Step& step = plan->graph().graph.steps[s];
  if (const auto* shuffle = std::get_if<ShuffleStep>(&step)) {
    const int64_t window = *shuffle->window;  // a global one is the plan's
    return std::make_unique<ReservoirRows>(std::move(plan), s, window);
  }
  if (const auto* window = std::get_if<WindowStep>(&step)) {
    return std::make_unique<WindowRows>(*plan, s, *window);
  }
  return MakeLengthStep(*plan, s);
}

}  // namespace feedmill
