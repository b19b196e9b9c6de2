#ifndef FEEDMILL_CORE_NET_RELEASE_THREAD_H_
#define FEEDMILL_CORE_NET_RELEASE_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace feedmill {

// A thread of the process that releases large memory for the threads of
// reactors and of libzmq, which would send no heartbeat meanwhile. It starts
// when it is needed, and ends after a second without work.

// Makes buffers use it (FreesElsewhere), and makes other threads free large
// blocks in slices. Any thread, any number of times.
void InstallReleaseThread();

// Bounds the memory that waits to be released: the thread that drops more
// releases it itself. One block may always wait. Default: 1/32 of
// AvailableMemory() (core/process/process_quota.h). Never above 3 GiB.
void BoundReleases(uint64_t bytes);

// Drops `owner` on that thread. `bytes`: size of the memory that this releases.
// If much memory waits already, or the thread cannot start, drops it here.
void ReleaseElsewhere(std::shared_ptr<const void> owner, size_t bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_RELEASE_THREAD_H_
