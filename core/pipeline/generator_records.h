#ifndef FEEDMILL_CORE_PIPELINE_GENERATOR_RECORDS_H_
#define FEEDMILL_CORE_PIPELINE_GENERATOR_RECORDS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/generator_source.h"
#include "core/sources/record_source.h"

namespace feedmill {

// Returns the elements of a generator; blocks are its shards. `live`: see
// RecordSource::Make. FailedPrecondition if the process runs no Python
// functions.
absl::StatusOr<std::unique_ptr<const RecordSource>> MakeGeneratorRecords(
    const GeneratorSource& source, const FunctionRegistry& registry,
    const std::vector<bool>& live);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_GENERATOR_RECORDS_H_
