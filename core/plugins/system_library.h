#ifndef FEEDMILL_CORE_PLUGINS_SYSTEM_LIBRARY_H_
#define FEEDMILL_CORE_PLUGINS_SYSTEM_LIBRARY_H_

#include <initializer_list>
#include <string>
#include <type_traits>

namespace feedmill {

// A library of the system that is loaded when it is needed, so that feedmill
// also runs without it. It stays loaded.
class SystemLibrary {
 public:
  // Loads the first library of `names` that there is.
  explicit SystemLibrary(std::initializer_list<const char*> names);

  bool loaded() const { return handle_ != nullptr; }
  // Says why the last one of the names cannot be loaded.
  const std::string& error() const { return error_; }

  // Sets `function` to the function of that C name. Returns false if there is
  // none. REQUIRES: loaded().
  template <class Function>
  bool Find(const char* name, Function& function) const {
    function = reinterpret_cast<std::decay_t<Function>>(Symbol(name));
    return function != nullptr;
  }

 private:
  void* Symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLUGINS_SYSTEM_LIBRARY_H_
