#ifndef FEEDMILL_CORE_BASE_BYTE_BUDGET_H_
#define FEEDMILL_CORE_BASE_BYTE_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "absl/status/status.h"

namespace feedmill {

// Largest component of an element by default. A larger component is an error
// of its element. It is also the largest part of a frame that every link takes.
inline constexpr uint64_t kElementBytesMax = uint64_t{1} << 30;

// Thrown where memory is refused: by the calling thread's ByteBudget (limit()
// is its bound) or by the system (limit() is 0). The code that runs a
// pipeline's steps catches it and makes it a Status.
class MemoryRefused final : public std::bad_alloc {
 public:
  explicit MemoryRefused(uint64_t bytes, uint64_t limit = 0)
      : bytes_(bytes), limit_(limit) {}

  uint64_t bytes() const { return bytes_; }
  uint64_t limit() const { return limit_; }
  // True if every run of the same pipeline under the same bound is refused.
  bool over_limit() const { return limit_ > 0; }
  const char* what() const noexcept override;

 private:
  uint64_t bytes_;
  uint64_t limit_;
};

// Bounds the blocks of memory that BufferBuilders take on the calling thread,
// from construction to destruction:
//   - one block takes at most `element_bytes_max`;
//   - all blocks that are taken and not freed meanwhile take at most
//     kWorkingFactor times as much.
// Blocks are checked before they are allocated. Budgets nest; the innermost
// applies. Without a budget, only the system bounds a block.
//
// Thread-safety: a budget belongs to the thread that made it.
class ByteBudget {
 public:
  static constexpr uint64_t kWorkingFactor = 4;

  explicit ByteBudget(uint64_t element_bytes_max);
  ~ByteBudget();
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Bytes that one block may take; the largest size_t without a budget.
  static uint64_t Limit();

  // Throws MemoryRefused if `count` items of `bytes_each` exceed Limit()
  // together, even if their product exceeds 2^64.
  static void Check(uint64_t count, uint64_t bytes_each);
  // The same as a Status.
  static absl::Status Fits(uint64_t count, uint64_t bytes_each);

  // For BufferBuilder: Take counts a checked block, and throws MemoryRefused if
  // all blocks together take too much. Return counts a freed block.
  static void Take(uint64_t bytes);
  static void Return(uint64_t bytes) noexcept;

 private:
  struct Bounds {
    uint64_t limit = 0;  // 0: no budget
    uint64_t taken = 0;
  };
  static thread_local constinit Bounds bounds_;

  const Bounds outer_;
};

// "512 B", "1.5 KiB" … "8.0 EiB".
std::string BytesText(uint64_t bytes);

// Returns ResourceExhausted: "an element needs 8.0 TiB, …" if over_limit();
// otherwise, that the system refused the memory, with the limits of the
// process.
absl::Status StatusOf(const MemoryRefused& refused);
// Returns the same for any exception of the standard library: an error about
// memory or threads, or the exception's text.
absl::Status StatusOf(const std::exception& error);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_BYTE_BUDGET_H_
