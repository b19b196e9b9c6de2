#include "core/plugins/system_library.h"

#include <dlfcn.h>

namespace feedmill {

SystemLibrary::SystemLibrary(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    error_ = dlerror();
  }
}

void* SystemLibrary::Symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace feedmill
