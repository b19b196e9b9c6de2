#include "core/base/byte_budget.h"

#include <array>
#include <exception>
#include <utility>

#include "core/base/machine_error.h"
#include "core/base/status.h"

namespace feedmill {

thread_local constinit ByteBudget::Bounds ByteBudget::bounds_;

const char* MemoryRefused::what() const noexcept {
  return limit_ > 0 ? "an element is over the limit of its size"
                    : "out of memory";
}

ByteBudget::ByteBudget(uint64_t element_bytes_max)
    : outer_(std::exchange(bounds_, {element_bytes_max, 0})) {}

ByteBudget::~ByteBudget() { bounds_ = outer_; }

uint64_t ByteBudget::Limit() {
  return bounds_.limit == 0 ? UINT64_MAX : bounds_.limit;
}

namespace {

// Returns the product; UINT64_MAX if it overflows.
uint64_t Product(uint64_t count, uint64_t bytes_each) {
  uint64_t bytes = 0;
  return __builtin_mul_overflow(count, bytes_each, &bytes) ? UINT64_MAX : bytes;
}

}  // namespace

void ByteBudget::Check(uint64_t count, uint64_t bytes_each) {
  const uint64_t bytes = Product(count, bytes_each);
  if (bytes > Limit() || bytes == UINT64_MAX) {
    throw MemoryRefused(bytes, Limit());
  }
}

absl::Status ByteBudget::Fits(uint64_t count, uint64_t bytes_each) {
  const uint64_t bytes = Product(count, bytes_each);
  if (bytes <= Limit() && bytes < UINT64_MAX) return absl::OkStatus();
  return StatusOf(MemoryRefused(bytes, Limit()));
}

void ByteBudget::Take(uint64_t bytes) {
  Bounds& bounds = bounds_;
  if (bounds.limit == 0) return;
  uint64_t most = 0;
  if (!__builtin_mul_overflow(kWorkingFactor, bounds.limit, &most) &&
      bounds.taken + bytes > most) {
    throw MemoryRefused(bounds.taken + bytes, bounds.limit);
  }
  bounds.taken += bytes;
}

void ByteBudget::Return(uint64_t bytes) noexcept {
  Bounds& bounds = bounds_;
  // Blocks of an earlier budget may be freed here, too.
  bounds.taken -= bytes < bounds.taken ? bytes : bounds.taken;
}

std::string BytesText(uint64_t bytes) {
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

absl::Status StatusOf(const MemoryRefused& refused) {
  if (!refused.over_limit()) {
    return ResourceExhausted(
        "out of memory: the system refused {}; raise the limit of the process "
        "(ulimit -v, or its container's), or use fewer threads and smaller "
        "elements",
        BytesText(refused.bytes()));
  }
  return ResourceExhausted(
      "an element needs {} of memory at once; the limit is {} (--element-max)",
      BytesText(refused.bytes()), BytesText(refused.limit()));
}

absl::Status StatusOf(const std::exception& error) {
  if (const auto* of_machine = dynamic_cast<const MachineError*>(&error)) {
    return of_machine->status();
  }
  if (const auto* refused = dynamic_cast<const MemoryRefused*>(&error)) {
    return StatusOf(*refused);
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return ResourceExhausted(
        "out of memory; raise the limit of the process (ulimit -v, or its "
        "container's), or use fewer threads and smaller elements");
  }
  return ResourceExhausted("out of a resource: {}", error.what());
}

}  // namespace feedmill
