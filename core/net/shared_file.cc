#include "core/net/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/base/status.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

constexpr size_t kMessageMax = 256;
constexpr size_t kFdsMax = 2;
constexpr int kBacklog = 64;

struct AbstractName {
  sockaddr_un address{};
  socklen_t length = 0;
};

absl::StatusOr<AbstractName> MakeName(const std::string& name) {
  AbstractName made;
  if (name.empty() || name.size() >= sizeof(made.address.sun_path)) {
    return InvalidArgument("a socket's name of {} bytes", name.size());
  }
  made.address.sun_family = AF_UNIX;
  // The leading zero makes the name abstract.
  std::copy(name.begin(), name.end(), made.address.sun_path + 1);
  made.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

absl::StatusOr<OwnedFd> OpenSocket() {
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) {
    return ResourceExhausted("no local socket: {}", std::strerror(errno));
  }
  return fd;
}

}  // namespace

absl::StatusOr<int> MakeSharedFile(const char* name, size_t bytes) {
  // Above RLIMIT_FSIZE, ftruncate would raise SIGXFSZ.
  if (!MayWriteFile(bytes)) {
    return ResourceExhausted("cannot share {} bytes of memory: {}", bytes,
                             WriteErrorText(EFBIG));
  }
  OwnedFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return ResourceExhausted("cannot share {} bytes of memory: {}", bytes,
                             std::strerror(errno));
  }
  return fd.Release();
}

absl::StatusOr<Mapping> Mapping::Of(int fd, size_t bytes, bool writable) {
  struct stat status {};
  constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals ||
      fstat(fd, &status) != 0 || status.st_size != static_cast<off_t>(bytes) ||
      bytes == 0) {
    return FailedPrecondition(
        "the shared file is not sealed memory of {} bytes", bytes);
  }
  void* const data =
      mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
           MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted("cannot map {} bytes of shared memory: {}", bytes,
                             std::strerror(errno));
  }
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

absl::StatusOr<OwnedFd> ListenLocally(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const AbstractName at, MakeName(name));
  FM_ASSIGN_OR_RETURN(OwnedFd fd, OpenSocket());
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.address),
           at.length) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Unavailable("cannot listen at the local name {}: {}", name,
                       std::strerror(errno));
  }
  return fd;
}

absl::StatusOr<OwnedFd> ConnectLocally(const std::string& name) {
  FM_ASSIGN_OR_RETURN(const AbstractName at, MakeName(name));
  FM_ASSIGN_OR_RETURN(OwnedFd fd, OpenSocket());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&at.address),
              at.length) != 0) {
    return Unavailable("no process listens at the local name: {}",
                       std::strerror(errno));
  }
  return fd;
}

OwnedFd AcceptLocally(int listener) {
  return OwnedFd(
      accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool IsOwnUser(int connection) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

absl::Status SendLocally(int connection, std::span<const std::byte> bytes,
                         std::span<const int> fds) {
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsMax * sizeof(int))] = {};
  if (!fds.empty()) {
    const size_t size = std::min(fds.size(), kFdsMax) * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), fds.data(), size);
  }
  if (sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(bytes.size())) {
    return Unavailable("the other end of a local connection is gone: {}",
                       std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<LocalMessage> ReceiveLocally(int connection) {
  LocalMessage received;
  received.bytes.resize(kMessageMax);
  iovec data{received.bytes.data(), received.bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kFdsMax * sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got =
      recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return LocalMessage{};
  if (got <= 0) {
    return Unavailable("the other end of a local connection is gone");
  }
  received.bytes.resize(static_cast<size_t>(got));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t k = 0; k < count; ++k) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + k * sizeof(int), sizeof(fd));
      received.fds.emplace_back(fd);
    }
  }
  return received;
}

}  // namespace feedmill
