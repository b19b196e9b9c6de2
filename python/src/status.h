#ifndef FEEDMILL_PYTHON_SRC_STATUS_H_
#define FEEDMILL_PYTHON_SRC_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill::python {

// Raises the exception of feedmill.errors for `status`.
// REQUIRES: the GIL is held; !status.ok().
[[noreturn]] void Raise(const absl::Status& status);

inline void Check(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

inline void Take(const absl::Status& status) { Check(status); }

template <class T>
T Take(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

}  // namespace feedmill::python

#endif  // FEEDMILL_PYTHON_SRC_STATUS_H_
