#ifndef FEEDMILL_READER_H_
#define FEEDMILL_READER_H_

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
#include "feedmill/dataset.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"
#include "feedmill/endpoint.h"

// Reading a pipeline's elements, in this process or through a service:
//
//   auto photos = feedmill::Dataset::Images({"/data/*/*.jpg"})
//                     .Shuffle().DecodeImage().Resize(224, 224);
//   auto reader = feedmill::Read(photos, {.service = "tcp://10.0.0.1:5050"});
//   if (!reader.ok()) return reader.status();
//   const auto image = (*reader)->Column<uint8_t>("image");
//   if (!image.ok()) return image.status();
//   const auto label = (*reader)->Column<int64_t>("label");
//   if (!label.ok()) return label.status();
//   for (const feedmill::Element& element : **reader) {
//     Train(image->Tensor(element), label->Get(element));
//   }
//   return (*reader)->status();  // OK at the end of the data
//
// This reads one epoch; Loader (loader.h) reads one epoch after the other.
//
// At the end of this header: Profile measures a reading, and ShowBatch lists
// the records of a batch.
//
// The same program with `.service` left out reads in this process: the same
// elements in the same order (with the same seed, and order deterministic).

// Private to the library.
namespace feedmill {
class FunctionRegistry;
struct MeasuredRead;
struct ReaderParts;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

class Profile;  // below

// The way of elements from workers to a reader.
enum class Transport {
  // By pointer from workers of this process, through shared memory from workers
  // of this host and user, over TCP from all others.
  kAuto,
  // Over TCP only. For a process that forks: the child may continue to use
  // elements that the parent has read.
  kTcp,
  // Through the dispatcher, for a reader that cannot connect to workers. Costs
  // twice the CPU time and is bounded by the dispatcher's network.
  kRelay,
};

// Something that a reader waits for (ReadHooks::on_wait).
struct ReadWait {
  std::string what;  // "a worker: the dispatcher at tcp://… has none"
  absl::Duration waited;
};

// Which ranks have another element (RankOptions::agree).
struct RanksWithElement {
  bool all = false;
  bool any = false;
};

// The job of a reading through a service (ReadOptions::job). No effect on a
// local read.
struct JobOptions {
  // Name of the job. With order `any`, readers with the same job name share one
  // pass over the data: each element goes to exactly one of them, and all of
  // them end when all elements are used. A finished job that is read again
  // begins its next iteration. Empty: an anonymous job of this reader alone,
  // which ends with it.
  std::string name{};
  // Name of this reader within the job. Default: "solo" with order
  // deterministic, a new name with order `any`.
  std::string consumer{};
  // With order deterministic: replace a reader whose lease is still valid
  // instead of being refused. That is the job's only reader, an earlier process
  // of this rank, or all ranks of a reading with another number of ranks. Other
  // ranks of the same number are not replaced. A rank that has not finished the
  // previous iteration is waited for, unless it has been silent for the
  // dispatcher's client timeout.
  bool take_over = false;
  // Weight of the job when several jobs compete for a worker's threads and
  // memory: shares are in proportion. 1 to 10,000, default 100 (as systemd's
  // CPUWeight). The highest weight of a job's readers counts. It never changes
  // the elements.
  uint32_t weight = 100;
};

// One of several processes that read one sequence (ReadOptions::rank).
//
//   feedmill::Read(photos, {.service = service,
//                           .job = {.name = "train"},
//                           .rank = {.index = rank, .count = world_size}});
//
// Rank `index` of `count` gets the elements (batches, if the dataset makes
// batches) whose number n satisfies n mod count = index. Through a service all
// ranks read the same named job; the job's next iteration begins when all ranks
// have finished the present one. If the plan knows the place of each element
// (only one-to-one steps before the last batch), workers make and send only the
// rank's own elements; otherwise each rank receives all and keeps its own.
// Needs order deterministic.
struct RankOptions {
  uint64_t index = 0;  // from 0
  uint64_t count = 1;
  // Evens out the number of elements of the ranks. kDrop and kPad need order
  // deterministic. If the plan does not know the number of elements, kDrop
  // gives an element when the rank's next one is there. Tokens remember a
  // padding.
  Even even = Even::kExact;
  // If set, tells all ranks together, before each element of a dataset whose
  // number of elements only reading tells, which of them have another one. A
  // collective operation of the application, in which every rank takes part.
  // Called by the thread that reads; an error ends that call of Next.
  std::function<absl::StatusOr<RanksWithElement>(bool have)> agree{};
};

// The place in the epoch at which a reading begins (ReadOptions::resume).
struct ResumeOptions {
  // A token of Reader::Save, or of Token::Merge (token.h) for all ranks: the
  // reading continues from there. A token of all ranks continues with any
  // number of ranks. The dataset must be the same. Seed and epoch are the
  // token's; a different `epoch` is InvalidArgument. The reader replaces its
  // earlier process.
  std::string token{};
  // Half-open intervals [first, second) of element (batch) numbers to leave
  // out, as if they did not exist. With ranks, each interval's length must be a
  // multiple of their count. Takes no time if the plan knows the place of each
  // element; otherwise they are made and dropped. Tokens remember it.
  std::vector<std::pair<uint64_t, uint64_t>> skip_batches{};
};

// The way of elements from workers (ReadOptions::transport). No effect on a
// local read.
struct TransportOptions {
  Transport kind = Transport::kAuto;
  // Compression over a network. Elements in shared memory are never compressed.
  LinkCompression compression = LinkCompression::kNone;
};

// Time, memory and threads that a reading may use (ReadOptions::limits).
struct ReadLimits {
  // Longest wait for the first element, and for each later one. After it, Next
  // returns DeadlineExceeded. Without a first_timeout, the first element has 20
  // s until a dispatcher and workers answer, and `timeout` until they have made
  // it.
  std::optional<absl::Duration> first_timeout{};
  absl::Duration timeout = absl::Seconds(60);
  // Bytes of elements that are in flight to this reader or in its buffer.
  uint64_t budget_bytes = uint64_t{64} << 20;
  // Largest component of an element that this process makes: in a local read of
  // any step, through a service of the client's steps (a batch after a filter,
  // for example). A larger one ends the reading with ResourceExhausted, which
  // names the step. 0: 1 GiB, or an eighth of the memory that the process may
  // use if that is less. Workers have their own limit (WorkerConfig).
  uint64_t element_bytes_max = 0;
  // Threads of a local read. 0: as many as this process may use.
  int threads = 0;
};

// The application's functions and flags (ReadOptions::hooks).
struct ReadHooks {
  // Functions that expressions may call, of LoadFunctions (expr.h). Null:
  // the built-in functions and the plugins of FEEDMILL_OP_PLUGINS.
  std::shared_ptr<const FunctionRegistry> registry{};
  // Absolute path of the Python interpreter that runs the Python functions of
  // the steps that this process runs: all in a local read, the client
  // stage's through a service. Empty: a pipeline with any is refused.
  std::string allow_python{};
  // PYTHONPATH of that interpreter. Empty: as of this process.
  std::string python_path{};
  // Receives the time that each step takes, on this process's threads and on
  // the workers of a service. Null: nothing is measured, at no
  // cost.
  std::shared_ptr<Profile> profile{};
  // Set to true to end the reading with Cancelled within 50 ms; signal handlers
  // may set it. Must outlive the reader.
  const std::atomic<bool>* cancel = nullptr;
  // Called by the thread that waits in Read or Next, after 2 s and then every
  // 10 s. The same line goes to stderr.
  std::function<void(const ReadWait&)> on_wait{};
  // Called every 50 ms by the thread that waits in Read or Next. If it returns
  // true, that call returns Cancelled; the next call continues. For languages
  // that run signal handlers only when they are asked to.
  std::function<bool()> interrupted{};
};

struct ReadOptions {
  // Address of a dispatcher, "tcp://host:port" or "host:port". Empty: read in
  // this process, without a service.
  std::string service{};
  // If set, a dispatcher of another cluster is refused.
  std::string cluster_id{};
  // This reader's keys, for a service that has keys.
  SecurityConfig security{};
  // Directory of the dataset's relative file names. Default: the working
  // directory. (Dataset::FromYamlFile makes names absolute.)
  std::string directory{};

  // The epoch to read, from 0. Each epoch has an order and random numbers of
  // its own, the same in this process and through a service. Loader (loader.h)
  // reads one epoch after the other. Default: the token's epoch. Without a
  // token: 0, or for a named job the first epoch that this reader has not
  // finished. In a named job it needs order deterministic.
  std::optional<uint64_t> epoch{};
  // In place of the dataset's options. The mode has no effect on a local read,
  // which is always one pass. Ranks of a local read need a seed if the dataset
  // uses random numbers: no service draws one for all of them.
  std::optional<uint64_t> seed{};
  std::optional<ProcessingMode> processing_mode{};

  JobOptions job{};
  RankOptions rank{};
  ResumeOptions resume{};
  TransportOptions transport{};
  ReadLimits limits{};
  ReadHooks hooks{};
};

// Reads a dataset's sequence of elements once.
//
// With order `any`, readers share a job, and each element belongs to the reader
// that used it. Destroying a reader, at the end of the data or before, returns
// its unused elements to the other readers. Used elements are:
//   - range-for over elements: all up to the iterator's element, that one
//     included. The rest of its chunk is unused.
//   - Next and chunks(): all elements of each chunk. An application that stops
//     within a chunk calls ReportProgress.
// A reader reports used elements to the service with each request for a chunk,
// about every 10 ms in a range-for, and in its destructor. Elements
// that a killed process used but did not report go to other readers: they may
// come twice, and none is lost.
//
// Thread-safety: one thread at a time; Cancel from any thread. Destruction
// tells the service that this reader has left, and takes at most 100 ms; of a
// job with a name it waits until the dispatcher knows, at most another second.
class Reader {
 public:
  // Private to the library: Read makes readers.
  explicit Reader(std::unique_ptr<ReaderParts> parts);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Returns the next elements, one or more, in order; nullopt at the end. After
  // a range-for that stopped within a chunk, returns the rest of that chunk. An
  // error comes after all elements before it; each later call returns it again.
  //   DeadlineExceeded  nothing came in time; the message says whether no
  //                     dispatcher answered, there are no workers, or data
  //                     stood still
  //   DataLoss          a record of the data is corrupt
  //   Cancelled, FailedPrecondition (another reader took over), …
  absl::StatusOr<std::optional<Chunk>> Next();

  // Reports that all elements of the last chunk except the last `unread` are
  // used. With order `any`, unused ones go to other readers if this reader is
  // destroyed. Returns true if the application may use the elements. Returns
  // false if this reader was silent for so long that they went to other
  // readers, or if it has ended: the application must not use them, and Next
  // continues after them. Always true with order deterministic. Cheap, but not
  // meant for each element.
  //
  // The other readers of the job end only when this one has used all elements
  // that it was given: report 0 before long work on a chunk that may be the
  // last.
  [[nodiscard]] bool ReportProgress(uint64_t unread);

  // Names, dtypes and shapes of an element's components.
  const ElementSpec& spec() const;
  // The seed of the reading: the one given; the job's, if other readers began
  // it; else one that was drawn.
  uint64_t seed() const;
  // The epoch that is read (ReadOptions::epoch).
  uint64_t epoch() const;
  // Finds a component by name and type (the C++ type of its items, or
  // std::string_view for byte strings). Call it before the loop:
  //
  //   const auto image = reader->Column<uint8_t>("image");
  //   if (!image.ok()) return image.status();
  //   for (const Element& batch : *reader) Train(image->Tensor(batch));
  //
  // "" is the single unnamed component. NotFound if there is none of that name,
  // InvalidArgument if it has another type; both list the components.
  template <class T>
  absl::StatusOr<ElementColumn<T>> Column(std::string_view name = "") const {
    return ElementColumn<T>::Find(spec(), name);
  }

  // Returns a token for the present place: after the element of a range-for, or
  // after the last chunk of Next or chunks(), less its last `unread` elements.
  // Reading with it (ResumeOptions::token) gives exactly the remaining
  // elements, through the same dispatcher, a new one or none.
  // FailedPrecondition with order `any`.
  absl::StatusOr<std::string> Save(uint64_t unread = 0) const;

  // The number in the sequence, from 0, of the present element: the
  // element of a range-for, or the last one of Next or chunks(). ShowBatch
  // lists the records that made it. OutOfRange before the first element,
  // FailedPrecondition with order `any`.
  absl::StatusOr<uint64_t> number() const;

  // Number of elements that this reader gives after the present one. Nullopt if
  // only reading can tell (after a filter, or lines without an index), or if
  // the sequence is infinite.
  std::optional<uint64_t> left() const;

  // The pass of `repeat` to which the present element belongs, from 0. A batch
  // with records of two passes belongs to the later one. `unread` chooses the
  // element that many before the last one of the last chunk. Always 0 without a
  // repeat, before the first element, and for a repeat before a shuffle or a
  // cache, which mix passes.
  //
  //   uint64_t pass = 0;
  //   for (const Element& batch : *reader) {
  //     if (reader->pass() != pass) Validate(pass = reader->pass());
  //     Train(batch);
  //   }
  uint64_t pass(uint64_t unread = 0) const;

  // Number of elements of all ranks from the beginning of the epoch to its end.
  // Nullopt as for left().
  std::optional<uint64_t> total() const;

  // Amounts that each worker has sent so far. Empty for a local read. Any
  // thread.
  std::vector<LinkReport> links() const;
  // Number of elements that Dataset::OnError has left out so far. Tokens
  // remember it. 0 without that step.
  uint64_t skipped() const;

  // Makes the present and all later calls of Next return Cancelled.
  void Cancel();

  // The reason why a range-for ended: OK at the end of the data.
  const absl::Status& status() const { return status_; }
  // True once the end of the data was reached.
  bool ended() const { return ended_; }

  // Range-for over elements. One pass: a second begin() continues after the
  // element at which the first one stopped.
  class Iterator;
  struct End {};
  Iterator begin();
  End end() const { return {}; }

  // Range-for over chunks: for (const Chunk& chunk : reader->chunks()).
  class ChunkRange;
  ChunkRange chunks();

 private:
  // Fetches the next chunk, or the unread rest of the present one, into
  // current_, and returns it; null at the end.
  absl::StatusOr<Chunk*> Fetch();
  // See ReportProgress.
  bool OnProgress(uint64_t unread);
  // Rows of the sequence's last chunk after the present element but `unread`.
  uint64_t UnreadRows(uint64_t unread) const;
  // The same; false at the end or on an error, which goes to status_.
  bool Advance();
  // The same, of which the first row is given: null at the end.
  const Chunk* NextChunk();
  // A range-for has used the rows of current_ before `row` and is about to give
  // that one. Returns where to call it again; 0: the rest is not to be used.
  uint64_t NextStride(uint64_t row);
  uint64_t StrideEnd(uint64_t row) const {
    return stride_ == 0 || stride_ > current_->rows - row ? current_->rows
                                                          : row + stride_;
  }
  // Number of rows of current_ after the last returned one.
  uint64_t Unread() const {
    return current_ == nullptr ? 0 : current_->rows - 1 - last_;
  }

  const std::unique_ptr<ReaderParts> parts_;
  Chunk* current_ = nullptr;  // of parts_; null: none, or Next gave it away
  uint64_t last_ = 0;         // row of current_ that was given
  uint64_t unreported_ = 0;   // of ReportProgress, and where last_ was then
  uint64_t reported_at_ = 0;
  uint64_t stride_ = 0;  // rows between two reports of progress; 0: a chunk
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
      BeginNextRun();
    } else {
      reader_->last_ = row_;
    }
    return *this;
  }
  friend bool operator==(const Iterator& it, End) {
    return it.chunk_ == nullptr;
  }

 private:
  // No other function gets a pointer to this object, so its members may stay in
  // registers.
  void Begin() {
    row_ = 0;
    chunk_ = reader_->NextChunk();
    end_ = chunk_ == nullptr ? 0 : reader_->StrideEnd(0);
  }
  void BeginNextRun() {
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
    const Chunk& operator*() const { return *reader_->current_; }
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

// Opens a dataset. Checks it, then waits for the plan (through a service: until
// a worker has listed the files), at most limits.first_timeout if it is given.
//   InvalidArgument      the pipeline, the address or an option is wrong; even,
//                        without `agree`, where only reading counts elements
//   NotFound             a file of the pipeline does not exist
//   DeadlineExceeded     no dispatcher, or no worker, answered in time
//   FailedPrecondition   the job is being read by another, or is another
//                        pipeline; a peer of another cluster or version
absl::StatusOr<std::unique_ptr<Reader>> Read(const Dataset& dataset,
                                             ReadOptions options = {});

// ---- a closer look

// Measures where the time of a reading goes: in the source, in each step, on
// the workers of a service, in waiting, and in the application.
//
//   auto profile = std::make_shared<feedmill::Profile>();
//   {
//     feedmill::Loader loader(photos, {.hooks = {.profile = profile}});
//     for (const feedmill::Element& batch : loader) Train(batch);
//   }
//   std::fputs(profile->ToText().value_or("").c_str(), stderr);
//
// Time counts from the construction of this object until ToText or ToJson.
// Several readers of the same dataset may share it, one after the other, as the
// epochs of a Loader do.
// Measuring costs about a microsecond for each step and block of rows.
//
// Thread-safety: one thread at a time.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // A line that says what bounds the read and the most to be gained, then a
  // table: wall seconds, CPU seconds, share, rows and bytes of each place.
  // `feedmill read --profile` prints it. FailedPrecondition before a reader has
  // used this object, and until that reader is destroyed.
  absl::StatusOr<std::string> ToText() const;

  // The same numbers as JSON:
  //
  //   {"elapsed_s": 2.1, "cpu_s": 3.9, "ready_s": 0, "verdict": "bound by …",
  //    "places": [{"where": "worker", "name": "steps[0] map", "wall_s": 1.2,
  //                "cpu_s": 1.1, "rows_in": 9, "rows_out": 9, "bytes_out":
  //                72}]}
  absl::StatusOr<std::string> ToJson() const;

  // Private to the library.
  MeasuredRead& measured() const { return *measured_; }

 private:
  const std::unique_ptr<MeasuredRead> measured_;
};

// A batch (an element, if the dataset makes no batches) of a reading, and the
// records that it was made of.
struct ShownBatch {
  uint64_t number = 0;  // Reader::number
  uint64_t iteration = 0;
  uint64_t seed = 0;
  TracedElement traced;

  // One line: {"batch":…,"iteration":…,"seed":…,"records":[{"file":…,
  // "record":…,"epoch":…}, …],"element":…}, the element as `feedmill read`
  // prints it.
  std::string ToJson() const;
};

// Makes batch `number` (Reader::number) of a reading again, from the files
// alone. Uses directory, seed, epoch and resume.token of the options, and the
// registry, the interpreter and `interrupted` of their hooks; a token's seed
// and epoch count, and its files must be the same. Fast if the plan knows the
// place of each batch; otherwise it makes all batches before it, on one thread.
//   Cancelled         `interrupted` returned true
//   InvalidArgument   the pipeline uses random numbers and nothing says the
//                     seed; the pipeline or token is wrong
//   OutOfRange        there is no such batch
absl::StatusOr<ShownBatch> ShowBatch(const Dataset& dataset, uint64_t number,
                                     const ReadOptions& options);

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_READER_H_
