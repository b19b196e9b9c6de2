#ifndef FEEDMILL_CORE_NET_SHARED_FILE_H_
#define FEEDMILL_CORE_NET_SHARED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

// What shared memory needs of Linux: anonymous files, and local connections
// that carry descriptors and say who is at the other end. Everything here ends
// with the processes that hold it. For this folder only.

namespace feedmill {

// A descriptor, closed at the end.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.Release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// An anonymous file of `bytes`, which can still be sealed.
absl::StatusOr<int> MakeSharedFile(const char* name, size_t bytes);

// A mapped file, unmapped at the end.
class Mapping {
 public:
  // FailedPrecondition unless the file has exactly `bytes` and is sealed
  // against another size, so that no access can ever fail.
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

// The identity of this run of this host's kernel; "" if it tells none.
std::string BootId();

// Sockets of AF_UNIX that keep messages apart, named in the abstract name
// space: no file, and gone with its process. None blocks.
absl::StatusOr<OwnedFd> ListenLocally(const std::string& name);
absl::StatusOr<OwnedFd> ConnectLocally(const std::string& name);
// Not valid if nobody waits (any more).
OwnedFd AcceptLocally(int listener);
// Whether a process of this process's user is at the other end.
bool IsOwnUser(int connection);

// One message, up to two descriptors with it. Unavailable: the other end is
// gone or does not read.
absl::Status SendLocally(int connection, std::span<const std::byte> bytes,
                         std::span<const int> fds);
struct LocalMessage {
  std::vector<std::byte> bytes;  // empty: nothing is there yet
  std::vector<OwnedFd> fds;
};
// Unavailable: the other end is gone.
absl::StatusOr<LocalMessage> ReceiveLocally(int connection);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_SHARED_FILE_H_
