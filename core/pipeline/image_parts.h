#ifndef FEEDMILL_CORE_PIPELINE_IMAGE_PARTS_H_
#define FEEDMILL_CORE_PIPELINE_IMAGE_PARTS_H_

#include "core/pipeline/program_code.h"

namespace feedmill {

// Changes instructions so that pixels that no later call reads are not made.
// The values of the outputs stay:
// - A crop or a flip runs before earlier calls that work pixel by pixel, if it
//   alone reads their results.
// - An image that only one crop reads is decoded next to it, and only there.
// - image.to_chw is a part of the call that makes its image, where a function
//   does both.
// Adds crops of earlier steps' results to code.moved.
// REQUIRES: the instructions have no registers yet, and the outputs are set.
void NeedFewerPixels(ProgramCode& code);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_IMAGE_PARTS_H_
