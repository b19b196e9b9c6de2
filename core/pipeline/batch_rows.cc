#include "core/pipeline/batch_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/row_groups.h"
#include "core/pipeline/stacking.h"

namespace feedmill {
namespace {

class BatchRows final : public ClientStep {
 public:
  BatchRows(const BatchStep& step, const ElementSpec& input,
            std::shared_ptr<const ElementSpec> output)
      : size_(static_cast<size_t>(step.size)),
        drop_remainder_(step.drop_remainder),
        stacker_(step.layout, step.padding, input),
        input_(input),
        output_(std::move(output)) {}

  absl::Status OnPush(Flow flow) override {
    size_t at = 0;
    while (at < flow.chunk.rows) {
      const size_t left = flow.chunk.rows - at;
      if (held_rows_ == 0 && left >= size_) {
        const size_t rows = left / size_ * size_;
        FM_RETURN_IF_ERROR(Emit(flow.Slice(at, at + rows), size_));
        at += rows;
        continue;
      }
      const size_t rows = std::min(size_ - held_rows_, left);
      held_.push_back(flow.Slice(at, at + rows));
      held_rows_ += rows;
      CheckHeld(held_.back().chunk);
      at += rows;
      if (held_rows_ == size_) FM_RETURN_IF_ERROR(EmitHeld());
    }
    return absl::OkStatus();
  }

  absl::Status OnFlush() override {
    if (held_rows_ > 0 && !drop_remainder_) return EmitHeld();
    held_.clear();
    held_rows_ = 0;
    return absl::OkStatus();
  }
  absl::Status OnEndPass() override { return OnFlush(); }
  bool counts() const override { return true; }
  void Save(StageState::Step& state) const override {
    state.made = made_;
    for (const Flow& flow : held_) {
      state.held.push_back(std::make_shared<const StageState::Held>(
          StageState::Held{flow.chunk, flow.counters, flow.passes}));
    }
  }
  bool Restore(const StageState::Step& state) override {
    made_ = state.made;
    for (const auto& shared : state.held) {
      const StageState::Held& held = *shared;
      const size_t rows = held.chunk.rows;
      std::optional<Chunk> of_spec = RowsOf(held.chunk, input_);
      if (!of_spec || rows >= size_ - held_rows_ ||
          held.counters.size() != held.passes.size() ||
          (!held.passes.empty() && held.passes.size() != rows)) {
        return false;
      }
      Flow& flow = held_.emplace_back();
      flow.chunk = *std::move(of_spec);
      flow.counters = held.counters;
      flow.passes = held.passes;
      held_rows_ += rows;
    }
    return true;
  }

 private:
  absl::Status EmitHeld() {
    Flow batch;
    std::vector<Chunk> chunks;
    for (const Flow& flow : held_) chunks.push_back(flow.chunk);
    batch.chunk = Concatenate(chunks);
    batch.counters = held_.front().counters;  // the first record's
    batch.passes = held_.front().passes;
    const Flow& last = held_.back();
    batch.inputs.assign(held_rows_, last.InputOf(last.chunk.rows - 1));
    for (const Flow& flow : held_) {
      batch.origins.insert(batch.origins.end(), flow.origins.begin(),
                           flow.origins.end());
    }
    const size_t rows = held_rows_;
    held_.clear();
    held_rows_ = 0;
    held_at_most_ = check_at_ = 0;
    return Emit(std::move(batch), rows);
  }

  // Refuses a batch that is too large before all its rows are held. Slices
  // share memory, so their true size is computed only when the upper bound has
  // doubled.
  void CheckHeld(const Chunk& added) {
    for (const Column& column : added.columns) {
      held_at_most_ += column.values.size();
    }
    if (held_at_most_ < check_at_ || held_at_most_ <= ByteBudget::Limit()) {
      return;
    }
    uint64_t bytes = 0;
    for (const Flow& flow : held_) bytes += flow.chunk.ElementBytes();
    ByteBudget::Check(bytes, 1);
    check_at_ = 2 * held_at_most_;
  }

  // Emits batches of `size` rows each. REQUIRES: `rows` has a multiple of
  // `size` rows.
  absl::Status Emit(Flow rows, size_t size) {
    const std::vector<size_t> groups(rows.chunk.rows / size, size);
    size_t count = 0;
    Flow out;
    absl::Status error;
    try {
      error = stacker_.Stack(rows.chunk, groups, output_, out.chunk, count);
    } catch (const MemoryRefused&) {
      // The batches may only be too large together.
      if (groups.size() == 1) throw;
      for (size_t k = 0; k < groups.size(); ++k) {
        FM_RETURN_IF_ERROR(Emit(rows.Slice(k * size, (k + 1) * size), size));
      }
      return absl::OkStatus();
    }
    for (size_t k = 0; k < count; ++k) {
      if (!rows.passes.empty()) {
        out.counters.push_back({(made_ + k) * size_, 0});
        out.passes.push_back(rows.passes[k * size]);
      }
      out.inputs.push_back(rows.InputOf((k + 1) * size - 1));
      out.AddOrigins(rows, k * size, (k + 1) * size);
    }
    made_ += count;
    if (count > 0) FM_RETURN_IF_ERROR(next->Push(std::move(out)));
    return Report(Annotate(
        error,
        fmt::format("{}{}batch {}", name, name.empty() ? "" : ": ", made_)));
  }

  const size_t size_;
  const bool drop_remainder_;
  const BatchStacker stacker_;
  const ElementSpec input_;
  const std::shared_ptr<const ElementSpec> output_;
  std::vector<Flow> held_;
  size_t held_rows_ = 0;
  uint64_t held_at_most_ = 0;  // upper bound, in bytes
  uint64_t check_at_ = 0;      // bytes at which to look again
  uint64_t made_ = 0;          // over the whole iteration
};

class UnbatchRows final : public ClientStep {
 public:
  explicit UnbatchRows(std::shared_ptr<const ElementSpec> output)
      : output_(std::move(output)) {}

  absl::Status OnPush(Flow flow) override {
    const absl::Status error = CheckAlike(flow);
    if (flow.chunk.rows == 0) return Report(error);
    Flow out;
    out.chunk.spec = output_;
    std::vector<size_t> groups;
    for (const Column& column : flow.chunk.columns) {
      UnstackRows(column, flow.chunk.rows, out.chunk.columns.emplace_back(),
                  groups);
    }
    for (size_t row = 0; row < groups.size(); ++row) {
      out.chunk.rows += groups[row];
      // An element is emitted with the last of its records. An element that the
      // client batched stands for several input rows.
      const uint64_t input = flow.InputOf(row);
      for (size_t k = 0; k < groups[row]; ++k) {
        out.inputs.push_back(k + 1 == groups[row] ? input : input_before_);
        AddOrigin(flow, row, k, groups[row], out);
        if (flow.passes.empty()) continue;
        out.counters.push_back({made_ + out.counters.size(), 0});
        out.passes.push_back(flow.passes[row]);
      }
      input_before_ = input;
    }
    made_ += out.chunk.rows;
    if (out.chunk.rows > 0) FM_RETURN_IF_ERROR(next->Push(std::move(out)));
    return Report(error);
  }
  bool counts() const override { return true; }
  void Save(StageState::Step& state) const override { state.made = made_; }
  bool Restore(const StageState::Step& state) override {
    made_ = state.made;
    return true;
  }

 private:
  // Adds the origin of record k, if the client batched the row; otherwise all
  // origins of the row.
  static void AddOrigin(const Flow& flow, size_t row, size_t k, size_t records,
                        Flow& out) {
    if (flow.origins.empty()) return;
    const std::vector<Cursor>& of_row = flow.origins[row];
    if (of_row.size() == records) {
      out.origins.push_back({of_row[k]});
    } else {
      out.origins.push_back(of_row);
    }
  }

  // Ends the flow before the first row whose components have different numbers
  // of records.
  static absl::Status CheckAlike(Flow& flow) {
    const std::vector<Column>& columns = flow.chunk.columns;
    for (size_t row = 0; row < flow.chunk.rows; ++row) {
      const int64_t records = columns[0].RowDims(row)[0];
      for (size_t c = 1; c < columns.size(); ++c) {
        const int64_t others = columns[c].RowDims(row)[0];
        if (others == records) continue;
        const auto error = DataLoss(
            "unbatch: the components of an element have {} and {} records",
            records, others);
        flow = flow.Slice(0, row);
        return error;
      }
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const ElementSpec> output_;
  uint64_t made_ = 0;          // over the whole iteration
  uint64_t input_before_ = 0;  // input rows before the next row
};

}  // namespace

std::unique_ptr<ClientStep> MakeBatchRows(
    const BatchStep& step, const ElementSpec& input,
    std::shared_ptr<const ElementSpec> output) {
  return std::make_unique<BatchRows>(step, input, std::move(output));
}

std::unique_ptr<ClientStep> MakeUnbatchRows(
    std::shared_ptr<const ElementSpec> output) {
  return std::make_unique<UnbatchRows>(std::move(output));
}

}  // namespace feedmill
