#ifndef FEEDMILL_CORE_PIPELINE_LATE_INSTRUCTIONS_H_
#define FEEDMILL_CORE_PIPELINE_LATE_INSTRUCTIONS_H_

#include <memory>
#include <vector>

#include "core/pipeline/instructions.h"

namespace feedmill {

using InstructionList = std::vector<std::unique_ptr<Instruction>>;

// Removes and returns the instructions that a filter should run before: the
// ones that take long (Instruction::late) and what needs their outputs, in
// order. Stays behind the last filter in `instructions`. `keep`: the filter's
// predicate, which needs none of them.
InstructionList TakeLate(InstructionList& instructions, ValueId keep);

// Returns the values that `instructions` read and do not make, each once.
std::vector<ValueId> ReadBy(const InstructionList& instructions);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LATE_INSTRUCTIONS_H_
