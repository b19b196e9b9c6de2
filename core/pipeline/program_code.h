#ifndef FEEDMILL_CORE_PIPELINE_PROGRAM_CODE_H_
#define FEEDMILL_CORE_PIPELINE_PROGRAM_CODE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/pipeline/block_program.h"
#include "core/pipeline/fused_items.h"
#include "core/pipeline/instructions.h"

// Internals of a block program: ProgramBuilder compiles steps to instructions,
// block_program.cc runs them.

namespace feedmill {

// A BlockProgram, compiled.
struct ProgramCode {
  size_t first_step = 0;  // index of steps[0] as written
  std::vector<std::unique_ptr<Instruction>> instructions;
  // Fused instructions, at the index of the first of them; null at other
  // indexes.
  std::vector<std::unique_ptr<const FusedItems>> fused;
  size_t value_count = 0;
  size_t register_count = 0;
  std::vector<ValueId> outputs;  // by component
  bool passes = false;           // the outputs are the inputs
  bool heavy = false;
  bool by_call = false;
  size_t rows = kBlockRows;  // most rows of a run
  bool filters = false;
  bool random = false;
  std::vector<BlockProgram::Moved> moved;
  std::vector<Encoding::Kinds> takes;  // by component of the input
  bool appends = false;
  std::vector<bool> direct;
  std::vector<bool> placed;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROGRAM_CODE_H_
