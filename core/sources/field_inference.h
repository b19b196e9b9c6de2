#ifndef FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_

#include "absl/status/status.h"
#include "core/dataset/graph.h"

namespace feedmill {

// Fills in the fields of a source that has none declared, from the sound ones
// of the first 1,000 records of its files (npy, webdataset: from the first
// one's header or element). They become part of the graph, so that all who read
// it take the same; graphs with declared fields stay as they are. Reads files
// of this machine: NotFound where there are none, which says to declare the
// fields.
absl::Status InferFields(Graph& graph);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
