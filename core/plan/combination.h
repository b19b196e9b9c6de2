#ifndef FEEDMILL_CORE_PLAN_COMBINATION_H_
#define FEEDMILL_CORE_PLAN_COMBINATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/source.h"

namespace feedmill {

// The input, and the position in it, that an element of a combining source
// comes from.
struct InputPlace {
  uint32_t input = 0;
  uint64_t position = 0;  // in the sequence of the input
  // Number of earlier readings of the input from its beginning, in this pass.
  uint64_t turn = 0;

  friend bool operator==(const InputPlace&, const InputPlace&) = default;
};

// The order in which concatenate, interleave and mixture read their inputs:
// element n → input and position. The order is computed, not stored, except for
// one table: a mixture's period, or the ends of an interleave's inputs.
// Element n of a zip is position n of each input, so a zip has a size only.
// CombineInputs makes a Combination.
//
// Thread-safety: immutable; any thread.
class Combination {
 public:
  virtual ~Combination() = default;

  uint64_t size() const { return size_; }  // kInfinite if infinite
  // Finds the places of elements `indexes`. REQUIRES: each index is below
  // size(), `out` has as many entries as `indexes`, and the source is no zip.
  virtual void Find(std::span<const uint64_t> indexes,
                    std::span<InputPlace> out) const = 0;
  // Number of elements of an input that the first size() elements read, summed
  // over all turns of the input; kInfinite if size() is.
  virtual uint64_t Used(size_t input) const = 0;
  // Number of times that the first size() elements begin the input; at least 1.
  uint64_t Turns(size_t input) const;
  // For an infinite combination, returns a period R: any 2R consecutive
  // elements contain every element that still occurs later. Returns 0 if
  // unknown.
  // `rounds` has the period of each input: the size of a finite input, 0 if
  // unknown. For a zip, it has the number of elements after which each input
  // begins again. REQUIRES: the combination is infinite.
  virtual uint64_t Round(std::span<const uint64_t> rounds) const = 0;

 protected:
  explicit Combination(std::vector<uint64_t> sizes)
      : sizes_(std::move(sizes)) {}

  // Largest number of positions, and of their sums and products.
  static constexpr uint64_t kPositionsMax = uint64_t{1} << 63;
  static std::optional<uint64_t> Plus(uint64_t a, uint64_t b);
  static std::optional<uint64_t> Times(uint64_t a, uint64_t b);

  std::vector<uint64_t> sizes_;
  uint64_t size_ = 0;
};

// Returns the sum of the sizes; kInfinite if one of them is. InvalidArgument
// above 2^63.
absl::StatusOr<uint64_t> TotalSize(const std::vector<uint64_t>& sizes);

// Returns the combination of the inputs of `source`; see
// InputCombiner::Combine.
absl::StatusOr<std::shared_ptr<const Combination>> CombineInputs(
    const Source& source, std::vector<uint64_t> sizes, uint64_t limit);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_COMBINATION_H_
