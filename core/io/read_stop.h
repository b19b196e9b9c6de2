#ifndef FEEDMILL_CORE_IO_READ_STOP_H_
#define FEEDMILL_CORE_IO_READ_STOP_H_

#include <atomic>

namespace feedmill {

// Makes file reads interruptible in a scope. While this object lives, reads of
// this thread that wait for a network end with Cancelled soon after `stopped`
// becomes true. If scopes are nested, the innermost counts.
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
  // network call it several times a second.
  static bool Asked();
  // The `stopped` of this thread's innermost ReadStop, to pass to threads that
  // work for this one. Null if there is none.
  static const std::atomic<bool>* Current();

 private:
  const std::atomic<bool>* const outer_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_READ_STOP_H_
