#ifndef FEEDMILL_BENCH_LIMITS_SENDER_PROCESS_H_
#define FEEDMILL_BENCH_LIMITS_SENDER_PROCESS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace feedmill::bench {

// A child process that sends to this process when it receives the address.
// Create it before any thread starts.
class SenderProcess {
 public:
  // `send`: int(const char* address); returns the child's exit status.
  template <class Send>
  explicit SenderProcess(Send send) {
    if (pipe(address_) != 0) return;
    child_ = fork();
    if (child_ != 0) return;
    char address[256] = {};
    if (read(address_[0], address, sizeof(address) - 1) <= 0) _exit(1);
    _exit(send(address));
  }

  bool Start(const std::string& address) const {
    return child_ > 0 && write(address_[1], address.data(), address.size()) > 0;
  }
  // Waits for the child's end; false if it failed.
  bool Join() const {
    int status = 0;
    return waitpid(child_, &status, 0) == child_ && status == 0;
  }

 private:
  int address_[2];
  pid_t child_ = -1;
};

}  // namespace feedmill::bench

#endif  // FEEDMILL_BENCH_LIMITS_SENDER_PROCESS_H_
