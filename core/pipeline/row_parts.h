#ifndef FEEDMILL_CORE_PIPELINE_ROW_PARTS_H_
#define FEEDMILL_CORE_PIPELINE_ROW_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/pipeline/client_step.h"

namespace feedmill {

// A part of a row: `length` places of the first axis of all its components.
struct RowPart {
  size_t row = 0;
  int64_t length = 0;
};

// Cuts the rows of a flow along their first axes, so that each part becomes a
// row, which is a view. The parts list all of every row, in order. If a row has
// one part only, that part is the row; its components may differ in length.
void CutRows(std::span<const RowPart> parts, Flow& flow);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_ROW_PARTS_H_
