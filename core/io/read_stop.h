#ifndef FEEDMILL_CORE_IO_READ_STOP_H_
#define FEEDMILL_CORE_IO_READ_STOP_H_

#include <atomic>

namespace feedmill {

// While it lives, reads of files by this thread that wait for a network end
// with Cancelled soon after `stopped` becomes true. The innermost one of a
// thread counts.
//
//   const ReadStop stop(stopping_);
//   file->Read(…);                    // ends early if stopping_ becomes true
class ReadStop {
 public:
  explicit ReadStop(const std::atomic<bool>& stopped);
  ~ReadStop();
  ReadStop(const ReadStop&) = delete;
  ReadStop& operator=(const ReadStop&) = delete;

  // True if waits of this thread should end. File systems that wait for a
  // network ask several times a second.
  static bool Asked();
  // What the innermost one of this thread looks at, for threads that work for
  // this one; null without one.
  static const std::atomic<bool>* Current();

 private:
  const std::atomic<bool>* const outer_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_READ_STOP_H_
