#include "tools/command/read_flags.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/status.h"
#include "core/wire/message.h"

namespace feedmill {
namespace {

// Parses "1/4" → 1, 4; "10:20" → 10, 20.
absl::StatusOr<std::pair<uint64_t, uint64_t>> ParsePair(const std::string& text,
                                                        char between) {
  const size_t at = text.find(between);
  FM_ASSIGN_OR_RETURN(const uint64_t first,
                      ParseCount(text.substr(0, at), 0, ReadFlags::kNone));
  FM_ASSIGN_OR_RETURN(const uint64_t second,
                      ParseCount(at == text.npos ? "" : text.substr(at + 1), 1,
                                 ReadFlags::kNone));
  return std::pair(first, second);
}

LinkCompression LinkCompressionOf(const std::string& name) {
  return name == "lz4"    ? LinkCompression::kLz4
         : name == "zstd" ? LinkCompression::kZstd
         : name == "auto" ? LinkCompression::kAuto
                          : LinkCompression::kNone;
}

}  // namespace

// The flags are in the order of --help.
void ReadFlags::Declare(FlagSet& flags) {
  DeclareOutput(flags);
  DeclareShare(flags);
  DeclareTransport(flags);
  DeclareTokens(flags);
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

void ReadFlags::DeclareOutput(FlagSet& flags) {
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
  flags.Count("--limit", 0, kNone - 1, "Stop after this number of elements",
              &limit);
  flags.Duration("--timeout",
                 "Longest wait for the first element, and for each later one; "
                 "default for later ones: 60s",
                 &timeout);
  flags.Text("--dataset-id", "ID",
             "Read the pipeline that the dispatcher keeps under this id, in "
             "place of PIPELINE ('feedmill dataset')",
             &dataset_id);
}

void ReadFlags::DeclareShare(FlagSet& flags) {
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
  flags.Count("--epoch", 0, kNone - 1,
              "Epoch to read: each has another order; default: the token's; "
              "of a job with a name, the first epoch that this reader has "
              "not finished; else 0",
              &epoch);
  flags.Text("--skip-batches", "A:B[,A:B...]",
             "Leave out batches A to B-1 of the sequence (elements, without "
             "batches)",
             &skip_batches);
  flags.Count("--show-batch", 0, kNone - 1,
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
}

void ReadFlags::DeclareTransport(FlagSet& flags) {
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
}

void ReadFlags::DeclareTokens(FlagSet& flags) {
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
}

absl::Status ReadFlags::Check(const FlagSet& flags) const {
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
  FM_RETURN_IF_ERROR(CheckOrigin(flags));
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

// Checks where the elements come from: a service, a cluster or this process.
absl::Status ReadFlags::CheckOrigin(const FlagSet& flags) const {
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
  return absl::OkStatus();
}

absl::StatusOr<ReadOptions> ReadFlags::Options(
    const FlagSet& flags, const Pipeline& read,
    std::shared_ptr<const FunctionRegistry> functions,
    const std::atomic<bool>& cancel) const {
  ReadOptions options;
  options.cluster_id = cluster_id;
  options.security = security;
  options.job.name = flags.Given("--job") ? job : read.job;
  options.job.take_over = take_over;
  if (epoch != kNone) options.epoch = epoch;
  if (transport == "tcp") options.transport.kind = Transport::kTcp;
  if (via == "dispatcher") options.transport.kind = Transport::kRelay;
  options.transport.compression = LinkCompressionOf(compression);
  options.job.weight = static_cast<uint32_t>(weight);
  if (flags.Given("--timeout")) {
    options.limits.first_timeout = options.limits.timeout = timeout;
  }
  options.limits.threads = static_cast<int>(threads);
  options.limits.element_bytes_max = element_bytes_max;
  options.hooks.registry = std::move(functions);
  options.hooks.allow_python = allow_python;
  options.hooks.cancel = &cancel;
  FM_RETURN_IF_ERROR(TakeShare(options));
  options.rank.even = even.empty()     ? read.even.value_or(Even::kExact)
                      : even == "pad"  ? Even::kPad
                      : even == "drop" ? Even::kDrop
                                       : Even::kExact;
  if (!token.empty()) {
    FM_ASSIGN_OR_RETURN(options.resume.token,
                        LoadToken("--token " + token, token));
  }
  return options;
}

// Sets the part of the sequence to read.
absl::Status ReadFlags::TakeShare(ReadOptions& options) const {
  if (!consumer.empty()) {
    const auto share = ParsePair(consumer, '/');
    if (!share.ok()) {
      return InvalidArgument(
          "--consumer {}: expected 0/N to N-1/N, the number of this consumer "
          "and how many there are",
          consumer);
    }
    std::tie(options.rank.index, options.rank.count) = *share;
    if (options.rank.count > 1 && !local && options.job.name.empty()) {
      return InvalidArgument(
          "--consumer {}: name the job that the consumers share: --job NAME, "
          "or options.job in the file",
          consumer);
    }
  }
  std::string rest = skip_batches;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto range = ParsePair(rest.substr(0, comma), ':');
    if (!range.ok()) {
      return InvalidArgument(
          "--skip-batches {}: expected FIRST:END, or several of them separated "
          "by commas",
          skip_batches);
    }
    options.resume.skip_batches.push_back(*range);
    rest.erase(0, comma + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<SaveInterval> ReadFlags::Saves(const FlagSet& flags) const {
  if (save_every.empty()) return SaveInterval();
  const absl::StatusOr<SaveInterval> interval = ParseSaveInterval(save_every);
  if (!interval.ok()) {
    return flags.Error("--save-every: " + ErrorText(interval.status()));
  }
  if (!IsTokenFile(save_token)) {
    return flags.Error(fmt::format(
        "--save-every: {} is no file, of which each token would replace the "
        "one before",
        save_token));
  }
  return *interval;
}

}  // namespace feedmill
