#include "core/dataset/python_versions.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/python_functions.h"

namespace feedmill {
namespace {

struct Package {
  std::string name;
  std::string version;
};

Package Parsed(std::string_view package) {
  const size_t at = package.find("==");
  if (at == std::string_view::npos) return {std::string(package), ""};
  return {std::string(package.substr(0, at)),
          std::string(package.substr(at + 2))};
}

std::string MinorVersion(std::string_view version) {
  const size_t major = version.find('.');
  if (major == std::string_view::npos) return std::string(version);
  return std::string(version.substr(0, version.find('.', major + 1)));
}

// Returns the version of an installed package; nullopt if it is missing.
std::optional<std::string> Installed(const PythonInterpreter& interpreter,
                                     const std::string& name) {
  const std::string key = NormalPackageName(name) + "==";
  const auto found = std::lower_bound(interpreter.packages.begin(),
                                      interpreter.packages.end(), key);
  if (found == interpreter.packages.end() || !found->starts_with(key)) {
    return std::nullopt;
  }
  return found->substr(key.size());
}

std::string WhyUnfit(const PythonNeeds& needs,
                     const PythonInterpreter& interpreter) {
  if (MinorVersion(needs.version) != MinorVersion(interpreter.version)) {
    return fmt::format("has Python {}", interpreter.version);
  }
  for (const std::string& package : needs.packages) {
    const Package needed = Parsed(package);
    const auto version = Installed(interpreter, needed.name);
    if (!version) return fmt::format("lacks {}", needed.name);
    if (*version != needed.version) {
      return fmt::format("has {} {}", needed.name, *version);
    }
  }
  return "";
}

}  // namespace

std::string NormalPackageName(std::string_view name) {
  std::string normal;
  for (const char c : name) {
    const bool separates = c == '-' || c == '_' || c == '.';
    if (separates && normal.ends_with('-')) continue;
    normal +=
        separates ? '-' : absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return normal;
}

PythonNeedsPtr WorkerPythonNeeds(const AnalyzedGraph& graph) {
  std::vector<PythonNeeds> all = PythonNeedsOf(graph, PythonPart::kWorker);
  if (all.empty()) return nullptr;
  return std::make_shared<const std::vector<PythonNeeds>>(std::move(all));
}

std::string WhyUnfit(const PythonNeedsPtr& needs,
                     const PythonInterpreter* interpreter) {
  if (needs == nullptr) return "";
  if (interpreter == nullptr) {
    return "allows no Python functions (start it with "
           "--allow-python=/path/to/python)";
  }
  for (const PythonNeeds& one : *needs) {
    if (std::string why = WhyUnfit(one, *interpreter); !why.empty()) return why;
  }
  return "";
}

std::string NeedsText(const PythonNeedsPtr& needs) {
  std::vector<std::string> texts;
  const auto add = [&texts](std::string text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
      texts.push_back(std::move(text));
    }
  };
  for (const PythonNeeds& one : *needs) {
    add("Python " + one.version);
    for (const std::string& package : one.packages) {
      const Package needed = Parsed(package);
      add(needed.name + " " + needed.version);
    }
  }
  const std::string last = std::move(texts.back());
  texts.pop_back();
  return texts.empty() ? last : absl::StrJoin(texts, ", ") + " and " + last;
}

}  // namespace feedmill
