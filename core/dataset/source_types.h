#ifndef FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_
#define FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/chunk/element_spec.h"
#include "core/dataset/graph.h"

namespace feedmill {

// The YAML name of a source: "fixed_length".
std::string_view SourceName(const Source& source);

// Its files; null for a source without.
const std::vector<std::string>* SourceFiles(const Source& source);
std::vector<std::string>* SourceFiles(Source& source);

// What it is made of; null for a source that reads records of its own.
const std::vector<Graph>* SourceInputs(const Source& source);
std::vector<Graph>* SourceInputs(Source& source);
// Whether it has no end, as far as the graph alone tells.
bool IsEndless(const Source& source);
bool IsEndless(const Graph& graph);
// How many inputs it reads in turn; never 0.
int64_t CycleLength(const InterleaveSource& source);
// The weights of a mixture as integers without a common divisor. They are the
// decimal numbers that are written, so that 0.7 and 0.3 are 7 and 3.
// InvalidArgument for weights that are no positive numbers, or whose integers
// sum up to more than 2^20.
absl::StatusOr<std::vector<uint64_t>> MixtureShares(
    const MixtureSource& source);

// Its declared fields; null for a source that has none to declare.
const std::vector<SourceField>* SourceFields(const Source& source);
std::vector<SourceField>* SourceFields(Source& source);

// How its files are compressed; never kByName.
Compression SourceCompression(const Source& source);
std::string_view CompressionName(Compression compression);

// What the positions of a source are where no step needs its records counted.
enum class Positions {
  kRecords,  // counted when a job begins, which is cheap
  kBlocks,   // 4 MiB of a file; a record belongs to the one where it begins
  kFiles,    // whole files, read from their beginning
};
Positions SourcePositions(const Source& source);

// What a source makes, of inputs that make `inputs`; checks its values.
absl::StatusOr<ElementSpec> SourceOutput(
    const Source& source, std::span<const ElementSpec> inputs = {});

// Names once each, none empty but that of a single one.
absl::Status CheckComponentNames(const ElementSpec& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_
