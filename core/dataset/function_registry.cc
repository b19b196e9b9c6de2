#include "core/dataset/function_registry.h"

#include <utility>

#include "core/dataset/nearest_name.h"

namespace feedmill {

void FunctionRegistry::Add(std::string name, Function function) {
  functions_.insert_or_assign(std::move(name), std::move(function));
}

const FunctionRegistry::Function* FunctionRegistry::Find(
    std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

std::string FunctionRegistry::Nearest(std::string_view name) const {
  return NearestName(name, Names());
}

std::vector<std::string_view> FunctionRegistry::Names() const {
  std::vector<std::string_view> names;
  names.reserve(functions_.size());
  for (const auto& [name, unused] : functions_) names.push_back(name);
  return names;
}

}  // namespace feedmill
