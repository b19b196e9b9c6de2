#ifndef FEEDMILL_CORE_BASE_MACHINE_ERROR_H_
#define FEEDMILL_CORE_BASE_MACHINE_ERROR_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"

namespace feedmill {

// Thrown while elements are made, by an error of this machine only: no process
// can be started, for example. It is no error of an element, so on_error does
// not skip the element, and another worker may make it.
class MachineError final : public std::exception {
 public:
  explicit MachineError(absl::Status status) : status_(std::move(status)) {}

  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override {
    return "an error of this machine";
  }

 private:
  absl::Status status_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_MACHINE_ERROR_H_
