#ifndef FEEDMILL_CORE_CLUSTER_CLUSTER_DOCUMENT_H_
#define FEEDMILL_CORE_CLUSTER_CLUSTER_DOCUMENT_H_

#include <string>
#include <string_view>

#include "feedmill/resolver.h"

namespace feedmill {

// Two texts that hold a cluster and the task in it:
//
//   cluster: {dispatcher: ["d:5050"], worker: {0: "w0:5051", 3: "w3:5051"}}
//   task: {type: worker, index: 3}
//   rpc_layer: tcp
//
// InvalidArgument names the field, and the line and column of what is wrong.

// TF_CONFIG: JSON of that form, session_master and environment too. Fields
// that others put there are passed over.
absl::StatusOr<ClusterView> ReadTfConfig(std::string_view json);

// A file: YAML or JSON of that form, in which an unknown field is an error; or
// the jobs alone, with no `cluster` around them. What `feedmill resolve` prints
// is one.
absl::StatusOr<ClusterView> ReadClusterDocument(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_CLUSTER_DOCUMENT_H_
