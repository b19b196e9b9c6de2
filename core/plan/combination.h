#ifndef FEEDMILL_CORE_PLAN_COMBINATION_H_
#define FEEDMILL_CORE_PLAN_COMBINATION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Where an element of a source made of inputs comes from.
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
//
// Immutable; any thread.
class Combination {
 public:
  // `sizes`: of what the inputs make, kEndless for those without end. `limit`:
  // so many elements are read of it in one pass, at most.
  // InvalidArgument where it cannot be: more than 2^63 elements, an input
  // without elements that is to begin again, wrong values of `source`.
  static absl::StatusOr<std::shared_ptr<const Combination>> Make(
      const Source& source, std::vector<uint64_t> sizes, uint64_t limit);
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

  std::vector<uint64_t> sizes_;
  uint64_t size_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLAN_COMBINATION_H_
