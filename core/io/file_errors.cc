#include "core/io/file_errors.h"

#include "core/base/status.h"
#include "core/base/url_secrets.h"

namespace feedmill {

absl::Status NameFile(const absl::Status& status, const std::string& name) {
  const std::string shown = ShownName(name);
  const bool named = ErrorText(status).starts_with(shown + ": ");
  return named ? status : Annotate(status, shown);
}

absl::Status CallDamaged(const absl::Status& status, const std::string& what) {
  return absl::IsDataLoss(status) ? Annotate(status, what) : status;
}

absl::Status TranscodedError(const std::string& name) {
  return FailedPrecondition(
      "{}: has Content-Encoding: gzip, so the store decompresses it and sends "
      "no part of it by position; clear that header (gcloud storage objects "
      "update gs://BUCKET/KEY --clear-content-encoding): it is then read as a "
      "gzip file",
      name);
}

absl::Status UnknownCodingError(const std::string& name,
                                const std::string& coding) {
  return FailedPrecondition(
      "{}: has Content-Encoding: {}, which is not decoded; store it without, "
      "or compressed with gzip or zstd",
      name, coding);
}

}  // namespace feedmill
