#ifndef FEEDMILL_CORE_PLUGINS_SHARED_OBJECT_H_
#define FEEDMILL_CORE_PLUGINS_SHARED_OBJECT_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// A plugin's file, loaded. Any thread may call what it has.
class SharedObject {
 public:
  // A path without '/' is of the working directory. InvalidArgument names the
  // file and says why it cannot be loaded.
  static absl::StatusOr<SharedObject> Load(const std::string& path);

  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&&) = delete;
  ~SharedObject();  // unloads it, unless Keep was called

  // The function of that C name, or null.
  template <class Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(Symbol(name));
  }
  // Leaves it loaded as long as the process lives.
  void Keep() { kept_ = true; }

 private:
  explicit SharedObject(void* handle) : handle_(handle) {}
  void* Symbol(const char* name) const;

  void* handle_;
  bool kept_ = false;
};

// Calls add(path) for each file of `paths`, a list with ':' between them, up to
// the first error, before which it puts `where` the list stands.
absl::Status AddPlugins(
    const std::string& where, const std::string& paths,
    const std::function<absl::Status(const std::string& path)>& add);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLUGINS_SHARED_OBJECT_H_
