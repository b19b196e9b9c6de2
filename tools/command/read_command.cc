#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "broker/plan_text.h"
#include "client/measured_read.h"
#include "client/reader_roster.h"
#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/dataset/analysis.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/random_use.h"
#include "core/dataset/skipping.h"
#include "core/definition/pipeline_file.h"
#include "core/definition/pipeline_text.h"
#include "core/io/read_stop.h"
#include "core/pipeline/read_profile.h"
#include "core/sources/field_inference.h"
#include "feedmill/dataset.h"
#include "feedmill/reader.h"
#include "feedmill/server.h"
#include "tools/command/batch_sample.h"
#include "tools/command/commands.h"
#include "tools/command/element_writer.h"
#include "tools/command/exit_code.h"
#include "tools/command/read_flags.h"
#include "tools/command/read_watch.h"
#include "tools/command/stop_signals.h"
#include "tools/command/task_process.h"
#include "tools/command/verdict_watch.h"

namespace feedmill {
namespace {

constexpr char kReadSummary[] =
    "Runs the pipeline in PIPELINE.yaml ('-': standard input) and prints its\n"
    "elements: in this process (--local) or through a service, the same\n"
    "elements in the same order.";
constexpr char kReadExamples[] =
    "Formats: jsonl prints one element a line; summary one JSON object with\n"
    "elements, bytes, seconds, elements_per_s, first_element_s, order_hash,\n"
    "with --service links, how elements came from which worker, and with\n"
    "on_error skipped, the number of skipped elements;\n"
    "none prints nothing. Seed and progress go to stderr.\n"
    "\n"
    "SIGTERM and SIGINT stop it between two lines, as --limit, an error and a\n"
    "closed stdout do. --save-token then counts the lines that were written\n"
    "whole; readers that share the job (order any) get the other elements. If "
    "a\n"
    "signal arrives while a line of more than 4096 bytes is half written, the\n"
    "line is finished if its reader accepts the rest within 5 s. A second "
    "signal, at\n"
    "least a second later, ends the read at once and saves no token.\n"
    "\n"
    "Files are paths or URLs: http://, https://, s3://, gs:// and az://. Each\n"
    "process that reads takes keys and addresses from its environment\n"
    "(AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL, AWS_PROFILE), and\n"
    "repeats requests for FEEDMILL_HTTP_PATIENCE (default: 60s).\n"
    "\n"
    "Examples:\n"
    "  feedmill read squares.yaml --local | head\n"
    "  feedmill read photos.yaml --service tcp://10.0.0.1:5050 --format "
    "summary\n"
    "  feedmill read photos.yaml --service localhost:5050 --job epoch-1 "
    "--limit 100\n"
    "  feedmill read photos.yaml --local --limit 100 --save-token at100\n"
    "  feedmill read photos.yaml --local --token at100\n"
    "  feedmill read photos.yaml --local --save-token at --save-every 30s\n"
    "  feedmill read photos.yaml --local --epoch 3\n"
    "  feedmill read photos.yaml --service localhost:5050 --job j --consumer "
    "0/4 --even drop\n"
    "  feedmill read photos.yaml --local --show-batch 1200\n"
    "  feedmill read photos.yaml --explain\n"
    "  AWS_PROFILE=team feedmill read bucket.yaml --local | head\n"
    "  feedmill read photos.yaml --local --format none --profile";

// Returns the number of elements to print, if it is known before reading.
std::optional<uint64_t> KnownTotal(const Reader& reader, uint64_t limit) {
  const std::optional<uint64_t> total = reader.left();
  if (limit == ReadFlags::kNone) return total;
  return std::min(limit, total.value_or(limit));
}

// Finds the dispatcher of --cluster. "": a signal came.
absl::StatusOr<std::string> ServiceOf(const Invocation& invocation,
                                      const ReadFlags& flags) {
  if (!flags.cluster.given()) return flags.service;
  constexpr absl::Duration kPollInterval = absl::Seconds(2);
  FM_ASSIGN_OR_RETURN(
      const auto resolver,
      invocation.resolvers->Make(flags.cluster.Uri(), HostContext()));
  FM_ASSIGN_OR_RETURN(
      const auto view,
      AwaitDispatcher(*resolver, flags.cluster.uri, kPollInterval,
                      flags.timeout, "--timeout"));
  return view.has_value() ? FindDispatcher(view->spec) : std::string();
}

// Writes a chunk, cut at each place where a token is to be saved. `beyond`:
// elements after the chunk that the reader gave and that are not written.
absl::Status Write(const Chunk& chunk, uint64_t beyond, Reader& reader,
                   ElementWriter& writer, TokenSaver& saver) {
  for (size_t row = 0; row < chunk.rows;) {
    const size_t end = row + static_cast<size_t>(std::min<uint64_t>(
                                 saver.Room(), chunk.rows - row));
    const uint64_t after = chunk.rows - end + beyond;
    bool goes_on = true;
    FM_RETURN_IF_ERROR(writer.Add(chunk.Slice(row, end), [&](uint64_t left) {
      saver.Look(left + after);
      return goes_on = reader.ReportProgress(left + after);
    }));
    if (!goes_on) return absl::OkStatus();
    FM_RETURN_IF_ERROR(saver.Wrote(end - row, after));
    row = end;
  }
  return absl::OkStatus();
}

// Reads to the end or the limit. `came`: elements written, plus the elements
// of the last chunk that were not written.
absl::Status Copy(Reader& reader, uint64_t limit, bool skips,
                  ElementWriter& writer, TokenSaver& saver, uint64_t& came) {
  while (writer.elements() < limit) {
    FM_ASSIGN_OR_RETURN(std::optional<Chunk> chunk, reader.Next());
    if (!chunk.has_value()) break;
    came = writer.elements() + chunk->rows;
    // Report the chunk as unused until it is printed: if this process ends,
    // other readers get its elements.
    if (!reader.ReportProgress(chunk->rows)) continue;
    const uint64_t wanted = limit - writer.elements();
    const uint64_t beyond =
        chunk->rows - std::min<uint64_t>(chunk->rows, wanted);
    if (beyond > 0) *chunk = chunk->Slice(0, static_cast<size_t>(wanted));
    const ProfileSpan span(ReadProfile::kOutput);
    if (span) {
      ReadProfile::Cost& cost = span->At(ReadProfile::kOutput);
      cost.rows_in += chunk->rows;
      cost.rows_out += chunk->rows;
      cost.bytes_out += chunk->ElementBytes();
    }
    const absl::Status added = Write(*chunk, beyond, reader, writer, saver);
    static_cast<void>(reader.ReportProgress(came - writer.elements()));
    FM_RETURN_IF_ERROR(added);
  }
  return writer.Finish(absl::Now(), reader.links(),
                       skips ? std::optional(reader.skipped()) : std::nullopt);
}

void PrintDataWarnings() {
  for (const std::string& text : DataWarningTexts()) {
    std::fputs(StderrText("warning: " + text).c_str(), stderr);
  }
}

void PrintSkipped(const OnErrorStep& step, uint64_t count) {
  if (count == 0) return;
  const std::string text = fmt::format(
      "{} element{} could not be made and {} left out{}{}", count,
      count == 1 ? "" : "s", count == 1 ? "was" : "were",
      step.quarantine.empty() ? "" : "; named in ", step.quarantine);
  std::fputs(StderrText(text).c_str(), stderr);
}

// Polls the dispatcher's verdict on a profiled read through a service.
std::optional<VerdictWatch> WatchVerdict(ReadOptions& options) {
  if (options.hooks.profile == nullptr || options.service.empty()) {
    return std::nullopt;
  }
  std::string job = options.job.name;
  if (job.empty()) {  // the job is named after its reader
    std::random_device device;
    options.job.consumer = fmt::format(
        "{:016x}", std::uniform_int_distribution<uint64_t>()(device));
    job = "@" + options.job.consumer;
  }
  return std::optional<VerdictWatch>(
      std::in_place,
      [service = options.service, cluster_id = options.cluster_id,
       security = options.security] {
        return FetchStatus(service, absl::Seconds(2), cluster_id, security);
      },
      std::move(job));
}

ElementWriter::Format FormatOf(const ReadFlags& flags) {
  return flags.format == "jsonl"     ? ElementWriter::Format::kJsonl
         : flags.format == "summary" ? ElementWriter::Format::kSummary
                                     : ElementWriter::Format::kNone;
}

void PrintDrawnSeed(uint64_t seed) {
  fmt::print(
      stderr,
      "feedmill: seed {0} was drawn; write options: {{seed: {0}}} to get "
      "this order again\n",
      seed);
}

// Saves the token of the place before the last `unread` elements.
absl::Status SaveToken(const std::string& path, uint64_t unread,
                       const Reader& reader) {
  FM_ASSIGN_OR_RETURN(const std::string token, reader.Save(unread));
  return SaveFile("--save-token " + path, path, token);
}

// Reads all elements and writes them to the standard output.
class OutputRead {
 public:
  // `flags` must outlive it.
  OutputRead(const ReadFlags& flags, SaveInterval saves)
      : flags_(flags),
        saves_(saves),
        writer_(FormatOf(flags), STDOUT_FILENO, start_,
                ReadInterrupt::cancel()) {}

  absl::Status Run(const Graph& graph, ReadOptions options);

  // True if the reader of the standard output closed it.
  bool output_closed() const { return output_closed_; }
  // Status of the save of the last token.
  const absl::Status& saved() const { return saved_; }
  // The dispatcher's verdict, if the read was profiled.
  const std::string& verdict() const { return verdict_; }

 private:
  absl::StatusOr<std::unique_ptr<Reader>> Open(const Graph& graph,
                                               ReadOptions options);
  ReadWatch::Options WatchOptions(Reader& reader);
  absl::Status WriteAll(const std::optional<OnErrorStep>& skips,
                        Reader& reader);

  const ReadFlags& flags_;
  const SaveInterval saves_;
  const absl::Time start_ = absl::Now();
  ElementWriter writer_;
  std::atomic<bool> output_closed_ = false;
  absl::Status saved_;
  std::string verdict_;
};

// Opens the reader and says which seed was drawn.
absl::StatusOr<std::unique_ptr<Reader>> OutputRead::Open(const Graph& graph,
                                                         ReadOptions options) {
  const bool drawn = !graph.options.seed.has_value() &&
                     NeedsSeed(graph, *options.hooks.registry);
  FM_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader,
                      Read(graph, std::move(options)));
  if (drawn) PrintDrawnSeed(reader->seed());
  return reader;
}

ReadWatch::Options OutputRead::WatchOptions(Reader& reader) {
  const bool prints = flags_.format == "jsonl";
  const auto progress = [this, total = KnownTotal(reader, flags_.limit)] {
    return ReadProgress{writer_.elements(), writer_.bytes(),
                        absl::Now() - start_, total};
  };
  const auto on_closed_output = [this, &reader] {
    output_closed_ = true;
    reader.Cancel();
  };
  return {.draw = isatty(STDERR_FILENO) != 0 &&
                  !(prints && isatty(STDOUT_FILENO) != 0),
          .output_fd = prints ? STDOUT_FILENO : -1,
          .progress = progress,
          .on_closed_output = on_closed_output};
}

absl::Status OutputRead::WriteAll(const std::optional<OnErrorStep>& skips,
                                  Reader& reader) {
  // Saved in case the process is killed. A pipe gets one token, at the end.
  const std::string& path = flags_.save_token;
  if (!path.empty() && IsTokenFile(path)) {
    FM_RETURN_IF_ERROR(SaveToken(path, 0, reader));
  }
  const ReadWatch watch(WatchOptions(reader));
  TokenSaver saver(
      saves_, [&](uint64_t unread) { return SaveToken(path, unread, reader); });
  uint64_t came = 0;
  const absl::Status status =
      Copy(reader, flags_.limit, skips.has_value(), writer_, saver, came);
  if (skips) PrintSkipped(*skips, reader.skipped());
  PrintDataWarnings();
  if (path.empty()) return status;
  // The token covers the elements that were printed. A signal stops the read,
  // but not this.
  const std::atomic<bool> never_stopped = false;
  const ReadStop saving(never_stopped);
  saved_ = SaveToken(path, came - writer_.elements(), reader);
  return status;
}

absl::Status OutputRead::Run(const Graph& graph, ReadOptions options) {
  const std::shared_ptr<Profile> profile = options.hooks.profile;
  std::optional<VerdictWatch> verdicts = WatchVerdict(options);
  absl::StatusOr<std::unique_ptr<Reader>> reader =
      Open(graph, std::move(options));
  absl::Status status = reader.status();
  if (status.ok()) {
    const ReadProfile::Use measured(
        profile == nullptr
            ? nullptr
            : profile->measured().profile->AddLane(ReadProfile::Role::kReads));
    status = WriteAll(SkippingOf(graph), **reader);
  }
  if (verdicts.has_value()) verdict_ = verdicts->Stop();
  return status;
}

// Returns the pipeline of the file, or the one registered at the dispatcher.
absl::StatusOr<Pipeline> PipelineOf(const ReadFlags& flags) {
  if (flags.pipeline == kExportedGraph) {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    FM_ASSIGN_OR_RETURN(Graph graph, ParseGraphJson(text));
    return Pipeline{.graph = std::move(graph)};
  }
  if (flags.dataset_id.empty()) return LoadPipeline(flags.pipeline);
  RegistryConfig config;
  config.service = flags.service;
  config.cluster_id = flags.cluster_id;
  config.security = flags.security;
  config.timeout = flags.timeout;
  FM_ASSIGN_OR_RETURN(const Dataset dataset,
                      DatasetFromId(flags.dataset_id, config));
  return Pipeline{.graph = dataset.graph()};
}

absl::Status Explain(Graph& graph,
                     std::shared_ptr<const FunctionRegistry> functions) {
  FM_RETURN_IF_ERROR(InferFields(graph));
  PinPlugins(*functions, graph);
  FM_ASSIGN_OR_RETURN(
      const std::string text,
      PlanText(graph, std::move(functions), ReadOptions{}.limits.budget_bytes));
  std::fputs(HideUrlSecrets(text).c_str(), stdout);
  return absl::OkStatus();
}

absl::Status PrintBatch(const Graph& graph, const ReadFlags& read,
                        const ReadOptions& options) {
  FM_ASSIGN_OR_RETURN(const auto shown,
                      ShowBatch(graph, read.show_batch, options));
  fmt::print("{}\n", read.format == "summary" ? BatchSampleJson(shown, graph)
                                              : shown.ToJson());
  return absl::OkStatus();
}

// Reads the pipeline until its end, its limit, an error or a signal. Returns
// the exit status.
absl::StatusOr<int> ReadAll(const Graph& graph, const ReadFlags& read,
                            SaveInterval saves, ReadOptions options) {
  ReadInterrupt::CatchSignals();
  const ReadStop stop(ReadInterrupt::cancel());
  HttpEndpoint http(read.http, {.readers = [] {
                      return ReaderRoster::OfThisProcess().Totals();
                    }});
  FM_RETURN_IF_ERROR(http.Start());
  std::shared_ptr<Profile> profile;
  if (read.profile) {
    profile = std::make_shared<Profile>();
    profile->measured().output = "printing";
  }
  options.hooks.profile = profile;
  OutputRead output(read, saves);
  const absl::Status status = output.Run(graph, std::move(options));
  if (profile != nullptr) {
    profile->measured().verdict = output.verdict();
    const absl::StatusOr<std::string> text = profile->ToText();
    if (text.ok()) std::fputs(text->c_str(), stderr);
    if (status.ok()) FM_RETURN_IF_ERROR(text.status());
  }
  // If the reader of the output is gone, it has what it wanted: no error.
  const bool closed = output.output_closed() || absl::IsAborted(status);
  if (!output.saved().ok() && output.saved() != status) {
    if (ReadInterrupt::signal() != 0 || closed || status.ok()) {
      return output.saved();
    }
    std::fputs(StderrText(ErrorText(output.saved())).c_str(), stderr);
  }
  if (ReadInterrupt::signal() != 0) return 128 + ReadInterrupt::signal();
  if (closed) return 0;
  FM_RETURN_IF_ERROR(status);
  return 0;
}

}  // namespace

absl::StatusOr<int> RunRead(const Invocation& invocation) {
  ReadFlags read;
  FlagSet flags("read", kReadSummary, kReadExamples);
  read.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(read.Check(flags));
  FM_RETURN_IF_ERROR(read.log.SetUp("reader"));
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, PipelineOf(read));
  Graph& graph = pipeline.graph;
  FM_ASSIGN_OR_RETURN(const auto functions,
                      read.op_plugins.AddTo(invocation.registry));
  const auto with_line = [&](absl::Status status) {
    return WithLine(std::move(status), pipeline, read.pipeline);
  };
  if (read.explain) {
    FM_RETURN_IF_ERROR(with_line(Explain(graph, functions)));
    return 0;
  }
  if (graph.options.order == Order::kAny &&
      !(read.token.empty() && read.save_token.empty())) {
    return flags.Error("--token and --save-token need order deterministic");
  }
  FM_ASSIGN_OR_RETURN(const SaveInterval saves, read.Saves(flags));
  FM_ASSIGN_OR_RETURN(
      ReadOptions options,
      read.Options(flags, pipeline, functions, ReadInterrupt::cancel()));
  if (read.show_batch != ReadFlags::kNone) {
    FM_RETURN_IF_ERROR(with_line(PrintBatch(graph, read, options)));
    return 0;
  }
  if (!read.local) {
    FM_ASSIGN_OR_RETURN(options.service, ServiceOf(invocation, read));
    if (options.service.empty()) return kExitInterrupted;
  }
  absl::StatusOr<int> code = ReadAll(graph, read, saves, std::move(options));
  if (!code.ok()) return with_line(code.status());
  return code;
}

}  // namespace feedmill
