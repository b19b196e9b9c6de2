#ifndef FEEDMILL_CLOUD_TPU_RESOLVER_H_
#define FEEDMILL_CLOUD_TPU_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cloud/cloud_context.h"
#include "core/cluster/local_resolver.h"

namespace feedmill {

struct TpuOptions {
  // A TPU's name; "local"; addresses, e.g.
  // "grpc://10.0.0.1:8470,10.0.0.2:8470"; "": from the environment or the
  // metadata server.
  std::string tpu;
  std::string project;         // "": this machine's
  std::string zone;            // "": this machine's
  std::string job = "worker";  // of the TPU's hosts
  int64_t port = 8470;         // of hosts given without a port
  std::string coordinator;     // a job of one task; "": none
  std::string coordinator_address;
  std::string endpoint = "https://tpu.googleapis.com";
  absl::Duration timeout = absl::Seconds(10);  // of a whole Resolve()
  ResolverOverrides overrides;
};

// The hosts of a Cloud TPU. Without a name, the first source that exists:
//
//   KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS  "grpc://10.0.0.1:8470,…" (GKE)
//   TPU_WORKER_HOSTNAMES             "h0,h1", with this one's TPU_WORKER_ID
//   TPU_NAME                         a name
//   the metadata server              of the TPU's own hosts
//
// A name is looked up in the Cloud TPU API at each call; Unavailable unless its
// state is READY. "local" is a cluster without jobs. Master() without a task is
// host 0, as in TensorFlow.
//
// Source: tf.distribute.cluster_resolver.TPUClusterResolver.
class TpuResolver : public LocalResolver<CloudContext, TpuOptions> {
 public:
  // InvalidArgument: addresses without a port, a coordinator without address.
  static absl::StatusOr<std::unique_ptr<TpuResolver>> Create(
      CloudContext context, TpuOptions options = {});

  absl::StatusOr<ClusterView> Resolve() const override;
  // Returns {"TPU": n} per host, computed from the accelerator type of the API,
  // such as v2-8; else of this machine. FailedPrecondition if the type does not
  // divide equally among the hosts.
  absl::StatusOr<AcceleratorCounts> NumAccelerators(
      const TaskRequest& task = {}) const override;

 protected:
  absl::StatusOr<std::string> MasterIn(
      const ClusterView& view, const TaskRequest& request) const override;

 private:
  struct Hosts {
    std::vector<std::string> addresses;
    std::optional<int64_t> own;  // this host's index
    std::string rpc_layer;       // "grpc" if the addresses say so
    std::string type;            // v2-8; "" if unknown
  };

  TpuResolver(CloudContext context, TpuOptions options)
      : LocalResolver(std::move(context), std::move(options)) {}

  absl::StatusOr<Hosts> FindHosts() const;
  absl::StatusOr<Hosts> FromHostnames(const std::string& hostnames) const;
  absl::StatusOr<Hosts> FromApi(const std::string& name) const;
  absl::StatusOr<Hosts> FromMetadata() const;
  absl::StatusOr<ClusterView> ViewOf(const Hosts& hosts) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_TPU_RESOLVER_H_
