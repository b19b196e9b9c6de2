#ifndef FEEDMILL_CORE_DATASET_STEP_H_
#define FEEDMILL_CORE_DATASET_STEP_H_

#include <functional>
#include <string_view>

#include "core/dataset/configured.h"
#include "core/dataset/fields.h"

namespace feedmill {

class StepKind;

// A step of a pipeline: its kind (step_kind.h) and its options, a struct of
// dataset_options.h or of an extension. MakeStep (core/operators/registry.h)
// makes a Step from such a struct.
class Step : public Configured<StepKind> {
 public:
  using Configured::Configured;

  // Returns the name in YAML: "padded_batch".
  std::string_view name() const;
  // Returns a copy of the step after change(fields) has changed its options.
  Step Changed(const std::function<void(const FieldList&)>& change) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_H_
