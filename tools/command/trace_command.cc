#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "client/trace_collector.h"
#include "core/base/status.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/security_flags.h"
#include "tools/command/stop_signals.h"
#include "tools/command/token_file.h"
#include "tools/command/trace_tracks.h"

namespace feedmill {
namespace {

constexpr char kTraceSummary[] =
    "Records for some seconds when and where the splits of a job are: planned\n"
    "and leased by the dispatcher, computed by workers, received by readers,\n"
    "handed out to the trainer. Writes a file that https://ui.perfetto.dev\n"
    "opens.";
constexpr char kTraceExamples[] =
    "The job continues meanwhile. SIGINT ends the trace early. "
    "docs/tracing.md\n"
    "describes the spans.\n"
    "\n"
    "Examples:\n"
    "  feedmill trace train --service localhost:5050 --seconds 10 -o "
    "trace.json\n"
    "  feedmill trace train --service localhost:5050 \\\n"
    "    --otlp http://localhost:4318/v1/traces";

constexpr uint64_t kSecondsMax = 600;

// -o is short for --output.
std::vector<std::string> LongNames(std::vector<std::string> arguments) {
  std::replace(arguments.begin(), arguments.end(), std::string("-o"),
               std::string("--output"));
  return arguments;
}

std::string Microseconds(absl::Duration duration) {
  return fmt::format("{:.0f} us", absl::ToDoubleMicroseconds(duration));
}

// Prints what the trace holds on stderr, and what it lacks.
void Describe(const CollectedTrace& trace) {
  absl::Duration worst = absl::ZeroDuration();
  uint64_t lost = trace.lost;
  for (const TracedProcess& process : trace.processes) {
    lost += process.lost;
    if (process.uncertainty == absl::InfiniteDuration()) {
      const std::string text = fmt::format(
          "the clock of {} is not known: its spans may be misplaced",
          process.name);
      std::fputs(StderrText(text).c_str(), stderr);
    } else {
      worst = std::max(worst, process.uncertainty);
    }
  }
  fmt::print(stderr,
             "{} spans of {} processes; clocks are known to within {}{}\n",
             trace.spans.size(), trace.processes.size(), Microseconds(worst),
             lost == 0 ? "" : fmt::format("; {} spans were dropped", lost));
}

absl::Status NothingHappened(const CollectedTrace& trace) {
  return FailedPrecondition(
      "job '{}' did nothing in {}{}; no trace was written", trace.job,
      absl::FormatDuration(trace.end - trace.begin),
      trace.waits_for.empty() ? "" : ": it waits for " + trace.waits_for);
}

// True if a process that belongs to the job did something in the trace.
bool HasSpans(const CollectedTrace& trace) {
  return std::any_of(trace.spans.begin(), trace.spans.end(),
                     [](const TraceSpan& span) {
                       return span.kind == SpanKind::kComputes ||
                              span.kind == SpanKind::kReady ||
                              span.kind == SpanKind::kBuffered ||
                              span.kind == SpanKind::kHandedOut;
                     });
}

}  // namespace

absl::StatusOr<int> RunTrace(const Invocation& invocation) {
  TraceWish wish;
  std::string output;
  std::string otlp;
  uint64_t seconds = 10;
  FlagSet flags("trace", kTraceSummary, kTraceExamples);
  flags.Positional("JOB", "The job's name (required)", &wish.job);
  flags.Text("--service", "HOST:PORT", "Address of the dispatcher (required)",
             &wish.service);
  flags.Count("--seconds", 1, kSecondsMax, "Duration of the trace", &seconds);
  flags.Text("--output", "FILE",
             "File for the trace, as Chrome's trace events; short: -o",
             &output);
  flags.Text(
      "--otlp", "URL",
      "Also send it to an OTLP/HTTP endpoint, a split as a trace; a path "
      "is part of the URL, like /v1/traces",
      &otlp);
  flags.Duration("--timeout", "Longest wait for an answer", &wish.timeout);
  flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
             &wish.cluster_id);
  DeclareKeys(flags, &wish.security);
  DeclareServerKey(flags, &wish.security);
  FM_ASSIGN_OR_RETURN(
      const bool go_on,
      flags.Parse(LongNames(invocation.arguments), invocation.describe));
  if (!go_on) return 0;
  if (wish.job.empty()) return flags.Error("JOB, the job's name, is missing");
  if (wish.service.empty())
    return flags.Error("--service HOST:PORT is missing");
  if (output.empty() && otlp.empty()) {
    return flags.Error("--output FILE or --otlp URL is missing");
  }
  wish.duration = absl::Seconds(static_cast<int64_t>(seconds));

  StopSignals signals;
  bool said = false;
  const auto pause = [&](absl::Duration time) {
    if (!std::exchange(said, true)) {
      fmt::print(stderr, "tracing job '{}' for {} s; SIGINT ends it early\n",
                 wish.job, seconds);
    }
    return !signals.Wait(-1, time).has_value();
  };
  FM_ASSIGN_OR_RETURN(const CollectedTrace trace, CollectTrace(wish, pause));
  if (!HasSpans(trace)) {
    if (trace.incomplete.ok()) return NothingHappened(trace);
    return Annotate(trace.incomplete, "no trace was written");
  }
  if (!output.empty()) {
    FM_RETURN_IF_ERROR(
        SaveFile("--output " + output, output, ChromeTraceJson(trace)));
  }
  if (!otlp.empty()) {
    FM_RETURN_IF_ERROR(ExportOtlp(otlp, OtlpRequests(trace), wish.timeout));
  }
  Describe(trace);
  if (trace.incomplete.ok()) return kExitSuccess;
  return Annotate(trace.incomplete, "the trace ends early");
}

}  // namespace feedmill
