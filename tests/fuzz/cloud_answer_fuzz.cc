// Answers of cloud APIs, and kubeconfigs, of arbitrary bytes. Parsing them
// neither crashes nor hangs, and a cluster has only valid addresses.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "cloud/gce_resolver.h"
#include "cloud/http_json.h"
#include "cloud/kubernetes_access.h"
#include "cloud/kubernetes_resolver.h"
#include "cloud/tpu_resolver.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr char kKubeconfig[] =
    "{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
    "clusters: [{name: c, cluster: {server: 'https://h'}}]}";

// A network where every server gives the same answer, four times.
CloudContext Answering(const std::string& text) {
  return {
      {Environment(std::map<std::string, std::string>{}),
       [](const std::string&) -> absl::StatusOr<std::string> {
         return std::string(kKubeconfig);
       },
       []() -> absl::StatusOr<DeviceListing> { return DeviceListing(); }},
      [&text](absl::Duration) -> HttpFetch {
        return [&text, left = 4](
                   const HttpRequest&) mutable -> absl::StatusOr<HttpResponse> {
          if (left-- == 0) return Unavailable("the answers are over");
          // The last digit of a text may make it an error.
          const int status = text.ends_with("4") ? 404 : 200;
          return HttpResponse{status, text, {{"metadata-flavor", "Google"}}};
        };
      }};
}

void Check(const ClusterResolver& resolver) {
  const auto view = resolver.Resolve();
  if (!view.ok()) return;
  for (const ClusterDef::Job& job : view->spec.AsClusterDef().jobs) {
    for (const auto& [index, address] : job.tasks) {
      if (!CheckTaskAddress(address).ok()) std::abort();
    }
  }
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const feedmill::CloudContext context = feedmill::Answering(text);

  feedmill::KubernetesOptions pods;
  pods.kubeconfig = std::string("kubeconfig");
  feedmill::Check(feedmill::KubernetesResolver(context, pods));
  pods.not_ready = true;
  feedmill::Check(feedmill::KubernetesResolver(context, pods));
  pods.address = feedmill::KubernetesOptions::Address::kService;
  feedmill::Check(feedmill::KubernetesResolver(context, pods));

  feedmill::GceOptions group;
  const std::string name = "g";
  group.group = group.project = group.zone = name;
  feedmill::Check(feedmill::GceResolver(context, group));

  for (const std::string& tpu_name : {std::string(), std::string("name")}) {
    feedmill::TpuOptions tpu;
    tpu.tpu = tpu_name;
    tpu.project = tpu.zone = name;
    const auto made = feedmill::TpuResolver::Create(context, tpu);
    if (!made.ok()) std::abort();
    feedmill::Check(**made);
    (void)(*made)->NumAccelerators();
  }
  (void)feedmill::ReadKubeconfig(
      text, "dir/file", "",
      [](const std::string&) -> absl::StatusOr<std::string> { return "pem"; });
  (void)feedmill::HttpError("http://h", {500, text, {}});
  (void)feedmill::IsSafeForTokens(text);
  return 0;
}
