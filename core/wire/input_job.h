#ifndef FEEDMILL_CORE_WIRE_INPUT_JOB_H_
#define FEEDMILL_CORE_WIRE_INPUT_JOB_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/message.h"

namespace feedmill {

// Returns the name of a job by which a worker reads an input of a pipeline with
// this fingerprint: "@1f2e…-inputs[0][2]-READER.UNIQUE". `part`: see
// Graph::part. `reader`: of all inputs of one read.
JobName InputJobName(const std::vector<size_t>& part,
                     std::string_view fingerprint, std::string_view reader,
                     std::string_view unique);

// The names of all such jobs of the pipeline begin so, and no others.
std::string InputJobPrefix(std::string_view fingerprint);

// The part of the name that such jobs of one pipeline have in common; "" for
// other jobs. Points into the name.
std::string_view InputJobPrefixOf(const JobName& job);

// The reader in the name of such a job; the end of the name if it is of an
// earlier version. Points into the name.
std::string_view InputReaderOf(const JobName& job);

// Returns "inputs[0][2]". REQUIRES: the name begins with InputJobPrefix.
std::string InputReadBy(const JobName& job);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_INPUT_JOB_H_
