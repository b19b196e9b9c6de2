#include <vector>

#include "core/base/status.h"
#include "core/operators/row_choice.h"
#include "core/operators/step_kind_of.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

class ShardRows final : public ClientStep {
 public:
  explicit ShardRows(const ShardStep& step)
      : count_(static_cast<uint64_t>(step.count)),
        index_(static_cast<uint64_t>(step.index)),
        left_(index_) {}

  absl::Status OnPush(Flow flow) override {
    std::vector<size_t> rows;
    for (; left_ < flow.chunk.rows; left_ += count_) {
      rows.push_back(static_cast<size_t>(left_));
    }
    left_ -= flow.chunk.rows;
    return rows.empty() ? absl::OkStatus() : next->Push(RowsOf(flow, rows));
  }
  absl::Status OnEndPass() override {
    left_ = index_;
    return absl::OkStatus();
  }
  void Save(StageState::Step& state) const override { state.left = left_; }
  bool Restore(const StageState::Step& state) override {
    left_ = state.left;
    return left_ < count_;
  }

 private:
  const uint64_t count_;
  const uint64_t index_;
  uint64_t left_;  // rows before the next selected one
};

struct ShardOperator : PassesComponents {
  using Options = ShardStep;
  static constexpr std::string_view kName = "shard";
  static constexpr Description kDescription = {
      .summary =
          "Keeps the elements index, index + count, index + 2 * count, …",
      .yaml = "shard: {count: 8, index: 3}",
      .element = "unchanged; e.g. the elements 3, 11, 19, …",
      .details =
          "Ranks of one job need no shard: each reads its share of the "
          "elements.",
      .errors =
          "Raises InvalidArgumentError unless `index` is from 0 to `count` - "
          "1.",
      .example = R"(
>>> [int(x) for x in fm.Dataset.range(7).shard(3, 1).read()]
[1, 4]
)"};

  static FieldList Fields(ShardStep& s) {
    return {{"count", &s.count, Field::kRequired, "Number of shards."},
            {"index", &s.index, Field::kRequired,
             "The index of this part, from 0."}};
  }
  static StepTraits Traits(const ShardStep& s) {
    return {.needs = StepNeeds::kPlace,
            .next_after = static_cast<uint64_t>(s.count)};
  }
  static std::optional<uint64_t> Count(const ShardStep& s, uint64_t elements) {
    const auto count = static_cast<uint64_t>(s.count);
    return elements / count +
           (static_cast<uint64_t>(s.index) < elements % count ? 1 : 0);
  }
  static std::string Describe(const ShardStep& s) {
    return fmt::format("{} of {}", s.index, s.count);
  }
  static absl::StatusOr<ElementSpec> Output(const ShardStep& s,
                                            const StepInput& in) {
    if (s.count < 1) {
      return InvalidArgument("the count must be 1 or more, it is {}", s.count);
    }
    if (s.index < 0 || s.index >= s.count) {
      return InvalidArgument("the index must be 0 to {}, it is {}", s.count - 1,
                             s.index);
    }
    return in.spec;
  }
  static absl::Status AddToPlan(const ShardStep& s, PlanBuilder& plan) {
    return plan.Shard(s.count, s.index);
  }
  static ClientSteps MakeClientSteps(const ShardStep& s,
                                     const std::shared_ptr<const Plan>&,
                                     size_t) {
    return ClientStepsOf(std::make_unique<ShardRows>(s));
  }
};

}  // namespace

const StepKind& ShardKind() { return KindOf<ShardOperator>(); }

}  // namespace feedmill
