#ifndef FEEDMILL_CORE_IO_RANDOM_ACCESS_FILE_H_
#define FEEDMILL_CORE_IO_RANDOM_ACCESS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "core/io/file_identity.h"
#include "core/io/guarded_mapping.h"

namespace feedmill {

struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// An open file, for reading at any place. Closed when destroyed.
//
// A read of a local file takes microseconds, one of an object in a store takes
// a round trip of many milliseconds. Readers therefore announce ranges with
// Prefetch before they read them, as far ahead as ahead_bytes() says:
//
//   if (file.ahead_bytes() > 0) file.Prefetch(ranges);     // all at once
//   for (const ByteRange& range : ranges) file.Read(…);    // waits for one
//
// Errors name the file: Unavailable for I/O errors, after the retries that its
// file system makes itself; NotFound if the file is gone; FailedPrecondition
// for a file that may not be read, or whose opened version is not there any
// more.
//
// Thread-safety: any thread.
class RandomAccessFile {
 public:
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile() = default;

  // Path or URL that the file was opened by; errors name it.
  const std::string& name() const { return name_; }

  // Identity of all bytes that were read so far. Readers call it after each
  // read, so it waits for no network: a local file is looked at again, and a
  // store, whose reads ask for one version only, returns that version's.
  virtual absl::StatusOr<FileIdentity> Identity() const = 0;

  // Fills `out` from `offset` on. Returns the number of bytes: fewer than asked
  // for only at the end of the file. Waits for them; interrupted and partial
  // reads are continued.
  virtual absl::StatusOr<size_t> Read(uint64_t offset,
                                      std::span<std::byte> out) const = 0;

  // Begins to fetch ranges that will be read soon, all at once, and returns
  // without waiting. A hint: a file system may split, join or ignore ranges,
  // and drops what is not read when the file is closed. A Read may take any
  // part of an announced range.
  virtual void Prefetch(std::span<const ByteRange> ranges) const = 0;

  // Bytes that a reader should have announced ahead of the place where it
  // reads, to keep the file system busy. 0: none, since reads are quick or the
  // system itself reads ahead, as for local files.
  virtual uint64_t ahead_bytes() const { return 0; }

  // The file's bytes in memory, as they were when it was mapped; lives as long
  // as this. Null if the file system maps none, or if mapping is not worth it
  // (yet).
  virtual const GuardedMapping* Mapping() const { return nullptr; }

 protected:
  explicit RandomAccessFile(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RANDOM_ACCESS_FILE_H_
