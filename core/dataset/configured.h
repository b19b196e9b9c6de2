#ifndef FEEDMILL_CORE_DATASET_CONFIGURED_H_
#define FEEDMILL_CORE_DATASET_CONFIGURED_H_

#include <functional>
#include <memory>
#include <typeinfo>
#include <utility>

#include "core/base/check.h"
#include "core/dataset/fields.h"

namespace feedmill {

// A kind of step or source with its options, a plain struct. A value; copies
// share the options until one of them changes its own.
//
// Thread-safety: as for an int.
template <class Kind>
class Configured {
 public:
  template <class T>
  Configured(const Kind& kind, T options)
      : kind_(&kind),
        type_(&typeid(T)),
        options_(std::make_shared<const T>(std::move(options))) {}

  const Kind& kind() const { return *kind_; }
  // The options, for the methods of kind().
  const void* options() const { return options_.get(); }

  // Returns the options if they are a T, else null.
  template <class T>
  const T* As() const {
    return Is<T>() ? static_cast<const T*>(options_.get()) : nullptr;
  }
  template <class T>
  bool Is() const {
    return *type_ == typeid(T);
  }
  // REQUIRES: Is<T>().
  template <class T>
  const T& Get() const {
    FM_CHECK(Is<T>());
    return *static_cast<const T*>(options_.get());
  }

  // Calls read(fields) with the options as fields, which it must not change.
  void ReadFields(const std::function<void(const FieldList&)>& read) const;
  // Calls change(fields) with the options as fields, which it may change.
  void Change(const std::function<void(const FieldList&)>& change);

 protected:
  Configured() : kind_(nullptr), type_(&typeid(void)) {}  // none

  bool has_kind() const { return kind_ != nullptr; }

 private:
  const Kind* kind_;
  const std::type_info* type_;
  std::shared_ptr<const void> options_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_CONFIGURED_H_
