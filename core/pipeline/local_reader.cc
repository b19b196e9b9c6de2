#include "core/pipeline/local_reader.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/io/manifest.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/endless_watch.h"
#include "core/pipeline/executor.h"
#include "core/pipeline/kept_blocks.h"
#include "core/pipeline/piece_sizer.h"
#include "core/pipeline/process_quota.h"
#include "core/pipeline/worker_stage.h"
#include "core/plan/plan.h"
#include "core/plan/plan_id.h"
#include "core/process/thread_limit.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"

namespace feedmill {
namespace {

constexpr size_t kSlotsPerThread = 4;
// Cheap pieces are made quickly; more of them ahead would only fall out of the
// cache.
constexpr size_t kCheapSlotsPerThread = 2;
constexpr int kTries = 3;  // of a piece, after a temporary I/O error

// The reading thread also makes pieces if a piece takes less than kBriefSeconds
// and the thread spends only a small share of that time elsewhere. If a core is
// free for the thread, the share is smaller, because it saves less.
constexpr double kBriefSeconds = 0.005;
constexpr double kAwayShare = 0.5;
constexpr double kAwayShareOfSpare = 0.2;

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Updates a moving average over about 8 values.
void Average(double value, double& average) {
  average += average == 0 ? value : (value - average) / 8;
}

// Sets the floating-point environment (rounding, flushing) until this object
// ends.
class FloatingPoint {
 public:
  static std::fenv_t Now() {
    std::fenv_t now;
    std::fegetenv(&now);
    return now;
  }
  explicit FloatingPoint(const std::fenv_t& set) : before_(Now()) {
    std::fesetenv(&set);
  }
  ~FloatingPoint() { std::fesetenv(&before_); }
  FloatingPoint(const FloatingPoint&) = delete;
  FloatingPoint& operator=(const FloatingPoint&) = delete;

 private:
  const std::fenv_t before_;
};

uint64_t DrawSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// A run of positions; one thread at a time makes its pieces in order.
struct Slot {
  Cursor next;  // [next, end) has not been made
  Cursor end;
  std::deque<Piece> pieces;  // made, in order
  bool running = false;
  bool stopped = false;  // by an error: of its last piece, or `status`
  absl::Status status;   // an error of this machine

  bool finished() const { return stopped || next >= end; }
};

class PipelineReader final : public LocalReader {
 public:
  PipelineReader(std::shared_ptr<const Plan> plan, uint64_t source_round,
                 std::shared_ptr<const WorkerStage> stage,
                 std::unique_ptr<ClientStage> client,
                 const LocalReaderOptions& options, std::string plan_id)
      : plan_(std::move(plan)),
        stage_(std::move(stage)),
        client_(std::move(client)),
        options_(options),
        plan_id_(std::move(plan_id)),
        start_(options.resume ? options.resume->place.cursor : Cursor{}),
        watch_(*plan_, source_round, start_.p),
        keeper_({options.share, options.skips, plan_->graph().numbered}),
        skips_(plan_->graph(), plan_id_, options.on_skipped,
               options.resume ? options.resume->place.skipped : 0),
        sizer_(options.piece_bytes, stage_->EstimatedBytes(), stage_->heavy()),
        executor_(options.threads) {
    error_ = watch_.Check();
    next_position_ = start_.p;
    if (numbered()) needed_ = keeper_.NeededFrom(start_.p);
    ReadPlace place;
    if (options.resume) place = options.resume->place;
    if (client_ != nullptr) place.stage = client_->Save();
    keeper_.GoOnFrom(std::move(place));
    if (executor_.threads() < AvailableCpus()) away_share_ = kAwayShareOfSpare;
    // The last one belongs to the reading thread.
    scratches_.resize(static_cast<size_t>(executor_.threads()) + 1);
    lanes_.resize(static_cast<size_t>(executor_.threads()));
    for (auto& lane : lanes_) {
      if (options_.profile == nullptr) break;
      lane = options_.profile->AddLane(ReadProfile::Role::kMakes);
    }
  }

  absl::StatusOr<std::optional<Chunk>> Next(absl::Time deadline) override {
    while (true) {
      if (!outputs_.empty()) {
        Chunk chunk = keeper_.Keep(std::move(outputs_.front().chunk));
        const uint64_t pass = outputs_.front().pass;
        outputs_.pop_front();
        if (chunk.rows == 0) continue;
        pass_ = pass;
        gave_ = true;
        return std::optional<Chunk>(std::move(chunk));
      }
      if (!error_.ok()) return error_;
      if (finished_) return std::optional<Chunk>();
      if (client_ != nullptr && client_->done()) {
        FinishClient();
        continue;
      }
      Piece piece;
      FM_ASSIGN_OR_RETURN(const bool any, TakePiece(deadline, piece));
      if (!any) {
        FinishClient();
        continue;
      }
      Chunk chunk = keeper_.Keep(Deliver(std::move(piece)));
      if (chunk.rows == 0) continue;
      gave_ = true;
      return std::optional<Chunk>(std::move(chunk));
    }
  }

  const ElementSpec& spec() const override { return *plan_->graph().output; }
  uint64_t seed() const override { return plan_->seed(); }
  uint64_t iteration() const override { return plan_->iteration(); }
  std::optional<uint64_t> size() const override {
    if (!numbered() || plan_->size() == kEndless) return std::nullopt;
    return plan_->size();
  }
  const std::string& plan() const override { return plan_id_; }
  uint64_t skipped() const override { return skips_.count(); }
  uint64_t PassBefore(uint64_t unread) const override {
    if (!numbered() || !gave_) return pass_;
    const std::optional<ReadPlace> place = keeper_.Before(unread);
    return place && place->elements > 0
               ? plan_->ReachedPass(place->elements - 1)
               : 0;
  }
  std::optional<ReadPlace> PlaceBefore(uint64_t unread) const override {
    return keeper_.Before(unread);
  }

 private:
  bool numbered() const { return plan_->graph().numbered; }

  void FinishClient() {
    finished_ = true;
    if (client_ == nullptr || !error_.ok()) return;
    const ByteBudget budget(options_.element_bytes_max);
    error_ = client_->Finish();
    PopOutputs();
  }

  size_t PopOutputs() {
    size_t count = 0;
    for (ClientStage::Output output; client_->Pop(output); ++count) {
      outputs_.push_back({std::move(output.chunk), output.pass});
    }
    return count;
  }

  // Passes a piece on, and returns the rows that are ready for the reader. Sets
  // error_, which is returned after all ready rows.
  Chunk Deliver(Piece piece) {
    const size_t rows = piece.chunk.rows;
    keeper_.Feed(piece.begin,
                 client_ == nullptr ? StageState() : client_->Save(),
                 skips_.count());
    size_t outputs = rows;
    uint64_t needed = 0;
    if (numbered()) {
      outputs = piece.end.p - piece.begin.p;  // including other ranks' elements
      needed = keeper_.NeededFrom(piece.end.p);
    } else if (client_ != nullptr) {
      const ByteBudget budget(options_.element_bytes_max);
      error_ = client_->Push(piece);
      outputs = PopOutputs();
      needed = client_->needed_from();
    }
    if (needed > piece.end.p) {
      const std::lock_guard lock(mutex_);
      needed_ = std::max(needed_, needed);
      // An error among unneeded positions is ignored: the slot continues.
      if (!piece.error.ok()) slots_.front()->stopped = false;
    } else if (error_.ok()) {
      error_ = piece.error;
      if (piece.skipped) error_ = skips_.Add(*piece.skipped);
    }
    if (error_.ok()) {
      error_ = watch_.Advance(piece.end, numbered() ? outputs : rows, outputs);
    }
    return client_ == nullptr ? std::move(piece.chunk) : Chunk();
  }

  // ---- making pieces, in order

  // Takes the next piece of the sequence; returns false after the last one.
  absl::StatusOr<bool> TakePiece(absl::Time deadline, Piece& piece) {
    const ProfileSpan span(ReadProfile::kWaiting);
    std::unique_lock lock(mutex_);
    Average(SecondsSince(left_), away_);
    while (true) {
      takes_part_ = TakesPart() && absl::Now() < deadline;
      DropUnneeded();
      Schedule();
      if (slots_.empty() && AddSlot() == nullptr) return false;
      Slot& head = *slots_.front();
      if (!head.pieces.empty()) {
        piece = std::move(head.pieces.front());
        head.pieces.pop_front();
        buffered_ -= BytesOf(piece);
        Schedule();
        left_ = Clock::now();
        return true;
      }
      if (!head.status.ok()) {
        error_ = head.status;
        return error_;
      }
      if (takes_part_ && MakeHere(lock)) continue;
      if (deadline == absl::InfiniteFuture()) {
        ready_.wait(lock);
      } else if (ready_.wait_until(lock, absl::ToChronoTime(deadline)) ==
                     std::cv_status::timeout &&
                 head.pieces.empty() && !head.finished()) {
        return DeadlineExceeded("no element came in time");
      }
    }
  }

  // True if the reading thread makes pieces, too: it asks for the next piece
  // quickly, and a piece takes little time. Its pieces are in its own cache,
  // and no thread has to be woken. REQUIRES: mutex_ is held.
  bool TakesPart() const {
    return options_.profile == nullptr && !stage_->heavy() &&
           seconds_ < kBriefSeconds && away_ < seconds_ * away_share_;
  }

  static size_t BytesOf(const Piece& piece) {
    size_t bytes = 0;
    for (const Column& column : piece.chunk.columns) {
      bytes += column.values.size() + column.offsets.size();
    }
    return bytes;
  }

  // Drops pieces that cannot change the output any more. REQUIRES: mutex_ is
  // held.
  void DropUnneeded() {
    const Cursor needed{needed_, 0};
    next_position_ = std::max(next_position_, needed_);
    while (!slots_.empty()) {
      Slot& head = *slots_.front();
      while (!head.pieces.empty() && head.pieces.front().end < needed) {
        buffered_ -= BytesOf(head.pieces.front());
        if (!head.pieces.front().error.ok()) head.stopped = false;
        head.pieces.pop_front();
      }
      if (!head.pieces.empty() && head.pieces.front().begin < needed) {
        Piece& front = head.pieces.front();
        buffered_ -= BytesOf(front);
        front = front.From(needed);
        buffered_ += BytesOf(front);
      }
      if (!head.running && !head.stopped) {
        head.next = std::min(std::max(head.next, needed), head.end);
      }
      if (!head.pieces.empty() || head.running || !head.finished() ||
          !head.status.ok()) {
        return;
      }
      slots_.pop_front();
    }
  }

  // Starts threads for all slots that have room. REQUIRES: mutex_ is held.
  void Schedule() {
    while (makers_ < MakersMax()) {
      const auto slot = Claim();
      if (slot == nullptr) return;
      ++makers_;
      if (!executor_.Submit([this, slot](int thread) {
            MakeOn(static_cast<size_t>(thread), slot);
          })) {
        --makers_;
        --running_;
        slot->running = false;
        return;
      }
    }
  }

  size_t MakersMax() const {
    return static_cast<size_t>(executor_.threads()) - (takes_part_ ? 1 : 0);
  }

  // Claims the first slot with pieces to make for the caller. Null if there is
  // none or no room. REQUIRES: mutex_ is held.
  std::shared_ptr<Slot> Claim() {
    std::shared_ptr<Slot> claimed;
    for (size_t k = 0; k < slots_.size() && claimed == nullptr; ++k) {
      const auto& slot = slots_[k];
      if (slot->running || slot->finished()) continue;
      if (k == 0 ? slot->pieces.size() < 2 : HasRoom()) claimed = slot;
    }
    if (claimed == nullptr) claimed = AddSlot();
    if (claimed != nullptr) {
      claimed->running = true;
      ++running_;
    }
    return claimed;
  }

  // Adds a slot for the next positions; null if there are enough. REQUIRES:
  // mutex_ is held.
  std::shared_ptr<Slot> AddSlot() {
    const size_t slots_max =
        (stage_->heavy() ? kSlotsPerThread : kCheapSlotsPerThread) *
        static_cast<size_t>(executor_.threads());
    if (slots_.size() >= slots_max || next_position_ >= plan_->size() ||
        (!slots_.empty() && !HasRoom())) {
      return nullptr;
    }
    const uint64_t together = stage_->together();
    const uint64_t positions =
        sizer_.Positions() + together - 1 -
        (next_position_ + sizer_.Positions() + together - 1) % together;
    const uint64_t count = std::min(positions, plan_->size() - next_position_);
    auto slot = std::make_shared<Slot>();
    slot->next = std::max(Cursor{next_position_, 0}, start_);
    slot->end = {next_position_ + count, 0};
    next_position_ += count;
    slots_.push_back(slot);
    return slot;
  }

  bool HasRoom() const {
    const size_t piece = std::max(options_.piece_bytes, largest_);
    const auto threads = static_cast<size_t>(executor_.threads());
    const size_t each = std::min(options_.memory_bytes / threads,
                                 std::max(stage_->AheadBytes(), 2 * piece));
    return buffered_ + running_ * piece < each * threads;
  }

  // Runs on a thread of the executor: makes pieces while there is room.
  void MakeOn(size_t thread, std::shared_ptr<Slot> slot) {
    const ReadProfile::Use use(lanes_[thread]);
    while (slot != nullptr) {
      Made made = Make(thread, *slot);
      bool awaited = false;
      {
        const std::lock_guard lock(mutex_);
        Keep(*slot, std::move(made));
        // The reading thread waits for the first slot only.
        awaited = slots_.front() == slot;
        slot = makers_ > MakersMax() ? nullptr : Claim();
        if (slot == nullptr) --makers_;
        // Schedules without the reading thread, which may be busy elsewhere.
        Schedule();
      }
      if (awaited) ready_.notify_one();
    }
  }

  // Makes a piece on the reading thread, which would otherwise wait. Returns
  // false if there is none to make.
  bool MakeHere(std::unique_lock<std::mutex>& lock) {
    const auto slot = Claim();
    if (slot == nullptr) return false;
    lock.unlock();
    Made made;
    {
      const FloatingPoint as_others(floating_point_);
      made = Make(scratches_.size() - 1, *slot);
    }
    lock.lock();
    Keep(*slot, std::move(made));
    return true;
  }

  struct Made {
    absl::StatusOr<Piece> piece;
    double seconds = 0;
  };

  Made Make(size_t thread, const Slot& slot) {
    const auto begin = Clock::now();
    absl::StatusOr<Piece> piece = Run(thread, slot);
    for (int tries = 1; tries < kTries &&
                        piece.status().code() == absl::StatusCode::kUnavailable;
         ++tries) {
      piece = Run(thread, slot);
    }
    return {std::move(piece), SecondsSince(begin)};
  }

  absl::StatusOr<Piece> Run(size_t thread, const Slot& slot) {
    auto& scratch = scratches_[thread];
    const ByteBudget budget(options_.element_bytes_max);
    try {
      if (scratch == nullptr) {
        scratch = stage_->NewScratch();
        scratch->blocks = blocks_;
      }
      return stage_->Run(slot.next, slot.end, options_.piece_bytes, *scratch);
    } catch (const std::exception& error) {
      scratch = nullptr;
      return StatusOf(error);
    }
  }

  // Stores a made piece. REQUIRES: mutex_ is held.
  void Keep(Slot& slot, Made made) {
    slot.running = false;
    --running_;
    absl::StatusOr<Piece>& piece = made.piece;
    if (!piece.ok()) {
      slot.status = piece.status();
      slot.stopped = true;
      return;
    }
    const size_t bytes = BytesOf(*piece);
    sizer_.Observe(piece->end.p - slot.next.p, bytes, made.seconds);
    Average(made.seconds, seconds_);
    slot.next = piece->end;
    slot.stopped = !piece->error.ok();
    largest_ = std::max(largest_, bytes);
    buffered_ += bytes;
    slot.pieces.push_back(*std::move(piece));
  }

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const WorkerStage> stage_;
  // Null if there are no client steps and rows need not reveal passes.
  const std::unique_ptr<ClientStage> client_;
  const LocalReaderOptions options_;
  const std::string plan_id_;
  const Cursor start_;

  // Used by the reading thread only.
  EndlessWatch watch_;
  PlaceKeeper keeper_;
  SkipCount skips_;
  struct Ready {
    Chunk chunk;
    uint64_t pass = 0;
  };
  std::deque<Ready> outputs_;  // of client_, not yet returned
  uint64_t pass_ = 0;          // of the last returned chunk
  bool gave_ = false;          // a chunk was returned
  absl::Status error_;
  bool finished_ = false;
  Clock::time_point left_ = Clock::now();  // when Next last returned
  double away_ = 0;  // average time between calls, in seconds
  // floating_point_ is the environment that threads of this reader begin with;
  // the caller of Next may have set another.
  double away_share_ = kAwayShare;
  const std::fenv_t floating_point_ = FloatingPoint::Now();

  std::mutex mutex_;
  std::condition_variable ready_;
  // Guarded by mutex_.
  std::deque<std::shared_ptr<Slot>> slots_;  // in order
  PieceSizer sizer_;
  uint64_t next_position_ = 0;
  uint64_t needed_ = 0;  // earlier positions cannot change the output
  size_t buffered_ = 0;  // bytes of pieces in slots
  size_t running_ = 0;   // slots with a thread
  size_t makers_ = 0;    // threads of the executor that make pieces
  // True if the reading thread replaces one maker.
  bool takes_part_ = false;
  double seconds_ = 0;  // average time of a piece
  size_t largest_ = 0;  // bytes of a piece

  const std::shared_ptr<KeptBlocks> blocks_ = std::make_shared<KeptBlocks>();
  // Each entry is used by one thread only.
  std::vector<std::unique_ptr<WorkerStage::Scratch>> scratches_;
  std::vector<ReadProfile::Lane*> lanes_;  // null: not measured
  // Declared last, because its threads use all of the above until they end.
  Executor executor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LocalReader>> LocalReader::Make(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> registry,
    LocalReaderOptions options) {
  if (options.threads < 0) {
    return InvalidArgument(
        "{} threads: the number must not be negative; 0 uses all CPUs",
        options.threads);
  }
  FM_ASSIGN_OR_RETURN(options.element_bytes_max,
                      ElementBytesMax(options.element_bytes_max));
  FM_RETURN_IF_ERROR(
      CheckThreads(static_cast<size_t>(options.threads > 0 ? options.threads
                                                           : AvailableCpus()),
                   "give the reader fewer (--threads)"));
  FM_ASSIGN_OR_RETURN(auto analyzed, Analyze(graph, *registry));
  FM_ASSIGN_OR_RETURN(Manifest resolved, ResolveManifest(*analyzed));
  const auto manifest = std::make_shared<const Manifest>(std::move(resolved));
  const std::optional<LocalResume>& resume = options.resume;
  const uint64_t seed = resume               ? resume->seed
                        : graph.options.seed ? *graph.options.seed
                                             : DrawSeed();
  const uint64_t iteration = resume ? resume->iteration : options.iteration;
  FM_ASSIGN_OR_RETURN(const SourcePlan source,
                      PlanSource(*analyzed, *manifest, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto plan,
                      Plan::Make(analyzed, source.size, seed, iteration));
  FM_ASSIGN_OR_RETURN(auto stage, WorkerStage::Make(plan, manifest, registry));
  stage = stage->ForShare(options.share);
  std::unique_ptr<ClientStage> client;
  if (analyzed->client_begin < graph.steps.size() ||
      (plan->has_passes() && !analyzed->numbered)) {
    FM_ASSIGN_OR_RETURN(client, ClientStage::Make(plan, registry));
    if (resume) {
      FM_RETURN_IF_ERROR(
          client->Restore(resume->place.stage, resume->place.cursor));
    }
  }
  if (resume && plan->size() < resume->place.cursor.p) {
    return InvalidArgument(
        "the token's place is beyond the end of the sequence");
  }
  std::string plan_id = PlanIdOf(
      Fingerprint(graph), analyzed->source.needs_files ? manifest->Hash() : "",
      seed, iteration);
  return std::unique_ptr<LocalReader>(std::make_unique<PipelineReader>(
      std::move(plan), source.round, std::move(stage), std::move(client),
      options, std::move(plan_id)));
}

}  // namespace feedmill
