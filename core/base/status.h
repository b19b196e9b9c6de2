#ifndef FEEDMILL_CORE_BASE_STATUS_H_
#define FEEDMILL_CORE_BASE_STATUS_H_

#include <fmt/format.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/url_secrets.h"
#include "feedmill/status.h"

// The fixed meaning of each code in this project (the command's exit status
// follows from it, see tools/command/exit_code.h):
//
//   InvalidArgument     the pipeline, flag, token or address is wrong       2
//   NotFound            a named file, job or dataset does not exist         2
//   FailedPrecondition  right request, wrong moment (a changed file,        1
//                       a stopped server, a superseded session)
//   DataLoss            a record, frame or journal is corrupt               1
//   OutOfRange          end of the data where more was promised             1
//   ResourceExhausted   a bound of memory, files or peers was met           1
//   Unavailable         a peer or the network; trying again may help        1
//   DeadlineExceeded    a wait ended                                        1
//   Cancelled           asked to stop                                       1
//   Internal            a bug of ours                                       1
// A message says what failed, for which file, record or component, and what to
// do. It shows URLs without their secrets (url_secrets.h).

namespace feedmill {

#define FEEDMILL_DEFINE_ERROR(Name)                                        \
  template <class... Args>                                                 \
  absl::Status Name(fmt::format_string<Args...> format, Args&&... args) {  \
    return absl::Name##Error(                                              \
        HideUrlSecrets(fmt::format(format, std::forward<Args>(args)...))); \
  }
FEEDMILL_DEFINE_ERROR(InvalidArgument)
FEEDMILL_DEFINE_ERROR(NotFound)
FEEDMILL_DEFINE_ERROR(FailedPrecondition)
FEEDMILL_DEFINE_ERROR(DataLoss)
FEEDMILL_DEFINE_ERROR(OutOfRange)
FEEDMILL_DEFINE_ERROR(ResourceExhausted)
FEEDMILL_DEFINE_ERROR(Unavailable)
FEEDMILL_DEFINE_ERROR(DeadlineExceeded)
FEEDMILL_DEFINE_ERROR(Cancelled)
FEEDMILL_DEFINE_ERROR(Internal)
#undef FEEDMILL_DEFINE_ERROR

// Returns the same code with `where` before the message: "photos.yaml: unknown
// step".
inline absl::Status Annotate(const absl::Status& status,
                             const std::string& where) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      HideUrlSecrets(where + ": " + ErrorText(status)));
}

}  // namespace feedmill

#define FM_CONCAT_INNER(a, b) a##b
#define FM_CONCAT(a, b) FM_CONCAT_INNER(a, b)

#define FM_RETURN_IF_ERROR(expression)     \
  do {                                     \
    absl::Status fm_status = (expression); \
    if (!fm_status.ok()) return fm_status; \
  } while (false)

#define FM_ASSIGN_OR_RETURN(declaration, expression)                        \
  FM_ASSIGN_OR_RETURN_INNER(FM_CONCAT(fm_statusor_, __LINE__), declaration, \
                            expression)
#define FM_ASSIGN_OR_RETURN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                      \
  if (!temporary.ok()) return std::move(temporary).status();          \
  declaration = *std::move(temporary)

#endif  // FEEDMILL_CORE_BASE_STATUS_H_
