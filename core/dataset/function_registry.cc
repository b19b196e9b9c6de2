#include "core/dataset/function_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

// Returns the text of a link in Markdown; other text as it is.
std::string WithoutLinks(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t begin = text.find('[');
    const size_t end = text.find("](", begin);
    const size_t after = text.find(')', end);
    if (begin == text.npos || end == text.npos || after == text.npos) break;
    // Brackets in code are no links.
    if (text.substr(begin, end - begin).find('`') == text.npos) {
      out += text.substr(0, begin);
      out += text.substr(begin + 1, end - begin - 1);
    } else {
      out += text.substr(0, after + 1);
    }
    text.remove_prefix(after + 1);
  }
  return out + std::string(text);
}

// Returns the calls of a description without the marks of Markdown.
std::string CallsOf(std::string_view written) {
  std::string out;
  for (const char c : written) {
    if (c != '`') out += c;
  }
  return out;
}

}  // namespace

void FunctionRegistry::Add(std::string name, Function function) {
  functions_.insert_or_assign(std::move(name), std::move(function));
}

const FunctionRegistry::Function* FunctionRegistry::Find(
    std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

std::string FunctionRegistry::HelpOf(std::string_view name) const {
  const Function* const function = Find(name);
  if (function->plugin != "") {
    return fmt::format("{}(…)\nof the plugin {}\n", name, function->plugin);
  }
  std::string text;
  for (const FunctionDescription& one : descriptions_) {
    if (std::ranges::find(one.names, name) == one.names.end()) continue;
    text +=
        fmt::format("{}\n{}\n", CallsOf(one.written), WithoutLinks(one.notes));
  }
  return text;
}

std::vector<std::string_view> FunctionRegistry::Names() const {
  std::vector<std::string_view> names;
  names.reserve(functions_.size());
  for (const auto& [name, unused] : functions_) names.push_back(name);
  return names;
}

}  // namespace feedmill
