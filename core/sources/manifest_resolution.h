#ifndef FEEDMILL_CORE_SOURCES_MANIFEST_RESOLUTION_H_
#define FEEDMILL_CORE_SOURCES_MANIFEST_RESOLUTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"

namespace feedmill {

// Reads a file that an expression names, and computes its hash. InvalidArgument
// above 1 GiB.
absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          NamedContent& content);

// Resolves the files of `graph` on this machine. NotFound if a name or glob
// matches nothing, DataLoss if a file is corrupt; both name the path.
absl::StatusOr<Manifest> ResolveManifest(const AnalyzedGraph& graph);

// Returns the names of the labels of an images source, in the order of their
// numbers; none if the labels are integers in the names of the files. Lists the
// files unless the source has the names. InvalidArgument for another source.
absl::StatusOr<std::vector<std::string>> ClassNamesOf(
    const AnalyzedGraph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_MANIFEST_RESOLUTION_H_
