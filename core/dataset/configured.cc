#include "core/dataset/configured.h"

#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"

namespace feedmill {

template <class Kind>
void Configured<Kind>::ReadFields(
    const std::function<void(const FieldList&)>& read) const {
  // The fields only point into the options; `read` does not write there.
  read(kind_->Fields(const_cast<void*>(options_.get())));
}

template <class Kind>
void Configured<Kind>::Change(
    const std::function<void(const FieldList&)>& change) {
  std::shared_ptr<void> options = kind_->Copy(options_.get());
  change(kind_->Fields(options.get()));
  options_ = std::move(options);
}

template class Configured<StepKind>;
template class Configured<SourceKind>;

}  // namespace feedmill
