#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/length_batches.h"

namespace feedmill {
namespace {

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
      // Keep the row, and emit the group before it.
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
  void QueueIncomplete() override {
    LengthBatches::QueueIncomplete();
    Begin();
  }

 private:
  void Measure(uint64_t length) {
    longest_ = std::max(longest_, length);
    sum_ += length;
  }

  const uint64_t tokens_;
  const bool padded_;
  uint64_t longest_ = 0;  // in the group
  uint64_t sum_ = 0;
};

struct TokenBatchOperator : PassesComponents {
  using Options = TokenBatchStep;
  static constexpr std::string_view kName = "token_batch";
  static constexpr Description kDescription = {
      .summary = "Makes batches of as many elements as fit a number of tokens.",
      .yaml = R"(token_batch: {tokens: 4096}
token_batch: {tokens: 4096, layout: ragged})",
      .element = "batches of at most `tokens` tokens",
      .errors =
          "Reading raises DataLossError for an element that is longer than "
          "`tokens` alone.",
      .example = R"-(
>>> ds = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)").token_batch(24)
>>> [x.shape for x in ds.read()]
[(2, 11), (1, 10)]
)-"};

  static FieldList Fields(TokenBatchStep& s) {
    return {{"component", ComponentName{&s.component}, Field::kOptional,
             "The component that defines the length."},
            {"tokens", &s.tokens, Field::kRequired,
             "Padded: elements times the longest; ragged: the sum of lengths."},
            {"layout",
             Word(s.layout, {"padded", "ragged"},
                  static_cast<size_t>(BatchLayout::kPadded)),
             Field::kOptional, "How elements are put together."},
            {"drop_remainder", &s.drop_remainder, Field::kOptional,
             "Drops a last batch that is not full."},
            {"padding", PaddingList{&s.padding}, Field::kOptional,
             "Shapes to pad to, and values to pad with."}};
  }
  static StepTraits Traits(const TokenBatchStep& s) {
    return {.needs = StepNeeds::kSequence,
            .batch_dims = BatchDims::kAdded,
            .joins_records = s.layout == BatchLayout::kRagged,
            .first_after = 1,
            .next_after = static_cast<uint64_t>(s.tokens)};
  }
  static std::string Describe(const TokenBatchStep& s) {
    return fmt::format("{} of {}", s.tokens, s.component);
  }
  static absl::StatusOr<ElementSpec> Output(const TokenBatchStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckLengthComponent(s.component, in.spec));
    FM_RETURN_IF_ERROR(CheckSize("tokens", s.tokens));
    if (s.layout == BatchLayout::kEqual) {
      return InvalidArgument("the layout must be padded or ragged");
    }
    if (s.layout == BatchLayout::kRagged && !s.padding.empty()) {
      return InvalidArgument("a ragged layout has no padding");
    }
    return BatchedSpec(in.spec, kUnknownDim, s.layout, s.padding);
  }
  static ComponentMask Needed(const TokenBatchStep& s, const ElementSpec& in,
                              const ComponentMask& needed) {
    ComponentMask out =
        s.layout == BatchLayout::kRagged ? NeededByRagged(in, needed) : needed;
    AddNeeded(s.component, in, out);
    return out;
  }
  static ComponentMask Made(const TokenBatchStep& s, const ElementSpec& in,
                            const ComponentMask& made, const ComponentMask&) {
    return s.layout == BatchLayout::kRagged ? MadeByRagged(in, made) : made;
  }
  static ClientSteps MakeClientSteps(const TokenBatchStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(std::make_unique<TokenBatchRows>(*plan, step, s));
  }
};

}  // namespace

const StepKind& TokenBatchKind() { return KindOf<TokenBatchOperator>(); }

}  // namespace feedmill
