#ifndef FEEDMILL_CORE_WIRE_CLUSTER_CODEC_H_
#define FEEDMILL_CORE_WIRE_CLUSTER_CODEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "feedmill/cluster.h"

namespace feedmill {

// A cluster, and a server's place in it, as FlatBuffers: the documents of
// schemas/cluster.fbs ("FMCL") and schemas/server.fbs ("FMSV"), for programs in
// other languages and for files. Equal defs have equal bytes.
std::string EncodeClusterDef(const ClusterDef& def);
std::string EncodeServerDef(const ServerDef& def);

// Bytes from outside: never crashes, never reads beyond them. InvalidArgument
// for what is no such document (and says what it is instead, where it can), is
// above 16 MiB, names a task twice, or holds a cluster that ClusterSpec
// refuses.
absl::StatusOr<ClusterDef> DecodeClusterDef(std::string_view bytes);
absl::StatusOr<ServerDef> DecodeServerDef(std::string_view bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_WIRE_CLUSTER_CODEC_H_
