#ifndef FEEDMILL_CORE_WIRE_CLUSTER_CODEC_H_
#define FEEDMILL_CORE_WIRE_CLUSTER_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feedmill/cluster.h"

namespace feedmill {

// Encodes a cluster, and a server's place in it, as FlatBuffers: the documents
// of schemas/cluster.fbs ("FMCL") and schemas/server.fbs ("FMSV"), for programs
// in other languages and for files. Equal defs have equal bytes.
std::string EncodeClusterDef(const ClusterDef& def);
std::string EncodeServerDef(const ServerDef& def);

// Decodes bytes from outside: never crashes, never reads beyond them.
// InvalidArgument if they are not such a document; the error says which kind
// they are, if known. InvalidArgument too if they exceed 16 MiB, name a task
// twice, or hold a cluster that ClusterSpec refuses.
absl::StatusOr<ClusterDef> DecodeClusterDef(std::string_view bytes);
absl::StatusOr<ServerDef> DecodeServerDef(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_CLUSTER_CODEC_H_
