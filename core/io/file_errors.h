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

// Returns the error of an object that its store decompresses, so that ranges of
// it mean nothing.
absl::Status TranscodedError(const std::string& name);
// Returns the error of a file with a Content-Encoding that is not decoded
// (UnknownContentCoding).
absl::Status UnknownCodingError(const std::string& name,
                                const std::string& coding);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_FILE_ERRORS_H_
