#ifndef FEEDMILL_CORE_IO_GUARDED_MAPPING_H_
#define FEEDMILL_CORE_IO_GUARDED_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace feedmill {

// A whole file mapped into memory. Another process may truncate the file, or
// its disk may fail; the kernel reports both by SIGBUS, which would end this
// process. The first mapping therefore installs a SIGBUS handler for the whole
// process. On a fault, the handler replaces the whole mapping by zeros and
// marks it, and the read continues:
//
//   if (GuardedMapping::Guarded()) {     // call once per few hundred KB
//     … read mapping->bytes() …
//     if (!mapping->Sound()) …           // the bytes may be zeros: use pread
//   }
//
// Two changes of the file cause no fault: bytes behind its new end in its last
// page, and writes during a read. The caller detects them by size, mtime or a
// checksum.
//
// Any other SIGBUS goes to the handler that was installed before, or ends the
// process as it would have. If a handler is installed later, it replaces this
// one: nothing is guarded while it is installed.
//
// Thread-safety: any thread. Faults are handled in the thread that reads.
class GuardedMapping {
 public:
  // Maps the file's bytes as they are now. Null if the file is empty or cannot
  // be mapped, or if there are 4096 mappings already.
  static std::unique_ptr<const GuardedMapping> Of(int file);

  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;
  ~GuardedMapping();

  // True if this thread may read mappings now: the handler is installed and the
  // thread does not block SIGBUS. Takes two system calls.
  static bool Guarded();

  // Number of faults of all mappings of this process. Take it before Sound() of
  // some mappings is checked, and again after they were read. If the numbers
  // are equal, all bytes read were the files'.
  static uint64_t Faults();

  // The file's bytes. A read by the kernel needs no Guarded(): as the source of
  // pwritev, a missing page makes the call fail. Such a caller must still check
  // Sound().
  std::span<const std::byte> bytes() const { return bytes_; }

  // True if all bytes read so far, by any thread, were the file's. Once false,
  // it stays false.
  bool Sound() const;

 private:
  struct Place;  // entry in the handler's table of mappings
  struct Guard;  // the handler

  GuardedMapping(std::span<const std::byte> bytes, Place* place)
      : bytes_(bytes), place_(place) {}

  const std::span<const std::byte> bytes_;
  Place* const place_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GUARDED_MAPPING_H_
