#ifndef FEEDMILL_BROKER_VERDICT_H_
#define FEEDMILL_BROKER_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

// Explains in one sentence why a trainer waits. Pure: a function of the reports
// of readers and workers in the last seconds.

namespace feedmill {

enum class BoundBy : uint8_t {
  kNone,  // no reader reads now, or too little is known
  kSource,
  kStep,
  kPositions,  // each is made by one worker, and there are too few
  kWorkers,
  kLink,
  kClientStage,
  kConsumer,
  kDispatcher,
};
// Returns "none", "source", "step", "workers", …
const char* BoundName(BoundBy bound);

// Parts of the times between two reports. If the typical worker sends elements
// in fewer than kSteadyProgress of them, a worker that sends none is not known
// to be slower.
inline constexpr double kSteadyProgress = 0.8;

struct VerdictInput {
  // A reader of the job, over the window.
  struct Reader {
    std::string name;  // "solo", "1/4"
    double elapsed_s = 0;
    double waited_s = 0;  // the application waited for elements
    double stage_s = 0;   // in the client's steps
    uint64_t elements = 0;
    double longest_wait_s = 0;  // for one element
    std::string head_worker{};  // worker that has its next split; "" if none
    double head_s = 0;          // seconds since that split's last progress
    std::string unreachable{};  // worker that it cannot reach; "" if none
  };
  struct Worker {
    std::string name;
    uint32_t threads = 0;
    double busy = 0;  // part of its threads, 0 to 1
    bool draining = false;
    // Averages for this job: streams that its readers request, and the streams
    // that wait for credit or for memory.
    double streams = 0;
    double waiting_for_credit = 0;
    double waiting_for_memory = 0;
    double share = 1;  // this job's part of the measured work, 0 to 1
    // Positions per second of a thread with work; below 0: unknown.
    double speed = -1;
    // Part of the times between two reports in which it sent elements, 0 to 1.
    double progress = 1;
    // Part of its threads whose tasks were on a core or blocked, 0 to 1. `busy`
    // also counts tasks that wait for a core.
    double worked = 1;
    // Number of workers that this entry stands for. All workers without work of
    // the job share one entry.
    uint64_t count = 1;
  };
  // Sampled cost of a place of the pipeline on workers.
  struct Step {
    std::string name;
    bool source = false;
    double wall_s = 0;  // on a core or blocked
    double cpu_s = 0;
  };
  bool planned = true;  // false: files are being listed
  bool over = false;
  std::string waits_for;  // JobVerdicts::WaitsFor, e.g. "rank 1 of 2"
  std::vector<Reader> readers;
  std::vector<Worker> workers;
  std::vector<Step> steps;
  uint64_t positions = 0;  // of the plan; 0: not known
  uint64_t splits_without_lease = 0;
  double dispatcher_busy = 0;  // part of its thread, 0 to 1
};

struct Verdict {
  BoundBy bound_by = BoundBy::kNone;
  std::string where;  // name of a step, a worker or a reader; "" if none
  // Maximum speedup of the job without this bound: 1 is none, 2 is twice as
  // fast. 0: not known.
  double gain = 0;
  std::string sentence;
  std::vector<std::string> evidence;
  // Follows from samples of loads, which vary. False: it is a fact, e.g. that
  // the job is over.
  bool measured = false;
};

Verdict Judge(const VerdictInput& input);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_VERDICT_H_
