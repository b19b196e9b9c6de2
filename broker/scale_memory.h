#ifndef FEEDMILL_BROKER_SCALE_MEMORY_H_
#define FEEDMILL_BROKER_SCALE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedmill {

// Findings of the autoscaler that outlive the dispatcher. Integers, because the
// journal has no other numbers: thousandths of a worker or of an element per
// second, and seconds of the Unix clock.
struct ScaleMemory {
  // A job that was not faster with more workers, or that has tried it.
  struct Job {
    std::string name;
    uint64_t hold_s = 0;  // time that its next ceiling holds
    // The ceiling; `until_s` is 0 if there is none.
    uint64_t need_milli = 0;
    uint64_t rate_milli = 0;
    uint64_t until_s = 0;

    friend bool operator==(const Job&, const Job&) = default;
  };
  bool decided = false;  // `wanted` is valid
  uint64_t wanted = 0;
  // The floor of earlier releases. Not used; the journal has the fields.
  uint64_t floor_workers = 0;
  uint64_t floor_low_milli = 0;
  uint64_t floor_until_s = 0;
  uint64_t floor_hold_s = 0;
  std::vector<Job> jobs;

  friend bool operator==(const ScaleMemory&, const ScaleMemory&) = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_SCALE_MEMORY_H_
