#include "cloud/gce_resolver.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cloud/google_cloud.h"
#include "cloud/http_json.h"
#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/cluster/hostlist.h"
#include "core/cluster/job_layout.h"
#include "core/cluster/words.h"
#include "feedmill/resolver.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

struct Instance {
  std::string name;
  std::string zone;
  std::string ip;
};

// Returns the items of a page; an empty list has no "items" field.
absl::StatusOr<Json> Items(const Json& page, const std::string& url) {
  const Json* items = JsonAt(page, {"items"});
  if (items == nullptr) return Json::array();
  if (items->is_array()) return *items;
  return Unavailable("{}: the items it answers are no list", url);
}

// "https://…/zones/us-east1-d/instances/name" → zone and name.
absl::StatusOr<std::pair<std::string, std::string>> ReadInstanceUrl(
    const std::string& url) {
  const auto words = SplitWords(url, '/');
  const size_t count = words.size();
  if (count >= 4 && words[count - 2] == "instances" &&
      words[count - 4] == "zones" && !words[count - 1].empty() &&
      !words[count - 3].empty()) {
    return std::pair(std::string(words[count - 3]),
                     std::string(words[count - 1]));
  }
  return Unavailable(
      "the group's instance '{}' is no zones/ZONE/instances/NAME", url);
}

std::string InternalIp(const Json& instance) {
  const Json* interfaces = JsonAt(instance, {"networkInterfaces"});
  if (interfaces == nullptr || !interfaces->is_array() || interfaces->empty()) {
    return "";
  }
  const std::string ip = TextAt(interfaces->front(), {"networkIP"});
  return ip.empty() ? TextAt(interfaces->front(), {"ipv6Address"}) : ip;
}

// Returns the addresses of the zone's instances in `wanted`. Skips instances
// that were deleted after the group was listed.
absl::Status ReadZone(GoogleCloud& cloud, const std::string& project,
                      const std::string& zone,
                      const std::set<std::string>& wanted,
                      std::vector<Instance>* instances) {
  const std::string path = fmt::format(
      "/compute/v1/projects/{}/zones/{}/instances?maxResults=500&"
      "filter=status%3DRUNNING",
      PercentEncoded(project), PercentEncoded(zone));
  return cloud.ForEachPage(path, std::nullopt, [&](const Json& page) {
    auto items = Items(page, cloud.endpoint() + path);
    if (!items.ok()) return items.status();
    for (const Json& item : *items) {
      Instance instance{TextAt(item, {"name"}), zone, InternalIp(item)};
      if (!wanted.contains(instance.name)) continue;
      if (instance.ip.empty()) {
        return Unavailable("instance '{}' of {} has no networkIP",
                           instance.name, zone);
      }
      instances->push_back(std::move(instance));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<GceResolver::NamesByZone> GceResolver::ListGroup(
    GoogleCloud& cloud, const std::string& project) const {
  std::string place = "regions/" + PercentEncoded(options_.region);
  if (options_.region.empty()) {
    FM_ASSIGN_OR_RETURN(const std::string zone, cloud.Zone(options_.zone));
    place = "zones/" + PercentEncoded(zone);
  }
  const std::string path = fmt::format(
      "/compute/v1/projects/{}/{}/instanceGroups/{}/listInstances?"
      "maxResults=500",
      PercentEncoded(project), place, PercentEncoded(options_.group));
  NamesByZone names;
  size_t count = 0;
  const absl::Status status = cloud.ForEachPage(
      path, R"({"instanceState":"RUNNING"})", [&](const Json& page) {
        auto items = Items(page, cloud.endpoint() + path);
        if (!items.ok()) return items.status();
        for (const Json& item : *items) {
          auto named = ReadInstanceUrl(TextAt(item, {"instance"}));
          if (!named.ok()) return named.status();
          names[named->first].insert(named->second);
          if (++count > kHostsMax) {
            return ResourceExhausted(
                "the group '{}' has more than {} instances", options_.group,
                kHostsMax);
          }
        }
        return absl::OkStatus();
      });
  if (status.ok()) return names;
  return Annotate(status, "the instance group '" + options_.group + "'");
}

absl::StatusOr<ClusterView> GceResolver::Resolve() const {
  FM_ASSIGN_OR_RETURN(
      GoogleCloud cloud,
      GoogleCloud::Open(context_, options_.endpoint, options_.timeout));
  FM_ASSIGN_OR_RETURN(const std::string project,
                      cloud.Project(options_.project));
  FM_ASSIGN_OR_RETURN(const NamesByZone names, ListGroup(cloud, project));
  std::vector<Instance> instances;
  for (const auto& [zone, wanted] : names) {
    FM_RETURN_IF_ERROR(ReadZone(cloud, project, zone, wanted, &instances));
  }
  std::sort(instances.begin(), instances.end(),
            [](const Instance& a, const Instance& b) {
              if (a.name != b.name) return NaturalLess(a.name, b.name);
              return a.zone < b.zone;
            });
  std::string own;
  std::string own_zone;
  if (cloud.on_google()) {
    FM_ASSIGN_OR_RETURN(own, cloud.Metadata("instance/name"));
    FM_ASSIGN_OR_RETURN(own_zone, cloud.Zone(""));
  }
  std::vector<std::string> addresses;
  std::optional<int64_t> rank;
  for (const Instance& instance : instances) {
    if (instance.name == own && instance.zone == own_zone) {
      rank = static_cast<int64_t>(addresses.size());
    }
    addresses.push_back(JoinHostPort(instance.ip, options_.port));
  }
  ClusterView view;
  const absl::Status status =
      CutIntoJobs(options_.jobs, addresses, rank, &view);
  if (!status.ok()) {
    return Annotate(status, "the instance group '" + options_.group + "'");
  }
  view.environment = "google";
  ApplyOverrides(options_.overrides, &view);
  return view;
}

}  // namespace feedmill
