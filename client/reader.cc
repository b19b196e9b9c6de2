#include "feedmill/reader.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "client/even_reader.h"
#include "client/measured_read.h"
#include "client/quarantine.h"
#include "client/read_times.h"
#include "client/read_token.h"
#include "client/reader_roster.h"
#include "client/service_reader.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/io/read_stop.h"
#include "core/net/process_limits.h"
#include "core/ops/plugin_functions.h"
#include "core/pipeline/local_reader.h"
#include "core/python/python_pool.h"
#include "core/sources/field_inference.h"

namespace feedmill {
namespace {

constexpr absl::Duration kCancelPollInterval = absl::Milliseconds(50);
// Time of a chunk that a range-for uses before it reports progress.
constexpr absl::Duration kStrideTime = absl::Milliseconds(10);
constexpr uint64_t kStrideMax = 4'096;
constexpr uint64_t kEpochsMax = uint64_t{1} << 63;

// A reader in this process, without a service.
class InProcessReader : public Reader {
 public:
  InProcessReader(const Graph& graph, ReadRules rules,
                  std::unique_ptr<LocalReader> reader, ReadOptions options)
      : graph_(graph),
        rules_(std::move(rules)),
        reader_(std::move(reader)),
        cancel_(options.hooks.cancel),
        interrupted_(std::move(options.hooks.interrupted)),
        lane_(MeasurementsOf(options.hooks)),
        in_roster_(ReaderRoster::OfThisProcess(), options.job.name,
                   options.rank.index, [this] { return State(); }) {}

  const ElementSpec& spec() const override { return reader_->spec(); }
  uint64_t seed() const override { return reader_->seed(); }
  uint64_t epoch() const override { return reader_->iteration(); }
  uint64_t skipped() const override { return reader_->sequence().skipped(); }
  void Cancel() override { cancelled_.store(true); }

 private:
  absl::StatusOr<std::optional<Chunk>> FetchChunk() override {
    const ReadingLane::Call measured(lane_);
    times_.Begin();
    const ReadTimes::Wait waits(times_);
    for (;;) {
      if (cancelled_.load() || (cancel_ != nullptr && cancel_->load())) {
        cancelled_.store(true);
        return Cancelled("reading was cancelled");
      }
      auto chunk = NextPiece();
      if (!chunk.ok() && !reader_->ended() &&
          absl::IsDeadlineExceeded(chunk.status())) {
        if (!interrupted_ || !interrupted_()) continue;
        return Cancelled("reading was interrupted");
      }
      if (chunk.ok() && chunk->has_value()) {
        if ((*chunk)->rows == 0) continue;
        Count(**chunk);
      }
      return chunk;
    }
  }

  void Count(const Chunk& chunk) {
    elements_.fetch_add(chunk.rows, std::memory_order_relaxed);
    bytes_.fetch_add(chunk.ElementBytes(), std::memory_order_relaxed);
    times_.SetSkipped(reader_->sequence().skipped());
  }

  ReaderState State() const {
    ReaderState state{.joined = true, .load = times_.Load()};
    state.load.elements = elements_.load();
    state.load.bytes = bytes_.load();
    return state;
  }

  absl::StatusOr<std::optional<Chunk>> NextPiece() {
    try {
      return reader_->Next(absl::Now() + kCancelPollInterval);
    } catch (const std::bad_alloc& error) {
      return StatusOf(error);
    }
  }

  absl::StatusOr<std::string> SaveBefore(uint64_t unread) const override {
    std::optional<ReadPlace> place = reader_->sequence().PlaceBefore(unread);
    if (!place.has_value()) return TooManyUnread(unread);
    ReadToken token = MakeToken(graph_, rules_, *std::move(place));
    token.plan = reader_->plan_id();
    token.seed = reader_->seed();
    token.iteration = reader_->iteration();
    return EncodeToken(token);
  }

  uint64_t PassBefore(uint64_t unread) const override {
    return reader_->sequence().PassBefore(unread);
  }

  std::optional<uint64_t> LeftBefore(uint64_t unread) const override {
    return reader_->sequence().LeftBefore(unread);
  }

  std::optional<uint64_t> Total() const override {
    return reader_->sequence().size();
  }

  absl::StatusOr<uint64_t> NumberBefore(uint64_t unread) const override {
    const std::optional<ReadPlace> place =
        reader_->sequence().PlaceBefore(unread);
    if (!place.has_value()) return TooManyUnread(unread);
    return place->elements;
  }

  const Graph graph_;
  const ReadRules rules_;
  const std::unique_ptr<LocalReader> reader_;
  const std::atomic<bool>* const cancel_;
  const std::function<bool()> interrupted_;
  ReadingLane lane_;
  std::atomic<bool> cancelled_{false};
  ReadTimes times_;
  std::atomic<uint64_t> elements_{0};
  std::atomic<uint64_t> bytes_{0};
  const ReaderRoster::Entry in_roster_;  // last: its function uses the others
};

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

}  // namespace

absl::StatusOr<uint64_t> Reader::number() const {
  FM_ASSIGN_OR_RETURN(const uint64_t next, NumberBefore(Unread()));
  if (next == 0) return OutOfRange("no element was read yet");
  return next - 1;
}

absl::StatusOr<std::optional<Chunk>> Reader::Next() {
  unreported_ = 0;
  if (const uint64_t unread = Unread(); unread > 0) {
    last_ = current_.rows - 1;
    if (OnProgress(unread)) {
      return std::optional<Chunk>(
          current_.Slice(current_.rows - unread, current_.rows));
    }
  }
  absl::StatusOr<std::optional<Chunk>> chunk = FetchChunk();
  ended_ = chunk.ok() && !chunk->has_value();
  return chunk;
}

bool Reader::ReportProgress(uint64_t unread) {
  const bool go_on = OnProgress(Unread() + unread);
  unreported_ = go_on ? unread : 0;
  reported_at_ = last_;
  if (!go_on && current_.rows > 0) last_ = current_.rows - 1;
  return go_on;
}

uint64_t Reader::NextStride(uint64_t row) {
  const absl::Time now = absl::Now();
  stride_ = now - stride_began_ < kStrideTime
                ? std::min(2 * stride_, kStrideMax)
                : std::max<uint64_t>(stride_ / 2, 1);
  stride_began_ = now;
  last_ = row;
  if (OnProgress(current_.rows - row)) return StrideEnd(row);
  last_ = current_.rows - 1;
  return 0;
}

bool Reader::Advance() {
  absl::StatusOr<std::optional<Chunk>> next = Next();
  const bool came = next.ok() && next->has_value();
  if (!next.ok()) status_ = next.status();
  if (came) current_ = **std::move(next);
  last_ = std::max<uint64_t>(current_.rows, 1) - 1;
  return came;
}

const Chunk* Reader::NextChunk() {
  if (!Advance()) return nullptr;
  last_ = 0;
  if (stride_ > 0) stride_began_ = absl::Now();
  return &current_;
}

namespace {

// Fills the registry in the options, with Python if the options allow it.
absl::Status PrepareRegistry(ReadHooks& hooks) {
  if (hooks.registry == nullptr) {
    FM_ASSIGN_OR_RETURN(hooks.registry, DefaultFunctions());
  }
  FM_ASSIGN_OR_RETURN(
      hooks.registry,
      WithPython(hooks.registry, {hooks.allow_python, hooks.python_path}));
  return absl::OkStatus();
}

// Returns the graph that the options ask for, as all processes read it: with
// absolute paths, inferred fields and the versions of the plugins.
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

absl::StatusOr<std::unique_ptr<Reader>> ReadInProcess(
    Graph read, ReadOptions options, ReadRules rules,
    const std::optional<ReadToken>& token) {
  if (token) FM_RETURN_IF_ERROR(CheckTokenSlots(*token, 0));
  LocalReaderOptions local;
  local.threads = options.limits.threads;
  local.share = rules.share;
  local.skips = rules.skips;
  local.on_skipped = QuarantineOf(read);
  local.profile = MeasurementsOf(options.hooks);
  local.element_bytes_max = options.limits.element_bytes_max;
  local.iteration = token ? token->iteration : options.epoch.value_or(0);
  if (token && token->begins()) {
    read.options.seed = token->seed;
  } else if (token) {
    local.resume = {token->seed, token->iteration, token->place};
  }
  FM_ASSIGN_OR_RETURN(std::unique_ptr<LocalReader> reader,
                      LocalReader::Make(read, options.hooks.registry, local));
  if (token) FM_RETURN_IF_ERROR(CheckTokenPlan(*token, reader->plan_id()));
  return std::make_unique<InProcessReader>(
      read, std::move(rules), std::move(reader), std::move(options));
}

// Reads all elements: does not even out the ranks.
absl::StatusOr<std::unique_ptr<Reader>> ReadExactly(const Dataset& dataset,
                                                    ReadOptions options) {
  TuneMalloc();
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
  FM_ASSIGN_OR_RETURN(ReadRules rules,
                      MakeRules({options.rank.index, options.rank.count},
                                options.resume.skip_batches, token));
  if (options.service.empty()) {
    return ReadInProcess(std::move(read), std::move(options), std::move(rules),
                         token);
  }
  FM_ASSIGN_OR_RETURN(std::shared_ptr<const AnalyzedGraph> analyzed,
                      Analyze(read, *options.hooks.registry));
  rules.numbered = analyzed->numbered;
  return ReadFromService(std::move(analyzed), std::move(options),
                         std::move(rules), std::move(token));
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
  FM_ASSIGN_OR_RETURN(const std::unique_ptr<Reader> reader,
                      ReadExactly(dataset, std::move(options)));
  FM_ASSIGN_OR_RETURN(const std::optional<Chunk> chunk, reader->Next());
  if (chunk.has_value()) return chunk->Slice(0, 1);
  return FailedPrecondition(
      "even: element {} is to be repeated, and is not there any more: the "
      "files of the dataset changed",
      number);
}

absl::StatusOr<std::unique_ptr<Reader>> ReadEvenly(const Dataset& dataset,
                                                   const ReadOptions& options) {
  const char* const name = options.rank.even == Even::kDrop ? "drop" : "pad";
  if (dataset.graph().options.order == Order::kAny) {
    return InvalidArgument(
        "even: \"{}\" needs order deterministic; the dataset has order any",
        name);
  }
  FM_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader,
                      ReadExactly(dataset, options));
  EvenRules even;
  even.even = options.rank.even;
  even.total = reader->total();
  even.agree = options.rank.agree;
  if (!even.total && !even.agree) {
    return InvalidArgument(
        "even: \"{}\" needs to know how many elements there are, and this "
        "dataset is counted only by reading it (a filter, for example); use "
        "\"exact\", or batch before the filter, or pass agree",
        name);
  }
  std::optional<ReadToken> token;
  if (!options.resume.token.empty()) {
    FM_ASSIGN_OR_RETURN(token, DecodeToken(options.resume.token));
  }
  FM_ASSIGN_OR_RETURN(even.rules,
                      MakeRules({options.rank.index, options.rank.count},
                                options.resume.skip_batches, token));
  SetEvenPlace(token, even);
  ReadOptions again = options;
  again.seed = reader->seed();
  again.epoch = reader->epoch();
  return MakeEvenReader(std::move(reader), std::move(even),
                        [dataset, again](uint64_t number) {
                          return ReadAgain(dataset, again, number);
                        });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> Read(const Dataset& dataset,
                                             ReadOptions options) {
  const ReadStop stop(options.hooks.interrupted);
  if (options.rank.even == Even::kExact || options.rank.count <= 1) {
    return ReadExactly(dataset, std::move(options));
  }
  return ReadEvenly(dataset, options);
}

}  // namespace feedmill
