#include "core/operators/registry.h"

#include <algorithm>

#include "core/base/check.h"

namespace feedmill {

// The kinds of core/formats and core/operators, in the order of their files.
// The build writes these functions (cmake/ListKinds.cmake).
namespace formats {
std::vector<const SourceKind*> SourceKinds();
}  // namespace formats
namespace operators {
std::vector<const SourceKind*> SourceKinds();
std::vector<const StepKind*> StepKinds();
}  // namespace operators

namespace {

std::vector<const StepKind*>& MutableStepKinds() {
  static std::vector<const StepKind*> kinds = operators::StepKinds();
  return kinds;
}

std::vector<const SourceKind*>& MutableSourceKinds() {
  static std::vector<const SourceKind*> kinds = [] {
    std::vector<const SourceKind*> all = formats::SourceKinds();
    const auto combining = operators::SourceKinds();
    all.insert(all.end(), combining.begin(), combining.end());
    return all;
  }();
  return kinds;
}

// Returns the kind whose options have that type.
template <class Kind>
const Kind& KindOfOptions(const std::vector<const Kind*>& kinds,
                          const std::type_info& type) {
  for (const Kind* const kind : kinds) {
    if (kind->options_type() == type) return *kind;
  }
  FM_CHECK(false && "no kind of step or source has these options");
  return *kinds.front();
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
  return KindOfOptions(StepKinds(), type);
}

std::vector<std::string_view> StepNames() {
  std::vector<std::string_view> all;
  for (const StepKind* const kind : StepKinds()) {
    const auto names = kind->names();
    all.insert(all.end(), names.begin(), names.end());
  }
  return all;
}

const std::vector<const SourceKind*>& SourceKinds() {
  return MutableSourceKinds();
}

void RegisterSource(const SourceKind& kind) {
  FM_CHECK(FindSourceKind(kind.name()) == nullptr);
  MutableSourceKinds().push_back(&kind);
}

const SourceKind* FindSourceKind(std::string_view name) {
  for (const SourceKind* const kind : SourceKinds()) {
    if (kind->name() == name) return kind;
  }
  return nullptr;
}

const SourceKind& SourceKindOfOptions(const std::type_info& type) {
  return KindOfOptions(SourceKinds(), type);
}

std::vector<std::string_view> SourceNames() {
  std::vector<std::string_view> all;
  for (const SourceKind* const kind : SourceKinds()) {
    all.push_back(kind->name());
  }
  return all;
}

}  // namespace feedmill
