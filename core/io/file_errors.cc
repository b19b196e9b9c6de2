#include "core/io/file_errors.h"

#include "core/base/shown_name.h"
#include "core/base/status.h"

namespace feedmill {

absl::Status NameFile(const absl::Status& status, const std::string& name) {
  const std::string shown = ShownName(name);
  const bool named = ErrorText(status).starts_with(shown + ": ");
  return named ? status : Annotate(status, shown);
}

absl::Status CallDamaged(const absl::Status& status, const std::string& what) {
  return absl::IsDataLoss(status) ? Annotate(status, what) : status;
}

}  // namespace feedmill
