#ifndef FEEDMILL_CLOUD_KUBERNETES_ACCESS_H_
#define FEEDMILL_CLOUD_KUBERNETES_ACCESS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cloud/http.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Address and credentials of the Kubernetes API.
struct KubernetesAccess {
  std::string server;          // https://10.0.0.1:443
  std::string namespace_name;  // "" if not given
  std::string authorization;   // "Bearer …"; "" for none
  HttpTls tls;
};

// Reads the account of the pod that this process runs in:
// KUBERNETES_SERVICE_HOST and _PORT, and the files in
// /var/run/secrets/kubernetes.io/serviceaccount. Kubernetes renews the files,
// so they are read at each call.
absl::StatusOr<KubernetesAccess> InClusterAccess(
    const ResolverContext& context);

// Reads the context `name` of a kubeconfig file, its current context if `name`
// is "". `read_file` reads the files that it names, relative to its own folder.
// InvalidArgument names a field that is malformed, missing or not supported:
// plugins (exec), proxies, impersonation.
absl::StatusOr<KubernetesAccess> ReadKubeconfig(
    std::string_view text, const std::string& path, const std::string& name,
    const std::function<absl::StatusOr<std::string>(const std::string&)>&
        read_file);

// Finds the access. In this order: the kubeconfig file at `path`, if given; the
// pod's account, in a pod; the first existing file of KUBECONFIG;
// ~/.kube/config.
absl::StatusOr<KubernetesAccess> FindKubernetesAccess(
    const ResolverContext& context, const std::string& path,
    const std::string& context_name);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_KUBERNETES_ACCESS_H_
