// Clusters and servers as bytes: no crash, what was read is a cluster and comes
// back from its bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/wire/cluster_codec.h"
#include "feedmill/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto def = feedmill::DecodeClusterDef(bytes); def.ok()) {
    if (!feedmill::ClusterSpec::FromDef(*def).ok()) std::abort();
    const auto back =
        feedmill::DecodeClusterDef(feedmill::EncodeClusterDef(*def));
    if (!back.ok() || *back != *def) std::abort();
  }
  if (const auto def = feedmill::DecodeServerDef(bytes); def.ok()) {
    const auto back =
        feedmill::DecodeServerDef(feedmill::EncodeServerDef(*def));
    if (!back.ok() || *back != *def) std::abort();
  }
  return 0;
}
