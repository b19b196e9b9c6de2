#include <cstdio>

#include "core/base/status.h"
#include "feedmill/reader.h"
#include "tools/command/commands.h"
#include "tools/command/flags.h"
#include "tools/command/security_flags.h"
#include "tools/command/status_table.h"

namespace feedmill {
namespace {

constexpr char kStatusSummary[] =
    "Prints what a service is doing: its workers, jobs and readers.";
constexpr char kStatusExamples[] =
    "json prints one object on one line; programs should read that.\n"
    "\n"
    "Examples:\n"
    "  feedmill status --service tcp://10.0.0.1:5050\n"
    "  feedmill status --service localhost:5050 --format json | jq .workers";

}  // namespace

absl::StatusOr<int> RunStatus(const Invocation& invocation) {
  std::string service;
  std::string cluster_id;
  SecurityConfig security;
  std::string format = "table";
  absl::Duration timeout = absl::Seconds(4);
  FlagSet flags("status", kStatusSummary, kStatusExamples);
  flags.Text("--service", "HOST:PORT", "Address of the dispatcher (required)",
             &service);
  flags.OneOf("--format", {"table", "json"}, "How to print it", &format);
  flags.Duration("--timeout", "How long to wait for an answer", &timeout);
  flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
             &cluster_id);
  DeclareKeys(flags, &security);
  DeclareServerKey(flags, &security);
  flags.Configurable();
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (service.empty()) return flags.Error("--service HOST:PORT is missing");

  FM_ASSIGN_OR_RETURN(std::string text,
                      FetchStatus(service, timeout, cluster_id, security));
  if (format == "table") {
    FM_ASSIGN_OR_RETURN(text, StatusTable(text));
  } else {
    text += '\n';
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace feedmill
