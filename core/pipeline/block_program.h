#ifndef FEEDMILL_CORE_PIPELINE_BLOCK_PROGRAM_H_
#define FEEDMILL_CORE_PIPELINE_BLOCK_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/chunk_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/progression.h"
#include "core/dataset/function_registry.h"
#include "core/plan/plan.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Rows that go through all cheap steps together: few enough that their columns
// stay in the first two levels of cache.
inline constexpr size_t kBlockRows = 4096;

// A run of per-element steps (map, filter, parse, decode, …), compiled to
// instructions over columns: each takes a whole block of rows at a time, from
// registers to registers that keep their memory from block to block. The block
// is small enough to stay in the cache while it goes through all of them.
//
// Thread-safety: immutable; any thread, each with its own Scratch.
class BlockProgram {
 public:
  // What goes in. The columns are borrowed for the call.
  struct Input {
    size_t rows = 0;
    std::vector<const Column*> columns;  // one per component
    // One per row, if random(): the counter of the row (in batched data, of
    // its first record) and the combined pass it is in.
    std::span<const Cursor> counters;
    std::span<const uint64_t> passes;
    // Where output component c is to be written, if not null: allowed if
    // direct()[c] or placed()[c]; room for all rows. What is placed may be
    // elsewhere all the same: where the output says.
    std::vector<std::byte*> direct;
    // Where the rows are to be appended, if not null: allowed if appends(). The
    // caller finishes them; the output has no columns.
    ChunkBuilder* appended = nullptr;
    // That many bytes at the end of each row are none of the record's; none
    // unless takes_trailing().
    size_t trailing = 0;
    // The items of component 0, which is empty then; none unless
    // takes_progression().
    std::optional<Progression> progression;
    // Whether the output's origins are wanted; else its bits are enough.
    bool numbered = true;
  };

  // What comes out; valid until the next Run with the same Scratch.
  struct Output {
    size_t rows = 0;
    std::vector<const Column*> columns;  // one per component
    // The input row of each row, if input.numbered; not used (and empty) if
    // none was dropped.
    std::span<const uint32_t> origins;
    // The same as bits of the input rows, the first the lowest of a word.
    std::span<const uint64_t> kept;
    bool dropped = false;
    // Not OK: `failed_row` of the input is the first that failed; the rows
    // above are those before it.
    absl::Status error;
    size_t failed_row = 0;
    size_t failed_step = 0;

    size_t OriginOf(size_t row) const { return dropped ? origins[row] : row; }
  };

  class Scratch;

  // Compiles those of the graph's steps that `steps` lists, in order, over
  // elements of `input`; makes of the last one's output what `output` names, or
  // all (null). Where batches stand before them, steps that know
  // records act on each record of a row.
  static absl::StatusOr<std::shared_ptr<const BlockProgram>> Make(
      std::shared_ptr<const Plan> plan,
      std::shared_ptr<const FunctionRegistry> registry,
      std::vector<size_t> steps, const ElementSpec& input,
      const ElementSpec* output = nullptr);
  virtual ~BlockProgram() = default;

  virtual std::shared_ptr<Scratch> NewScratch() const = 0;
  virtual void Run(const Input& input, Scratch& scratch,
                   Output& output) const = 0;

  virtual bool empty() const = 0;    // passes its input through
  virtual bool heavy() const = 0;    // microseconds or more a row
  virtual bool filters() const = 0;  // may drop rows
  virtual bool random() const = 0;   // needs counters and passes
  virtual bool takes_trailing() const = 0;
  virtual bool takes_progression() const = 0;
  virtual bool appends() const = 0;  // can write rows to a chunk itself
  // Per output component: whether it can be written in place.
  virtual const std::vector<bool>& direct() const = 0;
  // … whether it can be for many rows at once, all of one size: what calls
  // make and filters keep.
  virtual const std::vector<bool>& placed() const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BLOCK_PROGRAM_H_
