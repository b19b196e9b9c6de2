#include "feedmill/element.h"

#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/nearest_name.h"

namespace feedmill {
namespace {

absl::Status NoComponent(const ElementSpec& spec, std::string_view name) {
  std::vector<std::string_view> names;
  for (const ComponentSpec& component : spec.components) {
    names.push_back(component.name);
  }
  return NotFound("the elements have no component \"{}\"; they are {}{}", name,
                  spec.ToString(), DidYouMean(name, names));
}

// A component's name in messages; a component may have none.
std::string NameOf(const ElementSpec& spec, size_t component) {
  const std::string& name = spec.components[component].name;
  return name.empty() ? "the elements' only component"
                      : fmt::format("component \"{}\"", name);
}

std::string TypeOf(const ComponentSpec& component) {
  return std::string(DTypeName(component.dtype)) +
         ShapeToString(component.shape);
}

absl::Status OtherType(const ElementSpec& spec, size_t component, DType dtype) {
  return InvalidArgument(
      "{} is {}, and was asked for as {}; the elements are {}",
      NameOf(spec, component), TypeOf(spec.components[component]),
      DTypeName(dtype), spec.ToString());
}

}  // namespace

std::string Element::ToJson() const {
  std::string json;
  AppendJson(*chunk_, row_, json);
  return json;
}

size_t Element::IndexOf(std::string_view name) const {
  const int index = chunk_->spec->Find(name);
  if (index < 0) Fatal(ErrorText(NoComponent(*chunk_->spec, name)));
  return static_cast<size_t>(index);
}

void Element::RefuseIndex(size_t component) const {
  Fatal(fmt::format("the elements have no component {} (from 0); they are {}",
                    component, chunk_->spec->ToString()));
}

void Element::RefuseType(size_t component, DType dtype) const {
  Fatal(ErrorText(OtherType(*chunk_->spec, component, dtype)));
}

void Element::RefuseScalar(size_t component) const {
  const ElementSpec& spec = *chunk_->spec;
  Fatal(
      fmt::format("{} is {}, and was asked for as a scalar; ask for its tensor",
                  NameOf(spec, component), TypeOf(spec.components[component])));
}

absl::StatusOr<size_t> FindComponent(const ElementSpec& spec,
                                     std::string_view name, DType dtype) {
  const int found = spec.Find(name);
  if (found < 0) return NoComponent(spec, name);
  const auto index = static_cast<size_t>(found);
  if (spec.components[index].dtype != dtype) {
    return OtherType(spec, index, dtype);
  }
  return index;
}

}  // namespace feedmill
