#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "client/even_elements.h"
#include "client/measured_read.h"
#include "client/quarantine.h"
#include "client/read_token.h"
#include "client/reader_parts.h"
#include "client/reader_roster.h"
#include "client/service_source.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/formats/memory_table.h"
#include "core/io/read_stop.h"
#include "core/net/clock.h"
#include "core/net/process_limits.h"
#include "core/ops/plugin_functions.h"
#include "core/pipeline/local_sequence.h"
#include "core/process/process_quota.h"
#include "core/python/python_pool.h"
#include "core/sources/field_inference.h"
#include "feedmill/reader.h"

namespace feedmill {
namespace {

constexpr uint64_t kEpochsMax = uint64_t{1} << 63;

// InvalidArgument if the requested epoch cannot be read.
absl::Status CheckEpoch(const ReadOptions& options, Order order) {
  if (!options.epoch.has_value()) return absl::OkStatus();
  if (*options.epoch >= kEpochsMax) {
    return InvalidArgument("epoch {}: an epoch is below 2^63", *options.epoch);
  }
  if (order == Order::kAny && !options.service.empty() &&
      !options.job.name.empty()) {
    return InvalidArgument(
        "epoch {} of job \"{}\": with order any, readers that share a job "
        "read the epoch that the job is at; leave the epoch out, or use order "
        "deterministic",
        *options.epoch, options.job.name);
  }
  return absl::OkStatus();
}

// Returns the graph that the options ask for, as all processes read it: with
// absolute paths, inferred fields, the versions of the plugins and, for a
// service, the tables in memory.
absl::StatusOr<Graph> GraphToRead(const Dataset& dataset,
                                  const ReadOptions& options) {
  Graph read = dataset.graph();
  if (options.seed.has_value()) read.options.seed = options.seed;
  if (options.processing_mode.has_value()) {
    read.options.processing_mode = *options.processing_mode;
  }
  std::error_code error;
  const std::filesystem::path working = std::filesystem::current_path(error);
  MakePathsAbsolute((working / options.directory).string(), read);
  FM_RETURN_IF_ERROR(InferFields(read));
  PinPlugins(*options.hooks.registry, read);
  if (!options.service.empty()) {
    FM_RETURN_IF_ERROR(CarryTables(read, kCarriedBytesMax));
  }
  return read;
}

// Returns the token that the options give, or nullopt. InvalidArgument if it is
// of another pipeline or epoch.
absl::StatusOr<std::optional<ReadToken>> TokenOf(const ReadOptions& options,
                                                 const Graph& read) {
  if (options.resume.token.empty()) return std::nullopt;
  FM_ASSIGN_OR_RETURN(ReadToken token, DecodeToken(options.resume.token));
  FM_RETURN_IF_ERROR(CheckToken(token, read));
  FM_RETURN_IF_ERROR(CheckTokenEpoch(token, options.epoch));
  return token;
}

// The pieces that a PieceMaker makes.
class LocalSource final : public ReadSource {
 public:
  LocalSource(std::unique_ptr<PieceMaker> maker, uint64_t size,
              const ReadOptions& options)
      : maker_(std::move(maker)),
        size_(size),
        in_roster_(ReaderRoster::OfThisProcess(), options.job.name,
                   options.rank.index, [this] {
                     return ReaderState{.joined = true, .load = times_.Load()};
                   }) {}

  absl::StatusOr<TakeResult> Take(absl::Time deadline, Piece& piece) override {
    const ReadTimes::Wait waits(times_);
    return maker_->Take(deadline, piece);
  }
  void SkipTo(uint64_t position) override { maker_->SkipTo(position); }
  void Leave(LeaveReason) override { maker_->SkipTo(size_); }
  ReadTimes& times() override { return times_; }

 private:
  const std::unique_ptr<PieceMaker> maker_;
  const uint64_t size_;
  ReadTimes times_;
  const ReaderRoster::Entry in_roster_;  // last: its function uses times_
};

absl::Status OpenInProcess(Graph graph, const ReadOptions& options,
                           const std::optional<ReadToken>& token,
                           ReaderParts& parts) {
  if (token) FM_RETURN_IF_ERROR(CheckTokenPasses(*token, 0));
  LocalSequenceOptions local;
  local.threads = options.limits.threads;
  local.share = parts.rules.share;
  local.skips = parts.rules.skips;
  local.on_skipped = QuarantineOf(graph);
  local.profile = MeasurementsOf(options.hooks);
  local.element_bytes_max = options.limits.element_bytes_max;
  local.iteration = token ? token->iteration : options.epoch.value_or(0);
  if (token && token->begins()) {
    graph.options.seed = token->seed;
  } else if (token) {
    local.resume = {token->seed, token->iteration, token->place};
  }
  FM_ASSIGN_OR_RETURN(
      LocalSequence made,
      OpenLocalSequence(graph, options.hooks.registry, std::move(local)));
  parts.sequence = std::move(made.sequence);
  if (token) {
    FM_RETURN_IF_ERROR(CheckTokenPlan(*token, parts.sequence->plan_id()));
  }
  parts.source = std::make_unique<LocalSource>(
      std::move(made.maker), parts.sequence->plan().size(), options);
  parts.graph = std::move(graph);
  parts.opened = SteadyNow();
  return absl::OkStatus();
}

// Opens a reading of all elements: does not even out the ranks.
absl::StatusOr<std::unique_ptr<ReaderParts>> OpenExactly(const Dataset& dataset,
                                                         ReadOptions options) {
  TuneMalloc();
  FM_ASSIGN_OR_RETURN(options.limits.element_bytes_max,
                      ElementBytesMax(options.limits.element_bytes_max));
  FM_RETURN_IF_ERROR(PrepareRegistry(options.hooks));
  FM_ASSIGN_OR_RETURN(Graph read, GraphToRead(dataset, options));
  if (options.hooks.profile != nullptr) {
    MeasuredRead& measured = options.hooks.profile->measured();
    measured.local = options.service.empty();
    FM_ASSIGN_OR_RETURN(measured.graph, Analyze(read, *options.hooks.registry));
  }
  FM_ASSIGN_OR_RETURN(std::optional<ReadToken> token, TokenOf(options, read));
  FM_RETURN_IF_ERROR(CheckEpoch(options, read.options.order));
  if (read.options.order == Order::kAny &&
      (options.rank.count != 1 || !options.resume.skip_batches.empty())) {
    return InvalidArgument(
        "ranks and skipped batches need order deterministic; with order any, "
        "readers share a job by its name alone");
  }
  auto parts = std::make_unique<ReaderParts>(options);
  FM_ASSIGN_OR_RETURN(parts->rules,
                      MakeRules({options.rank.index, options.rank.count},
                                options.resume.skip_batches, token));
  if (options.service.empty()) {
    FM_RETURN_IF_ERROR(OpenInProcess(std::move(read), options, token, *parts));
    return parts;
  }
  FM_ASSIGN_OR_RETURN(const std::shared_ptr<const AnalyzedGraph> analyzed,
                      Analyze(read, *options.hooks.registry));
  parts->rules.numbered = analyzed->numbered;
  FM_RETURN_IF_ERROR(OpenThroughService(analyzed, options, token, *parts));
  return parts;
}

// Makes element `number` of the reading of `reader` once more, in a job of its
// own.
absl::StatusOr<Chunk> ReadAgain(const Dataset& dataset, ReadOptions options,
                                uint64_t number) {
  options.rank.even = Even::kExact;
  options.job.name.clear();
  options.job.consumer.clear();
  options.job.take_over = false;
  options.rank.index = 0;
  options.rank.count = 1;
  options.resume.token.clear();
  options.hooks.profile = nullptr;
  options.resume.skip_batches.clear();
  if (number > 0) options.resume.skip_batches = {{0, number}};
  FM_ASSIGN_OR_RETURN(std::unique_ptr<ReaderParts> parts,
                      OpenExactly(dataset, std::move(options)));
  Reader reader(std::move(parts));
  FM_ASSIGN_OR_RETURN(const std::optional<Chunk> chunk, reader.Next());
  if (chunk.has_value()) return chunk->Slice(0, 1);
  return FailedPrecondition(
      "even: element {} is to be repeated, and is not there any more: the "
      "files of the dataset changed",
      number);
}

absl::StatusOr<std::unique_ptr<ReaderParts>> OpenEvenly(
    const Dataset& dataset, const ReadOptions& options) {
  const char* const name = options.rank.even == Even::kDrop ? "drop" : "pad";
  if (dataset.graph().options.order == Order::kAny) {
    return InvalidArgument(
        "even: \"{}\" needs order deterministic; the dataset has order any",
        name);
  }
  FM_ASSIGN_OR_RETURN(std::unique_ptr<ReaderParts> parts,
                      OpenExactly(dataset, options));
  EvenRules even;
  even.even = options.rank.even;
  even.total = parts->sequence->size();
  even.agree = options.rank.agree;
  if (!even.total && !even.agree && parts->rules.numbered) {
    return InvalidArgument(
        "even: \"{}\" needs to know how many passes there are, and with "
        "processing_mode off the workers decide that; use \"exact\", or pass "
        "agree",
        name);
  }
  even.count = [&sequence = *parts->sequence] { return sequence.made(); };
  std::optional<ReadToken> token;
  if (!options.resume.token.empty()) {
    FM_ASSIGN_OR_RETURN(token, DecodeToken(options.resume.token));
  }
  FM_ASSIGN_OR_RETURN(even.rules,
                      MakeRules({options.rank.index, options.rank.count},
                                options.resume.skip_batches, token));
  SetEvenPlace(token, even);
  ReadOptions again = options;
  again.seed = parts->sequence->plan().seed();
  again.epoch = parts->sequence->plan().iteration();
  parts->even = std::make_unique<EvenElements>(
      std::move(even), parts->sequence->LeftBefore(0).value_or(0),
      [dataset, again](uint64_t number) {
        return ReadAgain(dataset, again, number);
      });
  return parts;
}

}  // namespace

absl::Status PrepareRegistry(ReadHooks& hooks) {
  if (hooks.registry == nullptr) {
    FM_ASSIGN_OR_RETURN(hooks.registry, DefaultFunctions());
  }
  FM_ASSIGN_OR_RETURN(
      hooks.registry,
      WithPython(hooks.registry, {hooks.allow_python, hooks.python_path}));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Reader>> Read(const Dataset& dataset,
                                             ReadOptions options) {
  const ReadStop stop(options.hooks.interrupted);
  const bool exact =
      options.rank.even == Even::kExact || options.rank.count <= 1;
  FM_ASSIGN_OR_RETURN(std::unique_ptr<ReaderParts> parts,
                      exact ? OpenExactly(dataset, std::move(options))
                            : OpenEvenly(dataset, options));
  return std::make_unique<Reader>(std::move(parts));
}

}  // namespace feedmill
