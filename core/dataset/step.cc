#include "core/dataset/step.h"

#include <algorithm>

#include "core/dataset/step_kind.h"

namespace feedmill {

std::string_view Step::name() const { return kind().NameOf(options()); }

Step Step::Changed(const std::function<void(const FieldList&)>& change) const {
  Step out = *this;
  out.Change(change);
  return out;
}

size_t BatchesAfter(const Step& step, size_t before) {
  switch (TraitsOf(step).batch_dims) {
    case BatchDims::kKept:
      return before;
    case BatchDims::kAdded:
      return before + 1;
    case BatchDims::kRemoved:
      return before - std::min<size_t>(before, 1);
    case BatchDims::kOneOrMore:
      return std::max<size_t>(before, 1);
  }
  return before;
}

}  // namespace feedmill
