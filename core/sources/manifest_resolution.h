#ifndef FEEDMILL_CORE_SOURCES_MANIFEST_RESOLUTION_H_
#define FEEDMILL_CORE_SOURCES_MANIFEST_RESOLUTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/io/manifest.h"

namespace feedmill {

// The whole of a file that an expression names, and its hash. InvalidArgument
// beyond 1 GiB.
absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          NamedContent& content);

// Resolves the files of `graph` on this machine. NotFound for a name or glob
// that matches nothing, DataLoss for a corrupt file, both with path.
absl::StatusOr<Manifest> ResolveManifest(const AnalyzedGraph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_MANIFEST_RESOLUTION_H_
