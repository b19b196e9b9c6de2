#ifndef FEEDMILL_TOOLS_COMMAND_READ_INTERRUPT_H_
#define FEEDMILL_TOOLS_COMMAND_READ_INTERRUPT_H_

#include <atomic>

namespace feedmill {

// SIGINT and SIGTERM as flags that a read polls. A signal also interrupts a
// blocking system call of the thread that called CatchSignals. A second signal,
// a second later or more, ends the process at once.
class ReadInterrupt {
 public:
  // Call it on the thread that reads and writes, once per process.
  static void CatchSignals();
  // True after the first signal.
  static const std::atomic<bool>& cancel();
  // The number of the first signal; 0: none came.
  static int signal();
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_READ_INTERRUPT_H_
