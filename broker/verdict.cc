#include "broker/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/gain.h"

namespace feedmill {
namespace {

using Reader = VerdictInput::Reader;
using Worker = VerdictInput::Worker;
using Step = VerdictInput::Step;

// A reader that spends more of its time in its own steps than this is bound by
// them, if it does not wait.
constexpr double kStageNoticed = 0.4;
constexpr double kBusy = 0.7;  // below it, workers have some free time
// Below it, workers have plenty of free time. It is not 0.5, which is a common
// value: one of two threads is busy.
constexpr double kIdle = 0.55;
// Speed of another reader of the job, as a multiple of the reader's.
constexpr double kOutpaced = 4;
constexpr double kWaitingStreams = 0.3;  // part of the streams
constexpr double kDominant = 0.4;        // part of the time of all steps
constexpr double kMinOwnShare = 0.6;  // below it, workers work for other jobs
constexpr double kBlocked = 0.5;  // below it, a step's time is mostly waiting
constexpr double kStuck = 0.5;    // seconds
constexpr double kLongWait = 1;   // seconds
// Elements that the reader takes, at its average rate, in the time of its
// longest wait. Below it, all elements may be as slow as that.
constexpr double kOvertaken = 20;
constexpr double kHeldUp = 0.1;  // part of the streams
// Below it, workers have hardly computed: their tasks wait for cores.
constexpr double kHardlyWorked = 0.1;
constexpr double kSlow = 0.25;   // part of the typical worker's speed
constexpr double kEnding = 0.3;  // above it, tasks end often

std::string Percent(double part) {
  return fmt::format("{:.0f} %", 100 * std::clamp(part, 0.0, 1.0));
}

double WaitShare(const Reader& reader) {
  return reader.elapsed_s <= 0 ? 0 : reader.waited_s / reader.elapsed_s;
}

double StageShare(const Reader& reader) {
  return reader.elapsed_s <= 0 ? 0 : reader.stage_s / reader.elapsed_s;
}

std::string NameOf(const Reader& reader, const VerdictInput& input) {
  if (input.readers.size() < 2) return "the reader";
  return fmt::format("reader {}", reader.name);
}

// Sums over all workers of the job.
struct FleetLoad {
  size_t count = 0;     // workers that take work
  double busy = 0;      // average, weighted by threads
  double worked = 0;    // likewise
  double progress = 0;  // average, weighted by streams
  double streams = 0;
  double waiting_for_credit = 0;
  double waiting_for_memory = 0;
  double threads = 0;
  double share = 1;                 // this job's part of their work
  const Worker* busiest = nullptr;  // busiest worker that works for the job
  double others_busy = 0;           // average of all workers but the busiest
};

FleetLoad FleetOf(const std::vector<Worker>& workers) {
  FleetLoad fleet;
  double threads = 0;
  double share = 0;
  for (const Worker& worker : workers) {
    fleet.streams += worker.streams;
    fleet.progress += worker.progress * worker.streams;
    fleet.waiting_for_credit += worker.waiting_for_credit;
    fleet.waiting_for_memory += worker.waiting_for_memory;
    if (worker.draining) continue;
    fleet.count += worker.count;
    threads += worker.threads;
    fleet.busy += worker.busy * worker.threads;
    fleet.worked += worker.worked * worker.threads;
    share += worker.share * worker.busy * worker.threads;
    const bool works =
        worker.streams > 0 || (worker.share > 0 && worker.busy > 0);
    if (works &&
        (fleet.busiest == nullptr || worker.busy > fleet.busiest->busy)) {
      fleet.busiest = &worker;
    }
  }
  if (fleet.busiest != nullptr) {
    const double rest = threads - fleet.busiest->threads;
    fleet.others_busy =
        rest <= 0
            ? 0
            : (fleet.busy - fleet.busiest->busy * fleet.busiest->threads) /
                  rest;
  }
  if (fleet.busy > 0) fleet.share = share / fleet.busy;
  if (fleet.streams > 0) fleet.progress /= fleet.streams;
  fleet.threads = threads;
  if (threads > 0) {
    fleet.busy /= threads;
    fleet.worked /= threads;
  }
  return fleet;
}

// A worker that is `times` times slower than the typical worker.
struct Straggler {
  const Worker* worker = nullptr;
  double times = 0;
  double gain = 0;  // speedup of the job if the worker were as fast
};

Straggler StragglerOf(const std::vector<Worker>& workers) {
  std::vector<const Worker*> known;
  for (const Worker& worker : workers) {
    if (worker.speed >= 0 && !worker.draining) known.push_back(&worker);
  }
  if (known.size() < 2) return {};
  std::sort(known.begin(), known.end(), [](const Worker* a, const Worker* b) {
    return a->speed < b->speed;
  });
  // The median; of two workers, the faster one.
  const double typical = known[known.size() / 2]->speed;
  const Worker& slowest = *known.front();
  if (known[known.size() / 2]->progress < kSteadyProgress) return {};
  if (slowest.speed >= kSlow * typical) return {};
  double now = 0;
  for (const Worker* worker : known) now += worker->speed;
  return {&slowest, slowest.speed <= 0 ? kGainMax : typical / slowest.speed,
          now <= 0 ? kGainMax : (now - slowest.speed + typical) / now};
}

// Describes the load of readers, workers and steps, as evidence.
std::vector<std::string> EvidenceOf(const VerdictInput& input,
                                    const FleetLoad& fleet) {
  std::vector<std::string> evidence;
  constexpr size_t kReadersNamed = 8;
  for (size_t k = 0; k < std::min(input.readers.size(), kReadersNamed); ++k) {
    const Reader& reader = input.readers[k];
    evidence.push_back(fmt::format(
        "reader {} waits {} of its time, and its own steps take {}",
        reader.name, Percent(WaitShare(reader)), Percent(StageShare(reader))));
  }
  if (fleet.count > 0) {
    evidence.push_back(fmt::format(
        "{} worker{} use {} of their threads; {:.1f} streams, {:.1f} of them "
        "wait for credit, {:.1f} for memory",
        fleet.count, fleet.count == 1 ? "" : "s", Percent(fleet.busy),
        fleet.streams, fleet.waiting_for_credit, fleet.waiting_for_memory));
  }
  double total = 0;
  for (const Step& step : input.steps) total += step.wall_s;
  for (const Step& step : input.steps) {
    if (total <= 0 || step.wall_s < total / 20) continue;
    evidence.push_back(fmt::format(
        "{} takes {} of the workers' time, {} of it on a core", step.name,
        Percent(step.wall_s / total), Percent(step.cpu_s / step.wall_s)));
  }
  return evidence;
}

Verdict Nothing(std::string sentence) {
  Verdict verdict;
  verdict.sentence = std::move(sentence);
  return verdict;
}

Verdict Of(BoundBy bound, std::string where, double gain,
           std::string sentence) {
  Verdict verdict;
  verdict.bound_by = bound;
  verdict.where = std::move(where);
  verdict.gain = gain;
  verdict.sentence = std::move(sentence);
  return verdict;
}

// The verdict if no reader waits for data: the client's steps or the consumer
// are the bound.
Verdict WithoutWait(const VerdictInput& input) {
  const auto slowest =
      std::max_element(input.readers.begin(), input.readers.end(),
                       [](const Reader& a, const Reader& b) {
                         return StageShare(a) < StageShare(b);
                       });
  if (StageShare(*slowest) >= kStageNoticed) {
    const double gain = GainOf(StageShare(*slowest));
    return Of(BoundBy::kClientStage, slowest->name, gain,
              fmt::format("bound by the steps that run in {}: they take {} of "
                          "its time; without them it would be {}",
                          NameOf(*slowest, input),
                          Percent(StageShare(*slowest)), GainText(gain)));
  }
  // Ranks that work in lockstep are as fast as the rank with the least wait.
  const auto busiest =
      std::min_element(input.readers.begin(), input.readers.end(),
                       [](const Reader& a, const Reader& b) {
                         return WaitShare(a) < WaitShare(b);
                       });
  const double data = WaitShare(*busiest) + StageShare(*busiest);
  if (busiest->elements == 0) {
    return Of(BoundBy::kConsumer, busiest->name, GainOf(1 - data),
              fmt::format("bound by the trainer: {} has asked for nothing in "
                          "the last {:.0f} s",
                          NameOf(*busiest, input), busiest->elapsed_s));
  }
  return Of(BoundBy::kConsumer, busiest->name, GainOf(1 - data),
            fmt::format("bound by the trainer: {} waits for data {} of its "
                        "time; data would allow it to be {}",
                        NameOf(*busiest, input), Percent(WaitShare(*busiest)),
                        GainText(GainOf(1 - data))));
}

// True if one worker delays the others.
bool IsStuck(const Reader& reader, const FleetLoad& fleet) {
  return fleet.count > 1 && !reader.head_worker.empty() &&
         reader.head_s >= kStuck;
}

bool WaitForCredit(const FleetLoad& fleet) {
  return fleet.streams > 0 &&
         fleet.waiting_for_credit >= kWaitingStreams * fleet.streams;
}

// True if some records take far longer than others: the reader waited long for
// one element, and workers have made later elements, which wait. All workers
// may be busy meanwhile, each with such a record.
bool IsSkewed(const Reader& reader, const FleetLoad& fleet) {
  if (fleet.count < 2 || reader.head_worker.empty() || reader.elapsed_s <= 0) {
    return false;
  }
  const double rate = static_cast<double>(reader.elements) / reader.elapsed_s;
  // Without an element in the window, many later ones must wait.
  const bool overtaken = reader.elements == 0
                             ? WaitForCredit(fleet)
                             : rate * reader.longest_wait_s >= kOvertaken;
  return reader.longest_wait_s >= kLongWait && overtaken &&
         fleet.waiting_for_credit >= kHeldUp * fleet.streams;
}

// True if another reader of the job gets elements far faster. The workers can
// make them then, so steps do not explain the reader's wait.
bool IsOutpaced(const Reader& reader, const VerdictInput& input) {
  const auto rate = [](const Reader& each) {
    return each.elapsed_s <= 0
               ? 0
               : static_cast<double>(each.elements) / each.elapsed_s;
  };
  return std::any_of(input.readers.begin(), input.readers.end(),
                     [&](const Reader& other) {
                       return rate(other) > kOutpaced * rate(reader);
                     });
}

Verdict CostlyRecords(const Reader& reader, const std::string& waits,
                      double gain) {
  return Of(BoundBy::kWorkers, reader.head_worker, gain,
            fmt::format("{}: it waited {:.1f} s for one element while later "
                        "ones were made; worker {} has the costliest records, "
                        "or is slower than the others ({})",
                        waits, reader.longest_wait_s, reader.head_worker,
                        GainText(gain)));
}

// The verdict if workers have made elements that wait to be sent.
Verdict SlowLink(const Reader& reader, const std::string& waits, double gain) {
  return Of(BoundBy::kLink, reader.name, gain,
            fmt::format("{}: workers have made its next elements and wait to "
                        "send more; the way between them (a network, or a "
                        "machine that is busy) is the bound ({})",
                        waits, GainText(gain)));
}

// Returns the step that took most of the workers' time; null if none is known.
const Step* LongestStep(const VerdictInput& input, double& total) {
  const Step* most = nullptr;
  for (const Step& step : input.steps) {
    total += step.wall_s;
    if (most == nullptr || step.wall_s > most->wall_s) most = &step;
  }
  return most;
}

// True if there are no more positions than threads, and about as many threads
// are busy for the job as it has positions.
bool LacksPositions(const VerdictInput& input, const FleetLoad& fleet) {
  const auto positions = static_cast<double>(input.positions);
  return input.positions > 0 && positions <= fleet.threads &&
         fleet.busy * fleet.threads * fleet.share >= kBusy * positions;
}

Verdict FewPositions(const VerdictInput& input, const std::string& waits,
                     double gain) {
  double total = 0;
  const Step* const most = LongestStep(input, total);
  return Of(
      BoundBy::kPositions, most == nullptr ? "" : most->name, gain,
      fmt::format(
          "{}: its source has {} position{}, and one worker makes each, "
          "so that more workers do not help{} ({})",
          waits, input.positions, input.positions == 1 ? "" : "s",
          most == nullptr ? ""
                          : fmt::format("; {} takes {} of the time", most->name,
                                        Percent(most->wall_s / total)),
          GainText(gain)));
}

// The verdict if the workers are busy: names the main use of their time.
Verdict BusyWorkers(const VerdictInput& input, const Reader& reader,
                    const FleetLoad& fleet, const std::string& waits,
                    double gain) {
  if (fleet.share < kMinOwnShare) {
    return Of(
        BoundBy::kWorkers, "", gain,
        fmt::format("{}: the workers are busy, and only {} of their "
                    "work is for this job; give it more weight, or add workers "
                    "on machines with free cores ({})",
                    waits, Percent(fleet.share), GainText(gain)));
  }
  if (const Straggler slow = StragglerOf(input.workers);
      slow.worker != nullptr) {
    return Of(
        BoundBy::kWorkers, slow.worker->name, slow.gain,
        fmt::format("{}: worker {} is {} slower than the others, or has "
                    "the costliest records; if it kept up, the job would be "
                    "{}",
                    waits, slow.worker->name,
                    slow.times >= 100 ? "many times"
                                      : fmt::format("{:.1f} times", slow.times),
                    GainText(slow.gain)));
  }
  if (IsSkewed(reader, fleet)) return CostlyRecords(reader, waits, gain);
  double total = 0;
  const Step* const most = LongestStep(input, total);
  if (most == nullptr || most->wall_s < kDominant * total) {
    return Of(
        BoundBy::kWorkers, "", gain,
        fmt::format("{}: the {} workers use {} of their threads, and no "
                    "step takes most of it; add workers on machines with free "
                    "cores ({})",
                    waits, fleet.count, Percent(fleet.busy), GainText(gain)));
  }
  const bool blocked = most->cpu_s < kBlocked * most->wall_s;
  return Of(
      most->source ? BoundBy::kSource : BoundBy::kStep, most->name, gain,
      fmt::format("{}: {} takes {} of the workers' time{}; make it "
                  "cheaper or add workers on machines with free cores ({})",
                  waits, most->name, Percent(most->wall_s / total),
                  blocked ? ", mostly waiting rather than computing" : "",
                  GainText(gain)));
}

Verdict WithWait(const VerdictInput& input, const Reader& reader,
                 const FleetLoad& fleet) {
  const double gain = GainOf(WaitShare(reader));
  const std::string waits =
      fmt::format("{} waits for data {} of its time", NameOf(reader, input),
                  Percent(WaitShare(reader)));
  if (fleet.count == 0) {
    return Of(BoundBy::kWorkers, "", gain,
              fmt::format("{}: there are no workers; start some", waits));
  }
  if (LacksPositions(input, fleet)) return FewPositions(input, waits, gain);
  // Tasks that end, and have hardly worked: they wait for cores.
  if (fleet.worked < kHardlyWorked && fleet.progress >= kEnding &&
      WaitForCredit(fleet) && !IsStuck(reader, fleet) &&
      !IsSkewed(reader, fleet)) {
    return SlowLink(reader, waits, gain);
  }
  if (IsOutpaced(reader, input) &&
      fleet.waiting_for_credit >= kHeldUp * fleet.streams &&
      !IsStuck(reader, fleet) && !IsSkewed(reader, fleet)) {
    return SlowLink(reader, waits, gain);
  }
  if (fleet.busy >= kBusy) {
    return BusyWorkers(input, reader, fleet, waits, gain);
  }
  if (fleet.streams > 0 &&
      fleet.waiting_for_memory >= kWaitingStreams * fleet.streams) {
    return Of(BoundBy::kWorkers, "memory", gain,
              fmt::format("{}: workers have no memory left for more elements; "
                          "raise their --memory ({})",
                          waits, GainText(gain)));
  }
  // With deterministic order one slow worker delays all workers: the other
  // workers have made the later elements and may not send more.
  const Worker* const busiest = fleet.busiest;
  const bool stuck = IsStuck(reader, fleet) || IsSkewed(reader, fleet);
  const bool uneven = fleet.count > 1 && busiest != nullptr &&
                      busiest->busy >= kBusy && fleet.others_busy < kIdle;
  if (fleet.count > 1 && (uneven || stuck)) {
    const std::string where = uneven ? busiest->name : reader.head_worker;
    return Of(BoundBy::kWorkers, where, gain,
              fmt::format("{}: worker {} is behind while the others have {} of "
                          "their threads free; it is slower than they are, or "
                          "has the costliest records ({})",
                          waits, where, Percent(1 - fleet.others_busy),
                          GainText(gain)));
  }
  // Elements made ahead of the head wait for credit, too. Waiting for credit
  // alone is therefore no sign of a slow link.
  if (fleet.busy >= kIdle) {
    return BusyWorkers(input, reader, fleet, waits, gain);
  }
  if (WaitForCredit(fleet)) return SlowLink(reader, waits, gain);
  if (input.dispatcher_busy >= kBusy) {
    return Of(
        BoundBy::kDispatcher, "", gain,
        fmt::format("{}: the dispatcher's thread is busy {} of the time, "
                    "and workers wait for work ({})",
                    waits, Percent(input.dispatcher_busy), GainText(gain)));
  }
  if (input.splits_without_lease > 0 && fleet.streams < 1) {
    return Of(BoundBy::kDispatcher, "", gain,
              fmt::format("{}: {} splits wait to be given to workers that "
                          "have threads free ({})",
                          waits, input.splits_without_lease, GainText(gain)));
  }
  return Of(BoundBy::kLink, reader.name, gain,
            fmt::format("{}: workers use {} of their threads; what is between "
                        "them and the reader is the bound ({})",
                        waits, Percent(fleet.busy), GainText(gain)));
}

// The verdict on a reader that cannot reach a worker.
Verdict CutOff(const VerdictInput& input, const Reader& reader) {
  return Of(BoundBy::kLink, reader.unreachable, 0,
            fmt::format("{} cannot reach worker {}: check the worker's "
                        "--advertise and its port, or read with --via "
                        "dispatcher",
                        NameOf(reader, input), reader.unreachable));
}

Verdict Decide(const VerdictInput& input, const FleetLoad& fleet) {
  if (input.over) return Nothing("the job is over");
  if (input.waits_for.starts_with("rank")) {
    return Of(BoundBy::kConsumer, input.waits_for, 0,
              fmt::format("the job waits for {}", input.waits_for));
  }
  if (!input.waits_for.empty() && input.waits_for == "a worker") {
    return Of(BoundBy::kWorkers, "", 0,
              "the job waits for a worker: there is none; start some");
  }
  if (!input.planned) {
    return Of(BoundBy::kSource, "", 0,
              "the job has not begun: a worker lists its files");
  }
  if (input.readers.empty()) {
    return Nothing(input.waits_for.empty()
                       ? "no reader has reported for some seconds"
                       : "the job waits for " + input.waits_for);
  }
  for (const Reader& reader : input.readers) {
    if (!reader.unreachable.empty()) return CutOff(input, reader);
  }
  const auto longest =
      std::max_element(input.readers.begin(), input.readers.end(),
                       [](const Reader& a, const Reader& b) {
                         return WaitShare(a) < WaitShare(b);
                       });
  // The reader's own steps take longer than its wait.
  const bool in_steps = StageShare(*longest) > WaitShare(*longest) &&
                        StageShare(*longest) >= kStageNoticed;
  Verdict verdict = WaitShare(*longest) < kWaitNoticed || in_steps
                        ? WithoutWait(input)
                        : WithWait(input, *longest, fleet);
  verdict.measured = fleet.count > 0;
  return verdict;
}

}  // namespace

const char* BoundName(BoundBy bound) {
  switch (bound) {
    case BoundBy::kNone:
      return "none";
    case BoundBy::kSource:
      return "source";
    case BoundBy::kStep:
      return "step";
    case BoundBy::kPositions:
      return "positions";
    case BoundBy::kWorkers:
      return "workers";
    case BoundBy::kLink:
      return "link";
    case BoundBy::kClientStage:
      return "client_stage";
    case BoundBy::kConsumer:
      return "consumer";
    case BoundBy::kDispatcher:
      return "dispatcher";
  }
  return "none";
}

Verdict Judge(const VerdictInput& input) {
  const FleetLoad fleet = FleetOf(input.workers);
  Verdict verdict = Decide(input, fleet);
  verdict.evidence = EvidenceOf(input, fleet);
  return verdict;
}

}  // namespace feedmill
