#ifndef FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_
#define FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "core/dataset/source_kind.h"
#include "feedmill/element_spec.h"

namespace feedmill {

// Number of components that an element has at most.
inline constexpr size_t kComponentsMax = 1000;

// ---- parts of a source, whatever its kind

// REQUIRES: !source.empty().
SourceProperties PropertiesOf(const Source& source);

// The file names; null for a source without. Pointers are valid until the
// source, or the one that it was copied from, is changed or gone; one that may
// be written through, until the source is copied.
const std::vector<std::string>* SourceFiles(const Source& source);
std::vector<std::string>* MutableSourceFiles(Source& source);

// The pipelines that it combines; null for a source that reads records of its
// own.
const std::vector<Graph>* SourceInputs(const Source& source);
std::vector<Graph>* MutableSourceInputs(Source& source);

// The declared fields; null for a source that has none to declare.
const std::vector<SourceField>* SourceFields(const Source& source);
std::vector<SourceField>* MutableSourceFields(Source& source);

// True if a pipeline has no end, as far as the graph alone tells.
bool IsEndless(const Graph& graph);

// The compression that the name of a file says: by its end.
Compression CompressionOf(const std::string& file);
// Never kByName: that of the first file then.
Compression ResolvedCompression(Compression written,
                                const std::vector<std::string>& files);
// How the files of a source are compressed; never kByName.
Compression SourceCompression(const Source& source);
std::string_view CompressionName(Compression compression);

// Checks that names are there once each, and none is empty but that of a single
// component.
absl::Status CheckComponentNames(const ElementSpec& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_
