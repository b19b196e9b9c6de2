#include "core/pipeline/late_instructions.h"

#include <algorithm>
#include <set>
#include <utility>

namespace feedmill {
namespace {

using Values = std::set<ValueId>;

bool AnyIn(const std::vector<ValueId>& values, const Values& set) {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return set.contains(value); });
}

// Returns the index behind the last filter.
size_t AfterFilters(const InstructionList& instructions) {
  size_t begin = instructions.size();
  while (begin > 0 && !instructions[begin - 1]->passes_on) --begin;
  return begin;
}

// Returns `keep` and all values from `begin` on that it follows from.
Values NeededFor(ValueId keep, const InstructionList& instructions,
                 size_t begin) {
  Values needed{keep};
  for (size_t at = instructions.size(); at-- > begin;) {
    const Instruction& one = *instructions[at];
    if (AnyIn(one.outputs, needed)) {
      needed.insert(one.inputs.begin(), one.inputs.end());
    }
  }
  return needed;
}

// True if an instruction writes over a value that late ones read. In the new
// order, it would do so too early, or in memory that it does not own.
bool WritesOver(const InstructionList& stay, const InstructionList& late) {
  const std::vector<ValueId> list = ReadBy(late);
  const Values read(list.begin(), list.end());
  const auto writes = [&](const auto& one) {
    return one->in_place && read.contains(one->inputs[0]);
  };
  return std::any_of(stay.begin(), stay.end(), writes) ||
         std::any_of(late.begin(), late.end(), writes);
}

}  // namespace

InstructionList TakeLate(InstructionList& instructions, ValueId keep) {
  const size_t begin = AfterFilters(instructions);
  const Values needed = NeededFor(keep, instructions, begin);
  Values made;
  std::vector<bool> moves(instructions.size(), false);
  for (size_t at = begin; at < instructions.size(); ++at) {
    const Instruction& one = *instructions[at];
    moves[at] =
        !AnyIn(one.outputs, needed) && (one.late || AnyIn(one.inputs, made));
    if (moves[at]) made.insert(one.outputs.begin(), one.outputs.end());
  }
  InstructionList stay;
  InstructionList late;
  for (size_t at = 0; at < instructions.size(); ++at) {
    (moves[at] ? late : stay).push_back(std::move(instructions[at]));
  }
  if (!WritesOver(stay, late)) {
    instructions = std::move(stay);
    return late;
  }
  size_t stayed = 0;
  size_t moved = 0;
  for (size_t at = 0; at < instructions.size(); ++at) {
    instructions[at] = std::move(moves[at] ? late[moved++] : stay[stayed++]);
  }
  return {};
}

std::vector<ValueId> ReadBy(const InstructionList& instructions) {
  std::vector<ValueId> read;
  Values known;
  for (const auto& one : instructions) {
    for (const ValueId in : one->inputs) {
      if (known.insert(in).second) read.push_back(in);
    }
    known.insert(one->outputs.begin(), one->outputs.end());
  }
  return read;
}

}  // namespace feedmill
