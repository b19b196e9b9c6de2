#ifndef FEEDMILL_CORE_IO_GUARDED_MAPPING_H_
#define FEEDMILL_CORE_IO_GUARDED_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace feedmill {

// A whole file as memory that this process may read itself, although others may
// cut the file off meanwhile and its disk may fail. The kernel tells of both by
// SIGBUS, which would end the process. For mappings of this class a handler,
// installed for the whole process with the first of them, puts zeros in the
// place of all of the mapping and marks it; reading goes on. So:
//
//   if (GuardedMapping::Guarded()) {     // once for a few hundred KB
//     … read mapping->bytes() …
//     if (!mapping->Sound()) …           // what was read may be zeros: pread
//   }
//
// What a file holds behind its new end in its last page, and what is written to
// it while it is read, is no fault: its size and mtime, and checksums, tell.
//
// Any other SIGBUS goes to the handler that was there before, or ends the
// process as it would have. Who installs one later has the last word: as long
// as that one is there, nothing is guarded.
//
// Thread-safety: any thread. Faults are handled in the thread that reads.
class GuardedMapping {
 public:
  // Of the file's bytes as they are now. Null: it has none, it cannot be
  // mapped, or there are thousands of mappings already.
  static std::unique_ptr<const GuardedMapping> Of(int file);

  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;
  ~GuardedMapping();

  // Whether this thread may read mappings now: faults come to the handler.
  // Takes two system calls.
  static bool Guarded();

  // How many times a mapping of this process has faulted. If that is the same
  // before mappings were asked whether they are sound and after they were read,
  // they still are.
  static uint64_t Faults();

  // Who lets the kernel read them (as pwritev's source, which fails where the
  // file has no bytes) needs no guard, but has to ask Sound() all the same.
  std::span<const std::byte> bytes() const { return bytes_; }

  // Whether all that was read so far, by whatever thread asks, was the file's.
  // Once false, for ever.
  bool Sound() const;

 private:
  struct Place;  // where the handler finds a mapping
  struct Guard;  // the handler

  GuardedMapping(std::span<const std::byte> bytes, Place* place)
      : bytes_(bytes), place_(place) {}

  const std::span<const std::byte> bytes_;
  Place* const place_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GUARDED_MAPPING_H_
