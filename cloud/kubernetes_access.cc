#include "cloud/kubernetes_access.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "cloud/http_json.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/cluster_node.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";

absl::Status NotDone(const std::string& where, std::string_view field,
                     std::string_view instead) {
  return InvalidArgument("{}: field '{}' is not followed; {}", where, field,
                         instead);
}

// A kubeconfig that is being read.
class Kubeconfig {
 public:
  using ReadFile =
      std::function<absl::StatusOr<std::string>(const std::string&)>;

  Kubeconfig(const YAML::Node& root, std::string path, const ReadFile& read)
      : root_(root), path_(std::move(path)), read_file_(read) {}

  absl::Status Read(std::string name, KubernetesAccess* access) const {
    if (!root_.IsMap()) {
      return InvalidArgument("the text is no kubeconfig: no map of fields");
    }
    if (name.empty()) {
      FM_ASSIGN_OR_RETURN(name, Text(root_, "current-context"));
    }
    if (name.empty()) {
      return InvalidArgument(
          "no current-context is set; name one: context=NAME");
    }
    FM_ASSIGN_OR_RETURN(const YAML::Node context,
                        Named("contexts", "context", name));
    FM_ASSIGN_OR_RETURN(access->namespace_name, Text(context, "namespace"));
    FM_ASSIGN_OR_RETURN(const std::string cluster, Text(context, "cluster"));
    FM_ASSIGN_OR_RETURN(const std::string user, Text(context, "user"));
    FM_RETURN_IF_ERROR(ReadCluster(cluster, access));
    return user.empty() ? absl::OkStatus() : ReadUser(user, access);
  }

 private:
  // Returns "" if the field is absent or null.
  absl::StatusOr<std::string> Text(const YAML::Node& map,
                                   const char* field) const {
    const YAML::Node value = map[field];
    if (!value.IsDefined() || value.IsNull()) return std::string();
    if (value.IsScalar()) return value.Scalar();
    return InvalidArgument("{}field '{}' is a string", NodePlace(value), field);
  }

  // Returns the `field` of the entry `name` in the list `list`.
  absl::StatusOr<YAML::Node> Named(const char* list, const char* field,
                                   const std::string& name) const {
    const YAML::Node entries = root_[list];
    if (!entries.IsDefined() || !entries.IsSequence()) {
      return InvalidArgument("field '{}' is a list of named entries", list);
    }
    for (const YAML::Node& entry : entries) {
      if (!entry.IsMap()) continue;
      FM_ASSIGN_OR_RETURN(const std::string entry_name, Text(entry, "name"));
      if (entry_name != name) continue;
      const YAML::Node value = entry[field];
      if (value.IsDefined() && value.IsMap()) return value;
      return InvalidArgument("{}entry '{}' of '{}' has no '{}'",
                             NodePlace(entry), name, list, field);
    }
    return InvalidArgument("'{}' has no entry '{}'", list, name);
  }

  absl::StatusOr<std::string> File(const std::string& file) const {
    if (file.starts_with("/")) return read_file_(file);
    const size_t slash = path_.rfind('/');
    return read_file_(
        (slash == std::string::npos ? "" : path_.substr(0, slash + 1)) + file);
  }

  // Reads `field`-data, which is Base64, else the file that `field` names.
  absl::Status ReadPem(const YAML::Node& map, const std::string& field,
                       std::string* pem) const {
    const std::string data_field = field + "-data";
    FM_ASSIGN_OR_RETURN(const std::string data, Text(map, data_field.c_str()));
    if (!data.empty()) {
      if (absl::Base64Unescape(data, pem)) return absl::OkStatus();
      return InvalidArgument("field '{}' is no Base64", data_field);
    }
    FM_ASSIGN_OR_RETURN(const std::string file, Text(map, field.c_str()));
    if (file.empty()) return absl::OkStatus();
    auto text = File(file);
    if (!text.ok()) return Annotate(text.status(), "field '" + field + "'");
    *pem = *std::move(text);
    return absl::OkStatus();
  }

  absl::Status ReadCluster(const std::string& name,
                           KubernetesAccess* access) const {
    FM_ASSIGN_OR_RETURN(const YAML::Node cluster,
                        Named("clusters", "cluster", name));
    const std::string where = "cluster '" + name + "'";
    FM_ASSIGN_OR_RETURN(access->server, Text(cluster, "server"));
    while (access->server.ends_with("/")) access->server.pop_back();
    if (!access->server.starts_with("https://") &&
        !access->server.starts_with("http://")) {
      return InvalidArgument("{}: field 'server' is a URL, not '{}'", where,
                             access->server);
    }
    for (const char* field : {"tls-server-name", "proxy-url"}) {
      FM_ASSIGN_OR_RETURN(const std::string value, Text(cluster, field));
      if (!value.empty()) {
        return NotDone(where, field,
                       "use a server that needs none, or kubectl "
                       "proxy");
      }
    }
    FM_RETURN_IF_ERROR(
        ReadPem(cluster, "certificate-authority", &access->tls.authorities));
    FM_ASSIGN_OR_RETURN(const std::string insecure,
                        Text(cluster, "insecure-skip-tls-verify"));
    access->tls.verify = insecure != "true";
    return absl::OkStatus();
  }

  absl::Status ReadUser(const std::string& name,
                        KubernetesAccess* access) const {
    FM_ASSIGN_OR_RETURN(const YAML::Node user, Named("users", "user", name));
    const std::string where = "user '" + name + "'";
    for (const char* field : {"exec", "auth-provider", "as"}) {
      const YAML::Node value = user[field];
      if (value.IsDefined() && !value.IsNull()) {
        return NotDone(where, field,
                       "give the user a token: kubectl create token ACCOUNT");
      }
    }
    FM_RETURN_IF_ERROR(
        ReadPem(user, "client-certificate", &access->tls.certificate));
    FM_RETURN_IF_ERROR(ReadPem(user, "client-key", &access->tls.key));
    if (access->tls.certificate.empty() != access->tls.key.empty()) {
      return InvalidArgument(
          "{}: client-certificate and client-key belong together; one is "
          "missing",
          where);
    }
    FM_ASSIGN_OR_RETURN(const std::string token_file, Text(user, "tokenFile"));
    FM_ASSIGN_OR_RETURN(std::string token, Text(user, "token"));
    if (!token_file.empty()) {
      auto text = File(token_file);
      if (!text.ok()) return Annotate(text.status(), where + ": tokenFile");
      token = Trimmed(*text);
    }
    FM_ASSIGN_OR_RETURN(const std::string login, Text(user, "username"));
    FM_ASSIGN_OR_RETURN(const std::string password, Text(user, "password"));
    if (!token.empty()) {
      access->authorization = "Bearer " + token;
    } else if (!login.empty()) {
      std::string encoded;
      absl::Base64Escape(login + ":" + password, &encoded);
      access->authorization = "Basic " + encoded;
    }
    return absl::OkStatus();
  }

  const YAML::Node& root_;
  const std::string path_;
  const ReadFile& read_file_;
};

absl::StatusOr<KubernetesAccess> ReadKubeconfigFile(
    const ResolverContext& context, const std::string& path,
    const std::string& name) {
  FM_ASSIGN_OR_RETURN(const std::string text, context.read_file(path));
  return ReadKubeconfig(text, path, name, context.read_file);
}

// Returns the files of KUBECONFIG, else the file in the home folder.
std::vector<std::string> KubeconfigPaths(const Environment& environment) {
  const std::string listed = environment.Get("KUBECONFIG").value_or("");
  std::vector<std::string> paths;
  for (const std::string_view path : SplitWords(listed, ':')) {
    if (!path.empty()) paths.emplace_back(path);
  }
  const auto home = environment.Get("HOME");
  if (paths.empty() && home.has_value()) {
    paths.push_back(*home + "/.kube/config");
  }
  return paths;
}

}  // namespace

absl::StatusOr<KubernetesAccess> InClusterAccess(
    const ResolverContext& context) {
  const auto host = context.environment.Get("KUBERNETES_SERVICE_HOST");
  if (!host.has_value() || host->empty()) {
    return InvalidArgument(
        "the variable KUBERNETES_SERVICE_HOST is not set; this does not run in "
        "a pod");
  }
  const std::string port =
      context.environment.Get("KUBERNETES_SERVICE_PORT").value_or("443");
  const auto number = ParseDecimal(port);
  if (!number.has_value() || *number < 1 || *number > 65'535) {
    return InvalidArgument(
        "the variable KUBERNETES_SERVICE_PORT is 1 to 65535, not '{}'", port);
  }
  KubernetesAccess access;
  access.server = "https://" + JoinHostPort(*host, *number);
  const std::string account = kAccount;
  for (const auto& [file, text] :
       {std::pair("token", &access.authorization),
        std::pair("ca.crt", &access.tls.authorities),
        std::pair("namespace", &access.namespace_name)}) {
    auto read = context.read_file(account + file);
    if (!read.ok()) {
      return Annotate(read.status(),
                      "the pod's account (is automountServiceAccountToken "
                      "off?)");
    }
    *text = Trimmed(*read);
  }
  access.authorization = "Bearer " + access.authorization;
  return access;
}

absl::StatusOr<KubernetesAccess> ReadKubeconfig(
    std::string_view text, const std::string& path, const std::string& name,
    const Kubeconfig::ReadFile& read_file) {
  KubernetesAccess access;
  const absl::Status status = ReadYamlText(text, [&](const YAML::Node& root) {
    return Kubeconfig(root, path, read_file).Read(name, &access);
  });
  if (!status.ok()) return Annotate(status, path);
  if (!access.authorization.empty() && !IsSafeForTokens(access.server)) {
    return InvalidArgument(
        "{}: the server {} would get a token unencrypted; write https", path,
        access.server);
  }
  return access;
}

absl::StatusOr<KubernetesAccess> FindKubernetesAccess(
    const ResolverContext& context, const std::string& path,
    const std::string& context_name) {
  if (!path.empty()) return ReadKubeconfigFile(context, path, context_name);
  if (context_name.empty() &&
      context.environment.Get("KUBERNETES_SERVICE_HOST").has_value()) {
    return InClusterAccess(context);
  }
  const auto paths = KubeconfigPaths(context.environment);
  for (const std::string& at : paths) {
    auto access = ReadKubeconfigFile(context, at, context_name);
    if (access.ok() || !absl::IsNotFound(access.status())) return access;
  }
  return InvalidArgument(
      "this runs in no pod (KUBERNETES_SERVICE_HOST is not set), and there is "
      "no kubeconfig ({}); say kubeconfig=PATH",
      paths.empty() ? "KUBECONFIG and HOME are not set" : paths.front());
}

}  // namespace feedmill
