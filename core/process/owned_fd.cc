#include "core/process/owned_fd.h"

#include <unistd.h>

#include <utility>

namespace feedmill {

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) close(fd_);
  fd_ = other.Release();
  return *this;
}

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

int OwnedFd::Release() { return std::exchange(fd_, -1); }

}  // namespace feedmill
