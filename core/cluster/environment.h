#ifndef FEEDMILL_CORE_CLUSTER_ENVIRONMENT_H_
#define FEEDMILL_CORE_CLUSTER_ENVIRONMENT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace feedmill {

// Environment variables as a value, so that what reads them is a function of
// its arguments: tests pass a map, HostContext() of core/cluster/host_context.h
// has the process's own. As thread-safe as the function in it.
//
//   const std::map<std::string, std::string> map = {{"FEEDMILL_JOB", "ps"}};
//   Environment(map).Get("FEEDMILL_JOB");  // "ps"
class Environment {
 public:
  using Lookup = std::function<std::optional<std::string>(const std::string&)>;

  Environment() : Environment(std::map<std::string, std::string>()) {}
  explicit Environment(Lookup lookup) : lookup_(std::move(lookup)) {}
  explicit Environment(std::map<std::string, std::string> variables)
      : lookup_([variables = std::move(variables)](
                    const std::string& name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          if (found == variables.end()) return std::nullopt;
          return found->second;
        }) {}

  // nullopt if it is not set; "" if it is set to nothing.
  std::optional<std::string> Get(const std::string& name) const {
    return lookup_(name);
  }

 private:
  Lookup lookup_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_ENVIRONMENT_H_
