// Every text that describes a cluster: no crash, and a cluster that was read
// comes back from each of its forms.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/cluster/cluster_document.h"
#include "core/cluster/job_layout.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

void CheckForms(const ClusterSpec& spec) {
  const auto from_yaml = ClusterSpec::FromYaml(spec.ToYaml());
  const auto from_json = ClusterSpec::FromJson(spec.ToJson());
  const auto from_def = ClusterSpec::FromDef(spec.AsClusterDef());
  if (!from_yaml.ok() || *from_yaml != spec) std::abort();
  if (!from_json.ok() || *from_json != spec) std::abort();
  if (!from_def.ok() || *from_def != spec) std::abort();
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = feedmill::ClusterSpec::FromYaml(text); spec.ok()) {
    feedmill::CheckForms(*spec);
  }
  if (const auto view = feedmill::ReadClusterDocument(text); view.ok()) {
    feedmill::CheckForms(view->spec);
  }
  if (const auto view = feedmill::ReadTfConfig(text); view.ok()) {
    feedmill::CheckForms(view->spec);
  }
  (void)feedmill::ResolverUri::Parse(text);
  (void)feedmill::ParseJobLayout(text);
  return 0;
}
