#ifndef FEEDMILL_CORE_WIRE_INPUT_JOB_H_
#define FEEDMILL_CORE_WIRE_INPUT_JOB_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// Returns the name of a job by which a worker reads an input of a pipeline with
// this fingerprint: "@inputs[0][2]-1f2e…-UNIQUE". `part`: see Graph::part.
JobName InputJobName(const std::vector<size_t>& part,
                     std::string_view fingerprint, std::string_view unique);

// All such names begin so.
inline constexpr std::string_view kInputJobs = "@inputs[";

// Returns "inputs[0][2]" if the job reads an input of a pipeline with this
// fingerprint, else "".
std::string InputReadBy(const JobName& job, std::string_view fingerprint);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_INPUT_JOB_H_
