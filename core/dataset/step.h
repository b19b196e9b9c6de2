#ifndef FEEDMILL_CORE_DATASET_STEP_H_
#define FEEDMILL_CORE_DATASET_STEP_H_

#include <functional>
#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "core/base/check.h"
#include "core/dataset/fields.h"

namespace feedmill {

class StepKind;

// A step of a pipeline: its kind (step_kind.h) and its options, a struct of
// steps.h or of an extension. A value; copies share the options, which never
// change. MakeStep (core/operators/registry.h) makes one of a struct.
class Step {
 public:
  template <class T>
  Step(const StepKind& kind, T options)
      : kind_(&kind),
        type_(&typeid(T)),
        options_(std::make_shared<const T>(std::move(options))) {}

  const StepKind& kind() const { return *kind_; }
  // As YAML has it: "padded_batch".
  std::string_view name() const;
  // The options, for the methods of kind().
  const void* options() const { return options_.get(); }

  // The options if they are a T, else null.
  template <class T>
  const T* As() const {
    return *type_ == typeid(T) ? static_cast<const T*>(options_.get())
                               : nullptr;
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

  // Calls read(fields) with the options as fields, which must not be changed.
  void ReadFields(const std::function<void(const FieldList&)>& read) const;
  // The same step with options that change(fields) has changed.
  Step Changed(const std::function<void(const FieldList&)>& change) const;

 private:
  Step(const StepKind& kind, const std::type_info& type,
       std::shared_ptr<const void> options)
      : kind_(&kind), type_(&type), options_(std::move(options)) {}

  const StepKind* kind_;
  const std::type_info* type_;
  std::shared_ptr<const void> options_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_STEP_H_
