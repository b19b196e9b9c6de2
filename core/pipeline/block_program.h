#ifndef FEEDMILL_CORE_PIPELINE_BLOCK_PROGRAM_H_
#define FEEDMILL_CORE_PIPELINE_BLOCK_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/encoding.h"
#include "core/dataset/function_registry.h"
#include "core/plan/plan.h"
#include "feedmill/element.h"

namespace feedmill {

struct ProgramCode;  // program_code.h

// Rows that pass through all cheap steps together. Their columns fit into the
// first two levels of cache.
inline constexpr size_t kBlockRows = 4096;

// A run of per-element steps (map, filter, parse, decode, …), compiled to
// instructions over columns. An instruction processes a whole block of rows,
// and its registers keep their memory from block to block. A block is small
// enough to stay in the cache for all instructions.
//
// Thread-safety: immutable; any thread, each with its own Scratch.
class BlockProgram {
 public:
  // The input of a run. The columns are borrowed for the call.
  struct Input {
    size_t rows = 0;
    std::vector<EncodedView> columns;  // one per component, as in takes()
    // One per row, if random(): the row's counter and its combined pass. A
    // batch has the counter of its first record.
    std::span<const Cursor> counters;
    std::span<const uint64_t> passes;
    // Address of the values of output component c, or null. Allowed if
    // direct()[c] or placed()[c]; there must be room for all rows. With
    // placed(), the result may still be elsewhere: Output::columns has its
    // place.
    std::vector<std::byte*> direct;
    // If not null, the rows are appended here, and the output has no columns.
    // The caller finishes the rows. Allowed if appends().
    ChunkBuilder* appended = nullptr;
    // True if the caller needs Output::origins; otherwise Output::kept is
    // enough.
    bool numbered = true;
  };

  // The output of a run; valid until the next Run with the same Scratch.
  struct Output {
    size_t rows = 0;
    std::vector<const Column*> columns;  // one per component
    // The input row of each output row, if input.numbered. Empty if no row was
    // dropped.
    std::span<const uint32_t> origins;
    // Bit r is set if input row r was kept; the lowest bit of a word comes
    // first.
    std::span<const uint64_t> kept;
    bool dropped = false;
    // Not OK if input row `failed_row` failed first. The output has the rows
    // before it.
    absl::Status error;
    size_t failed_row = 0;
    size_t failed_step = 0;

    size_t OriginOf(size_t row) const { return dropped ? origins[row] : row; }
  };

  class Scratch;

  // A step that runs before (some of) the work of earlier steps.
  struct Moved {
    size_t step = 0;
    std::vector<size_t> before;
  };

  // Compiles the steps of the graph that `steps` lists, in order, for
  // elements of `input`. The program outputs the components that `output`
  // names, or all if it is null. After a batch step, steps on single records
  // process each record of a row.
  //
  // A filter runs before the work of earlier steps that takes long and that it
  // does not need. So errors of that work are found only in rows that stay.
  // `in_order`: every filter runs where it is written, because errors count.
  static absl::StatusOr<std::shared_ptr<const BlockProgram>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const FunctionRegistry> registry,
      std::vector<size_t> steps, const ElementSpec& input, bool in_order,
      const ElementSpec* output = nullptr);
  // Use Make.
  BlockProgram(std::shared_ptr<const FunctionRegistry> registry,
               ProgramCode code);
  ~BlockProgram();
  BlockProgram(const BlockProgram&) = delete;
  BlockProgram& operator=(const BlockProgram&) = delete;

  std::shared_ptr<Scratch> NewScratch() const;
  void Run(const Input& input, Scratch& scratch, Output& output) const;

  bool empty() const;  // passes its input through
  bool heavy() const;  // takes microseconds or more for a row
  bool paced() const;  // heavy, and fewer rows take less time
  // Most rows of a run: more would take too long, or too much memory.
  size_t rows_together() const;
  bool filters() const;  // may drop rows
  const std::vector<Moved>& moved() const;
  bool random() const;  // needs counters and passes
  // Encodings that the program reads, by component of the input.
  const std::vector<Encoding::Kinds>& takes() const;
  bool appends() const;  // can write rows to a chunk itself
  // Per output component: true if it can be written in place.
  const std::vector<bool>& direct() const;
  // Per output component: true if it can be written in place for many rows at
  // once. All rows then have one size, and calls or filters make them.
  const std::vector<bool>& placed() const;

 private:
  const std::shared_ptr<const FunctionRegistry> registry_;  // owns functions
  const std::unique_ptr<const ProgramCode> code_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BLOCK_PROGRAM_H_
