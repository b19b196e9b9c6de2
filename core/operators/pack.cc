#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/combining_step.h"

namespace feedmill {
namespace {

constexpr int64_t kPackLengthMax = int64_t{1} << 31;
constexpr int64_t kPackBinsMax = int64_t{1} << 20;

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

  // Each group is an open row; the oldest row comes first.
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
  void QueueIncomplete() override {
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

struct PackOperator : NeedsAllComponents {
  using Options = PackStep;
  static constexpr std::string_view kName = "pack";
  static constexpr Description kDescription = {
      .summary = "Puts sequences one after another in rows of one length.",
      .yaml = R"(pack: 2048
pack: {length: 2048, bins: 4})",
      .element = "sequences joined to rows of one length",
      .details = "Adds `segment_ids` and `positions`, both int32.",
      .errors =
          "Reading raises DataLossError for a sequence that is longer than "
          "`length`, or whose components differ in length.",
      .example = R"-(
>>> import numpy as np
>>> ds = fm.Dataset.text("notes.txt").map(ids="sentencepiece(x, 'pieces.model')")
>>> row = next(ds.pack(32).read())
>>> np.bincount(row["segment_ids"])
array([ 6,  8, 10,  8])
)-"};

  static FieldList Fields(PackStep& s) {
    return {{"length", &s.length, Field::kRequired | Field::kShort,
             "Items of a row."},
            {"bins", &s.bins, Field::kOptional,
             "Number of rows that are open at once."},
            {"padding", PaddingList{&s.padding, false}, Field::kOptional,
             "Values to pad with."}};
  }
  static StepTraits Traits(const PackStep& s) {
    uint64_t open = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(s.length),
                               static_cast<uint64_t>(s.bins), &open)) {
      open = UINT64_MAX;
    }
    return {.needs = StepNeeds::kSequence,
            .joins_records = true,
            .first_after = open,
            .next_after = static_cast<uint64_t>(s.length)};
  }
  static std::string Describe(const PackStep& s) {
    return fmt::format("to {}, {} open", s.length, s.bins);
  }
  static absl::StatusOr<ElementSpec> Output(const PackStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckSize("length", s.length));
    if (s.length > kPackLengthMax) {
      return InvalidArgument("length must be at most {}, not {}",
                             kPackLengthMax, s.length);
    }
    FM_RETURN_IF_ERROR(CheckSize("bins", s.bins));
    if (s.bins > kPackBinsMax) {
      return InvalidArgument("bins must be at most {}, not {}", kPackBinsMax,
                             s.bins);
    }
    FM_RETURN_IF_ERROR(CheckPadding(s.padding, in.spec));
    ElementSpec out = in.spec;
    for (ComponentSpec& c : out.components) {
      if (c.shape.empty()) {
        return InvalidArgument(
            "it joins sequences along their first axis; {} is {}, which has no "
            "axis",
            NameOrX(c), TypeText(c));
      }
      c.name = NameOrX(c);
      c.shape[0] = s.length;
    }
    for (const Padding& p : s.padding) {
      if (p.shape) {
        return InvalidArgument("it pads to `length`; leave out shapes");
      }
    }
    out.components.push_back({"segment_ids", DType::kInt32, {s.length}});
    out.components.push_back({"positions", DType::kInt32, {s.length}});
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }
  static ComponentMask Made(const PackStep&, const ElementSpec&,
                            const ComponentMask& made, const ComponentMask&) {
    ComponentMask out = made;
    out.resize(out.size() + 2, true);
    return out;
  }
  static ClientSteps MakeClientSteps(const PackStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(std::make_unique<PackedRows>(*plan, step, s));
  }
};

}  // namespace

const StepKind& PackKind() { return KindOf<PackOperator>(); }

}  // namespace feedmill
