#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/operators/row_choice.h"
#include "core/operators/step_kind_of.h"

namespace feedmill {
namespace {

class SubsetRows final : public ClientStep {
 public:
  explicit SubsetRows(const SubsetStep& step)
      : indices_(step.indices.begin(), step.indices.end()) {}

  absl::Status OnPush(Flow flow) override {
    std::vector<size_t> rows;
    for (; !full() && indices_[next_] < seen_ + flow.chunk.rows; ++next_) {
      rows.push_back(static_cast<size_t>(indices_[next_] - seen_));
    }
    seen_ += flow.chunk.rows;
    return rows.empty() ? absl::OkStatus() : next->Push(RowsOf(flow, rows));
  }
  absl::Status OnEndPass() override {
    // The end of the sequence ends a pass again, which has seen no rows then.
    const bool missing = !full() && seen_ > 0;
    const uint64_t seen = std::exchange(seen_, 0);
    next_ = 0;
    if (!missing) return absl::OkStatus();
    return Report(InvalidArgument("{}: there is no element {}; there are {}",
                                  name, indices_.back(), seen));
  }
  bool full() const override { return next_ == indices_.size(); }
  bool full_for_ever() const override {
    return indices_.empty() || ClientStep::full_for_ever();
  }
  void Save(StageState::Step& state) const override { state.left = seen_; }
  bool Restore(const StageState::Step& state) override {
    seen_ = state.left;
    next_ = static_cast<size_t>(std::ranges::lower_bound(indices_, seen_) -
                                indices_.begin());
    return true;
  }

 private:
  const std::vector<uint64_t> indices_;
  uint64_t seen_ = 0;  // rows of this pass
  size_t next_ = 0;    // in indices_
};

struct SubsetOperator : PassesComponents {
  using Options = SubsetStep;
  static constexpr std::string_view kName = "subset";
  static constexpr Description kDescription = {
      .summary = "Keeps the elements with these indexes, in their order.",
      .yaml = "subset: [0, 3, 17]",
      .element = "unchanged",
      .details =
          "Indexes count from 0 in each pass of the input. Each is above the "
          "one before it. A shuffle behind the step gives another order.",
      .errors =
          "Raises InvalidArgumentError if an index is negative, or not above "
          "the one before it. Reading raises it if there is no such element.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(10, 20).subset([1, 5]).read()]
[11, 15]
)"};

  static FieldList Fields(SubsetStep& s) {
    return {{"indices", &s.indices,
             Field::kRequired | Field::kShort | Field::kLong,
             "Indexes of elements, which increase, or a file of them."}};
  }
  static StepTraits Traits(const SubsetStep& s) {
    StepTraits traits{.needs = StepNeeds::kPlace, .keeps_count = true};
    int64_t before = -1;
    for (const int64_t index : s.indices) {
      const auto gap = static_cast<uint64_t>(index - before);
      traits.next_after = std::max(traits.next_after, gap);
      before = index;
    }
    traits.first_after =
        s.indices.empty() ? 0 : static_cast<uint64_t>(s.indices.front());
    return traits;
  }
  static std::optional<uint64_t> Count(const SubsetStep& s, uint64_t) {
    return s.indices.size();
  }
  static std::string Describe(const SubsetStep& s) {
    return fmt::format("{} indexes", s.indices.size());
  }
  static absl::StatusOr<ElementSpec> Output(const SubsetStep& s,
                                            const StepInput& in) {
    int64_t before = -1;
    for (const int64_t index : s.indices) {
      if (index < 0) return InvalidArgument("the index {} is negative", index);
      if (index <= before) {
        return InvalidArgument(
            "indexes must increase, {} is behind {}; sort them, and write each "
            "once",
            index, before);
      }
      before = index;
    }
    return in.spec;
  }
  static absl::Status AddToPlan(const SubsetStep& s, PlanBuilder& plan) {
    return plan.Subset(s.indices);
  }
  static ClientSteps MakeClientSteps(const SubsetStep& s,
                                     const std::shared_ptr<const Plan>&,
                                     size_t) {
    return ClientStepsOf(std::make_unique<SubsetRows>(s));
  }
};

}  // namespace

const StepKind& SubsetKind() { return KindOf<SubsetOperator>(); }

}  // namespace feedmill
