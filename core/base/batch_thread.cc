#include "core/base/batch_thread.h"

#include <pthread.h>
#include <sched.h>

namespace feedmill {

bool BecomeBatchThread() {
  int policy = SCHED_OTHER;
  sched_param priority{};
  if (pthread_getschedparam(pthread_self(), &policy, &priority) != 0) {
    return false;
  }
  if (policy != SCHED_OTHER) return policy == SCHED_BATCH;
  return pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority) == 0;
}

}  // namespace feedmill
