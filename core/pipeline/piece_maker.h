#ifndef FEEDMILL_CORE_PIPELINE_PIECE_MAKER_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_MAKER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/pipeline/block_cache.h"
#include "core/pipeline/executor.h"
#include "core/pipeline/piece_sizer.h"
#include "core/pipeline/piece_source.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/stream_threads.h"
#include "core/pipeline/worker_stage.h"

namespace feedmill {

// Runs a worker stage on several threads and gives its pieces in order.
// Pieces are made ahead of the caller, within a bound of memory. If pieces are
// cheap and the caller returns soon, the caller's thread makes some of them.
// They are then in its cache, and no other thread must be woken.
//
// With `shared` threads the caller is one of them, and makes pieces by Help. If
// it waits only for pieces that another thread is making, one thread is enough,
// and makers may be nested.
//
// Thread-safety: one thread calls all methods.
class PieceMaker final : public PieceSource {
 public:
  struct Options {
    // Its threads make the pieces. Null: `shared` threads do.
    std::unique_ptr<Executor> executor{};
    std::shared_ptr<StreamThreads> shared{};
    // Bytes of pieces made ahead of the caller.
    size_t memory_bytes = 0;
    // Bytes after which a piece ends.
    size_t piece_bytes = 0;
    // Largest component of an element.
    uint64_t element_bytes_max = 0;
    // Receives the time of the threads; null: nothing is measured.
    std::shared_ptr<ReadProfile> profile{};
    // Time after which a piece ends.
    std::chrono::nanoseconds piece_time = WorkerStage::kPieceTime;
  };
  // Makes the positions [begin, size).
  PieceMaker(std::shared_ptr<const WorkerStage> stage, Cursor begin,
             uint64_t size, Options options);
  // Stops the making of pieces, and waits for its end.
  ~PieceMaker() override;

  // Makes pieces ahead from now on, as Take does.
  void Begin();
  // Makes a piece on this thread. False: there is none to make now. REQUIRES:
  // `shared` threads; Begin or Take was called.
  bool Help();
  // A Status is an error of this machine (I/O, a changed file).
  absl::StatusOr<TakeResult> Take(absl::Time deadline, Piece& piece) override;
  void SkipTo(uint64_t position) override;

 private:
  using Clock = std::chrono::steady_clock;

  // Positions that one thread at a time makes, piece by piece.
  struct Buffer {
    Cursor next;  // [next, end) are not made
    Cursor end;
    std::deque<Piece> pieces;  // made, in order
    bool running = false;
    bool stopped = false;  // by an error: its last piece's, or `status`
    // Positions that its thread announces before it makes the next piece.
    uint64_t announce_from = 0;
    uint64_t announce_to = 0;
    // Cost of the pieces since the last end of a position.
    double seconds = 0;
    size_t bytes = 0;
    absl::Status status;  // of this machine

    bool finished() const { return stopped || next >= end; }
  };
  struct MadePiece {
    absl::StatusOr<Piece> piece;
    double seconds = 0;
    std::vector<ReadProfile::Cost> costs{};  // with shared threads
  };
  // The use of an object by work on the executor, which may begin after the
  // object's end.
  class Users {
   public:
    bool Enter();
    void Leave();
    void Close();  // waits until nothing uses the object
    const std::atomic<bool>& closed() const { return closed_; }

   private:
    std::mutex mutex_;
    std::condition_variable left_;
    size_t inside_ = 0;                // guarded by mutex_
    std::atomic<bool> closed_{false};  // set under mutex_
  };

  // The following are called under mutex_.
  bool TakesPart() const;
  void DropUnneeded();
  void Schedule();
  bool HasOffer();
  bool MayMake(size_t k) const;
  size_t MakersMax() const;
  std::shared_ptr<Buffer> Claim();
  std::shared_ptr<Buffer> AddBuffer();
  void AnnounceWith(Buffer& buffer);
  bool HasRoom() const;
  void Keep(Buffer& buffer, MadePiece made);
  void Buffered(size_t bytes);
  void Unbuffered(size_t bytes);

  void MakeOn(size_t thread);
  bool MakeHere(std::unique_lock<std::mutex>& lock);
  MadePiece Make(size_t thread, const Buffer& buffer);
  absl::StatusOr<Piece> Run(size_t thread, const Buffer& buffer);
  void Announce(const Buffer& buffer, WorkerStage::Scratch& scratch) const;

  const std::shared_ptr<const WorkerStage> stage_;
  const Cursor begin_;
  const uint64_t size_;
  const Options options_;
  const uint64_t positions_ahead_;

  // Used by the caller's thread only.
  Clock::time_point left_ = Clock::now();  // when it took the last piece
  double away_ = 0;                        // seconds between two calls
  double away_share_ = 0;

  std::mutex mutex_;
  std::condition_variable ready_;
  // Guarded by mutex_.
  std::deque<std::shared_ptr<Buffer>> buffers_;  // in order
  PieceSizer sizer_;
  uint64_t next_position_ = 0;
  uint64_t announced_ = 0;   // earlier positions were announced
  uint64_t needed_ = 0;      // earlier positions cannot change the output
  size_t buffered_ = 0;      // bytes of pieces in buffers
  size_t running_ = 0;       // buffers with a thread
  size_t makers_ = 0;        // works of the executor that make pieces
  size_t queued_ = 0;        // those that have not begun
  bool takes_part_ = false;  // the caller's thread replaces one of them
  double seconds_ = 0;       // average time to make a piece
  size_t largest_ = 0;       // bytes of a piece
  std::vector<ReadProfile::Cost> costs_;  // not passed to the caller yet

  // Blocks that were in use at once and are not now: no more than the largest
  // use of memory before.
  static constexpr size_t kUnusedBytesMax = size_t{512} << 20;
  const std::shared_ptr<BlockCache> blocks_ =
      std::make_shared<BlockCache>(kUnusedBytesMax);
  // One for each thread; the last one is the caller's.
  std::vector<std::unique_ptr<WorkerStage::Scratch>> scratches_;
  std::vector<ReadProfile::Lane*> lanes_;  // null: not measured
  std::atomic<bool> measures_ = false;  // shared threads measure for the caller
  const std::shared_ptr<Users> users_ = std::make_shared<Users>();
  Executor& executor_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_MAKER_H_
