#include "core/io/range_gatherer.h"

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/prefetch.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

// Fits into a part of the second-level cache, so that gathered bytes are still
// in it when they are read.
constexpr size_t kWindowBytes = size_t{128} << 10;
constexpr size_t kRangesMax = 1024;  // IOV_MAX

}  // namespace

RangeGatherer::~RangeGatherer() {
  if (window_ != nullptr) munmap(window_, kWindowBytes);
  if (window_file_ >= 0) close(window_file_);
}

bool RangeGatherer::HasWindow() {
  if (window_ != nullptr) return true;
  if (no_window_) return false;
  no_window_ = true;  // not tried again
  // Writing a file above its size limit (RLIMIT_FSIZE) raises a signal.
  if (!MayWriteFile(kWindowBytes)) return false;
  window_file_ = memfd_create("feedmill-gathered", MFD_CLOEXEC);
  if (window_file_ < 0 || ftruncate(window_file_, kWindowBytes) != 0) {
    return false;
  }
  void* const window =
      mmap(nullptr, kWindowBytes, PROT_READ, MAP_SHARED, window_file_, 0);
  if (window == MAP_FAILED) return false;
  window_ = static_cast<std::byte*>(window);
  return true;
}

bool RangeGatherer::full() const {
  return ranges_.size() == kRangesMax || bytes_ + kRangeBytesMax > kWindowBytes;
}

std::span<const std::byte> RangeGatherer::Range(const GuardedMapping& mapping,
                                                uint64_t offset,
                                                uint64_t size) {
  const std::span<const std::byte> bytes = mapping.bytes();
  if (size > kRangeBytesMax || offset > bytes.size() ||
      size > bytes.size() - offset) {
    return {};
  }
  return bytes.subspan(offset, size);
}

void RangeGatherer::Begin() {
  Forget();
  faults_ = GuardedMapping::Faults();
}

void RangeGatherer::Forget() {
  ranges_.clear();
  bytes_ = 0;
}

// Copies the ranges into the window, and makes ranges_ point there.
bool RangeGatherer::CopyToWindow() {
  if (!HasWindow()) return false;
  copied_.clear();
  for (const auto& range : ranges_) {
    // const_cast is safe: pwritev only reads the bytes.
    copied_.push_back({const_cast<std::byte*>(range.data()), range.size()});
  }
  const ssize_t got = pwritev(window_file_, copied_.data(),
                              static_cast<int>(copied_.size()), 0);
  if (got < 0 || static_cast<size_t>(got) != bytes_) return false;
  const std::byte* at = window_;
  for (auto& range : ranges_) {
    range = {at, range.size()};
    at += range.size();
  }
  return true;
}

std::span<const std::span<const std::byte>> RangeGatherer::Gather() {
  // A copy waits for one range after the other. Prefetches overlap these waits.
  for (const auto& range : ranges_) PrefetchToRead(range.data(), range.size());
  if (!GuardedMapping::Guarded() && !CopyToWindow()) return {};
  return ranges_;
}

}  // namespace feedmill
