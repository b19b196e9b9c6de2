#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_DOCUMENT_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_DOCUMENT_H_

#include <string>
#include <string_view>

#include "feedmill/resolver.h"

namespace feedmill {

// Two text formats for a cluster and this process's task in it:
//
//   cluster: {dispatcher: ["d:5050"], worker: {0: "w0:5051", 3: "w3:5051"}}
//   task: {type: worker, index: 3}
//   rpc_layer: tcp
//
// InvalidArgument names the field, and the line and column of the fault.

// Reads TF_CONFIG: JSON of that form, with session_master and environment too.
// Unknown fields are ignored.
absl::StatusOr<ClusterView> ReadTfConfig(std::string_view json);

// Reads a file: YAML or JSON of that form, or the jobs alone without `cluster`.
// An unknown field is an error. `feedmill resolve` prints this format.
absl::StatusOr<ClusterView> ReadClusterDocument(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_DOCUMENT_H_
