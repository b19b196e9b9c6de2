#include "core/pipeline/piece_maker.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "core/process/process_quota.h"
#include "core/process/thread_limit.h"

namespace feedmill {
namespace {

constexpr size_t kBuffersPerThread = 4;
// Cheap pieces are made close to their use: more of them ahead would only leave
// the CPU's caches.
constexpr size_t kCheapBuffersPerThread = 2;
// Attempts at a piece that a temporary I/O error ended soon. An attempt that
// took longer waited for a store, which has repeated its requests itself.
constexpr int kTriesMax = 3;
constexpr double kQuickFailureSeconds = 0.5;

// The caller's thread makes pieces if a piece takes less than kBriefSeconds and
// the caller is away for less than kAwayShare of that time. If a core is left
// for the caller, making pieces there saves less: kAwayShareWithSpareCore
// applies.
constexpr double kBriefSeconds = 0.005;
constexpr double kAwayShare = 0.5;
constexpr double kAwayShareWithSpareCore = 0.2;

// Shared threads make pieces of heavy rows, and pieces that take longer. The
// caller alone makes others.
constexpr double kWorthSharingSeconds = 0.0003;

// Moves `average` towards `value`, over about eight values.
void AddToAverage(double value, double& average) {
  average += average == 0 ? value : (value - average) / 8;
}

size_t BytesOf(const Piece& piece) {
  size_t bytes = 0;
  for (const Column& column : piece.chunk.columns) {
    bytes += column.values.size() + column.offsets.size();
  }
  return bytes;
}

template <class Time>
double SecondsSince(Time begin) {
  return std::chrono::duration<double>(Time::clock::now() - begin).count();
}

}  // namespace

PieceMaker::PieceMaker(std::shared_ptr<const WorkerStage> stage, Cursor begin,
                       uint64_t size, Options options)
    : stage_(std::move(stage)),
      begin_(begin),
      size_(size),
      options_(std::move(options)),
      positions_ahead_(stage_->PositionsAhead()),
      sizer_(options_.piece_bytes, stage_->EstimatedBytes(), stage_->heavy()),
      next_position_(begin.p),
      executor_(options_.shared == nullptr ? *options_.executor
                                           : options_.shared->executor()) {
  away_share_ = executor_.threads() < AvailableCpus() ? kAwayShareWithSpareCore
                                                      : kAwayShare;
  scratches_.resize(static_cast<size_t>(executor_.threads()) + 1);
  lanes_.resize(static_cast<size_t>(executor_.threads()));
  for (auto& lane : lanes_) {
    if (options_.profile == nullptr) break;
    lane = options_.profile->AddLane(ReadProfile::Role::kMakes);
  }
}

PieceMaker::~PieceMaker() {
  users_->Close();
  if (options_.shared != nullptr) options_.shared->Release(buffered_);
}

bool PieceMaker::Users::Enter() {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  ++inside_;
  return true;
}

void PieceMaker::Users::Leave() {
  const std::lock_guard lock(mutex_);
  if (--inside_ == 0) left_.notify_all();
}

void PieceMaker::Users::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [this] { return inside_ == 0; });
}

void PieceMaker::Begin() {
  const std::lock_guard lock(mutex_);
  Schedule();
}

bool PieceMaker::Help() {
  std::unique_lock lock(mutex_);
  return MakeHere(lock);
}

absl::StatusOr<PieceMaker::TakeResult> PieceMaker::Take(absl::Time deadline,
                                                        Piece& piece) {
  const ProfileSpan span(ReadProfile::kWaiting);
  std::unique_lock lock(mutex_);
  measures_ = options_.shared != nullptr && static_cast<bool>(span);
  AddToAverage(SecondsSince(left_), away_);
  while (true) {
    takes_part_ = TakesPart() && absl::Now() < deadline;
    DropUnneeded();
    Schedule();
    if (buffers_.empty() && AddBuffer() == nullptr) return TakeResult::kEnd;
    Buffer& head = *buffers_.front();
    if (!head.pieces.empty()) {
      piece = std::move(head.pieces.front());
      head.pieces.pop_front();
      Unbuffered(BytesOf(piece));
      Schedule();
      if (span) span->Add(std::exchange(costs_, {}));
      left_ = Clock::now();
      return TakeResult::kPiece;
    }
    if (!head.status.ok()) return head.status;
    if (takes_part_ && MakeHere(lock)) continue;
    if (deadline == absl::InfiniteFuture()) {
      ready_.wait(lock);
    } else if (ready_.wait_until(lock, absl::ToChronoTime(deadline)) ==
                   std::cv_status::timeout &&
               head.pieces.empty() && !head.finished()) {
      return TakeResult::kTimedOut;
    }
  }
}

void PieceMaker::SkipTo(uint64_t position) {
  const std::lock_guard lock(mutex_);
  needed_ = std::max(needed_, position);
  // The piece that was taken last came from the first buffer. If its error
  // stopped that buffer, the buffer continues after the error.
  if (!buffers_.empty() && buffers_.front()->pieces.empty() &&
      buffers_.front()->status.ok()) {
    buffers_.front()->stopped = false;
  }
}

// True if the caller's thread is to make pieces. A profile tells the caller's
// time from the makers' time, so the caller makes none then.
bool PieceMaker::TakesPart() const {
  return options_.shared == nullptr && options_.profile == nullptr &&
         !stage_->heavy() && seconds_ < kBriefSeconds &&
         away_ < seconds_ * away_share_;
}

// Drops buffers and pieces that cannot change the output any more.
void PieceMaker::DropUnneeded() {
  const Cursor needed{needed_, 0};
  next_position_ = std::max(next_position_, needed_);
  while (!buffers_.empty()) {
    Buffer& head = *buffers_.front();
    while (!head.pieces.empty() && head.pieces.front().end < needed) {
      Unbuffered(BytesOf(head.pieces.front()));
      if (!head.pieces.front().error.ok()) head.stopped = false;
      head.pieces.pop_front();
    }
    if (!head.pieces.empty() && head.pieces.front().begin < needed) {
      Piece& front = head.pieces.front();
      Unbuffered(BytesOf(front));
      front = front.From(needed);
      Buffered(BytesOf(front));
    }
    if (!head.running && !head.stopped) {
      head.next = std::min(std::max(head.next, needed), head.end);
    }
    if (!head.pieces.empty() || head.running || !head.finished() ||
        !head.status.ok()) {
      return;
    }
    buffers_.pop_front();
  }
}

// Starts makers for the buffers that there is room for.
void PieceMaker::Schedule() {
  while (makers_ < MakersMax() && HasOffer()) {
    ++makers_;
    ++queued_;
    if (!executor_.Submit([this, users = users_](int thread) {
          if (!users->Enter()) return;
          MakeOn(static_cast<size_t>(thread));
          users->Leave();
        })) {
      --makers_;
      --queued_;
      return;
    }
  }
}

// True if there is a buffer for one more maker than those that have not begun.
bool PieceMaker::HasOffer() {
  size_t open = 0;
  for (size_t k = 0; k < buffers_.size() && open <= queued_; ++k) {
    if (MayMake(k)) ++open;
  }
  while (open <= queued_ && AddBuffer() != nullptr) ++open;
  return open > queued_;
}

// True if the k-th buffer has positions that a thread may make.
bool PieceMaker::MayMake(size_t k) const {
  const Buffer& buffer = *buffers_[k];
  if (buffer.running || buffer.finished()) return false;
  return k == 0 ? buffer.pieces.size() < 2 : HasRoom();
}

size_t PieceMaker::MakersMax() const {
  const auto threads = static_cast<size_t>(executor_.threads());
  if (options_.shared == nullptr) return threads - (takes_part_ ? 1 : 0);
  const bool worth = stage_->rows_heavy() || seconds_ > kWorthSharingSeconds;
  return worth ? threads - 1 : 0;
}

// Claims the first buffer that has positions to make, for the calling thread.
// Null: there is none, or no room.
std::shared_ptr<PieceMaker::Buffer> PieceMaker::Claim() {
  std::shared_ptr<Buffer> claimed;
  for (size_t k = 0; k < buffers_.size() && claimed == nullptr; ++k) {
    if (MayMake(k)) claimed = buffers_[k];
  }
  if (claimed == nullptr) claimed = AddBuffer();
  if (claimed != nullptr) {
    claimed->running = true;
    ++running_;
    AnnounceWith(*claimed);
  }
  return claimed;
}

// Lets the thread that fills a buffer announce the positions that come into
// reach.
void PieceMaker::AnnounceWith(Buffer& buffer) {
  if (positions_ahead_ == 0) return;
  const uint64_t reach =
      next_position_ + std::min(positions_ahead_, size_ - next_position_);
  buffer.announce_from = std::max(announced_, buffer.next.p);
  buffer.announce_to = announced_ = std::max(announced_, reach);
}

// Adds a buffer for the next positions. Null: there are enough buffers.
std::shared_ptr<PieceMaker::Buffer> PieceMaker::AddBuffer() {
  const size_t buffers_max =
      (stage_->heavy() ? kBuffersPerThread : kCheapBuffersPerThread) *
      static_cast<size_t>(executor_.threads());
  if (buffers_.size() >= buffers_max || next_position_ >= size_ ||
      (!buffers_.empty() && !HasRoom())) {
    return nullptr;
  }
  const uint64_t together = stage_->together();
  const uint64_t positions =
      sizer_.Positions() + together - 1 -
      (next_position_ + sizer_.Positions() + together - 1) % together;
  const uint64_t count = std::min(positions, size_ - next_position_);
  auto buffer = std::make_shared<Buffer>();
  buffer->next = std::max(Cursor{next_position_, 0}, begin_);
  buffer->end = {next_position_ + count, 0};
  next_position_ += count;
  buffers_.push_back(buffer);
  return buffer;
}

bool PieceMaker::HasRoom() const {
  const size_t piece = std::max(options_.piece_bytes, largest_);
  const auto threads = static_cast<size_t>(executor_.threads());
  const size_t each = std::min(options_.memory_bytes / threads,
                               std::max(stage_->AheadBytes(), 2 * piece));
  const size_t coming = (running_ + queued_) * piece;
  return buffered_ + coming < each * threads &&
         (options_.shared == nullptr || options_.shared->HasRoom(coming));
}

// Makes pieces on a thread of the executor as long as there is room. Leaves
// shared threads to other work after a piece.
void PieceMaker::MakeOn(size_t thread) {
  const std::atomic<bool>* const executor_stops = ReadStop::Current();
  const ReadStop stop(
      [this, executor_stops] { return users_->closed() || *executor_stops; });
  const ReadProfile::Use use(lanes_[thread]);
  std::shared_ptr<Buffer> buffer;
  {
    const std::lock_guard lock(mutex_);
    --queued_;
    buffer = Claim();
    if (buffer == nullptr) --makers_;
  }
  while (buffer != nullptr) {
    MadePiece made = Make(thread, *buffer);
    bool awaited = false;
    {
      const std::lock_guard lock(mutex_);
      Keep(*buffer, std::move(made));
      // The caller waits for the first buffer only.
      awaited = buffers_.front() == buffer;
      const bool ends = makers_ > MakersMax() || users_->closed() ||
                        (options_.shared != nullptr && executor_.HasQueued());
      buffer = ends ? nullptr : Claim();
      if (buffer == nullptr) --makers_;
      // The caller may be busy elsewhere, so it is not asked to do this.
      if (!users_->closed()) Schedule();
    }
    if (awaited) ready_.notify_one();
  }
}

// Makes a piece on the caller's thread, which would wait otherwise. False:
// there is nothing to make.
bool PieceMaker::MakeHere(std::unique_lock<std::mutex>& lock) {
  const ProfileSpan span(ReadProfile::kRest);
  const auto buffer = Claim();
  if (buffer == nullptr) return false;
  lock.unlock();
  MadePiece made = Make(scratches_.size() - 1, *buffer);
  lock.lock();
  Keep(*buffer, std::move(made));
  return true;
}

PieceMaker::MadePiece PieceMaker::Make(size_t thread, const Buffer& buffer) {
  const bool measures = measures_ && thread + 1 < scratches_.size();
  ReadProfile::Lane lane;
  std::optional<ReadProfile::Use> use;
  if (measures) use.emplace(&lane);
  const auto begin = Clock::now();
  absl::StatusOr<Piece> piece = Run(thread, buffer);
  for (int tries = 1;
       tries < kTriesMax && absl::IsUnavailable(piece.status()) &&
       SecondsSince(begin) < kQuickFailureSeconds;
       ++tries) {
    piece = Run(thread, buffer);
  }
  use.reset();
  return {std::move(piece), SecondsSince(begin), lane.costs()};
}

absl::StatusOr<Piece> PieceMaker::Run(size_t thread, const Buffer& buffer) {
  auto& scratch = scratches_[thread];
  const ByteBudget budget(options_.element_bytes_max);
  try {
    if (scratch == nullptr) {
      scratch = stage_->NewScratch();
      scratch->blocks = blocks_;
      scratch->takes_views = true;
      scratch->piece_time = options_.piece_time;
    }
    Announce(buffer, *scratch);
    return stage_->Run(buffer.next, buffer.end, options_.piece_bytes, *scratch);
  } catch (const std::exception& error) {
    scratch = nullptr;
    return StatusOf(error);
  }
}

void PieceMaker::Announce(const Buffer& buffer,
                          WorkerStage::Scratch& scratch) const {
  if (buffer.announce_from >= buffer.announce_to) return;
  stage_->Announce(buffer.announce_from, buffer.announce_to, scratch);
}

void PieceMaker::Keep(Buffer& buffer, MadePiece made) {
  buffer.running = false;
  --running_;
  absl::StatusOr<Piece>& piece = made.piece;
  if (!piece.ok()) {
    buffer.status = piece.status();
    buffer.stopped = true;
    return;
  }
  const size_t bytes = BytesOf(*piece);
  buffer.seconds += made.seconds;
  buffer.bytes += bytes;
  if (const uint64_t positions = piece->end.p - buffer.next.p; positions > 0) {
    sizer_.Observe(positions, std::exchange(buffer.bytes, 0),
                   std::exchange(buffer.seconds, 0));
  }
  AddToAverage(made.seconds, seconds_);
  buffer.next = piece->end;
  buffer.stopped = !piece->error.ok();
  largest_ = std::max(largest_, bytes);
  Buffered(bytes);
  buffer.pieces.push_back(*std::move(piece));
  costs_.resize(std::max(costs_.size(), made.costs.size()));
  for (size_t k = 0; k < made.costs.size(); ++k) costs_[k] += made.costs[k];
}

void PieceMaker::Buffered(size_t bytes) {
  buffered_ += bytes;
  if (options_.shared != nullptr) options_.shared->Keep(bytes);
}

void PieceMaker::Unbuffered(size_t bytes) {
  buffered_ -= bytes;
  if (options_.shared != nullptr) options_.shared->Release(bytes);
}

}  // namespace feedmill
