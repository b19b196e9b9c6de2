#ifndef FEEDMILL_TESTS_EXTENSION_EXTENSIONS_H_
#define FEEDMILL_TESTS_EXTENSION_EXTENSIONS_H_

#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"

namespace feedmill::extension {

// The step and the source that this folder adds to feedmill, each in a file of
// its own.
const StepKind& ScaleBytesKind();
const SourceKind& SizedKind();

}  // namespace feedmill::extension

#endif  // FEEDMILL_TESTS_EXTENSION_EXTENSIONS_H_
