#ifndef FEEDMILL_CORE_BASE_BATCH_THREAD_H_
#define FEEDMILL_CORE_BASE_BATCH_THREAD_H_

namespace feedmill {

// Makes the calling thread, and those that it starts from here on, SCHED_BATCH
// (sched(7)): woken, it takes a core that is idle, but does not interrupt a
// thread that runs. A thread that moves or makes much data then finds more of
// it at a time, and nobody's work is cut into pieces of a few microseconds; it
// waits for the end of a time slice, some milliseconds, where every core is
// busy. Leaves a thread alone that somebody gave another policy.
//
// Returns whether the thread is SCHED_BATCH now; a sandbox may refuse it,
// which changes nothing but speed. Thread-safe.
bool BecomeBatchThread();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_BATCH_THREAD_H_
