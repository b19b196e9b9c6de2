// Steps of the client stage that batch or join elements by their lengths.

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/type_inference.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/combining_step.h"

namespace feedmill {
namespace {

// The length of an element (graph.h), at least 0.
absl::Status LengthOf(const Column& column, size_t row, uint64_t& length) {
  int64_t value = 0;
  if (!column.shape.empty()) {
    value = column.RowDims(row)[0];
  } else if (column.dtype == DType::kBytes) {
    value = static_cast<int64_t>(column.BytesAt(column.RowStart(row)).size());
  } else {
    const std::byte* at =
        column.values.data() +
        static_cast<size_t>(column.RowStart(row)) * ItemSize(column.dtype);
    const auto read = [&]<class T>(T item) {
      __builtin_memcpy(&item, at, sizeof item);
      value = static_cast<int64_t>(std::min<uint64_t>(
          item < T{0} ? 0 : static_cast<uint64_t>(item), INT64_MAX));
      return item < T{0};
    };
    bool negative = false;
    switch (column.dtype) {
      case DType::kInt8:
        negative = read(int8_t{});
        break;
      case DType::kInt16:
        negative = read(int16_t{});
        break;
      case DType::kInt32:
        negative = read(int32_t{});
        break;
      case DType::kInt64:
        negative = read(int64_t{});
        break;
      case DType::kUInt8:
        read(uint8_t{});
        break;
      case DType::kUInt16:
        read(uint16_t{});
        break;
      case DType::kUInt32:
        read(uint32_t{});
        break;
      default:
        read(uint64_t{});
    }
    if (negative) return DataLoss("the length of an element is negative");
  }
  length = static_cast<uint64_t>(value);
  return absl::OkStatus();
}

// Batches of elements by their lengths.
class LengthBatches : public CombiningStep {
 public:
  LengthBatches(const Plan& plan, size_t s, const std::string& component,
                BatchLayout layout, const std::vector<Padding>& padding,
                bool drop_remainder)
      : CombiningStep(plan, s),
        component_(*FindComponent(plan.graph().InputOf(s), component)),
        drop_remainder_(drop_remainder),
        stacker_(layout, padding, plan.graph().InputOf(s)) {}

 protected:
  absl::Status Length(RowRef row, uint64_t& length) const {
    return LengthOf(rows_.ColumnOf(row, component_), row.row, length);
  }
  void QueueGroup(size_t k) {
    const std::vector<RowRef> group = std::exchange(rows_.groups[k], {});
    Queue(group);
  }
  void LetGo() override {
    for (size_t k = 0; k < rows_.groups.size(); ++k) {
      if (!drop_remainder_ && !rows_.groups[k].empty()) QueueGroup(k);
    }
  }
  absl::Status Combine(const Chunk& rows, std::span<const size_t> groups,
                       std::shared_ptr<const ElementSpec> spec, Chunk& out,
                       size_t& count) const override {
    return stacker_.Stack(rows, groups, std::move(spec), out, count);
  }
  uint64_t CountsAs(size_t rows) const override { return rows; }

 private:
  const size_t component_;
  const bool drop_remainder_;
  const BatchStacker stacker_;
};

class BucketRows final : public LengthBatches {
 public:
  BucketRows(const Plan& plan, size_t s, const BucketBySequenceLengthStep& step)
      : LengthBatches(plan, s, step.component, BatchLayout::kPadded,
                      step.padding, step.drop_remainder),
        step_(step) {
    rows_.groups.resize(step.batch_sizes.size());
  }

  bool Restore(const StageState::Step& state) override {
    if (!CombiningStep::Restore(state) ||
        rows_.groups.size() != step_.batch_sizes.size()) {
      return false;
    }
    for (size_t k = 0; k < rows_.groups.size(); ++k) {
      if (rows_.groups[k].size() >= SizeOf(k)) return false;
    }
    return true;
  }

 protected:
  absl::Status Take(RowRef row) override {
    uint64_t length = 0;
    FM_RETURN_IF_ERROR(Length(row, length));
    const auto bound =
        std::upper_bound(step_.boundaries.begin(), step_.boundaries.end(),
                         static_cast<int64_t>(length));
    const auto k = static_cast<size_t>(bound - step_.boundaries.begin());
    rows_.groups[k].push_back(row);
    if (rows_.groups[k].size() == SizeOf(k)) QueueGroup(k);
    return absl::OkStatus();
  }

 private:
  size_t SizeOf(size_t k) const {
    return static_cast<size_t>(step_.batch_sizes[k]);
  }

  const BucketBySequenceLengthStep step_;
};

class TokenBatchRows final : public LengthBatches {
 public:
  TokenBatchRows(const Plan& plan, size_t s, const TokenBatchStep& step)
      : LengthBatches(plan, s, step.component, step.layout, step.padding,
                      step.drop_remainder),
        tokens_(static_cast<uint64_t>(step.tokens)),
        padded_(step.layout == BatchLayout::kPadded) {
    rows_.groups.resize(1);
  }

  bool Restore(const StageState::Step& state) override {
    if (!CombiningStep::Restore(state) || rows_.groups.size() != 1) {
      return false;
    }
    for (const RowRef row : rows_.groups[0]) {
      uint64_t length = 0;
      if (!Length(row, length).ok()) return false;
      Measure(std::max<uint64_t>(length, 1));
    }
    return true;
  }

 protected:
  absl::Status Take(RowRef row) override {
    uint64_t length = 0;
    FM_RETURN_IF_ERROR(Length(row, length));
    length = std::max<uint64_t>(length, 1);
    if (length > tokens_) {
      return DataLoss(
          "token_batch: an element of {} tokens does not fit {}; slice or "
          "filter it before",
          length, tokens_);
    }
    std::vector<RowRef>& group = rows_.groups[0];
    const uint64_t would = padded_
                               ? std::max(longest_, length) * (group.size() + 1)
                               : sum_ + length;
    if (would > tokens_) {
      // It is held while the others go.
      const std::vector<RowRef> others = std::exchange(group, {row});
      Queue(others);
      Begin();
    } else {
      group.push_back(row);
    }
    Measure(length);
    return absl::OkStatus();
  }
  void Begin() override { longest_ = sum_ = 0; }
  void LetGo() override {
    LengthBatches::LetGo();
    Begin();
  }

 private:
  void Measure(uint64_t length) {
    longest_ = std::max(longest_, length);
    sum_ += length;
  }

  const uint64_t tokens_;
  const bool padded_;
  uint64_t longest_ = 0;  // of the group
  uint64_t sum_ = 0;
};

class PackedRows final : public CombiningStep {
 public:
  PackedRows(const Plan& plan, size_t s, const PackStep& step)
      : CombiningStep(plan, s),
        length_(static_cast<uint64_t>(step.length)),
        bins_(static_cast<size_t>(step.bins)) {
    for (const ComponentSpec& c : plan.graph().InputOf(s).components) {
      double& fill = fills_.emplace_back(0);
      for (const Padding& p : step.padding) {
        if (p.component == c.name || c.name.empty()) fill = p.value;
      }
    }
  }

  // The open rows are the groups, the oldest first.
  bool Restore(const StageState::Step& state) override {
    if (!CombiningStep::Restore(state) || rows_.groups.size() > bins_) {
      return false;
    }
    for (const auto& group : rows_.groups) {
      uint64_t& used = used_.emplace_back(0);
      for (const RowRef row : group) {
        uint64_t length = 0;
        if (!Length(row, length).ok() || length > length_ - used) return false;
        used += length;
      }
      if (group.empty() || group.size() > length_) return false;
    }
    return true;
  }

 protected:
  absl::Status Take(RowRef row) override {
    uint64_t length = 0;
    FM_RETURN_IF_ERROR(Length(row, length));
    size_t bin = 0;
    while (bin < used_.size() && (used_[bin] + length > length_ ||
                                  rows_.groups[bin].size() >= length_)) {
      ++bin;
    }
    if (bin == used_.size()) {
      rows_.groups.push_back({row});
      used_.push_back(length);
      if (used_.size() > bins_) QueueOldest();
      return absl::OkStatus();
    }
    rows_.groups[bin].push_back(row);
    used_[bin] += length;
    return absl::OkStatus();
  }
  void LetGo() override {
    while (!used_.empty()) QueueOldest();
  }
  absl::Status Combine(const Chunk& rows, std::span<const size_t> groups,
                       std::shared_ptr<const ElementSpec> spec, Chunk& out,
                       size_t& count) const override {
    absl::Status error;
    count = groups.size();
    while (count > 0) {
      out = Chunk{spec, count, {}};
      size_t failed = 0;
      const absl::Status status =
          PackColumns(rows, groups.first(count), out, failed);
      if (status.ok()) return error;
      error = status;
      count = failed;
    }
    return error;
  }
  uint64_t CountsAs(size_t) const override { return 1; }

 private:
  absl::Status Length(RowRef row, uint64_t& length) const {
    for (size_t c = 0; c < fills_.size(); ++c) {
      const auto dim =
          static_cast<uint64_t>(rows_.ColumnOf(row, c).RowDims(row.row)[0]);
      if (c > 0 && dim != length) {
        return DataLoss(
            "pack: the components of an element have lengths {} and {}", length,
            dim);
      }
      length = dim;
    }
    if (length <= length_) return absl::OkStatus();
    return DataLoss(
        "pack: a sequence of {} does not fit {}; slice or filter it before",
        length, length_);
  }

  void QueueOldest() {
    const std::vector<RowRef> oldest = std::move(rows_.groups.front());
    rows_.groups.erase(rows_.groups.begin());
    used_.erase(used_.begin());
    Queue(oldest);
  }

  absl::Status PackColumns(const Chunk& rows, std::span<const size_t> groups,
                           Chunk& out, size_t& failed) const {
    const auto length = static_cast<int64_t>(length_);
    size_t used = 0;
    for (const size_t group : groups) used += group;
    const Chunk part = rows.Slice(0, used);
    for (size_t c = 0; c < fills_.size(); ++c) {
      FM_RETURN_IF_ERROR(PackRows(part.columns[c], groups, length, fills_[c],
                                  out.columns.emplace_back(), failed));
    }
    ByteBudget::Check(groups.size(), length_ * sizeof(int32_t));
    std::vector<int32_t> segments(groups.size() * length_);
    std::vector<int32_t> positions(segments.size());
    size_t row = 0;
    for (size_t k = 0; k < groups.size(); ++k) {
      size_t at = k * length_;
      for (size_t segment = 1; segment <= groups[k]; ++segment, ++row) {
        const int64_t items = part.columns[0].RowDims(row)[0];
        for (int64_t item = 0; item < items; ++item, ++at) {
          segments[at] = static_cast<int32_t>(segment);
          positions[at] = static_cast<int32_t>(item);
        }
      }
    }
    out.columns.push_back(MakeColumn(segments, {length}));
    out.columns.push_back(MakeColumn(positions, {length}));
    return absl::OkStatus();
  }

  const uint64_t length_;
  const size_t bins_;
  std::vector<double> fills_;   // by component
  std::vector<uint64_t> used_;  // by group
};

}  // namespace

std::unique_ptr<ClientStep> MakeLengthStep(const Plan& plan, size_t s) {
  const Step& step = plan.graph().graph.steps[s];
  if (const auto* bucket = std::get_if<BucketBySequenceLengthStep>(&step)) {
    return std::make_unique<BucketRows>(plan, s, *bucket);
  }
  if (const auto* tokens = std::get_if<TokenBatchStep>(&step)) {
    return std::make_unique<TokenBatchRows>(plan, s, *tokens);
  }
  if (const auto* pack = std::get_if<PackStep>(&step)) {
    return std::make_unique<PackedRows>(plan, s, *pack);
  }
  return nullptr;
}

}  // namespace feedmill
