#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broker/state_journal.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"

namespace feedmill {
namespace {

constexpr char kStateSummary[] =
    "show: prints what a dispatcher's --work-dir holds. copy: copies it to a\n"
    "place that has no state yet, from a folder to a store and back. No\n"
    "dispatcher may lead either of them.";
constexpr char kStateExamples[] =
    "Places are folders, s3://bucket/folder, gs://bucket/folder,\n"
    "az://container/folder and postgresql://host/database. Workers and "
    "readers\n"
    "continue at a dispatcher that starts on the copy. Start none on the "
    "place\n"
    "that was copied: both would hand out the same work.\n"
    "\n"
    "Examples:\n"
    "  feedmill state show /var/lib/feedmill\n"
    "  feedmill state copy /var/lib/feedmill gs://bucket/feedmill";

std::string SummaryOf(const std::string& place, const DispatcherState& state) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const auto& [name, job] : state.jobs) jobs.push_back(name.value());
  std::vector<std::string> datasets;
  for (const auto& [id, graph] : state.datasets) datasets.push_back(id);
  const nlohmann::ordered_json summary = {{"place", HideUrlSecrets(place)},
                                          {"events", state.sequence},
                                          {"splits", state.splits.size()},
                                          {"jobs", std::move(jobs)},
                                          {"datasets", std::move(datasets)}};
  return summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<int> RunState(const Invocation& invocation) {
  std::string action;
  std::string from;
  std::string to;
  FlagSet flags("state", kStateSummary, kStateExamples);
  flags.Positional("ACTION", "show or copy (required)", &action);
  flags.Positional("FROM", "The place of the state (required)", &from);
  flags.Positional("TO", "copy: a place without state", &to);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (action != "show" && action != "copy") {
    return flags.Error(action.empty()
                           ? "ACTION, show or copy, is missing"
                           : fmt::format("'{}' is not show or copy", action));
  }
  if (from.empty()) return flags.Error("FROM, the place, is missing");
  if ((action == "copy") == to.empty()) {
    return flags.Error(action == "copy" ? "TO, the other place, is missing"
                                        : "show has one place");
  }
  if (action == "copy") FM_RETURN_IF_ERROR(CopyState(from, to));
  const std::string& shown = action == "copy" ? to : from;
  FM_ASSIGN_OR_RETURN(const auto journal, StateJournal::OpenExisting(shown));
  fmt::print("{}\n", SummaryOf(shown, journal->TakeState()));
  return 0;
}

}  // namespace feedmill
