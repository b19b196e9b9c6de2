#include <algorithm>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/job_layout.h"
#include "core/cluster/role_resolver.h"
#include "core/cluster/union_resolver.h"
#include "core/cluster/words.h"
#include "core/dataset/nearest_name.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

constexpr size_t kUriMax = 16'384;
constexpr size_t kParametersMax = 64;
constexpr std::string_view kUnion = "union";
constexpr std::string_view kRolesParameter = "roles";

bool IsScheme(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_+-.") ==
             std::string_view::npos;
}

absl::StatusOr<std::string> DecodePercent(std::string_view text) {
  auto decoded = PercentDecoded(text);
  if (decoded && text.find("%00") == text.npos) return *std::move(decoded);
  return InvalidArgument(
      "'{}': '%' begins a byte in hexadecimal, such as %3D, and none of 0; "
      "write %25 for itself",
      text);
}

absl::Status ParseParameters(std::string_view query, ResolverUri* uri) {
  const auto items = SplitWords(query, '&');
  if (items.size() > kParametersMax) {
    return InvalidArgument("more than {} parameters", kParametersMax);
  }
  for (const std::string_view item : items) {
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return InvalidArgument("'{}' is no parameter; write name=value", item);
    }
    FM_ASSIGN_OR_RETURN(std::string name,
                        DecodePercent(item.substr(0, equals)));
    FM_ASSIGN_OR_RETURN(std::string value,
                        DecodePercent(item.substr(equals + 1)));
    for (const auto& known : uri->parameters) {
      if (known.first == name) {
        return InvalidArgument("parameter '{}' is given twice", name);
      }
    }
    uri->parameters.emplace_back(std::move(name), std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ResolverUri> ResolverUri::Parse(std::string_view text) {
  const std::string shown(text.substr(0, 200));
  if (text.size() > kUriMax) {
    return InvalidArgument(
        "a cluster's URI of {} bytes is over the limit of {}", text.size(),
        kUriMax);
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !IsScheme(text.substr(0, colon))) {
    return InvalidArgument(
        "'{}' is no cluster's URI: it has no scheme; write file:{} for a file, "
        "or one such as env: or slurm:",
        shown, shown);
  }
  ResolverUri uri;
  uri.scheme = std::string(text.substr(0, colon));
  std::string_view rest = text.substr(colon + 1);
  const size_t question = rest.find('?');
  auto path = DecodePercent(rest.substr(0, question));
  if (!path.ok()) return Annotate(path.status(), "the path of '" + shown + "'");
  uri.path = *std::move(path);
  if (question != std::string_view::npos) {
    const absl::Status status =
        ParseParameters(rest.substr(question + 1), &uri);
    if (!status.ok()) return Annotate(status, "'" + shown + "'");
  }
  return uri;
}

absl::Status ResolverUri::RefusePath() const {
  if (path.empty()) return absl::OkStatus();
  return InvalidArgument("{}: takes no path; '{}' is one", scheme, path);
}

const std::string* ResolverParameters::Text(std::string_view name) {
  known_.push_back(name);
  for (const auto& [key, value] : uri_.parameters) {
    if (key == name) return &value;
  }
  return nullptr;
}

void ResolverParameters::Text(std::string_view name, std::string* value) {
  if (const std::string* text = Text(name)) *value = *text;
}

absl::Status ResolverParameters::Count(std::string_view name, int64_t max,
                                       std::optional<int64_t>* value) {
  const std::string* text = Text(name);
  if (text == nullptr) return absl::OkStatus();
  const auto count = ParseDecimal(*text);
  if (!count.has_value() || *count > max) {
    return InvalidArgument("parameter '{}' is an integer of 0 to {}, not '{}'",
                           name, max, *text);
  }
  *value = count;
  return absl::OkStatus();
}

absl::Status ResolverParameters::Duration(std::string_view name,
                                          absl::Duration* value) {
  const std::string* text = Text(name);
  if (text == nullptr) return absl::OkStatus();
  absl::Duration duration;
  if (absl::ParseDuration(*text, &duration) &&
      duration >= absl::Milliseconds(1) && duration <= absl::Hours(1)) {
    *value = duration;
    return absl::OkStatus();
  }
  return InvalidArgument("parameter '{}' is a time of 1ms to 1h, not '{}'",
                         name, *text);
}

absl::Status ResolverParameters::Port(int64_t* value) {
  constexpr int64_t kPortMax = 65'535;
  std::optional<int64_t> given;
  FM_RETURN_IF_ERROR(Count("port", kPortMax, &given));
  if (given == 0) return InvalidArgument("parameter 'port' is 1 to 65535");
  *value = given.value_or(*value);
  return absl::OkStatus();
}

absl::Status ResolverParameters::Jobs(JobLayout* value) {
  const std::string* text = Text("jobs");
  if (text == nullptr) return absl::OkStatus();
  auto layout = ParseJobLayout(*text);
  if (!layout.ok()) return Annotate(layout.status(), "parameter 'jobs'");
  *value = *std::move(layout);
  return absl::OkStatus();
}

std::vector<std::pair<std::string, std::string>> ResolverParameters::Rest() {
  std::vector<std::pair<std::string, std::string>> rest;
  for (const auto& parameter : uri_.parameters) {
    if (!IsTaken(parameter.first)) rest.push_back(parameter);
  }
  for (const auto& [name, value] : uri_.parameters) known_.push_back(name);
  return rest;
}

bool ResolverParameters::IsTaken(std::string_view name) const {
  return std::find(known_.begin(), known_.end(), name) != known_.end();
}

std::string ResolverParameters::Suggestion(std::string_view name) const {
  return DidYouMean(name, known_);
}

absl::Status ResolverParameters::Overrides(ResolverOverrides* overrides) {
  constexpr int64_t kTaskMax = 1'000'000'000;
  if (const auto* job = Text("job")) overrides->task_type = *job;
  if (const auto* layer = Text("rpc_layer")) overrides->rpc_layer = *layer;
  if (const auto* name = Text("environment")) overrides->environment = *name;
  return Count("task", kTaskMax, &overrides->task_id);
}

absl::Status ResolverParameters::Finish() const {
  for (const auto& [name, value] : uri_.parameters) {
    if (!IsTaken(name)) {
      return InvalidArgument("{}: has no parameter '{}'{}", uri_.scheme, name,
                             Suggestion(name));
    }
  }
  return absl::OkStatus();
}

absl::Status ResolverRegistry::Add(std::string scheme,
                                   ResolverFactory factory) {
  if (!IsScheme(scheme)) {
    return InvalidArgument(
        "'{}' cannot be a scheme: lower-case letters, digits, '_', '+', '-' "
        "and '.', a letter first",
        scheme);
  }
  if (scheme == kUnion) {
    return InvalidArgument("the scheme 'union' has a resolver already");
  }
  const auto [at, added] =
      factories_.emplace(std::move(scheme), std::move(factory));
  if (added) return absl::OkStatus();
  return InvalidArgument("the scheme '{}' has a resolver already", at->first);
}

absl::StatusOr<std::unique_ptr<ClusterResolver>> ResolverRegistry::Make(
    std::string_view uri, const ResolverContext& context) const {
  FM_ASSIGN_OR_RETURN(ResolverUri parsed, ResolverUri::Parse(uri));
  const auto roles = std::find_if(
      parsed.parameters.begin(), parsed.parameters.end(),
      [](const auto& each) { return each.first == kRolesParameter; });
  if (roles == parsed.parameters.end()) return MakeAs(parsed, context);
  auto of = ParseJobRoles(roles->second);
  if (!of.ok()) return Annotate(of.status(), "parameter 'roles'");
  parsed.parameters.erase(roles);
  FM_ASSIGN_OR_RETURN(auto inner, MakeAs(parsed, context));
  return std::make_unique<RoleResolver>(std::move(inner), *std::move(of));
}

absl::StatusOr<std::unique_ptr<ClusterResolver>> ResolverRegistry::MakeAs(
    const ResolverUri& parsed, const ResolverContext& context) const {
  if (parsed.scheme == kUnion) return MakeUnion(parsed, context);
  const auto found = factories_.find(parsed.scheme);
  if (found != factories_.end()) return found->second(parsed, context);
  std::vector<std::string_view> known = {kUnion};
  for (const auto& [scheme, factory] : factories_) known.push_back(scheme);
  std::sort(known.begin(), known.end());
  return InvalidArgument("no resolver '{}:' among {}:{}", parsed.scheme,
                         fmt::join(known, ":, "),
                         DidYouMean(parsed.scheme, known));
}

std::vector<std::string> ResolverRegistry::Schemes() const {
  std::vector<std::string> schemes;
  for (const auto& [scheme, factory] : factories_) schemes.push_back(scheme);
  schemes.emplace_back(kUnion);
  std::sort(schemes.begin(), schemes.end());
  return schemes;
}

absl::StatusOr<std::unique_ptr<ClusterResolver>> ResolverRegistry::MakeUnion(
    const ResolverUri& uri, const ResolverContext& context) const {
  if (!uri.path.empty()) {
    return InvalidArgument("union: takes no path; write union:?1=URI&2=URI");
  }
  ResolverParameters parameters(uri);
  ResolverOverrides overrides;
  FM_RETURN_IF_ERROR(parameters.Overrides(&overrides));
  UnionResolver::Parts parts;
  for (const auto& [name, part] : parameters.Rest()) {
    if (part.starts_with("union:")) {
      return InvalidArgument(
          "part '{}': a union of unions is one of all their parts; write that",
          name);
    }
    auto made = Make(part, context);
    if (!made.ok()) return Annotate(made.status(), "part '" + name + "'");
    parts.push_back(*std::move(made));
  }
  return UnionResolver::Create(std::move(parts), std::move(overrides));
}

}  // namespace feedmill
