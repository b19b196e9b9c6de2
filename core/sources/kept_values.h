#ifndef FEEDMILL_CORE_SOURCES_KEPT_VALUES_H_
#define FEEDMILL_CORE_SOURCES_KEPT_VALUES_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/status.h"

namespace feedmill {

// Large values, each as long as it has a user. Thread-safety: any thread.
template <class T>
class KeptValues {
 public:
  using Made = absl::StatusOr<std::shared_ptr<const T>>;

  // Returns the value with that key; if there is none, make() makes it. The
  // mutex is held meanwhile, so that each value is made once.
  template <class Make>
  Made Get(const std::string& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<const T>& kept = kept_[key];
    if (auto known = kept.lock()) return known;
    FM_ASSIGN_OR_RETURN(std::shared_ptr<const T> made, make());
    kept = made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const T>> kept_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_KEPT_VALUES_H_
