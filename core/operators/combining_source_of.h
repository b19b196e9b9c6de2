#ifndef FEEDMILL_CORE_OPERATORS_COMBINING_SOURCE_OF_H_
#define FEEDMILL_CORE_OPERATORS_COMBINING_SOURCE_OF_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/source_kind_of.h"
#include "core/plan/input_combiner.h"

namespace feedmill {

// The members, in addition to DescribesSource, of a source that combines
// pipelines.
template <class S>
concept CombinesInputs = requires(const typename S::Options& options,
                                  std::vector<uint64_t> sizes, uint64_t limit) {
  {
    S::Combine(options, sizes, limit)
  } -> std::same_as<absl::StatusOr<std::shared_ptr<const Combination>>>;
  { S::MakeSelector(options) } -> std::same_as<std::unique_ptr<InputSelector>>;
};

// Makes a SourceKind from the static members of `S` (concatenate.cc is the
// shortest example).
template <class S>
  requires DescribesSource<S> && CombinesInputs<S>
class CombiningSourceOf final : public SourceKindOf<S>, private InputCombiner {
  using SourceKindOf<S>::Cast;

 public:
  const InputCombiner* combiner() const override { return this; }

 private:
  absl::StatusOr<std::shared_ptr<const Combination>> Combine(
      const void* options, std::vector<uint64_t> sizes,
      uint64_t limit) const override {
    return S::Combine(Cast(options), std::move(sizes), limit);
  }
  std::unique_ptr<InputSelector> MakeSelector(
      const void* options) const override {
    return S::MakeSelector(Cast(options));
  }
};

// Returns the only object of the kind.
template <class S>
const SourceKind& CombiningKindOf() {
  static const CombiningSourceOf<S> kind;
  return kind;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_COMBINING_SOURCE_OF_H_
