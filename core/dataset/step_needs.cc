#include <algorithm>
#include <variant>

#include "core/dataset/step_types.h"

namespace feedmill {
namespace {

struct StepNeedsOf {
  StepNeeds operator()(const MapStep&) const { return StepNeeds::kElement; }
  StepNeeds operator()(const FilterStep&) const { return StepNeeds::kElement; }
  StepNeeds operator()(const ParseExampleStep&) const {
    return StepNeeds::kElement;
  }
  StepNeeds operator()(const DecodeImageStep&) const {
    return StepNeeds::kElement;
  }
  StepNeeds operator()(const ResizeStep&) const { return StepNeeds::kElement; }
  StepNeeds operator()(const RandomFlipStep&) const {
    return StepNeeds::kElement;
  }
  StepNeeds operator()(const ParseSequenceExampleStep&) const {
    return StepNeeds::kElement;
  }
  StepNeeds operator()(const OnErrorStep&) const { return StepNeeds::kElement; }
  StepNeeds operator()(const CacheStep&) const { return StepNeeds::kElement; }
  StepNeeds operator()(const FlatMapStep&) const {
    return StepNeeds::kSequence;
  }
  StepNeeds operator()(const ShuffleStep& s) const {
    return s.window && !s.block ? StepNeeds::kPlace : StepNeeds::kCounts;
  }
  StepNeeds operator()(const RepeatStep&) const { return StepNeeds::kCounts; }
  StepNeeds operator()(const BatchStep&) const { return StepNeeds::kPlace; }
  StepNeeds operator()(const TakeStep&) const { return StepNeeds::kPlace; }
  StepNeeds operator()(const SkipStep&) const { return StepNeeds::kPlace; }
  StepNeeds operator()(const ShardStep&) const { return StepNeeds::kPlace; }
  StepNeeds operator()(const EnumerateStep&) const { return StepNeeds::kPlace; }
  StepNeeds operator()(const UnbatchStep&) const {
    return StepNeeds::kSequence;
  }
  StepNeeds operator()(const RebatchStep&) const {
    return StepNeeds::kSequence;
  }
  StepNeeds operator()(const WindowStep&) const { return StepNeeds::kSequence; }
  StepNeeds operator()(const BucketBySequenceLengthStep&) const {
    return StepNeeds::kSequence;
  }
  StepNeeds operator()(const TokenBatchStep&) const {
    return StepNeeds::kSequence;
  }
  StepNeeds operator()(const PackStep&) const { return StepNeeds::kSequence; }
};

}  // namespace

StepNeeds NeedsOf(const Step& step) { return std::visit(StepNeedsOf{}, step); }

size_t BatchesAfter(const Step& step, size_t before) {
  if (std::holds_alternative<UnbatchStep>(step) ||
      std::holds_alternative<FlatMapStep>(step)) {
    return before - std::min<size_t>(before, 1);
  }
  if (std::holds_alternative<RebatchStep>(step)) {
    return std::max<size_t>(before, 1);
  }
  const bool batches =
      std::holds_alternative<BatchStep>(step) ||
      std::holds_alternative<WindowStep>(step) ||
      std::holds_alternative<BucketBySequenceLengthStep>(step) ||
      std::holds_alternative<TokenBatchStep>(step);
  return before + batches;
}

bool KeepsRecords(const Step& step) {
  const auto* batch = std::get_if<BatchStep>(&step);
  const auto* token_batch = std::get_if<TokenBatchStep>(&step);
  return !std::holds_alternative<PackStep>(step) &&
         (batch == nullptr || batch->layout != BatchLayout::kRagged) &&
         (token_batch == nullptr ||
          token_batch->layout != BatchLayout::kRagged);
}

bool NeedsRecords(const Step& step) {
  return std::holds_alternative<ParseExampleStep>(step) ||
         std::holds_alternative<ParseSequenceExampleStep>(step) ||
         std::holds_alternative<DecodeImageStep>(step) ||
         std::holds_alternative<ResizeStep>(step) ||
         std::holds_alternative<RandomFlipStep>(step);
}

}  // namespace feedmill
