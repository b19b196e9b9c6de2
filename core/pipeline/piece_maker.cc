#include "core/pipeline/piece_maker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/pipeline/process_quota.h"
#include "core/process/thread_limit.h"

namespace feedmill {
namespace {

constexpr size_t kSlotsPerThread = 4;
// Cheap pieces are made close to their use: more of them ahead would only leave
// the CPU's caches.
constexpr size_t kCheapSlotsPerThread = 2;
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
      executor_(options_.threads) {
  away_share_ = executor_.threads() < AvailableCpus() ? kAwayShareWithSpareCore
                                                      : kAwayShare;
  scratches_.resize(static_cast<size_t>(executor_.threads()) + 1);
  lanes_.resize(static_cast<size_t>(executor_.threads()));
  for (auto& lane : lanes_) {
    if (options_.profile == nullptr) break;
    lane = options_.profile->AddLane(ReadProfile::Role::kMakes);
  }
}

absl::StatusOr<PieceMaker::TakeResult> PieceMaker::Take(absl::Time deadline,
                                                        Piece& piece) {
  const ProfileSpan span(ReadProfile::kWaiting);
  std::unique_lock lock(mutex_);
  AddToAverage(SecondsSince(left_), away_);
  while (true) {
    takes_part_ = TakesPart() && absl::Now() < deadline;
    DropUnneeded();
    Schedule();
    if (slots_.empty() && AddSlot() == nullptr) return TakeResult::kEnd;
    Slot& head = *slots_.front();
    if (!head.pieces.empty()) {
      piece = std::move(head.pieces.front());
      head.pieces.pop_front();
      buffered_ -= BytesOf(piece);
      Schedule();
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
  // The piece that was taken last came from the first slot. If its error
  // stopped that slot, the slot continues after the error.
  if (!slots_.empty() && slots_.front()->pieces.empty() &&
      slots_.front()->status.ok()) {
    slots_.front()->stopped = false;
  }
}

// True if the caller's thread is to make pieces. A profile tells the caller's
// time from the makers' time, so the caller makes none then.
bool PieceMaker::TakesPart() const {
  return options_.profile == nullptr && !stage_->heavy() &&
         seconds_ < kBriefSeconds && away_ < seconds_ * away_share_;
}

// Drops slots and pieces that cannot change the output any more.
void PieceMaker::DropUnneeded() {
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

// Starts makers for the slots that there is room for.
void PieceMaker::Schedule() {
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

size_t PieceMaker::MakersMax() const {
  return static_cast<size_t>(executor_.threads()) - (takes_part_ ? 1 : 0);
}

// Claims the first slot that has positions to make, for the calling thread.
// Null: there is none, or no room.
std::shared_ptr<PieceMaker::Slot> PieceMaker::Claim() {
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
    AnnounceWith(*claimed);
  }
  return claimed;
}

// Lets the thread of a slot announce the positions that come into reach.
void PieceMaker::AnnounceWith(Slot& slot) {
  if (positions_ahead_ == 0) return;
  const uint64_t reach =
      next_position_ + std::min(positions_ahead_, size_ - next_position_);
  slot.announce_from = std::max(announced_, slot.next.p);
  slot.announce_to = announced_ = std::max(announced_, reach);
}

// Adds a slot for the next positions. Null: there are enough slots.
std::shared_ptr<PieceMaker::Slot> PieceMaker::AddSlot() {
  const size_t slots_max =
      (stage_->heavy() ? kSlotsPerThread : kCheapSlotsPerThread) *
      static_cast<size_t>(executor_.threads());
  if (slots_.size() >= slots_max || next_position_ >= size_ ||
      (!slots_.empty() && !HasRoom())) {
    return nullptr;
  }
  const uint64_t together = stage_->together();
  const uint64_t positions =
      sizer_.Positions() + together - 1 -
      (next_position_ + sizer_.Positions() + together - 1) % together;
  const uint64_t count = std::min(positions, size_ - next_position_);
  auto slot = std::make_shared<Slot>();
  slot->next = std::max(Cursor{next_position_, 0}, begin_);
  slot->end = {next_position_ + count, 0};
  next_position_ += count;
  slots_.push_back(slot);
  return slot;
}

bool PieceMaker::HasRoom() const {
  const size_t piece = std::max(options_.piece_bytes, largest_);
  const auto threads = static_cast<size_t>(executor_.threads());
  const size_t each = std::min(options_.memory_bytes / threads,
                               std::max(stage_->AheadBytes(), 2 * piece));
  return buffered_ + running_ * piece < each * threads;
}

// Makes pieces on a thread of the executor as long as there is room.
void PieceMaker::MakeOn(size_t thread, std::shared_ptr<Slot> slot) {
  const ReadProfile::Use use(lanes_[thread]);
  while (slot != nullptr) {
    MadePiece made = Make(thread, *slot);
    bool awaited = false;
    {
      const std::lock_guard lock(mutex_);
      Keep(*slot, std::move(made));
      // The caller waits for the first slot only.
      awaited = slots_.front() == slot;
      slot = makers_ > MakersMax() ? nullptr : Claim();
      if (slot == nullptr) --makers_;
      // The caller may be busy elsewhere, so it is not asked to do this.
      Schedule();
    }
    if (awaited) ready_.notify_one();
  }
}

// Makes a piece on the caller's thread, which would wait otherwise. False:
// there is nothing to make.
bool PieceMaker::MakeHere(std::unique_lock<std::mutex>& lock) {
  const auto slot = Claim();
  if (slot == nullptr) return false;
  lock.unlock();
  MadePiece made = Make(scratches_.size() - 1, *slot);
  lock.lock();
  Keep(*slot, std::move(made));
  return true;
}

PieceMaker::MadePiece PieceMaker::Make(size_t thread, const Slot& slot) {
  const auto begin = Clock::now();
  absl::StatusOr<Piece> piece = Run(thread, slot);
  for (int tries = 1;
       tries < kTriesMax && absl::IsUnavailable(piece.status()) &&
       SecondsSince(begin) < kQuickFailureSeconds;
       ++tries) {
    piece = Run(thread, slot);
  }
  return {std::move(piece), SecondsSince(begin)};
}

absl::StatusOr<Piece> PieceMaker::Run(size_t thread, const Slot& slot) {
  auto& scratch = scratches_[thread];
  const ByteBudget budget(options_.element_bytes_max);
  try {
    if (scratch == nullptr) {
      scratch = stage_->NewScratch();
      scratch->blocks = blocks_;
      scratch->takes_views = true;
    }
    Announce(slot, *scratch);
    return stage_->Run(slot.next, slot.end, options_.piece_bytes, *scratch);
  } catch (const std::exception& error) {
    scratch = nullptr;
    return StatusOf(error);
  }
}

void PieceMaker::Announce(const Slot& slot,
                          WorkerStage::Scratch& scratch) const {
  if (slot.announce_from >= slot.announce_to) return;
  stage_->Announce(slot.announce_from, slot.announce_to, scratch);
}

void PieceMaker::Keep(Slot& slot, MadePiece made) {
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
  AddToAverage(made.seconds, seconds_);
  slot.next = piece->end;
  slot.stopped = !piece->error.ok();
  largest_ = std::max(largest_, bytes);
  buffered_ += bytes;
  slot.pieces.push_back(*std::move(piece));
}

}  // namespace feedmill
