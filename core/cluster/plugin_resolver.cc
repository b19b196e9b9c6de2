#include "core/cluster/plugin_resolver.h"

#include <memory>
#include <utility>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/cluster_document.h"
#include "core/cluster/local_resolver.h"
#include "core/cluster/words.h"
#include "core/plugins/shared_object.h"
#include "feedmill/plugin.h"

namespace feedmill {
namespace {

constexpr char kEntryPoint[] = "feedmill_resolver_plugin_v1";
constexpr char kVariable[] = "FEEDMILL_RESOLVER_PLUGINS";
constexpr size_t kTextMax = size_t{16} << 20;

void TakeText(void* sink, const char* text, size_t size) {
  auto* taken = static_cast<std::string*>(sink);
  if (text != nullptr) taken->assign(text, std::min(size, kTextMax + 1));
}

class PluginResolver : public LocalResolver<> {
 public:
  PluginResolver(const feedmill_resolver_v1* plugin, std::string uri,
                 ResolverContext context, ResolverOverrides overrides)
      : LocalResolver(std::move(context), std::move(overrides)),
        plugin_(plugin),
        uri_(std::move(uri)) {}

  absl::StatusOr<ClusterView> Resolve() const override {
    std::string text;
    const int failed = plugin_->resolve(uri_.c_str(), TakeText, &text);
    if (failed != 0) {
      return Unavailable(
          "{}: {}", uri_,
          text.empty() ? "the plugin gives no reason" : text.substr(0, 300));
    }
    auto view = ReadClusterDocument(text);
    if (!view.ok()) return Annotate(view.status(), uri_);
    ApplyOverrides(options_, &*view);
    return view;
  }

 private:
  const feedmill_resolver_v1* const plugin_;
  const std::string uri_;
};

// Returns the URI with only the plugin's own parameters.
std::string RestOf(const ResolverUri& uri, ResolverParameters* parameters) {
  std::string text = uri.scheme + ":";
  for (const std::string_view word : SplitWords(uri.path, '/')) {
    if (text.back() != ':' || word.data() != uri.path.data()) text += '/';
    text += PercentEncoded(word);
  }
  char separator = '?';
  for (const auto& [name, value] : parameters->Rest()) {
    text += separator + PercentEncoded(name) + "=" + PercentEncoded(value);
    separator = '&';
  }
  return text;
}

}  // namespace

absl::Status AddResolverPlugin(const std::string& path,
                               ResolverRegistry* registry) {
  FM_ASSIGN_OR_RETURN(SharedObject object, SharedObject::Load(path));
  const auto entry = object.Find<feedmill_resolver_plugin_v1_type>(kEntryPoint);
  const feedmill_resolver_v1* plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr || plugin->scheme == nullptr ||
      plugin->resolve == nullptr) {
    return InvalidArgument("{} is no plugin of this version: it has no {}",
                           path, kEntryPoint);
  }
  object.Keep();
  const absl::Status added = registry->Add(
      plugin->scheme,
      [plugin](const ResolverUri& uri, const ResolverContext& context)
          -> absl::StatusOr<std::unique_ptr<ClusterResolver>> {
        ResolverParameters parameters(uri);
        ResolverOverrides overrides;
        FM_RETURN_IF_ERROR(parameters.Overrides(&overrides));
        return std::make_unique<PluginResolver>(
            plugin, RestOf(uri, &parameters), context, std::move(overrides));
      });
  return Annotate(added, path);
}

absl::Status AddResolverPlugins(const Environment& environment,
                                ResolverRegistry* registry) {
  return AddPlugins(fmt::format("the variable {}", kVariable),
                    environment.Get(kVariable).value_or(""),
                    [&](const std::string& path) {
                      return AddResolverPlugin(path, registry);
                    });
}

}  // namespace feedmill
