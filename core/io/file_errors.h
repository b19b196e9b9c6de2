#ifndef FEEDMILL_CORE_IO_FILE_ERRORS_H_
#define FEEDMILL_CORE_IO_FILE_ERRORS_H_

#include <string>

#include "absl/status/status.h"

namespace feedmill {

// Returns the error of a parser with the file's name before it. An error of
// reading the file has the name already, and is not changed.
absl::Status NameFile(const absl::Status& status, const std::string& name);

// Returns DataLoss with `what` before its message, e.g. "its footer is
// damaged". Another error, e.g. one of reading the file, is not changed: the
// data may be sound.
absl::Status CallDamaged(const absl::Status& status, const std::string& what);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_ERRORS_H_
