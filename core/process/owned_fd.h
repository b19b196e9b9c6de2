#ifndef FEEDMILL_CORE_PROCESS_OWNED_FD_H_
#define FEEDMILL_CORE_PROCESS_OWNED_FD_H_

namespace feedmill {

// A file descriptor, closed by the destructor.
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

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_OWNED_FD_H_
