#ifndef FEEDMILL_CORE_PIPELINE_STORED_ROWS_H_
#define FEEDMILL_CORE_PIPELINE_STORED_ROWS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/chunk/buffer_builder.h"
#include "core/io/random_access_file.h"
#include "feedmill/element.h"

namespace feedmill {

// One file of a cache on disk, opened when it is read. A process keeps at most
// kOpenMax of them open and closes the file that it opened first.
//
// Thread-safety: any thread.
class CacheFile : public std::enable_shared_from_this<CacheFile> {
 public:
  static constexpr size_t kOpenMax = 256;

  // `path` may be a URL. `known`: the identity, if the caller knows it.
  explicit CacheFile(std::string path,
                     std::optional<FileIdentity> known = std::nullopt)
      : path_(std::move(path)), known_(std::move(known)) {}
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  const std::string& path() const { return path_; }
  // NotFound if the file was deleted. REQUIRES: a shared_ptr owns this.
  absl::StatusOr<std::shared_ptr<const RandomAccessFile>> Open();

  // Closes all open files of a folder. The next read of one opens what is at
  // its path then, which may be another file: damaged files are deleted and
  // written again.
  static void CloseAll(const std::string& folder);

  // Marks the file as one that is not read any more. True for the first call.
  bool Drop() { return !dropped_.exchange(true, std::memory_order_acq_rel); }
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }

 private:
  void Close();

  const std::string path_;
  const std::optional<FileIdentity> known_;
  std::atomic<bool> dropped_ = false;
  std::mutex mutex_;
  std::shared_ptr<const RandomAccessFile> opened_;  // guarded by mutex_
};

// Rows of a chunk in a file of a cache; their values stay in the file. Memory
// holds the places of the columns and one XXH3-64 per part. A part is part_rows
// consecutive rows, at least about kPartBytes, so a larger row is a part by
// itself.
struct StoredRows {
  static constexpr size_t kPartBytes = 1024;

  struct FileRange {
    uint64_t at = 0;  // offset in the file
    uint64_t size = 0;
  };
  struct StoredColumn {
    Shape shape;
    // Places of values, offsets, row_shapes and row_starts, in that order.
    std::array<FileRange, 4> places;
  };

  // The number of parts that `rows` rows have.
  uint64_t PartCount() const { return (rows + part_rows - 1) / part_rows; }

  std::shared_ptr<CacheFile> file;
  std::shared_ptr<const ElementSpec> spec;
  uint64_t rows = 0;
  uint64_t bytes = 0;  // Chunk::ElementBytes
  uint64_t part_rows = 1;
  std::vector<uint64_t> checksums;  // by part
  std::vector<StoredColumn> columns;
};

// Rows of a cache: a chunk in memory or, if that is null, stored rows.
struct KeptRows {
  std::shared_ptr<const Chunk> chunk;
  std::shared_ptr<const StoredRows> stored;

  size_t rows() const { return chunk != nullptr ? chunk->rows : stored->rows; }
  size_t bytes() const {
    return chunk != nullptr ? chunk->ElementBytes() : stored->bytes;
  }
  // False if the rows are in a file that was dropped.
  bool usable() const { return chunk != nullptr || !stored->file->dropped(); }
};

// Returns the buffers of a column in the order of StoredColumn::places.
std::array<const Buffer*, 4> BuffersOf(const Column& column);

// PartRows returns the number of rows of each part of `chunk`; PartChecksums
// returns the parts' checksums.
uint64_t PartRows(const Chunk& chunk);
std::vector<uint64_t> PartChecksums(const Chunk& chunk, uint64_t part_rows);

// Reads stored rows. All returned rows are copies in this process's memory that
// were compared with their checksums, at every read. A file that is changed,
// cut short or deleted at any time therefore changes no row and ends no
// process. A read copies and checks whole parts, about 0.1 CPU s/GB.
//
// Thread-safety: one thread.
class StoredReader {
 public:
  StoredReader();
  StoredReader(const StoredReader&) = delete;
  StoredReader& operator=(const StoredReader&) = delete;
  ~StoredReader();

  // Returns rows [begin, end) in memory of their own; large columns are in
  // memory of `blocks`, unless null. DataLoss if the file has other contents
  // than were written, NotFound if it was deleted. Any other error may be
  // temporary.
  absl::StatusOr<Chunk> Read(const StoredRows& rows, uint64_t begin,
                             uint64_t end,
                             const std::shared_ptr<BlockSource>& blocks);

  // Same for rows that the caller copies at once: returns rows [row, row + end
  // - begin) of a chunk that is valid until the next call. Reuses its memory.
  // REQUIRES: begin < end.
  struct View {
    const Chunk* chunk = nullptr;
    size_t row = 0;
  };
  absl::StatusOr<View> ReadHere(const StoredRows& rows, uint64_t begin,
                                uint64_t end);

  // Rows [begin, end).
  struct RowRange {
    const StoredRows* rows = nullptr;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // Begins to fetch rows that are read next, if their files are in a store. The
  // places of values of different sizes must be read before the values are
  // fetched, so it may wait for one request. Errors show at the reads.
  void Prefetch(std::span<const RowRange> wanted);

  // Checks whether short ranges may be copied from mappings. Call it before a
  // series of reads; takes two system calls.
  void Begin() { guarded_ = GuardedMapping::Guarded(); }

 private:
  struct Loading;

  absl::Status Open(const StoredRows& rows);
  // Opens the file. True if reads of it should be announced.
  bool OpenRemote(const StoredRows& rows);
  template <class AddRanges>
  void Announce(const RowRange& wanted, const AddRanges& add);
  void PrefetchPlaces(const RowRange& wanted);
  void PrefetchValues(const RowRange& wanted);
  absl::StatusOr<uint64_t> NumberIn(const StoredRows::FileRange& place,
                                    uint64_t index) const;
  absl::Status Load(const StoredRows& rows, size_t c, uint64_t from,
                    uint64_t to, Loading& column) const;
  absl::Status LoadParts(const StoredRows& rows, uint64_t begin, uint64_t end,
                         std::span<Loading> columns, Chunk& chunk,
                         uint64_t& from);
  absl::Status FetchRange(const StoredRows::FileRange& place, uint64_t from,
                          uint64_t to, BufferBuilder& out) const;
  absl::Status Fetch(uint64_t at, std::span<std::byte> out) const;

  bool guarded_ = false;
  std::shared_ptr<CacheFile> file_;  // the file of the last read
  std::shared_ptr<const RandomAccessFile> opened_;
  std::vector<Loading> here_;  // memory of the last View
  Chunk chunk_here_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STORED_ROWS_H_
