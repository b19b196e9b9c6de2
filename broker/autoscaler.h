#ifndef FEEDMILL_BROKER_AUTOSCALER_H_
#define FEEDMILL_BROKER_AUTOSCALER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "broker/scale_memory.h"
#include "broker/verdict.h"
#include "feedmill/dispatcher.h"

// Computes the number of workers that the jobs need. Pure: a function of the
// figures that it is given and of the time. docs/autoscaling.md explains the
// rules.

namespace feedmill {

// Figures of the service at one time.
struct ScaleFigures {
  struct Job {
    std::string name;  // "" stands for all jobs without a name together
    uint64_t readers = 0;
    // Sums over all readers since they began.
    double reader_s = 0;
    double waited_s = 0;
    uint64_t elements = 0;
    // Workers' worth of threads that work for the job now.
    double busy_workers = 0;
    BoundBy bound_by = BoundBy::kNone;
  };
  uint64_t workers = 0;  // workers that do not drain
  double busy = 0;       // part of their threads that has work, 0 to 1
  std::vector<Job> jobs;
};

// The outcome for one job.
struct JobScale {
  uint64_t workers_wanted = 0;  // share of all wanted workers, rounded up
  double waits = 0;             // part of its readers' time, 0 to 1
  // False if the job waits and more workers would not change that.
  bool more_workers_help = true;
  std::string reason;  // a sentence
};

class Autoscaler {
 public:
  explicit Autoscaler(ScaleSettings settings);

  // Continues from the state of another autoscaler. Wants its number at once,
  // and gives the workers `start_time` to register.
  void Restore(absl::Time now, const ScaleMemory& memory);
  ScaleMemory Remember() const;

  // True if Look must be called now. Cheap enough to call in every tick.
  bool Due(absl::Time now, uint64_t workers) const;
  // Adds the figures to the measurement, and decides if it is complete. Returns
  // a sentence for the log if the wanted number of workers changed.
  std::optional<std::string> Look(absl::Time now, const ScaleFigures& figures);

  // Nullopt before the first decision, while there are too few figures.
  std::optional<uint64_t> workers_wanted() const { return wanted_; }
  const ScaleSettings& settings() const { return settings_; }
  // Reason for the wanted number; "" before the first decision.
  const std::string& reason() const { return reason_; }
  // Number of changes of the wanted number since the start.
  uint64_t changes() const { return changes_; }
  // Null if the job is not known.
  const JobScale* FindJob(const std::string& name) const;

 private:
  // A job's figures when the fleet grew because of it.
  struct Trial {
    double busy_workers = 0;
    double rate = 0;
    double spread = 0;
    double part = 0;  // the job's part of the fleet, in workers
  };
  // Increases of the number of elements between the looks of a measurement.
  struct Samples {
    uint64_t last = 0;  // elements at the last look
    double count = 0;
    double sum = 0;
    double squares = 0;

    void Add(uint64_t elements);
    // Standard error of the rate, relative to the rate: about 1 / sqrt(n) if
    // the elements come in n bursts. Infinity without elements.
    double Spread() const;
  };
  // A number of workers above which workers hindered each other.
  struct Ceiling {
    double need = 0;
    double rate = 0;
    absl::Time until;
    double spread = 0;  // relative standard error of the rate
    int slow_looks = 0;
  };
  struct Memory {
    double reader_s = 0;
    double waited_s = 0;
    uint64_t elements = 0;
    Samples samples{};
    // The readers waited from the beginning of the measurement on. If not, they
    // took buffered elements, and the rate is more than the workers made.
    bool waited_from_start = false;
    std::optional<Trial> trial{};
    std::optional<Ceiling> ceiling{};
    double cost_best = 0;    // seconds of workers per element; 0: not known
    double cost_spread = 0;  // relative standard error of cost_best
    absl::Duration hold;     // time that the next ceiling holds
    JobScale scale{};
  };
  // Figures of a job since the last look.
  struct Measured {
    const ScaleFigures::Job* job = nullptr;
    Memory* memory = nullptr;
    double rate = 0;
    double spread = 0;  // relative standard error of the rate
    double waits = 0;
    double busy_workers = 0;
    double part = 0;      // its part of the present fleet, in workers
    bool wishes = false;  // the job waits, and the workers are busy
    double need = 0;      // workers that it needs, if it wishes for more
    double low = 0;       // workers with which it is certainly as fast
    // Seconds of workers per element before the fleet grew, of a job whose
    // elements come in lumps; 0: not known, or no growth was judged.
    double cost = 0;
  };

  absl::Duration SampleTime() const;
  void Rebase(absl::Time now, const ScaleFigures& figures);
  void Sample(absl::Time now, const ScaleFigures& figures);
  bool MeasuresOn(absl::Time now, const ScaleFigures& figures);
  void NoteBursts(absl::Time now, const ScaleFigures& figures,
                  const std::vector<Measured>& jobs);
  Measured Measure(absl::Time now, const ScaleFigures& figures,
                   const ScaleFigures::Job& job);
  std::optional<std::string> Conclude(absl::Time now,
                                      const ScaleFigures& figures);
  void JudgeTrial(absl::Time now, Measured& measured, bool grew);
  static void CheckCeiling(absl::Time now, const Measured& measured);
  void Assess(const ScaleFigures& figures, Measured& measured) const;
  uint64_t Decide(absl::Time now, const ScaleFigures& figures,
                  std::vector<Measured>& jobs);
  uint64_t Grow(uint64_t workers, std::vector<Measured>& jobs);
  uint64_t Hold(absl::Time now, uint64_t workers,
                const std::vector<Measured>& jobs);
  void Share(const std::vector<Measured>& jobs);
  uint64_t Bounded(uint64_t workers) const;

  ScaleSettings settings_;
  std::map<std::string, Memory> jobs_;
  std::optional<uint64_t> wanted_;
  std::string reason_;
  uint64_t changes_ = 0;
  std::optional<uint64_t> fleet_;            // workers at the last look
  uint64_t grown_from_ = 0;                  // workers before the last growth
  absl::Time based_ = absl::InfinitePast();  // start of the measurement
  // Time before which nothing is measured: new workers do not send yet.
  absl::Time steady_ = absl::InfinitePast();
  // Estimated time in which a worker makes the elements that it sends at once.
  absl::Duration burst_ = absl::ZeroDuration();
  absl::Time next_ = absl::InfinitePast();
  absl::Time grown_ = absl::InfinitePast();
  bool wished_ = false;  // a job wished for workers at the last look
  bool knee_ = false;    // a job fell to its knee in this look
  // Sufficient numbers of workers, recorded while the fleet stayed the same.
  std::deque<std::pair<absl::Time, uint64_t>> lows_;
  absl::Time same_fleet_since_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_AUTOSCALER_H_
