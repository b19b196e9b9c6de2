#ifndef FEEDMILL_CORE_PIPELINE_RUN_DELAY_H_
#define FEEDMILL_CORE_PIPELINE_RUN_DELAY_H_

namespace feedmill {

// Seconds in which the calling thread was ready to run but had no core, since
// the thread began: Linux's run-queue delay. 0 if the kernel does not count it.
// The first call of a thread opens a file, which the end of the thread closes.
// Later calls read it in about 1 us.
double RunDelaySeconds();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_RUN_DELAY_H_
