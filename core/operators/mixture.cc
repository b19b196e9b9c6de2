#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/combining_source_of.h"
#include "core/operators/input_checks.h"
#include "core/operators/mixture_shares.h"
#include "core/plan/mixture_schedule.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

using Look = SelectableInputs::Next;

class Mixing final : public Combination {
 public:
  Mixing(std::vector<uint64_t> sizes, std::vector<MixtureShares> phases)
      : Combination(std::move(sizes)), schedule_(std::move(phases)) {}

  absl::Status Stop(MixtureSource::Stop stop, uint64_t limit) {
    const bool repeats = stop != MixtureSource::Stop::kFirstExhausted;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] == 0 && repeats) {
        return InvalidArgument(
            "inputs[{}] has no elements, so it cannot be repeated", i);
      }
    }
    size_ = repeats ? 0 : kInfinite;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (!repeats && sizes_[i] != kInfinite) {
        size_ = std::min(size_, schedule_.IndexOf(i, sizes_[i]));
      } else if (repeats) {
        const uint64_t last =
            sizes_[i] == kInfinite || stop == MixtureSource::Stop::kRepeat
                ? kInfinite
                : schedule_.IndexOf(i, sizes_[i] - 1);
        size_ = std::max(size_, last == kInfinite ? kInfinite : last + 1);
      }
    }
    size_ = std::min(size_, limit);
    if (size_ == kInfinite || size_ <= kPositionsMax) return absl::OkStatus();
    return InvalidArgument("more than 2^63 elements");
  }

  void Find(std::span<const uint64_t> indexes,
            std::span<InputPlace> out) const override {
    for (size_t k = 0; k < indexes.size(); ++k) {
      const MixtureSchedule::InputElement place = schedule_.At(indexes[k]);
      const uint64_t size = sizes_[place.input];
      out[k] = {place.input, place.count, 0};
      if (place.count >= size) {  // avoids most divisions
        out[k].position = place.count % size;
        out[k].turn = place.count / size;
      }
    }
  }

  uint64_t Used(size_t input) const override {
    return size_ == kInfinite ? kInfinite : schedule_.Count(input, size_);
  }

  uint64_t Round(std::span<const uint64_t> rounds) const override {
    uint64_t all = 0;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (rounds[i] == 0) return 0;
      all = std::max(all, schedule_.IndexOf(i, rounds[i] + 1));
    }
    return Plus(all, 1).value_or(0);
  }

 private:
  const MixtureSchedule schedule_;
};

class MixtureSelector final : public InputSelector {
 public:
  MixtureSelector(const MixtureSource& source,
                  std::vector<MixtureShares> phases)
      : stop_(source.stop),
        measure_(source.measure),
        phases_(std::move(phases)),
        inputs_(source.inputs.size()) {
    if (!Measures()) schedule_.emplace(phases_);
  }

  absl::StatusOr<Selection> Next(SelectableInputs& streams) override {
    if (stop_ == MixtureSource::Stop::kAllExhausted && last_) {
      Input& last = inputs_[*last_];
      if (!last.whole) {
        FM_ASSIGN_OR_RETURN(const Look look, streams.Look(*last_));
        if (look == Look::kLeftOut) return *Selection::Without(look, *last_);
        last.whole = look == Look::kEnd;
        whole_ += last.whole ? 1 : 0;
      }
      if (whole_ == inputs_.size()) return Selection{};
    }
    const size_t i = Due();
    Input& input = inputs_[i];
    FM_ASSIGN_OR_RETURN(Look look, streams.Look(i));
    if (look == Look::kEnd) {
      if (stop_ == MixtureSource::Stop::kFirstExhausted) return Selection{};
      if (!input.any) return Selection{Selection::Kind::kNothing, i};
      input.any = false;
      FM_RETURN_IF_ERROR(streams.Begin(i, ++input.turn));
      FM_ASSIGN_OR_RETURN(look, streams.Look(i));
      if (look == Look::kEnd) return Selection{Selection::Kind::kNothing, i};
    }
    if (const auto turn = Selection::Without(look, i)) return *turn;
    if (Measures()) {
      AddSize(input, streams.Size(i, measure_));
    } else {
      ++next_;
    }
    input.any = true;
    last_ = i;
    return Selection{Selection::Kind::kTake, i};
  }
  // Numbers: next_, 1 + last_ or 0, and for each input its turn, two bits, and
  // its size if sizes are measured.
  std::vector<uint64_t> Save() const override {
    std::vector<uint64_t> numbers{next_, last_ ? 1 + *last_ : 0};
    for (const Input& input : inputs_) {
      numbers.push_back(input.turn);
      numbers.push_back((input.any ? 1U : 0U) + (input.whole ? 2U : 0U));
      if (Measures()) numbers.push_back(input.size);
    }
    return numbers;
  }
  bool Restore(std::span<const uint64_t> numbers, size_t inputs) override {
    const size_t each = Measures() ? 3 : 2;
    if (inputs != inputs_.size() || numbers.size() != 2 + each * inputs ||
        numbers[1] > inputs) {
      return false;
    }
    next_ = numbers[0];
    while (phase_ + 1 < phases_.size() && phases_[phase_ + 1].begin <= next_) {
      ++phase_;
    }
    if (numbers[1] > 0) last_ = static_cast<size_t>(numbers[1] - 1);
    for (size_t k = 0; k < inputs; ++k) {
      const auto of_input = numbers.subspan(2 + each * k, each);
      const uint64_t bits = of_input[1];
      if (bits > 3) return false;
      inputs_[k] = {of_input[0], (bits & 1) != 0, (bits & 2) != 0,
                    Measures() ? of_input[2] : 0};
      whole_ += inputs_[k].whole ? 1 : 0;
    }
    return true;
  }

 private:
  struct Input {
    uint64_t turn = 0;
    bool any = false;    // gave an element since its last begin
    bool whole = false;  // was read to its end
    uint64_t size = 0;   // of the phase's elements of it, if measured
  };

  bool Measures() const {
    return measure_.unit != MixtureMeasure::Unit::kElements;
  }
  void AddSize(Input& input, uint64_t size) {
    input.size += size;
    next_ += size;
    while (phase_ + 1 < phases_.size() && phases_[phase_ + 1].begin <= next_) {
      ++phase_;
      for (Input& one : inputs_) one.size = 0;
    }
  }
  // Returns the input of the next element.
  size_t Due() const {
    if (!Measures()) return schedule_->At(next_).input;
    const std::vector<uint64_t>& shares = phases_[phase_].shares;
    size_t due = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      using Wide = unsigned __int128;
      if (shares[due] == 0 || Wide{inputs_[i].size} * shares[due] <
                                  Wide{inputs_[due].size} * shares[i]) {
        due = i;
      }
    }
    return due;
  }

  const MixtureSource::Stop stop_;
  const MixtureMeasure measure_;
  const std::vector<MixtureShares> phases_;
  std::optional<MixtureSchedule> schedule_;  // null: sizes are measured
  std::vector<Input> inputs_;
  size_t whole_ = 0;
  uint64_t next_ = 0;  // index of the next element; measured: sum of sizes
  size_t phase_ = 0;   // measured
  std::optional<size_t> last_;
};

struct MixtureOperator {
  using Options = MixtureSource;
  static constexpr std::string_view kName = "mixture";
  static constexpr Description kDescription = {
      .summary = "Reads the inputs in proportion to their weights.",
      .yaml =
          R"(mixture: {inputs: [{source: {range: 3}}, {source: {range: 9}}], weights: [0.7, 0.3]})",
      .element =
          "after any n elements, ⌊n·w⌋ or ⌈n·w⌉ of each input; with a unit, "
          "the next of the input with the least size for its weight",
      .errors =
          "Reading raises InvalidArgumentError if the components differ, or "
          "for a weight that is not positive.",
      .example = R"(
>>> inputs = [fm.Dataset.range(9), fm.Dataset.range(100, 109)]
>>> mixed = fm.Dataset.mixture(inputs, weights=[0.75, 0.25])
>>> next(mixed.batch(8).read()).tolist()
[0, 1, 2, 100, 3, 4, 5, 101]
)"};

  static FieldList Fields(MixtureSource& s) {
    return {
        {"inputs", InputPipelines{&s.inputs}, Field::kRequired | Field::kShort,
         "The pipelines to read."},
        {"weights", &s.weights, Field::kRequired | Field::kRows,
         "A number above 0 for each input; with `changes` a list of them for "
         "each phase."},
        {"stop", Word(s.stop, {"first_exhausted", "all_exhausted", "repeat"}),
         Field::kOptional, "When it ends."},
        {"unit", Word(s.measure.unit, {"elements", "bytes", "items"}),
         Field::kOptional,
         "What the weights count: elements, or the size of the `component` in "
         "them. bytes: of its values. items: the product of its shape."},
        {"component", &s.measure.component, Field::kOptional,
         "The component that bytes or items are of."},
        {"changes", &s.changes, Field::kSparse,
         "Where the next weights begin: after this many elements, or sizes in "
         "all with a unit."}};
  }
  static bool IsInfinite(const MixtureSource& s) {
    switch (s.stop) {
      case MixtureSource::Stop::kFirstExhausted:
        return AllAreInfinite(s.inputs);
      case MixtureSource::Stop::kAllExhausted:
        return AnyIsInfinite(s.inputs);
      case MixtureSource::Stop::kRepeat:
        break;
    }
    return true;
  }
  static SourceProperties Properties(const MixtureSource& s) {
    return {.infinite = IsInfinite(s), .measured = s.measure.component};
  }
  static absl::Status CheckMeasure(const MixtureMeasure& measure,
                                   const ElementSpec& spec) {
    if (measure.unit == MixtureMeasure::Unit::kElements) {
      if (measure.component.empty()) return absl::OkStatus();
      return InvalidArgument(
          "component \"{}\": with the unit elements no component is measured; "
          "add unit: bytes or unit: items",
          measure.component);
    }
    if (measure.component.empty()) {
      return InvalidArgument(
          "the unit needs a component to measure: add component, one of {}",
          spec.ToString());
    }
    if (spec.Find(measure.component) >= 0) return absl::OkStatus();
    return InvalidArgument("there is no component \"{}\" to measure in {}",
                           measure.component, spec.ToString());
  }
  static absl::StatusOr<ElementSpec> Output(
      const MixtureSource& s, std::span<const ElementSpec> inputs) {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs, inputs));
    FM_RETURN_IF_ERROR(SharesOfMixture(s).status());
    FM_ASSIGN_OR_RETURN(ElementSpec spec, CommonSpec(inputs));
    FM_RETURN_IF_ERROR(CheckMeasure(s.measure, spec));
    return spec;
  }
  static std::string DescribeInput(const MixtureSource& s, size_t input) {
    const auto phases = SharesOfMixture(s);
    if (!phases.ok()) return "";
    std::string text;
    for (const auto& [begin, shares] : *phases) {
      const uint64_t sum = std::accumulate(shares.begin(), shares.end(), 0UL);
      text += fmt::format("{} {} of each {}", begin == 0 ? ":" : ", then",
                          shares[input], sum);
      if (begin > 0) text += fmt::format(" from {} on", begin);
    }
    return text;
  }
  static absl::StatusOr<std::shared_ptr<const Combination>> Combine(
      const MixtureSource& s, std::vector<uint64_t> sizes, uint64_t limit) {
    FM_ASSIGN_OR_RETURN(auto phases, SharesOfMixture(s));
    auto mixing = std::make_shared<Mixing>(std::move(sizes), std::move(phases));
    FM_RETURN_IF_ERROR(mixing->Stop(s.stop, limit));
    return mixing;
  }
  static std::unique_ptr<InputSelector> MakeSelector(const MixtureSource& s) {
    auto phases = SharesOfMixture(s);
    FM_CHECK(phases.ok());
    return std::make_unique<MixtureSelector>(s, *std::move(phases));
  }
};

}  // namespace

const SourceKind& MixtureKind() { return CombiningKindOf<MixtureOperator>(); }

}  // namespace feedmill
