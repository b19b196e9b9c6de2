#ifndef FEEDMILL_CORE_PIPELINE_HELD_ROWS_H_
#define FEEDMILL_CORE_PIPELINE_HELD_ROWS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/pipeline/read_place.h"

namespace feedmill {

// The encoding of the rows that client steps hold, in tokens and in places of
// streams. Numbers are LEB128.

// Appends rows, and their counters and passes.
void PutHeld(const StageState::Held& held, std::string& bytes);
// Removes such rows from the front of `bytes`; nullopt if they are damaged.
// Memory is bounded by a constant times their size.
std::optional<StageState::Held> TakeHeld(std::string_view& bytes);

// Lists all rows of `step.held` in step.rows, in order: groups follow each
// other. False if the rows are not alike, or more than `rows_max`, which bounds
// rows without bytes. No effect without groups.
bool ListGroupedRows(size_t rows_max, StageState::Step& step);

bool HoldsRows(const StageState& stage);
// About the bytes of the rows that the steps hold.
size_t HeldBytes(const StageState& stage);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_HELD_ROWS_H_
