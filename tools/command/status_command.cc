#include <unistd.h>

#include <cstdio>

#include "core/base/status.h"
#include "feedmill/reader.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/security_flags.h"
#include "tools/command/status_table.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kStatusSummary[] =
    "Prints what a service is doing: its workers, jobs and readers.";
constexpr char kStatusExamples[] =
    "json prints one object on one line, yaml the same over many; programs\n"
    "should read those.\n"
    "\n"
    "Examples:\n"
    "  feedmill status --service tcp://10.0.0.1:5050\n"
    "  feedmill status --service localhost:5050 --format json | jq .workers\n"
    "  feedmill status --service localhost:5050 --format yaml\n"
    "  feedmill status --service localhost:5050 --events\n"
    "  feedmill status --service localhost:5050 --watch";

constexpr absl::Duration kWatchPause = absl::Seconds(2);

// Prints the status once.
absl::Status PrintOnce(const std::string& service, absl::Duration timeout,
                       const std::string& cluster_id,
                       const SecurityConfig& security,
                       const std::string& format, bool events, bool clears) {
  FM_ASSIGN_OR_RETURN(
      std::string text,
      FetchStatus(service, timeout, cluster_id, security, events));
  if (events && format != "table") {
    FM_ASSIGN_OR_RETURN(text, EventsJson(text));
  }
  if (format == "table") {
    FM_ASSIGN_OR_RETURN(text, events ? EventsTable(text) : StatusTable(text));
  } else if (format == "yaml") {
    FM_ASSIGN_OR_RETURN(text, StatusYaml(text));
  } else {
    text += '\n';
  }
  if (clears) std::fputs("\033[H\033[2J", stdout);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> RunStatus(const Invocation& invocation) {
  std::string service;
  std::string cluster_id;
  SecurityConfig security;
  std::string format = "table";
  bool events = false;
  absl::Duration timeout = absl::Seconds(4);
  absl::Duration watch = absl::ZeroDuration();
  FlagSet flags("status", kStatusSummary, kStatusExamples);
  flags.Text("--service", "HOST:PORT", "Address of the dispatcher (required)",
             &service);
  flags.OneOf("--format", {"table", "json", "yaml"}, "Format of the status",
              &format);
  flags.Bool("--events",
             "Print the events that the dispatcher keeps, and nothing else: "
             "the last 500 warnings and 500 others",
             &events);
  flags.Duration("--timeout", "Longest wait for an answer", &timeout);
  flags.Duration("--watch",
                 "Print it repeatedly, with this pause in between, until "
                 "SIGINT; without a value: every 2s; default: once",
                 &watch, kWatchPause);
  flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
             &cluster_id);
  DeclareKeys(flags, &security);
  DeclareServerKey(flags, &security);
  flags.Configurable();
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (service.empty()) return flags.Error("--service HOST:PORT is missing");

  if (watch == absl::ZeroDuration()) {
    FM_RETURN_IF_ERROR(PrintOnce(service, timeout, cluster_id, security, format,
                                 events, false));
    return 0;
  }
  // If the dispatcher does not answer for a while, keep asking.
  StopSignals signals;
  const bool clears = format == "table" && isatty(STDOUT_FILENO) != 0;
  do {
    const absl::Status printed = PrintOnce(service, timeout, cluster_id,
                                           security, format, events, clears);
    if (absl::IsFailedPrecondition(printed)) return printed;
    if (!printed.ok()) {
      std::fputs(StderrText(ErrorText(printed)).c_str(), stderr);
    }
  } while (std::ferror(stdout) == 0 && !signals.Wait(-1, watch).has_value());
  return 0;
}

}  // namespace feedmill
