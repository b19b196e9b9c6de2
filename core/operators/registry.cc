#include "core/operators/registry.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/operators/kinds.h"

namespace feedmill {
namespace {

std::vector<const StepKind*>& MutableStepKinds() {
  static std::vector<const StepKind*> kinds = BuiltinKinds();
  return kinds;
}

}  // namespace

const std::vector<const StepKind*>& StepKinds() { return MutableStepKinds(); }

void RegisterStep(const StepKind& kind) {
  for (const std::string_view name : kind.names()) {
    FM_CHECK(FindStepKind(name) == nullptr);
  }
  MutableStepKinds().push_back(&kind);
}

const StepKind* FindStepKind(std::string_view name) {
  for (const StepKind* const kind : StepKinds()) {
    const auto names = kind->names();
    if (std::find(names.begin(), names.end(), name) != names.end()) return kind;
  }
  return nullptr;
}

const StepKind& StepKindOfOptions(const std::type_info& type) {
  for (const StepKind* const kind : StepKinds()) {
    if (kind->options_type() == type) return *kind;
  }
  FM_CHECK(false && "no kind of step has these options");
  return *StepKinds().front();
}

std::vector<std::string_view> StepNames() {
  std::vector<std::string_view> all;
  for (const StepKind* const kind : StepKinds()) {
    const auto names = kind->names();
    all.insert(all.end(), names.begin(), names.end());
  }
  return all;
}

}  // namespace feedmill
