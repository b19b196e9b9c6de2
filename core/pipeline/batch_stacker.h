#ifndef FEEDMILL_CORE_PIPELINE_BATCH_STACKER_H_
#define FEEDMILL_CORE_PIPELINE_BATCH_STACKER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Makes batches of rows in a layout (graph.h): equal shapes, padded, ragged.
// Immutable; any thread.
class BatchStacker {
 public:
  // REQUIRES: a padding that fits `input` (StepOutput checks it).
  BatchStacker(BatchLayout layout, const std::vector<Padding>& padding,
               const ElementSpec& input);

  BatchLayout layout() const { return layout_; }

  // Groups consecutive rows (groups[k] > 0 of them each, all in all the rows)
  // into batches; `out` gets the columns of the batches' spec. DataLoss if a
  // group's rows cannot be one batch; `failed_group` is the first such of the
  // column where it was found.
  absl::Status Stack(std::span<const Column* const> rows,
                     std::span<const size_t> groups, std::vector<Column>& out,
                     size_t& failed_group) const;
  // The same of a chunk; after an error `out` has the batches before the first
  // that failed, and `count` is their number.
  absl::Status Stack(const Chunk& rows, std::span<const size_t> groups,
                     std::shared_ptr<const ElementSpec> spec, Chunk& out,
                     size_t& count) const;

 private:
  absl::Status StackComponent(size_t c, const Column& rows,
                              std::span<const size_t> groups,
                              std::vector<Column>& out,
                              size_t& failed_group) const;

  struct Component {
    std::string name;
    Shape target;  // kUnknownDim: the longest
    double fill = 0;
    bool joined = false;
  };

  const BatchLayout layout_;
  std::vector<Component> components_;
};

// Rows of [n, …] one after another along that axis, then `fill` up to `length`.
// DataLoss as above.
absl::Status PackRows(const Column& rows, std::span<const size_t> groups,
                      int64_t length, double fill, Column& out,
                      size_t& failed_group);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BATCH_STACKER_H_
