#ifndef FEEDMILL_CLIENT_READER_H_
#define FEEDMILL_CLIENT_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/wait_teller.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/graph.h"
#include "core/net/security.h"
#include "core/wire/message.h"
#include "feedmill/chunk.h"
#include "feedmill/dataset.h"
#include "feedmill/element.h"

// Reading a pipeline's elements, in this process or through a service:
//
//   auto photos = feedmill::Dataset::Images({"/data/*/*.jpg"})
//                     .Shuffle().DecodeImage().Resize(224, 224);
//   auto reader = feedmill::Read(photos, {.service = "tcp://10.0.0.1:5050"});
//   if (!reader.ok()) return reader.status();
//   for (feedmill::Element element : **reader) {
//     Train(element.Tensor<uint8_t>("image"), element.Get<int64_t>("label"));
//   }
//   return (*reader)->status();  // OK at the end of the data
//
// That is one epoch; Loader (loader.h) reads one after the other.
//
// The same program with `.service` left out reads in this process: the same
// elements in the same order (with the same seed, and order deterministic).

namespace feedmill {

class ReadProfile;

// How elements come from workers. kAuto: from those of this process as they
// are, from those of this host and user through shared memory, from all others
// over TCP. kTcp: over TCP only; for a process whose fork's child goes on using
// what the parent has read. kRelay: through the dispatcher, for a client that
// reaches no worker; it costs twice the CPU, and is no faster than the
// dispatcher's network.
enum class Transport { kAuto, kTcp, kRelay };

struct ReadOptions {
  // "tcp://host:port" or "host:port" of a dispatcher; empty: read in this
  // process, without one.
  std::string service{};
  std::string cluster_id{};
  // The keys of this client, for a service that has keys.
  SecurityConfig security{};
  // The job to read. Readers of one name share it: with order `any` each
  // element goes to one of them, and all of them end when all elements are
  // used (see Reader); reading a finished job again is its next iteration.
  // Empty: a job of this reader's own, gone when the reader is.
  std::string job{};
  // This reader's name within the job. Default: "solo" for order
  // deterministic, a fresh name for `any`.
  std::string consumer{};
  // With order deterministic: take the place of a reader whose lease is still
  // valid, rather than being refused: the job's one reader, this rank's former
  // life, or all ranks of another number. Other ranks of the same number are
  // never stopped: those that have not finished the iteration before are waited
  // for, but for one that was there and has been silent for as long as the
  // dispatcher's client timeout.
  bool take_over = false;
  // One of several readers that share the sequence, consumer `rank` of `ranks`
  // (from 0): it takes the elements (batches, where the pipeline makes them)
  // whose number n in the sequence has n mod ranks = rank. With a service all
  // of them read the same named job, each in its own time; a job's next
  // iteration begins when all have finished the one before, and without a token
  // each reads the first that it has not finished. Where the plan
  // knows the elements' places (only 1:1 steps before the last batch), only the
  // rank's own are made and sent; else each rank gets all that leaves the
  // workers and keeps its own. Needs order deterministic.
  uint64_t rank = 0;
  uint64_t ranks = 1;
  // Elements (batches) [first, second) of the sequence, by number, that are
  // left out as if they were not there; with ranks, a multiple of them. Takes
  // no time where the plan knows the elements' places, else they are made and
  // dropped. A token remembers it.
  std::vector<std::pair<uint64_t, uint64_t>> skip_batches{};
  // The epoch to read: the iteration of the pipeline, from 0. Each epoch has
  // an order and random numbers of its own, the same in this process and
  // through a service. Loader (loader.h) reads one epoch after the other.
  // Default: the token's epoch. Without a token: 0, or of a job with a name
  // the first epoch that this reader has not finished. In a job with a name it
  // needs order deterministic.
  std::optional<uint64_t> epoch{};
  // What relative paths of the pipeline are relative to. Default: the working
  // directory. (ParseGraphYaml has made them absolute already.)
  std::string directory{};
  // What Reader::Save gave, or Token::Merge (token.h) of those of all ranks: go
  // on from there, with any number of ranks if it is of all of them. The
  // pipeline must be the same; its seed and its epoch are the token's, and
  // another `epoch` is InvalidArgument. The reader takes the place of its own
  // earlier life.
  std::string token{};
  // Override the graph's options. A local read is one pass in every mode.
  std::optional<uint64_t> seed{};
  std::optional<Options::ProcessingMode> processing_mode{};
  // How long to wait for the first element, and for each later one.
  absl::Duration first_timeout = absl::Seconds(20);
  absl::Duration timeout = absl::Seconds(60);
  // Bytes of elements in flight to this reader and in its buffer.
  uint64_t budget_bytes = uint64_t{64} << 20;
  Transport transport = Transport::kAuto;
  // In what elements travel that are sent over a network. kAuto: in whichever
  // of lz4 and zstd brings them soonest, as far as the worker could measure;
  // plain where the network is faster than they are, or the data does not
  // shrink. What lies in shared memory is never packed.
  LinkCompression compression = LinkCompression::kNone;
  // How much of a worker's threads and memory the job gets where others want
  // them too: in proportion, 1 to 10,000 (as systemd's CPUWeight). The greatest
  // of a job's readers counts. No effect on what is read.
  uint32_t weight = kDefaultWeight;
  // Largest component of an element that this process makes: all of a local
  // read, else what the client's steps (a batch after a filter, for example)
  // make. A larger one ends the reading with ResourceExhausted, which names the
  // step. A service's workers have their own (WorkerConfig). 0: 1 GiB, or an
  // eighth of the memory that the process may use where that is less.
  uint64_t element_bytes_max = 0;
  // Threads of a local read; 0: as many as this process may use. The one that
  // reads is one of them where elements are so cheap that it soon wants more.
  int threads = 0;
  // What expressions may call; null: the built-in functions and those
  // of the plugins in FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
  // Where the time of a read's threads goes, and of the workers of a service
  // for what they send (read_profile.h), once the reader is gone. The thread
  // that reads measures itself, with a lane of its own. Null: nothing is
  // measured, and nothing spent on it.
  std::shared_ptr<ReadProfile> profile{};
  // Set to true by anyone, a signal handler too, to end the reading with
  // Cancelled within 50 ms. Must outlive the reader.
  const std::atomic<bool>* cancel = nullptr;
  // Called by the thread that waits in Read or Next when it has waited for 2 s,
  // and then each 10 s, with what for; stderr has the same line.
  std::function<void(const ReadWait&)> on_wait{};
  // Asked every 50 ms by the thread that waits in Read or Next. True: that call
  // returns Cancelled. The reading goes on with the next call. For languages
  // whose signal handlers run only when they are asked to.
  std::function<bool()> interrupted{};
};

// The sequence of a pipeline's elements, once.
//
// With order `any`, readers share a job, and each element is for the one that
// used it. Destroying a reader, at the end of the data or anywhere before,
// leaves what it did not use to the others. Used elements are:
//   - range-for over elements: those that the iterator reached. The element
//     that it is at counts, the rest of the chunk does not.
//   - Next and chunks(): all of each chunk. An application that stops within a
//     chunk says so with ReportProgress.
// The service learns of it when the next chunk is asked for, within a chunk of
// a range-for at most about 10 ms of elements later, and at the latest when the
// reader is destroyed. A process that is killed before the service knows leaves
// such elements to others, too: they may come twice, and none is lost.
//
// Thread-safety: one thread at a time; Cancel from any thread. Destruction
// tells the service that this reader has left, and takes at most 100 ms; of a
// job with a name it waits until the dispatcher knows, at most another second.
class Reader {
 public:
  virtual ~Reader() = default;

  // The next elements, one or more, in order; nullopt at the end. After a
  // range-for that stopped within a chunk, the rest of that chunk. After an
  // error, which comes after every element before it, the same error again.
  //   DeadlineExceeded  nothing came in time; the message says whether no
  //                     dispatcher answered, there are no workers, or data
  //                     stood still
  //   DataLoss          a record of the data is corrupt
  //   Cancelled, FailedPrecondition (another reader took over), …
  absl::StatusOr<std::optional<Chunk>> Next();

  // Reports that all elements of the last chunk but the last `unread` are used.
  // If the reader is destroyed then, others get those (order `any`). Returns
  // whether the application may use them: false if this reader was silent for
  // so long that they went to others, or if it has ended. It then may use none
  // of them, and Next goes on behind them. Always true with order
  // deterministic. Cheap, but not meant for each element.
  //
  // The other readers of the job end when this one has used all that it was
  // given: report 0 before long work on a chunk that may be the last.
  [[nodiscard]] bool ReportProgress(uint64_t unread);

  // What every element has. The seed: the one given, drawn here if none was,
  // or the one recorded with a job that others had begun.
  virtual const ElementSpec& spec() const = 0;
  virtual uint64_t seed() const = 0;
  // The epoch that is read (ReadOptions::epoch).
  virtual uint64_t epoch() const = 0;
  // A component, found by its name and type (that of its items, or
  // std::string_view for byte strings) before the loop that reads it:
  //
  //   const auto image = reader->Column<uint8_t>("image");
  //   if (!image.ok()) return image.status();
  //   for (const Element& batch : *reader) Train(image->Tensor(batch));
  //
  // "": the single unnamed one. NotFound, or InvalidArgument if it has another
  // type; both list the components that exist.
  template <class T>
  absl::StatusOr<ElementColumn<T>> Column(std::string_view name = "") const {
    return ElementColumn<T>::Find(spec(), name);
  }

  // A token of the place that the trainer has reached: after the element that
  // a range-for over elements is at, or after all that Next or chunks() gave,
  // but for the last `unread` elements (of the last chunk). Reading with it
  // (ReadOptions::token), on the same dispatcher, an empty one or none, gives
  // exactly the rest. FailedPrecondition with order `any`.
  absl::StatusOr<std::string> Save(uint64_t unread = 0) const {
    return SaveBefore(Unread() + unread);
  }

  // The number in the sequence of the element that a range-for is at, or of the
  // last one that Next or chunks() gave; ShowBatch (provenance.h) says what
  // made it. OutOfRange if there is none yet, FailedPrecondition with order
  // `any`.
  absl::StatusOr<uint64_t> number() const;

  // Number of elements that this reader gives after that element; nullopt if
  // it is known only by reading (a filter, lines that are not indexed), or if
  // there is no end.
  std::optional<uint64_t> left() const { return LeftBefore(Unread()); }

  // The pass of `repeat` that the reading has reached with that element: how
  // many times the pipeline's repeats have begun again before the last record
  // that was read for it. A pass has ended with the element before the first
  // one of a later pass; only a batch that crosses the end has records of
  // both, and is of the later pass. With `unread`: of the element so many
  // before the last one of the last chunk. 0 without a repeat, before the
  // first element, and for repeats before a shuffle or a cache: a shuffle
  // mixes their passes.
  //
  //   uint64_t pass = 0;
  //   for (const Element& batch : *reader) {
  //     if (reader->pass() != pass) Validate(pass = reader->pass());
  //     Train(batch);
  //   }
  uint64_t pass(uint64_t unread = 0) const {
    return PassBefore(Unread() + unread);
  }

  // What came over which link so far, through a service. Any thread.
  virtual std::vector<LinkReport> links() const { return {}; }
  // How many elements on_error (Dataset::OnError) has left out so far; a
  // token remembers it. 0 without that step.
  virtual uint64_t skipped() const = 0;

  // Makes Next return Cancelled, now and from now on.
  virtual void Cancel() = 0;

  // Why a range-for ended: OK at the end of the data.
  const absl::Status& status() const { return status_; }
  // True once the end of the data was reached.
  bool ended() const { return ended_; }

  // Range-for over elements. One pass: a second begin() goes on with the
  // element after the one that the first stopped at.
  class Iterator;
  struct End {};
  Iterator begin();
  End end() const { return {}; }

  // Range-for over chunks: for (const Chunk& chunk : reader->chunks()).
  class ChunkRange;
  ChunkRange chunks();

 protected:
  // Has a range-for call OnProgress within chunks, too, every few milliseconds.
  void WatchProgress() { stride_ = 1; }
  // Elements of the last chunk that the application has not used, if this
  // reader is destroyed now.
  uint64_t Unused() const {
    return Unread() + (last_ == reported_at_ ? unreported_ : 0);
  }

 private:
  // Next, when all of the chunk before was used.
  virtual absl::StatusOr<std::optional<Chunk>> FetchChunk() = 0;
  // See ReportProgress.
  virtual bool OnProgress(uint64_t unread) {
    static_cast<void>(unread);
    return true;
  }
  virtual absl::StatusOr<std::string> SaveBefore(uint64_t unread) const = 0;
  // The number just after the last element but `unread`.
  virtual absl::StatusOr<uint64_t> NumberBefore(uint64_t unread) const = 0;
  // The pass of that element.
  virtual uint64_t PassBefore(uint64_t unread) const = 0;
  // Number of elements of this reader after that element, where it is known.
  virtual std::optional<uint64_t> LeftBefore(uint64_t unread) const = 0;
  // Fetches the next chunk with rows into current_; false at the end or on an
  // error, which goes to status_.
  bool Advance();
  // The same, of which the first row is given: null at the end.
  const Chunk* NextChunk();
  // A range-for has used the rows of current_ before `row` and is about to give
  // that one. Returns where to call it again; 0: the rest is not to be used.
  uint64_t NextStride(uint64_t row);
  uint64_t StrideEnd(uint64_t row) const {
    return stride_ == 0 || stride_ > current_.rows - row ? current_.rows
                                                         : row + stride_;
  }
  // Rows of current_ behind the last one that was given.
  uint64_t Unread() const {
    return current_.rows == 0 ? 0 : current_.rows - 1 - last_;
  }

  Chunk current_;
  uint64_t last_ = 0;        // row of current_ that was given
  uint64_t unreported_ = 0;  // of ReportProgress, and where last_ was then
  uint64_t reported_at_ = 0;
  uint64_t stride_ = 0;  // rows between two calls of OnProgress; 0: a chunk
  absl::Time stride_began_;
  bool ended_ = false;
  absl::Status status_;
};

class Reader::Iterator {
 public:
  Iterator() = default;  // at the end
  explicit Iterator(Reader* reader) : reader_(reader) { Begin(); }

  Element operator*() const { return {chunk_, row_}; }
  Iterator& operator++() {
    if (++row_ == end_) [[unlikely]] {
      GoOn();
    } else {
      reader_->last_ = row_;
    }
    return *this;
  }
  friend bool operator==(const Iterator& it, End) {
    return it.chunk_ == nullptr;
  }

 private:
  // Nobody else is given this object: its members may stay in registers.
  void Begin() {
    row_ = 0;
    chunk_ = reader_->NextChunk();
    end_ = chunk_ == nullptr ? 0 : reader_->StrideEnd(0);
  }
  void GoOn() {
    if (row_ < chunk_->rows) {
      end_ = reader_->NextStride(row_);
      if (end_ != 0) return;
    }
    Begin();
  }

  Reader* reader_ = nullptr;
  const Chunk* chunk_ = nullptr;
  size_t row_ = 0;
  size_t end_ = 0;  // of the chunk, or of a stride
};

class Reader::ChunkRange {
 public:
  class Iterator {
   public:
    explicit Iterator(Reader* reader) : reader_(reader) { ++*this; }
    const Chunk& operator*() const { return reader_->current_; }
    Iterator& operator++() {
      if (!reader_->Advance()) reader_ = nullptr;
      return *this;
    }
    friend bool operator==(const Iterator& it, End) {
      return it.reader_ == nullptr;
    }

   private:
    Reader* reader_;
  };

  explicit ChunkRange(Reader* reader) : reader_(reader) {}
  Iterator begin() { return Iterator(reader_); }
  End end() const { return {}; }

 private:
  Reader* reader_;
};

inline Reader::Iterator Reader::begin() { return Iterator(this); }
inline Reader::ChunkRange Reader::chunks() { return ChunkRange(this); }

// Begins to read a pipeline. Checks the pipeline, then waits until the run is
// planned (through a service: until a worker has found the files), within
// options.first_timeout.
//   InvalidArgument      the pipeline, the address or an option is wrong
//   NotFound             a file of the pipeline does not exist
//   DeadlineExceeded     no dispatcher, or no worker, answered in time
//   FailedPrecondition   the job is being read by another, or is another
//                        pipeline; a peer of another cluster or version
absl::StatusOr<std::unique_ptr<Reader>> Read(const Graph& graph,
                                             ReadOptions options = {});
inline absl::StatusOr<std::unique_ptr<Reader>> Read(const Dataset& dataset,
                                                    ReadOptions options = {}) {
  return Read(dataset.graph(), std::move(options));
}

// The state of a service as JSON (see `feedmill status --help`).
// DeadlineExceeded if no dispatcher answers at `service` within `timeout`.
// `security`: an operator's keys, for a service that has keys.
absl::StatusOr<std::string> FetchStatus(const std::string& service,
                                        absl::Duration timeout,
                                        const std::string& cluster_id = "",
                                        const SecurityConfig& security = {});

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_READER_H_
