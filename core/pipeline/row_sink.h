#ifndef FEEDMILL_CORE_PIPELINE_ROW_SINK_H_
#define FEEDMILL_CORE_PIPELINE_ROW_SINK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/chunk/buffer_builder.h"
#include "core/chunk/chunk_builder.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"
#include "feedmill/element.h"

namespace feedmill {

// Collects the rows of a piece into a chunk, and decides how they enter it:
//   adopted  the columns of one block become the chunk, with their memory;
//   placed   the record program writes them into the chunk's memory;
//   copied   they are appended to the chunk.
// Memory of placed and copied columns comes from scratch.blocks.
class RowSink {
 public:
  // `positions` make about `bytes_target` bytes, or fewer.
  RowSink(const StageProgram& program, StageScratch& scratch,
          uint64_t positions, size_t bytes_target);

  size_t rows() const { return adopted_.rows + placed_rows_ + copied_.rows(); }
  size_t bytes() const;
  // Bytes by which the chunk may exceed its target. After a filter, a block
  // yields fewer bytes than requested, and blocks for the rest would get ever
  // smaller.
  size_t bytes_beyond() const {
    return program_.records->filters() ? bytes_target_ / 16 : 0;
  }
  // True if no rows can be added.
  bool closed() const { return adopted_.rows > 0; }

  // Reserves memory for the expected rows, so that columns do not move as they
  // grow.
  void Reserve();
  // Lets the record program write its next rows into the chunk, if it can.
  void Prepare(size_t rows);
  // Adds the rows of scratch.records_out. `last`: the piece ends with them.
  void AddRecords(bool last);
  // Adds the rows of scratch.batches_out.
  void AddBatches();
  // The copied rows, for batches that are written one by one.
  ChunkBuilder& copied() { return copied_; }
  // Drops all copied rows.
  void Clear() { copied_ = ChunkBuilder(program_.output, scratch_.blocks); }

  Chunk Finish() &&;

 private:
  bool Adopt(const BlockProgram::Output& out, bool last);
  void Copy(const BlockProgram::Output& out);
  void KeepPlaced();

  const StageProgram& program_;
  StageScratch& scratch_;
  const uint64_t positions_;
  const size_t bytes_target_;
  ChunkBuilder copied_;
  Chunk adopted_;                      // without rows if none are adopted
  std::vector<BufferBuilder> placed_;  // values, by component
  size_t placed_rows_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ROW_SINK_H_
