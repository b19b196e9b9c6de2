#include "core/io/file_errors.h"

#include "core/base/status.h"
#include "core/base/url_secrets.h"

namespace feedmill {

absl::Status NameFile(const absl::Status& status, const std::string& name) {
  const bool named = ErrorText(status).starts_with(HideUrlSecrets(name + ": "));
  return named ? status : Annotate(status, name);
}

absl::Status CallDamaged(const absl::Status& status, const std::string& what) {
  return absl::IsDataLoss(status) ? Annotate(status, what) : status;
}

}  // namespace feedmill
