#ifndef FEEDMILL_CORE_PIPELINE_PROGRAM_CODE_H_
#define FEEDMILL_CORE_PIPELINE_PROGRAM_CODE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/pipeline/fused_items.h"
#include "core/pipeline/instructions.h"

// The block program from inside: ProgramBuilder makes instructions of
// steps, block_program.cc runs them.

namespace feedmill {

// A BlockProgram, compiled.
struct ProgramCode {
  size_t first_step = 0;  // the number of steps[0] among all as written
  std::vector<std::unique_ptr<Instruction>> instructions;
  // What instructions are as one, by the first of them; null elsewhere.
  std::vector<std::unique_ptr<const FusedItems>> fused;
  size_t value_count = 0;
  size_t register_count = 0;
  std::vector<ValueId> outputs;  // by component
  bool passes = false;           // the outputs are the inputs
  bool heavy = false;
  bool filters = false;
  bool random = false;
  bool takes_trailing = false;
  bool takes_progression = false;
  bool appends = false;
  std::vector<bool> direct;
  std::vector<bool> placed;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PROGRAM_CODE_H_
