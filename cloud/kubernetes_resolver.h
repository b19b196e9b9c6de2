#ifndef FEEDMILL_CLOUD_KUBERNETES_RESOLVER_H_
#define FEEDMILL_CLOUD_KUBERNETES_RESOLVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cloud/cloud_context.h"
#include "core/cluster/local_resolver.h"

namespace feedmill {

struct KubernetesOptions {
  enum class Address { kPod, kHost, kService };

  // For each job, the label selectors of its tasks' pods, in their order.
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs = {
      {"worker", {"job-name=tensorflow"}}};
  // Port of every task. Absent: 8470 for pods, the only port of a service.
  std::optional<int64_t> port;
  Address address = Address::kPod;
  std::string namespace_name;  // "": the account's or context's, else default
  bool not_ready = false;      // include pods that are not ready
  std::string kubeconfig;      // "": as FindKubernetesAccess
  std::string context;         // of the kubeconfig; "": the current one
  absl::Duration timeout = absl::Seconds(10);  // of a whole Resolve()
  ResolverOverrides overrides;
};

// The pods, or services, of a Kubernetes cluster that have certain labels.
//
// Tasks of a selector are sorted by the numbers in their names. A pod counts if
// it runs, is ready, is not being deleted and has an address. The pod of this
// process (POD_NAME, else HOSTNAME) is this process's task.
//
// Lists are read page by page. A list that expired on the server (410 Gone) is
// read again from its start, at most three times. Credentials are read at each
// call, and once more if the server refuses them (401).
//
// InvalidArgument: kubeconfig or account; FailedPrecondition: not allowed
// (403); Unavailable and DeadlineExceeded: the server.
//
// Source: tf.distribute.cluster_resolver.KubernetesClusterResolver.
class KubernetesResolver
    : public LocalResolver<CloudContext, KubernetesOptions> {
 public:
  using LocalResolver::LocalResolver;
  absl::StatusOr<ClusterView> Resolve() const override;

 private:
  class Lister;
  struct Member {
    std::string name;
    std::string address;
  };

  absl::StatusOr<std::vector<Member>> ListPods(
      Lister& lister, const std::string& selector) const;
  absl::StatusOr<std::vector<Member>> ListServices(
      Lister& lister, const std::string& selector) const;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_KUBERNETES_RESOLVER_H_
