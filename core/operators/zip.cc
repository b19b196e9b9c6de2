#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
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

class Zipping final : public Combination {
 public:
  Zipping(std::vector<uint64_t> sizes, uint64_t limit)
      : Combination(std::move(sizes)) {
    size_ = std::min(limit, *std::min_element(sizes_.begin(), sizes_.end()));
  }
  void Find(std::span<const uint64_t>, std::span<InputPlace>) const override {
    FM_CHECK(false);
  }
  uint64_t Used(size_t) const override { return size_; }

  // The period after which all inputs begin again together.
  uint64_t Round(std::span<const uint64_t> rounds) const override {
    uint64_t together = 1;
    for (const uint64_t round : rounds) {
      if (round == 0) return 0;
      together = Times(together / std::gcd(together, round), round).value_or(0);
      if (together == 0) return 0;
    }
    return together;
  }
};

// Returns the components of all inputs. InvalidArgument if names are equal.
absl::StatusOr<ElementSpec> JoinedSpec(std::span<const ElementSpec> inputs) {
  ElementSpec out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const ComponentSpec& component : inputs[i].components) {
      if (component.name.empty() && inputs.size() > 1) {
        return InvalidArgument(
            "the component of inputs[{}] has no name. Give it one in that "
            "input's steps, as in map: {{left: x}}",
            i);
      }
      if (out.Find(component.name) >= 0) {
        return InvalidArgument(
            "inputs[{}] makes a component \"{}\", as one before it does. "
            "Rename it in that input's steps, as in map: {{other: {}}}",
            i, component.name, component.name);
      }
      out.components.push_back(component);
    }
  }
  FM_RETURN_IF_ERROR(CheckComponentNames(out));
  return out;
}

struct ZipOperator {
  using Options = ZipSource;
  static constexpr std::string_view kName = "zip";
  static constexpr Description kDescription = {
      .summary =
          "Joins one element of each input; ends with the shortest input.",
      .yaml =
          R"(zip: [{source: {range: 3}, steps: [map: {a: x}]}, {source: {range: 9}, steps: [map: {b: x}]}])",
      .element =
          "an element of each, their components side by side; as long as the "
          "shortest",
      .details =
          "Every input has named components (`map` gives names), each name "
          "once.",
      .errors =
          "Reading raises InvalidArgumentError if a component has no name, or "
          "two have the same.",
      .example = R"(
>>> one, other = fm.Dataset.range(3).map(a="x"), fm.Dataset.range(9).map(b="-x")
>>> pairs = fm.Dataset.zip([one, other])
>>> [(int(e["a"]), int(e["b"])) for e in pairs.read()]
[(0, 0), (1, -1), (2, -2)]
)"};

  static FieldList Fields(ZipSource& s) {
    return {{"inputs", InputPipelines{&s.inputs},
             Field::kRequired | Field::kShort, "The pipelines to read."}};
  }
  static SourceProperties Properties(const ZipSource& s) {
    return {.infinite = AllAreInfinite(s.inputs), .pairs_inputs = true};
  }
  static absl::StatusOr<ElementSpec> Output(
      const ZipSource& s, std::span<const ElementSpec> inputs) {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs, inputs));
    return JoinedSpec(inputs);
  }
  static absl::StatusOr<std::shared_ptr<const Combination>> Combine(
      const ZipSource&, std::vector<uint64_t> sizes, uint64_t limit) {
    return std::make_shared<const Zipping>(std::move(sizes), limit);
  }
  static std::unique_ptr<InputSelector> MakeSelector(const ZipSource&) {
    return nullptr;
  }
};

}  // namespace

const SourceKind& ZipKind() { return CombiningKindOf<ZipOperator>(); }

}  // namespace feedmill
