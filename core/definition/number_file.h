#ifndef FEEDMILL_CORE_DEFINITION_NUMBER_FILE_H_
#define FEEDMILL_CORE_DEFINITION_NUMBER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Read the numbers of a file of one column, such as "weights.npy", whose name
// says its kind. InvalidArgument if it has other components, and above 32 MiB.
absl::StatusOr<std::vector<double>> ReadNumbers(const std::string& file);
// Same of integers; other dtypes are InvalidArgument.
absl::StatusOr<std::vector<int64_t>> ReadIntegers(const std::string& file);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_NUMBER_FILE_H_
