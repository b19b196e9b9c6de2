#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/combining_source_of.h"
#include "core/operators/input_checks.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

using Look = SelectableInputs::Next;

class Concatenation final : public Combination {
 public:
  Concatenation(std::vector<uint64_t> sizes, uint64_t size)
      : Combination(std::move(sizes)) {
    size_ = size;
    uint64_t end = 0;
    for (const uint64_t one : sizes_) {
      end = one == kInfinite ? kInfinite : end + one;
      ends_.push_back(end);
    }
  }

  void Find(std::span<const uint64_t> indexes,
            std::span<InputPlace> out) const override {
    size_t input = 0;
    for (size_t k = 0; k < indexes.size(); ++k) {
      const uint64_t n = indexes[k];
      if (n >= ends_[input] ||
          n < First(input)) {  // rare, because indexes come in runs
        input = static_cast<size_t>(
            std::upper_bound(ends_.begin(), ends_.end(), n) - ends_.begin());
      }
      out[k] = {static_cast<uint32_t>(input), n - First(input), 0};
    }
  }

  uint64_t Used(size_t input) const override {
    if (size_ == kInfinite) return kInfinite;
    const uint64_t first = std::min(First(input), size_);
    return std::min(ends_[input], size_) - first;
  }

  // The infinite input's period, after all elements before it.
  uint64_t Round(std::span<const uint64_t> rounds) const override {
    const auto last = static_cast<size_t>(
        std::find(ends_.begin(), ends_.end(), kInfinite) - ends_.begin());
    if (rounds[last] == 0) return 0;
    return Plus(First(last), rounds[last]).value_or(0);
  }

 private:
  uint64_t First(size_t input) const {
    return input == 0 ? 0 : ends_[input - 1];
  }

  std::vector<uint64_t>
      ends_;  // end of each input; an empty one ends where it begins
};

class ConcatenateSelector final : public InputSelector {
 public:
  absl::StatusOr<Selection> Next(SelectableInputs& streams) override {
    for (; input_ < streams.count(); ++input_) {
      FM_ASSIGN_OR_RETURN(const Look look, streams.Look(input_));
      if (look == Look::kElement) {
        return Selection{Selection::Kind::kTake, input_};
      }
      if (const auto turn = Selection::Without(look, input_)) return *turn;
    }
    return Selection{};
  }
  std::vector<uint64_t> Save() const override { return {input_}; }
  bool Restore(std::span<const uint64_t> numbers, size_t inputs) override {
    if (numbers.size() != 1 || numbers[0] > inputs) return false;
    input_ = static_cast<size_t>(numbers[0]);
    return true;
  }

 private:
  size_t input_ = 0;
};

struct ConcatenateOperator {
  using Options = ConcatenateSource;
  static constexpr std::string_view kName = "concatenate";
  static constexpr Description kDescription = {
      .summary = "Reads one input after the other.",
      .yaml =
          R"(concatenate: [{source: {range: 2}}, {source: {range: 9}, steps: [take: 3]}])",
      .element = "one input after the other",
      .details =
          "All make the same components. The options of the inputs (a seed, "
          "an order) are not used; the options of the whole count.",
      .errors = "Reading raises InvalidArgumentError if the components differ.",
      .example = R"(
>>> whole = fm.Dataset.concatenate([fm.Dataset.range(2), fm.Dataset.range(5, 7)])
>>> [int(x) for x in whole.read()]
[0, 1, 5, 6]
)"};

  static FieldList Fields(ConcatenateSource& s) {
    return {{"inputs", InputPipelines{&s.inputs},
             Field::kRequired | Field::kShort, "The pipelines to read."}};
  }
  static SourceProperties Properties(const ConcatenateSource& s) {
    return {.infinite = AnyIsInfinite(s.inputs)};
  }
  static absl::StatusOr<ElementSpec> Output(
      const ConcatenateSource& s, std::span<const ElementSpec> inputs) {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs, inputs));
    for (size_t i = 0; i + 1 < s.inputs.size(); ++i) {
      if (!IsInfinite(s.inputs[i])) continue;
      return InvalidArgument(
          "inputs[{}] is infinite, so the inputs after it would never be read. "
          "Add a take to it, or put it last",
          i);
    }
    return CommonSpec(inputs);
  }
  static absl::StatusOr<std::shared_ptr<const Combination>> Combine(
      const ConcatenateSource&, std::vector<uint64_t> sizes, uint64_t limit) {
    FM_ASSIGN_OR_RETURN(const uint64_t sum, TotalSize(sizes));
    return std::make_shared<const Concatenation>(std::move(sizes),
                                                 std::min(sum, limit));
  }
  static std::unique_ptr<InputSelector> MakeSelector(const ConcatenateSource&) {
    return std::make_unique<ConcatenateSelector>();
  }
};

}  // namespace

const SourceKind& ConcatenateKind() {
  return CombiningKindOf<ConcatenateOperator>();
}

}  // namespace feedmill
