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

// The place among the inputs that an element of a combining source comes from.
struct InputPlace {
  uint32_t input = 0;
  uint64_t position = 0;  // in what the input makes
  // How often the input was begun again before, in this pass of the whole.
  uint64_t turn = 0;

  friend bool operator==(const InputPlace&, const InputPlace&) = default;
};

// The order in which concatenate, interleave and mixture read their inputs:
// element n → input and position, computed and (but for a table of a mixture's
// period, or of the places where an interleave's inputs end) never stored.
// A zip's element n is position n of each input: it has a size only.
// CombineInputs makes one.
//
// Thread-safety: immutable; any thread.
class Combination {
 public:
  virtual ~Combination() = default;

  uint64_t size() const { return size_; }  // kEndless without end
  // The places of elements `indexes`. REQUIRES: all are below size(), as many
  // as `out`, and the source is no zip.
  virtual void Find(std::span<const uint64_t> indexes,
                    std::span<InputPlace> out) const = 0;
  // How many elements of an input, turns together, the first size() read;
  // kEndless if size() is.
  virtual uint64_t Used(size_t input) const = 0;
  // How often the first size() begin it; at least 1.
  uint64_t Turns(size_t input) const;
  // So many elements that twice as many in a row, wherever they begin, hold all
  // that come after them. `rounds`: the same of each input, the size of one
  // that ends, 0 where it is not known; of a zip, after how many each begins
  // again. 0 where it is not known. REQUIRES: no end.
  virtual uint64_t Round(std::span<const uint64_t> rounds) const = 0;

 protected:
  explicit Combination(std::vector<uint64_t> sizes)
      : sizes_(std::move(sizes)) {}

  // The bound of positions, and sums and products up to it.
  static constexpr uint64_t kPositionsMax = uint64_t{1} << 63;
  static std::optional<uint64_t> Plus(uint64_t a, uint64_t b);
  static std::optional<uint64_t> Times(uint64_t a, uint64_t b);

  std::vector<uint64_t> sizes_;
  uint64_t size_ = 0;
};

// The sum of the sizes, kEndless if one is. InvalidArgument above 2^63.
absl::StatusOr<uint64_t> TotalSize(const std::vector<uint64_t>& sizes);

// The combination of a source that combines inputs; as InputCombiner::Combine.
absl::StatusOr<std::shared_ptr<const Combination>> CombineInputs(
    const Source& source, std::vector<uint64_t> sizes, uint64_t limit);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_COMBINATION_H_
