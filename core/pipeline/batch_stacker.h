#ifndef FEEDMILL_CORE_PIPELINE_BATCH_STACKER_H_
#define FEEDMILL_CORE_PIPELINE_BATCH_STACKER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "feedmill/element.h"

namespace feedmill {

// Makes batches of rows in a layout (graph.h): equal shapes, padded or ragged.
// Immutable; any thread.
class BatchStacker {
 public:
  // REQUIRES: `padding` fits `input` (StepOutput checks it).
  BatchStacker(BatchLayout layout, const std::vector<Padding>& padding,
               const ElementSpec& input);

  BatchLayout layout() const { return layout_; }

  // Groups consecutive rows into batches: batch k has groups[k] > 0 rows, and
  // the groups contain all rows. `out` receives the columns of the batches.
  // DataLoss if the rows of a group cannot be one batch; then `failed_group` is
  // the first such group of the column that failed.
  absl::Status Stack(std::span<const Column* const> rows,
                     std::span<const size_t> groups, std::vector<Column>& out,
                     size_t& failed_group) const;
  // Same for a chunk. After an error, `out` has the batches before the first
  // failed one, and `count` is their number.
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
    Shape target;  // kUnknownDim: pad to the longest row
    double fill = 0;
    bool joined = false;
  };

  const BatchLayout layout_;
  std::vector<Component> components_;
};

// Joins rows of shape [n, …] along the first axis; each begins at a multiple of
// `align`. `fill` stands between them and after them, up to `length`. DataLoss
// as for Stack.
absl::Status PackRows(const Column& rows, std::span<const size_t> groups,
                      int64_t length, int64_t align, double fill, Column& out,
                      size_t& failed_group);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BATCH_STACKER_H_
