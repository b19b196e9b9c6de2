#ifndef FEEDMILL_TESTS_EXTENSION_EXTENSIONS_H_
#define FEEDMILL_TESTS_EXTENSION_EXTENSIONS_H_

#include "core/dataset/step_kind.h"

namespace feedmill::extension {

// What this folder adds to feedmill, each in a file of its own.
const StepKind& ScaleBytesKind();

}  // namespace feedmill::extension

#endif  // FEEDMILL_TESTS_EXTENSION_EXTENSIONS_H_
