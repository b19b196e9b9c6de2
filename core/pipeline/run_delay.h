#ifndef FEEDMILL_CORE_PIPELINE_RUN_DELAY_H_
#define FEEDMILL_CORE_PIPELINE_RUN_DELAY_H_

namespace feedmill {

// Seconds in which the calling thread was ready to run and had no core, since
// it began: Linux's run-queue delay. 0 where the kernel does not count it. The
// first call of a thread opens a file, which its end closes; later calls read
// it in about 1 us.
double RunDelaySeconds();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RUN_DELAY_H_
