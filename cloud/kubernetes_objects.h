#ifndef FEEDMILL_CLOUD_KUBERNETES_OBJECTS_H_
#define FEEDMILL_CLOUD_KUBERNETES_OBJECTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// The parts of Kubernetes' pods and services that the resolver uses.

struct KubernetesPod {
  std::string name;
  std::string pod_ip;   // "" if it has none yet
  std::string host_ip;  // of its node
  std::string phase;    // "Running"
  bool ready = false;   // its condition Ready is True
  bool going = false;   // being deleted
};

struct KubernetesService {
  std::string name;
  std::string namespace_name;
  std::vector<int64_t> ports;
};

// One page of a list.
template <class Object>
struct KubernetesPage {
  std::vector<Object> items;
  std::string next;  // the continue token; "" at the last page
};

// Parses a PodList or a ServiceList. Unavailable names the item and the
// malformed field; `url`: address of the server, for messages.
absl::StatusOr<KubernetesPage<KubernetesPod>> ReadPods(const std::string& url,
                                                       const std::string& body);
absl::StatusOr<KubernetesPage<KubernetesService>> ReadServices(
    const std::string& url, const std::string& body);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_KUBERNETES_OBJECTS_H_
