#include "cloud/kubernetes_resolver.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "cloud/http_json.h"
#include "cloud/kubernetes_access.h"
#include "cloud/kubernetes_objects.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/hostlist.h"
#include "core/cluster/words.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

constexpr int64_t kDefaultPort = 8470;
constexpr int kPageSize = 500;
constexpr int kListPagesMax = 1'000;
constexpr int kRestartsMax = 3;
constexpr int kForbidden = 403;
constexpr int kGone = 410;

template <class Object>
using PageReader = absl::StatusOr<KubernetesPage<Object>> (*)(
    const std::string& url, const std::string& body);

}  // namespace

// Reads lists in one conversation with one server.
class KubernetesResolver::Lister {
 public:
  Lister(const CloudContext& context, const KubernetesOptions& options)
      : context_(context),
        options_(options),
        fetch_(context.open_http(options.timeout)) {}

  absl::Status ReadAccess() {
    FM_ASSIGN_OR_RETURN(
        access_,
        FindKubernetesAccess(context_, options_.kubeconfig, options_.context));
    namespace_ = options_.namespace_name;
    if (namespace_.empty()) namespace_ = access_.namespace_name;
    if (namespace_.empty()) namespace_ = "default";
    return absl::OkStatus();
  }

  // Lists all objects of a kind, such as "pods", that have the labels.
  template <class Object>
  absl::StatusOr<std::vector<Object>> List(const std::string& kind,
                                           const std::string& selector,
                                           PageReader<Object> read) {
    const std::string url = fmt::format(
        "{}/api/v1/namespaces/{}/{}?limit={}&labelSelector={}", access_.server,
        PercentEncoded(namespace_), kind, kPageSize, PercentEncoded(selector));
    std::vector<Object> all;
    std::string next;
    int restarts = 0;
    for (int page_count = 0; page_count < kListPagesMax; ++page_count) {
      FM_ASSIGN_OR_RETURN(
          const HttpResponse response,
          Fetch(next.empty() ? url
                             : url + "&continue=" + PercentEncoded(next)));
      if (response.status == kGone && restarts++ < kRestartsMax) {
        all.clear();
        next.clear();
        continue;
      }
      if (response.status == kForbidden) {
        return Annotate(HttpError(url, response),
                        fmt::format("allow the account to list {} in namespace "
                                    "{}: a Role and a RoleBinding",
                                    kind, namespace_));
      }
      if (response.status != 200) return HttpError(url, response);
      FM_ASSIGN_OR_RETURN(KubernetesPage<Object> page,
                          read(url, response.body));
      std::move(page.items.begin(), page.items.end(), std::back_inserter(all));
      if (all.size() > kHostsMax) break;
      if (page.next.empty()) return all;
      next = page.next;
    }
    return ResourceExhausted("{} lists more than {} {}, or {} pages of them",
                             access_.server, kHostsMax, kind, kListPagesMax);
  }

 private:
  absl::StatusOr<HttpResponse> Fetch(const std::string& url) {
    for (bool again = false;; again = true) {
      HttpRequest request{url};
      request.headers = {{"Accept", "application/json"}};
      if (!access_.authorization.empty()) {
        request.headers.emplace_back("Authorization", access_.authorization);
      }
      request.tls = access_.tls;
      FM_ASSIGN_OR_RETURN(HttpResponse response, fetch_(request));
      if (response.status != kHttpUnauthorized || again) return response;
      // Kubernetes renews the token file before the token expires.
      FM_RETURN_IF_ERROR(ReadAccess());
    }
  }

  const CloudContext& context_;
  const KubernetesOptions& options_;
  const HttpFetch fetch_;
  KubernetesAccess access_;
  std::string namespace_;
};

absl::StatusOr<std::vector<KubernetesResolver::Member>>
KubernetesResolver::ListPods(Lister& lister,
                             const std::string& selector) const {
  FM_ASSIGN_OR_RETURN(const std::vector<KubernetesPod> pods,
                      lister.List("pods", selector, ReadPods));
  std::vector<Member> members;
  for (const KubernetesPod& pod : pods) {
    const bool serves = options_.not_ready
                            ? pod.phase == "Running" || pod.phase == "Pending"
                            : pod.phase == "Running" && pod.ready;
    const std::string& host =
        options_.address == KubernetesOptions::Address::kHost ? pod.host_ip
                                                              : pod.pod_ip;
    if (!serves || pod.going || host.empty()) continue;
    members.push_back(
        {pod.name, JoinHostPort(host, options_.port.value_or(kDefaultPort))});
  }
  return members;
}

absl::StatusOr<std::vector<KubernetesResolver::Member>>
KubernetesResolver::ListServices(Lister& lister,
                                 const std::string& selector) const {
  FM_ASSIGN_OR_RETURN(const std::vector<KubernetesService> services,
                      lister.List("services", selector, ReadServices));
  std::vector<Member> members;
  for (const KubernetesService& service : services) {
    int64_t port = options_.port.value_or(0);
    if (port == 0 && service.ports.size() == 1) port = service.ports.front();
    if (std::count(service.ports.begin(), service.ports.end(), port) == 0) {
      return InvalidArgument(
          "service '{}' has {}; write port=N with a port of every service",
          service.name,
          port != 0 ? fmt::format("no port {}", port)
                    : fmt::format("{} ports, not one", service.ports.size()));
    }
    members.push_back(
        {service.name, fmt::format("{}.{}.svc:{}", service.name,
                                   service.namespace_name, port)});
  }
  return members;
}

absl::StatusOr<ClusterView> KubernetesResolver::Resolve() const {
  if (context_.open_http == nullptr) {
    return FailedPrecondition("kubernetes: there is no network here");
  }
  Lister lister(context_, options_);
  FM_RETURN_IF_ERROR(lister.ReadAccess());
  const auto pod_name = context_.environment.Get("POD_NAME");
  const auto own = pod_name ? pod_name : context_.environment.Get("HOSTNAME");
  ClusterView view;
  std::vector<std::pair<std::string, ClusterSpec::Tasks>> jobs;
  for (const auto& [job, selectors] : options_.jobs) {
    std::vector<std::string> addresses;
    std::set<std::string> earlier;  // found by earlier selectors of this job
    for (const std::string& selector : selectors) {
      FM_ASSIGN_OR_RETURN(
          std::vector<Member> members,
          options_.address == KubernetesOptions::Address::kService
              ? ListServices(lister, selector)
              : ListPods(lister, selector));
      std::sort(members.begin(), members.end(),
                [](const Member& a, const Member& b) {
                  return NaturalLess(a.name, b.name);
                });
      std::erase_if(members, [&](const Member& member) {
        return earlier.contains(member.name);
      });
      for (Member& member : members) {
        if (own == member.name) {
          view.task_type = job;
          view.task_id = static_cast<int64_t>(addresses.size());
        }
        addresses.push_back(std::move(member.address));
        earlier.insert(std::move(member.name));
      }
    }
    jobs.emplace_back(job, std::move(addresses));
  }
  FM_ASSIGN_OR_RETURN(view.spec, ClusterSpec::FromJobs(jobs));
  ApplyOverrides(options_.overrides, &view);
  return view;
}

}  // namespace feedmill
