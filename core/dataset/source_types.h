#ifndef FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_
#define FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/graph.h"
#include "core/dataset/source_kind.h"
#include "feedmill/element.h"

namespace feedmill {

// Most components of an element.
inline constexpr size_t kComponentsMax = 1000;

// ---- parts of a source of any kind

// REQUIRES: !source.empty().
SourceProperties PropertiesOf(const Source& source);

// Returns the file names; null for a source without files. Pointers are valid
// until the source, or the one it was copied from, is changed or destroyed. A
// mutable pointer is valid until the source is copied.
const std::vector<std::string>* SourceFiles(const Source& source);
std::vector<std::string>* MutableSourceFiles(Source& source);

// Returns the pipelines that the source combines; null for a source with
// records of its own.
const std::vector<Graph>* SourceInputs(const Source& source);
std::vector<Graph>* MutableSourceInputs(Source& source);

// Returns the declared fields; null for a source without such fields.
const std::vector<SourceField>* SourceFields(const Source& source);
std::vector<SourceField>* MutableSourceFields(Source& source);
// The same of the types of inferred fields.
const std::vector<SourceField>* SourceTypes(const Source& source);
std::vector<SourceField>* MutableSourceTypes(Source& source);

// True if a pipeline is infinite according to the graph alone.
bool IsInfinite(const Graph& graph);

// Returns the compression in the options, which may be kByName. Null for a
// source whose files are never compressed.
const Compression* WrittenCompression(const Source& source);
Compression* MutableCompression(Source& source);
// Returns the compression according to the extension of a file name.
Compression CompressionOf(const std::string& file);
// Returns `written`, or for kByName the first file's. Never kByName.
Compression ResolvedCompression(Compression written,
                                const std::vector<std::string>& files);
// Returns the compression of the source's files; never kByName.
Compression SourceCompression(const Source& source);
std::string_view CompressionName(Compression compression);
// Returns why the files of a source can be read only from their beginning:
// "gzip", "UTF-16"; "" if they can be read from any place.
std::string_view ReadInOrderReason(const Source& source);

// Refuses "valid(n)" as a name that a file, a field or a step gives.
absl::Status CheckNotReserved(std::string_view name);

// Checks that names are unique, are UTF-8, and are not empty unless there is
// only one component.
absl::Status CheckComponentNames(const ElementSpec& spec);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_TYPES_H_
