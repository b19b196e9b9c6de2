#include "core/plugins/shared_object.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "core/base/status.h"

namespace feedmill {

absl::StatusOr<SharedObject> SharedObject::Load(const std::string& path) {
  // A name without '/' would be looked for in the system's folders.
  void* const handle =
      dlopen((path.find('/') == std::string::npos ? "./" + path : path).c_str(),
             RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return InvalidArgument("cannot load the plugin {}: {}", path, dlerror());
  }
  return SharedObject(handle);
}

SharedObject::SharedObject(SharedObject&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), kept_(other.kept_) {}

SharedObject::~SharedObject() {
  if (handle_ != nullptr && !kept_) dlclose(handle_);
}

void* SharedObject::Symbol(const char* name) const {
  return dlsym(handle_, name);
}

absl::Status AddPlugins(
    const std::string& where, const std::string& paths,
    const std::function<absl::Status(const std::string& path)>& add) {
  for (size_t at = 0; at <= paths.size();) {
    const size_t end = std::min(paths.find(':', at), paths.size());
    const std::string path = paths.substr(at, end - at);
    at = end + 1;
    if (path.empty()) continue;
    const absl::Status status = add(path);
    if (!status.ok()) return Annotate(status, where);
  }
  return absl::OkStatus();
}

}  // namespace feedmill
