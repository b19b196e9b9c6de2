#ifndef FEEDMILL_BROKER_VERDICT_H_
#define FEEDMILL_BROKER_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

// Why a trainer waits, in one sentence. Pure: a function of what readers and
// workers reported in the last seconds.

namespace feedmill {

enum class BoundBy : uint8_t {
  kNone,  // nothing is read now, or too little is known
  kSource,
  kStep,
  kWorkers,
  kLink,
  kClientStage,
  kConsumer,
  kDispatcher,
};
// "none", "source", "step", "workers", …
const char* BoundName(BoundBy bound);

struct VerdictInput {
  // A reader of the job, over the window.
  struct Reader {
    std::string name;  // "solo", "1/4"
    double elapsed_s = 0;
    double waited_s = 0;  // the application waited for elements
    double stage_s = 0;   // CPU seconds of the client's steps
    uint64_t elements = 0;
    std::string head_worker{};  // who has what it is to get next; "" if none
    double head_s = 0;          // since when that made no progress
  };
  struct Worker {
    std::string name;
    uint32_t threads = 0;
    double busy = 0;  // part of its threads, 0 to 1
    bool draining = false;
    // Of this job, averages: streams that its readers ask for, and those of
    // them that wait.
    double streams = 0;
    double waiting_for_credit = 0;
    double waiting_for_memory = 0;
    double share = 1;  // of the work that was measured, this job's
    // Positions that a thread with work computes in a second; below 0: unknown.
    double speed = -1;
    // Workers that this stands for: those that have nothing of the job are one.
    uint64_t count = 1;
  };
  // Samples of what a place of the pipeline takes on workers.
  struct Step {
    std::string name;
    bool source = false;
    double wall_s = 0;  // on a core or blocked
    double cpu_s = 0;
  };
  bool planned = true;  // false: files are being listed
  bool over = false;
  std::string waits_for;  // as the status says it: "rank 1 of 2"
  std::vector<Reader> readers;
  std::vector<Worker> workers;
  std::vector<Step> steps;
  uint64_t splits_without_lease = 0;
  double dispatcher_busy = 0;  // part of its thread, 0 to 1
};

struct Verdict {
  BoundBy bound_by = BoundBy::kNone;
  std::string where;  // a step, a worker, a reader; "" if it is none
  // The most by which the job could be faster if this bound were gone: 1 is
  // nothing, 2 is twice as fast. 0: not known.
  double gain = 0;
  std::string sentence;
  std::vector<std::string> evidence;
};

Verdict Judge(const VerdictInput& input);

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_VERDICT_H_
