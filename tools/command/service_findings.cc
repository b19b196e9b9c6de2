#include "tools/command/service_findings.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/status.h"

namespace feedmill {
namespace {

using Level = Finding::Level;

constexpr char kEarlier[] = "an earlier release";
constexpr uint64_t kFreeNeeded = uint64_t{64} << 20;
constexpr uint64_t kFreeWanted = uint64_t{1} << 30;
constexpr size_t kWorkersNamed = 3;  // of each release

std::string ReleaseOf(const nlohmann::json& part) {
  if (!part.is_object() || !part.contains("release") ||
      !part["release"].is_string()) {
    return kEarlier;
  }
  return part["release"].get<std::string>();
}

// Returns the addresses of the workers by release.
std::map<std::string, std::vector<std::string>> WorkersOf(
    const nlohmann::json& status) {
  std::map<std::string, std::vector<std::string>> workers;
  if (!status.contains("workers") || !status["workers"].is_array()) {
    return workers;
  }
  for (const nlohmann::json& worker : status["workers"]) {
    if (!worker.is_object()) continue;
    const std::string name = worker.value("address", "");
    workers[ReleaseOf(worker)].push_back(name.substr(0, name.find('#')));
  }
  return workers;
}

std::string NamesText(const std::vector<std::string>& names) {
  const size_t named = std::min(names.size(), kWorkersNamed);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(),
                      names.begin() + static_cast<ptrdiff_t>(named), ", "));
  if (names.size() > named) {
    text += fmt::format(" and {} more", names.size() - named);
  }
  return text;
}

Finding JudgeReleases(const nlohmann::json& status, const std::string& own) {
  const std::string dispatcher = ReleaseOf(status);
  std::string others;
  size_t workers = 0;
  for (const auto& [release, names] : WorkersOf(status)) {
    workers += names.size();
    if (release == dispatcher) continue;
    others += fmt::format("; {} has {}", NamesText(names), release);
  }
  if (own != dispatcher) others += fmt::format("; this command has {}", own);
  if (others.empty()) {
    return {Level::kOk, "releases",
            fmt::format("the dispatcher and {} worker{} have {}", workers,
                        workers == 1 ? "" : "s", dispatcher)};
  }
  return {Level::kWarning, "releases",
          fmt::format("the dispatcher has {}{}; releases of one protocol "
                      "version work together, but install one of them on all "
                      "machines",
                      dispatcher, others)};
}

}  // namespace

std::vector<Finding> JudgeService(const nlohmann::json& status,
                                  const std::string& own_release) {
  if (!status.is_object()) return {};
  std::vector<Finding> findings{JudgeReleases(status, own_release)};
  const nlohmann::json dispatcher =
      status.value("dispatcher", nlohmann::json::object());
  const auto free = dispatcher.is_object()
                        ? dispatcher.find("work_dir_free_bytes")
                        : dispatcher.end();
  if (free == dispatcher.end() || !free->is_number_unsigned()) return findings;
  const auto bytes = free->get<uint64_t>();
  const std::string left = fmt::format("{} MiB left", bytes >> 20);
  if (bytes >= kFreeWanted) {
    findings.push_back({Level::kOk, "work dir", left});
  } else {
    findings.push_back(
        {bytes < kFreeNeeded ? Level::kFailure : Level::kWarning, "work dir",
         fmt::format("{}: the dispatcher ends when its journal finds no space; "
                     "free some on the file system of its --work-dir",
                     left)});
  }
  return findings;
}

}  // namespace feedmill
