#ifndef FEEDMILL_CLOUD_KUBERNETES_ACCESS_H_
#define FEEDMILL_CLOUD_KUBERNETES_ACCESS_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cloud/http.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Where Kubernetes' API is, and what it is shown.
struct KubernetesAccess {
  std::string server;          // https://10.0.0.1:443
  std::string namespace_name;  // "" where none is said
  std::string authorization;   // "Bearer …"; "" for none
  HttpTls tls;
};

// The account of the pod that this runs in: KUBERNETES_SERVICE_HOST and _PORT,
// and the files in /var/run/secrets/kubernetes.io/serviceaccount, which
// Kubernetes renews: they are read at each call.
absl::StatusOr<KubernetesAccess> InClusterAccess(
    const ResolverContext& context);

// From the text of a kubeconfig file: the context of that name, its current
// one if `name` is "". `read_file` reads the files that it names, relative to
// its own folder. InvalidArgument names the field that is wrong, absent, or
// asks for what is not done here: plugins (exec), proxies, impersonation.
absl::StatusOr<KubernetesAccess> ReadKubeconfig(
    std::string_view text, const std::string& path, const std::string& name,
    const std::function<absl::StatusOr<std::string>(const std::string&)>&
        read_file);

// The kubeconfig file at `path` if one is given; else the pod's account where
// this runs in a pod; else the files of KUBECONFIG, the first that is there;
// else ~/.kube/config.
absl::StatusOr<KubernetesAccess> FindKubernetesAccess(
    const ResolverContext& context, const std::string& path,
    const std::string& context_name);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_KUBERNETES_ACCESS_H_
