#ifndef FEEDMILL_OPTIONS_H_
#define FEEDMILL_OPTIONS_H_

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// The order in which a reader gets the elements.
enum class Order {
  // Always the same sequence: the one that a single thread would make.
  kDeterministic,
  // Each element once, in the order of arrival. Readers of a job share it.
  kAny,
};

// The way in which a run through a service uses its workers.
enum class ProcessingMode {
  // One pass over the dataset: workers ask the dispatcher for splits of it.
  kDynamic,
  // One whole pass for each worker that is registered when the run begins.
  kOff,
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_OPTIONS_H_
