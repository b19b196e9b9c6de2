#ifndef FEEDMILL_CORE_NET_SHARED_FILE_H_
#define FEEDMILL_CORE_NET_SHARED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/process/owned_fd.h"

// Linux primitives for shared memory: anonymous files, and local connections
// that carry descriptors and identify the peer's user. All of them end with the
// processes that hold them. Private to core/net.

namespace feedmill {

// Makes an anonymous file of `bytes` that can be sealed later.
absl::StatusOr<int> MakeSharedFile(const char* name, size_t bytes);

// A mapped file, unmapped by the destructor.
class Mapping {
 public:
  // FailedPrecondition unless the file has exactly `bytes` and is sealed
  // against resizing, which guarantees that no access fails.
  static absl::StatusOr<Mapping> Of(int fd, size_t bytes, bool writable);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Identifies the host and its current boot; "" if unknown.
std::string BootId();

// Non-blocking AF_UNIX sockets that preserve message boundaries, named in the
// abstract name space: no file, removed with the process.
absl::StatusOr<OwnedFd> ListenLocally(const std::string& name);
absl::StatusOr<OwnedFd> ConnectLocally(const std::string& name);
// Not valid if no client is waiting.
OwnedFd AcceptLocally(int listener);
// True if the peer process has the same user as this one.
bool IsOwnUser(int connection);

// Sends one message with up to two descriptors. Unavailable: the peer is gone
// or does not read.
absl::Status SendLocally(int connection, std::span<const std::byte> bytes,
                         std::span<const int> fds);
struct LocalMessage {
  std::vector<std::byte> bytes;  // empty: no message has arrived
  std::vector<OwnedFd> fds;
};
// Unavailable: the peer is gone.
absl::StatusOr<LocalMessage> ReceiveLocally(int connection);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_FILE_H_
