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

// An open file, read by position. Closed when destroyed.
//
// A read of a local file takes microseconds. A read of an object in a store
// takes a round trip of many milliseconds. Readers therefore announce ranges
// with Prefetch before they read them, as far ahead as ahead_bytes() says:
//
//   if (file.ahead_bytes() > 0) file.Prefetch(ranges);     // all at once
//   for (const ByteRange& range : ranges) file.Read(…);    // waits for one
//
// Errors name the file.
//
//   Unavailable         I/O error, after the retries of the file system
//   NotFound            the file is gone
//   FailedPrecondition  the file may not be read, or its opened version is
//                       gone
//
// Thread-safety: any thread.
class RandomAccessFile {
 public:
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile() = default;

  // Path or URL by which the file was opened. Errors contain it.
  const std::string& name() const { return name_; }

  // Returns the identity of all bytes that were read so far. Readers call it
  // after each read, so it waits for no network. A local file is checked again.
  // A store, whose reads ask for one version only, returns that version.
  virtual absl::StatusOr<FileIdentity> Identity() const = 0;

  // Fills `out` with the bytes from `offset`, and waits for them. Returns the
  // number of bytes, which is smaller than out.size() only at the end of the
  // file. Interrupted and partial reads are continued.
  virtual absl::StatusOr<size_t> Read(uint64_t offset,
                                      std::span<std::byte> out) const = 0;

  // Begins to fetch all ranges at once, for reads that follow soon, and returns
  // without waiting. It is a hint: a file system may split, join or ignore
  // ranges. It drops unread ranges when the file is closed. A Read may take any
  // part of an announced range.
  virtual void Prefetch(std::span<const ByteRange> ranges) const = 0;

  // Bytes that a reader should announce ahead of its position, to keep the file
  // system busy. 0: announce none, because reads are fast or the system reads
  // ahead itself, as for local files.
  virtual uint64_t ahead_bytes() const { return 0; }

  // The file's bytes in memory, as they were when the file was mapped. Lives as
  // long as this object. Null if the file system maps no files, or if mapping
  // this file does not pay (yet).
  virtual const GuardedMapping* Mapping() const { return nullptr; }
  // Same for a caller that maps in any case. Null if the file cannot be mapped,
  // or if reading the mapping failed before.
  virtual const GuardedMapping* MapNow() const { return nullptr; }

 protected:
  explicit RandomAccessFile(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_RANDOM_ACCESS_FILE_H_
