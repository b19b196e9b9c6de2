#include "core/dataset/step.h"

#include <algorithm>

#include "core/dataset/step_kind.h"

namespace feedmill {

std::string_view Step::name() const { return kind_->NameOf(options_.get()); }

void Step::ReadFields(const std::function<void(const FieldList&)>& read) const {
  // The fields only point into the options; `read` does not write there.
  read(kind_->Fields(const_cast<void*>(options_.get())));
}

Step Step::Changed(const std::function<void(const FieldList&)>& change) const {
  const std::shared_ptr<void> options = kind_->Copy(options_.get());
  change(kind_->Fields(options.get()));
  return {*kind_, *type_, options};
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
