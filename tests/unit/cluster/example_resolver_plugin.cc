// A plugin for tests: "example:NAME?workers=N" gives a dispatcher and N workers
// at hosts of that name.

#include <cstdlib>
#include <string>

#include "feedmill/plugin.h"

namespace {

int Resolve(const char* uri,
            void (*emit)(void* sink, const char* text, size_t size),
            void* sink) {
  const std::string text(uri);
  const size_t question = text.find('?');
  const std::string name = text.substr(8, question - 8);  // after "example:"
  const size_t count = text.find("workers=");
  const int workers =
      count == std::string::npos ? 1 : std::atoi(text.c_str() + count + 8);
  if (workers < 1) {
    const std::string why = "workers are 1 or more";
    emit(sink, why.data(), why.size());
    return 1;
  }
  std::string cluster = "{dispatcher: ['" + name + ":1'], worker: [";
  for (int k = 0; k < workers; ++k) {
    cluster += "'" + name + "-" + std::to_string(k) + ":1',";
  }
  cluster += "]}";
  emit(sink, cluster.data(), cluster.size());
  return 0;
}

}  // namespace

extern "C" const feedmill_resolver_v1* feedmill_resolver_plugin_v1() {
  static const feedmill_resolver_v1 plugin = {"example", Resolve};
  return &plugin;
}
