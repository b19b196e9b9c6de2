#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "absl/time/clock.h"
#include "client/measured_read.h"
#include "client/reader_roster.h"
#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/cluster/host_context.h"
#include "core/dataset/analysis.h"
#include "core/dataset/draws.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/skipping.h"
#include "core/definition/pipeline_file.h"
#include "core/definition/pipeline_text.h"
#include "core/io/read_stop.h"
#include "core/pipeline/read_profile.h"
#include "core/sources/field_inference.h"
#include "core/wire/message.h"
#include "feedmill/dataset.h"
#include "feedmill/reader.h"
#include "feedmill/server.h"
#include "tools/command/batch_sample.h"
#include "tools/command/batch_sampler.h"
#include "tools/command/cluster_flags.h"
#include "tools/command/commands.h"
#include "tools/command/element_writer.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/http_flags.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/plan_text.h"
#include "tools/command/read_watch.h"
#include "tools/command/security_flags.h"
#include "tools/command/server_flags.h"
#include "tools/command/task_process.h"
#include "tools/command/token_file.h"
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

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

struct ReadFlags {
  std::string pipeline;
  std::string service;
  ClusterFlags cluster;
  bool local = false;
  bool explain = false;
  bool profile = false;
  std::string job;
  bool take_over = false;
  std::string transport = "auto";
  std::string via = "worker";
  std::string compression = "none";
  std::string cluster_id;
  SecurityConfig security;
  uint64_t limit = kNoLimit;
  absl::Duration timeout = absl::Seconds(20);
  std::string format = "jsonl";
  uint64_t threads = 0;
  uint64_t element_bytes_max = 0;
  uint64_t weight = JobOptions().weight;
  std::string token;
  std::string save_token;
  std::string save_every;
  std::string dataset_id;
  std::string even;
  std::string consumer;
  uint64_t epoch = kNoLimit;
  std::string skip_batches;
  uint64_t show_batch = kNoLimit;
  OpPluginFlag op_plugins;
  std::string allow_python;
  HttpFlags http;
  LogFlags log;

  void Declare(FlagSet& flags) {
    flags.Positional("PIPELINE", "The pipeline's file", &pipeline);
    flags.Text("--service", "HOST:PORT", "Read through this dispatcher",
               &service);
    cluster.Declare(flags,
                    "In place of --service: URI of a cluster that lists the "
                    "dispatcher now or within --timeout");
    flags.Bool("--local", "Read in this process, without a service", &local);
    flags.Bool("--explain",
               "Print the plan: where each step runs, what runs as one pass, "
               "how it is cut into splits, and memory; make no element",
               &explain);
    flags.Bool("--profile",
               "When the read ends, print to stderr what bounds it, the most "
               "to be gained, and the time of each step; with --service, of "
               "its workers too",
               &profile);
    flags.OneOf("--format", {"jsonl", "summary", "none"},
                "Form of the printed elements", &format);
    flags.Count("--limit", 0, kNoLimit - 1,
                "Stop after this number of elements", &limit);
    flags.Duration(
        "--timeout",
        "Longest wait for the first element, and for each later one; "
        "default for later ones: 60s",
        &timeout);
    flags.Text("--dataset-id", "ID",
               "Read the pipeline that the dispatcher keeps under this id, in "
               "place of PIPELINE ('feedmill dataset')",
               &dataset_id);
    flags.Text("--job", "NAME",
               "Read the job NAME together with its other readers; reading a "
               "finished job again is its next iteration; default: options.job "
               "of the file, or a job without a name",
               &job);
    flags.Text("--consumer", "C/N",
               "Be consumer C (from 0) of N: take the batches (elements, "
               "without batches) whose number modulo N is C",
               &consumer);
    flags.OneOf("--even", {"exact", "drop", "pad"},
                "Elements of consumers whose number does not divide them: drop "
                "leaves out the last elements; pad repeats the last element "
                "of each consumer that lacks one; default: options.even of "
                "the file, or exact",
                &even);
    flags.Count("--epoch", 0, kNoLimit - 1,
                "Epoch to read: each has another order; default: the token's; "
                "of a job with a name, the first epoch that this reader has "
                "not finished; else 0",
                &epoch);
    flags.Text("--skip-batches", "A:B[,A:B...]",
               "Leave out batches A to B-1 of the sequence (elements, without "
               "batches)",
               &skip_batches);
    flags.Count("--show-batch", 0, kNoLimit - 1,
                "Print batch N (element N, without batches) of the sequence "
                "and the records that it was made of, then exit; with --local; "
                "--format summary shortens it, as for the page",
                &show_batch);
    flags.Bool("--take-over",
               "Take the place of the job's present reader. With --consumer "
               "C/N: of an earlier consumer C, or of all consumers of another "
               "N. Other consumers of N are never stopped. A consumer that is "
               "ahead waits until they have finished the iteration before. It "
               "does not wait for one that is silent for longer than the "
               "dispatcher's --client-timeout",
               &take_over);
    flags.OneOf("--transport", {"auto", "tcp"},
                "Transport of elements: auto uses shared memory if a worker "
                "runs on this host",
                &transport);
    flags.OneOf("--via", {"worker", "dispatcher"},
                "Path of the elements: dispatcher relays the elements of "
                "workers that this host cannot reach",
                &via);
    flags.OneOf("--compression", {"none", "lz4", "zstd", "auto"},
                "Compression of elements on the network; auto picks the codec "
                "with the highest throughput, none on fast links",
                &compression);
    flags.Count("--weight", 1, kWeightMax,
                "Share of the workers, relative to other jobs: a job of weight "
                "200 gets twice as much as one of 100; default: 100",
                &weight);
    flags.Bytes(
        "--element-max",
        "Largest element that is made here, and component of one: by a local "
        "read, or by steps that are the client's; default: 1GiB, or an "
        "eighth of the memory where that is less",
        &element_bytes_max);
    flags.Text("--token", "FILE", "Continue from the position in this token",
               &token);
    flags.Text(
        "--save-token", "FILE",
        "Save the reader's position to this file, or object of s3://, "
        "gs:// or az://, at the start and at the end; the end may be an error "
        "or a signal",
        &save_token);
    flags.Text("--save-every", "N|DURATION",
               "Save the token after each N elements (1000), or so often "
               "(30s), too; it replaces the one before at once",
               &save_every);
    flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
               &cluster_id);
    DeclareKeys(flags, &security);
    DeclareServerKey(flags, &security);
    flags.Text("--allow-python", "FILE",
               "Interpreter that runs the Python functions of the steps that "
               "this process runs; default: none",
               &allow_python);
    op_plugins.Declare(flags);
    http.Declare(flags,
                 "/metrics (Prometheus), /healthz and /readyz while it reads");
    log.Declare(flags);
    flags.Configurable();
    flags.Count("--threads", 1, 1024,
                "Threads of a local read; default: the CPUs available to it",
                &threads);
  }

  // Checks that the flags are consistent.
  absl::Status Check(const FlagSet& flags) const {
    if (!dataset_id.empty() && service.empty()) {
      return flags.Error("--dataset-id needs --service");
    }
    if (pipeline.empty() == dataset_id.empty()) {
      return flags.Error(pipeline.empty()
                             ? "PIPELINE, a file, is missing"
                             : "PIPELINE and --dataset-id exclude each other");
    }
    if (explain && profile) {
      return flags.Error(
          "--profile and --explain exclude each other: --explain reads no "
          "element");
    }
    if (explain) return absl::OkStatus();
    if (!service.empty() && cluster.given()) {
      return flags.Error("--service and --cluster exclude each other");
    }
    if (local == (!service.empty() || cluster.given())) {
      return flags.Error(
          local ? fmt::format("--local and {} exclude each other",
                              cluster.given() ? "--cluster" : "--service")
                : "--service HOST:PORT, --cluster URI or --local is missing");
    }
    if (!cluster.jobs.empty() && !cluster.given()) {
      return flags.Error("--jobs needs --cluster");
    }
    for (const char* flag : {"--job", "--take-over", "--transport", "--via",
                             "--compression", "--weight", "--cluster-id"}) {
      if (local && flags.Given(flag)) {
        return flags.Error(fmt::format("{} needs --service", flag));
      }
    }
    if (!save_every.empty() && save_token.empty()) {
      return flags.Error("--save-every needs --save-token FILE");
    }
    if (!local && flags.Given("--show-batch")) {
      return flags.Error(
          "--show-batch needs --local: it reads the files in this process");
    }
    if (!local && flags.Given("--threads")) {
      return flags.Error(
          "--threads is for --local; with a service, use 'feedmill worker "
          "--threads'");
    }
    return absl::OkStatus();
  }
};

// ---- signals: flags that the reader and the writer poll.
std::atomic<bool> g_cancel = false;
std::atomic<int> g_signal = 0;
std::atomic<int64_t> g_signal_ms = 0;  // time of the signal
pthread_t g_reading_thread;
// A second signal within this time is a copy of the first: timeout(1) signals
// the process and its group.
constexpr int64_t kDuplicateSignalMs = 1'000;

int64_t MonotonicMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe
  return int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

void OnSignal(int signal) {
  if (pthread_equal(pthread_self(), g_reading_thread) == 0) {
    pthread_kill(g_reading_thread, signal);  // interrupts its wait in a write
    return;
  }
  if (g_cancel.exchange(true)) {
    if (MonotonicMs() - g_signal_ms < kDuplicateSignalMs) return;
    _exit(128 + signal);  // the user wants to stop at once
  }
  g_signal_ms = MonotonicMs();
  g_signal = signal;
}

void CatchSignals() {
  g_reading_thread = pthread_self();
  struct sigaction action {};
  // without SA_RESTART: system calls are interrupted
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Returns the number of elements to print, if it is known before reading.
std::optional<uint64_t> KnownTotal(const Reader& reader, uint64_t limit) {
  const std::optional<uint64_t> total = reader.left();
  if (limit == kNoLimit) return total;
  return std::min(limit, total.value_or(limit));
}

// Parses "1/4" → 1, 4; "10:20" → 10, 20.
absl::StatusOr<std::pair<uint64_t, uint64_t>> ParsePair(const std::string& text,
                                                        char between) {
  const size_t at = text.find(between);
  FM_ASSIGN_OR_RETURN(const uint64_t first,
                      ParseCount(text.substr(0, at), 0, kNoLimit));
  FM_ASSIGN_OR_RETURN(
      const uint64_t second,
      ParseCount(at == text.npos ? "" : text.substr(at + 1), 1, kNoLimit));
  return std::pair(first, second);
}

// Sets the part of the sequence to read.
absl::Status TakeShare(const ReadFlags& flags, ReadOptions& options) {
  if (!flags.consumer.empty()) {
    const auto share = ParsePair(flags.consumer, '/');
    if (!share.ok()) {
      return InvalidArgument(
          "--consumer {}: expected 0/N to N-1/N, the number of this consumer "
          "and how many there are",
          flags.consumer);
    }
    std::tie(options.rank.index, options.rank.count) = *share;
    if (options.rank.count > 1 && !flags.local && options.job.name.empty()) {
      return InvalidArgument(
          "--consumer {}: name the job that the consumers share: --job NAME, "
          "or options.job in the file",
          flags.consumer);
    }
  }
  std::string rest = flags.skip_batches;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto range = ParsePair(rest.substr(0, comma), ':');
    if (!range.ok()) {
      return InvalidArgument(
          "--skip-batches {}: expected FIRST:END, or several of them separated "
          "by commas",
          flags.skip_batches);
    }
    options.resume.skip_batches.push_back(*range);
    rest.erase(0, comma + 1);
  }
  return absl::OkStatus();
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

ReadOptions MakeReadOptions(const ReadFlags& flags, bool timeout_given,
                            std::shared_ptr<const FunctionRegistry> functions) {
  ReadOptions options;
  options.cluster_id = flags.cluster_id;
  options.security = flags.security;
  options.job.name = flags.job;
  options.job.take_over = flags.take_over;
  if (flags.epoch != kNoLimit) options.epoch = flags.epoch;
  if (flags.transport == "tcp") options.transport.kind = Transport::kTcp;
  if (flags.via == "dispatcher") options.transport.kind = Transport::kRelay;
  options.transport.compression =
      flags.compression == "lz4"    ? LinkCompression::kLz4
      : flags.compression == "zstd" ? LinkCompression::kZstd
      : flags.compression == "auto" ? LinkCompression::kAuto
                                    : LinkCompression::kNone;
  options.job.weight = static_cast<uint32_t>(flags.weight);
  options.limits.first_timeout = flags.timeout;
  if (timeout_given) options.limits.timeout = flags.timeout;
  options.limits.threads = static_cast<int>(flags.threads);
  options.limits.element_bytes_max = flags.element_bytes_max;
  options.hooks.registry = std::move(functions);
  options.hooks.allow_python = flags.allow_python;
  options.hooks.cancel = &g_cancel;
  return options;
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

// Reads to the end or the limit. `came`: elements written, plus those of the
// last chunk that were not written.
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

void TellDataWarnings() {
  for (const std::string& text : DataWarningTexts()) {
    fmt::print(stderr, "feedmill: warning: {}\n", text);
  }
}

void TellSkipped(const OnErrorStep& step, uint64_t count) {
  if (count == 0) return;
  fmt::print(stderr,
             "feedmill: {} element{} could not be made and {} left out{}{}\n",
             count, count == 1 ? "" : "s", count == 1 ? "was" : "were",
             step.quarantine.empty() ? "" : "; named in ", step.quarantine);
}

// Watches the dispatcher's verdict on a profiled read through a service.
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

// `verdict`: set to the dispatcher's, if the read is profiled.
absl::Status ReadAll(const Graph& graph, const ReadFlags& flags,
                     SaveInterval every, ReadOptions options,
                     std::atomic<bool>& output_closed, std::string& verdict) {
  const absl::Time start = absl::Now();
  const bool draws = Draws(graph, *options.hooks.registry);
  const std::shared_ptr<Profile> profile = options.hooks.profile;
  const auto format = flags.format == "jsonl" ? ElementWriter::Format::kJsonl
                      : flags.format == "summary"
                          ? ElementWriter::Format::kSummary
                          : ElementWriter::Format::kNone;
  ElementWriter writer(format, STDOUT_FILENO, start, g_cancel);
  std::optional<VerdictWatch> verdicts = WatchVerdict(options);
  absl::StatusOr<std::unique_ptr<Reader>> opened =
      Read(graph, std::move(options));
  if (!opened.ok()) {
    if (verdicts.has_value()) verdict = verdicts->Stop();
    return opened.status();
  }
  const std::unique_ptr<Reader> reader = *std::move(opened);
  if (!graph.options.seed.has_value() && draws) {
    fmt::print(stderr,
               "feedmill: seed {0} was drawn; write options: {{seed: {0}}} to "
               "get this order again\n",
               reader->seed());
  }
  // Saved in case the process is killed. A pipe gets one token, at the end.
  if (!flags.save_token.empty() && IsTokenFile(flags.save_token)) {
    FM_ASSIGN_OR_RETURN(const std::string begin, reader->Save());
    FM_RETURN_IF_ERROR(
        SaveFile("--save-token " + flags.save_token, flags.save_token, begin));
  }
  const bool prints = format == ElementWriter::Format::kJsonl;
  ReadWatch watch({.draw = isatty(STDERR_FILENO) != 0 &&
                           !(prints && isatty(STDOUT_FILENO) != 0),
                   .output_fd = prints ? STDOUT_FILENO : -1,
                   .progress =
                       [&, total = KnownTotal(*reader, flags.limit)] {
                         return ReadProgress{writer.elements(), writer.bytes(),
                                             absl::Now() - start, total};
                       },
                   .on_closed_output =
                       [&] {
                         output_closed = true;
                         reader->Cancel();
                       }});
  const ReadProfile::Use measured(
      profile == nullptr
          ? nullptr
          : profile->measured().profile->AddLane(ReadProfile::Role::kReads));
  uint64_t came = 0;
  const auto save = [&](uint64_t unread) -> absl::Status {
    FM_ASSIGN_OR_RETURN(const std::string token, reader->Save(unread));
    return SaveFile("--save-token " + flags.save_token, flags.save_token,
                    token);
  };
  TokenSaver saver(every, save);
  const std::optional<OnErrorStep> skips = SkippingOf(graph);
  const absl::Status status =
      Copy(*reader, flags.limit, skips.has_value(), writer, saver, came);
  if (verdicts.has_value()) verdict = verdicts->Stop();
  if (skips) TellSkipped(*skips, reader->skipped());
  TellDataWarnings();
  if (flags.save_token.empty()) return status;
  // The token covers the elements that were printed.
  const absl::Status saved = save(came - writer.elements());
  return status.ok() ? saved : status;
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
  if (!flags.Given("--job")) read.job = pipeline.job;
  if (read.explain) {
    FM_RETURN_IF_ERROR(InferFields(graph));
    PinPlugins(*functions, graph);
    const auto text = PlanText(graph, functions);
    if (!text.ok()) return WithLine(text.status(), pipeline, read.pipeline);
    std::fputs(HideUrlSecrets(*text).c_str(), stdout);
    return 0;
  }
  if (graph.options.order == Order::kAny &&
      !(read.token.empty() && read.save_token.empty())) {
    return flags.Error("--token and --save-token need order deterministic");
  }
  ReadOptions options =
      MakeReadOptions(read, flags.Given("--timeout"), functions);
  FM_RETURN_IF_ERROR(TakeShare(read, options));
  options.rank.even = read.even.empty()     ? pipeline.even
                      : read.even == "pad"  ? Even::kPad
                      : read.even == "drop" ? Even::kDrop
                                            : Even::kExact;
  SaveInterval every;
  if (!read.save_every.empty()) {
    const absl::StatusOr<SaveInterval> parsed =
        ParseSaveInterval(read.save_every);
    if (!parsed.ok()) {
      return flags.Error("--save-every: " + ErrorText(parsed.status()));
    }
    if (!IsTokenFile(read.save_token)) {
      return flags.Error(fmt::format(
          "--save-every: {} is no file, of which each token would replace the "
          "one before",
          read.save_token));
    }
    every = *parsed;
  }
  if (!read.token.empty()) {
    FM_ASSIGN_OR_RETURN(options.resume.token,
                        LoadToken("--token " + read.token, read.token));
  }
  if (read.show_batch != kNoLimit) {
    const auto shown = ShowBatch(graph, read.show_batch, options);
    if (!shown.ok()) return WithLine(shown.status(), pipeline, read.pipeline);
    fmt::print("{}\n", read.format == "summary" ? BatchSampleJson(*shown, graph)
                                                : shown->ToJson());
    return 0;
  }
  if (!read.local) {
    FM_ASSIGN_OR_RETURN(options.service, ServiceOf(invocation, read));
    if (options.service.empty()) return kExitInterrupted;
  }
  CatchSignals();
  const ReadStop stop(g_cancel);
  HttpEndpoint http(read.http, {.readers = [] {
                      return ReaderRoster::OfThisProcess().Totals();
                    }});
  FM_RETURN_IF_ERROR(http.Start());
  std::atomic<bool> output_closed = false;
  std::shared_ptr<Profile> profile;
  if (read.profile) {
    profile = std::make_shared<Profile>();
    profile->measured().output = "printing";
  }
  options.hooks.profile = profile;
  std::string verdict;
  const absl::Status status =
      ReadAll(graph, read, every, std::move(options), output_closed, verdict);
  if (profile != nullptr) {
    profile->measured().verdict = verdict;
    const absl::StatusOr<std::string> text = profile->ToText();
    if (text.ok()) std::fputs(text->c_str(), stderr);
    if (status.ok()) FM_RETURN_IF_ERROR(text.status());
  }
  if (g_signal != 0) return 128 + g_signal;
  // If the reader of the output is gone, it has what it wanted: no error.
  if (output_closed || absl::IsAborted(status)) return 0;
  FM_RETURN_IF_ERROR(WithLine(status, pipeline, read.pipeline));
  return 0;
}

}  // namespace feedmill
