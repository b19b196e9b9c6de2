#include "cloud/kubernetes_objects.h"

#include <nlohmann/json.hpp>

#include "cloud/http_json.h"
#include "core/base/status.h"
#include "core/cluster/hostlist.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

absl::StatusOr<KubernetesPod> ReadPod(const Json& item) {
  KubernetesPod pod{
      TextAt(item, {"metadata", "name"}), TextAt(item, {"status", "podIP"}),
      TextAt(item, {"status", "hostIP"}), TextAt(item, {"status", "phase"})};
  if (pod.phase.empty()) {
    return Unavailable("pod '{}' has no status.phase", pod.name);
  }
  pod.going = JsonAt(item, {"metadata", "deletionTimestamp"}) != nullptr;
  const Json* conditions = JsonAt(item, {"status", "conditions"});
  if (conditions != nullptr && conditions->is_array()) {
    for (const Json& condition : *conditions) {
      if (TextAt(condition, {"type"}) == "Ready") {
        pod.ready = TextAt(condition, {"status"}) == "True";
      }
    }
  }
  return pod;
}

absl::StatusOr<KubernetesService> ReadService(const Json& item) {
  KubernetesService service{TextAt(item, {"metadata", "name"}),
                            TextAt(item, {"metadata", "namespace"}),
                            {}};
  const Json* ports = JsonAt(item, {"spec", "ports"});
  if (ports == nullptr || !ports->is_array()) return service;
  for (const Json& port : *ports) {
    const auto number = CountAt(port, {"port"});
    if (!number.has_value() || *number < 1 || *number > 65'535) {
      return Unavailable("service '{}' has a port that is not 1 to 65535",
                         service.name);
    }
    service.ports.push_back(*number);
  }
  return service;
}

template <class Object>
absl::StatusOr<KubernetesPage<Object>> ReadPage(
    const std::string& url, const std::string& body,
    absl::StatusOr<Object> (*read)(const Json&)) {
  FM_ASSIGN_OR_RETURN(const Json list, ParseJsonAnswer(url, body));
  const Json* items = JsonAt(list, {"items"});
  KubernetesPage<Object> page;
  page.next = TextAt(list, {"metadata", "continue"});
  if (items == nullptr) {
    // An empty list may have null items.
    if (list.contains("items")) return page;
    return Unavailable("the answer of {} is no list: it has no items", url);
  }
  if (!items->is_array() || items->size() > kHostsMax) {
    return Unavailable("the items that {} answers are no list of at most {}",
                       url, kHostsMax);
  }
  for (const Json& item : *items) {
    absl::StatusOr<Object> object = read(item);
    if (!object.ok()) return Annotate(object.status(), url);
    if (object->name.empty()) {
      return Unavailable("{}: item {} has no metadata.name", url,
                         page.items.size());
    }
    page.items.push_back(*std::move(object));
  }
  return page;
}

}  // namespace

absl::StatusOr<KubernetesPage<KubernetesPod>> ReadPods(
    const std::string& url, const std::string& body) {
  return ReadPage<KubernetesPod>(url, body, ReadPod);
}

absl::StatusOr<KubernetesPage<KubernetesService>> ReadServices(
    const std::string& url, const std::string& body) {
  return ReadPage<KubernetesService>(url, body, ReadService);
}

}  // namespace feedmill
