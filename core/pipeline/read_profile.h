#ifndef FEEDMILL_CORE_PIPELINE_READ_PROFILE_H_
#define FEEDMILL_CORE_PIPELINE_READ_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/pipeline/lane_clock.h"

namespace feedmill {

// Measures how a read spends its time: in the source, in each step, in waiting,
// … Threads measure in a Lane of their own, each moment for one place. A thread
// without one measures nothing, at no cost.
// Time in which a thread was ready to run but had no core (run_delay.h) is
// counted separately. So a place is charged only for time on a core or blocked,
// also on a busy machine.
//
//   ReadProfile profile;
//   {
//     const ReadProfile::Use use(profile.AddLane(ReadProfile::Role::kReads));
//     … reads, on this thread …
//   }
//   profile.Sum();
//
// Thread-safety: AddLane from any thread; Sum when no Lane is in use any more.
class ReadProfile {
 public:
  // Places that are not steps. Step k as written is kSteps + k; steps of inputs
  // come before the steps of the whole pipeline.
  enum Place : size_t { kRest, kSource, kChunks, kWaiting, kOutput, kSteps };
  struct Cost {
    double wall_s = 0;  // on a core or blocked
    double cpu_s = 0;
    uint64_t rows_in = 0;
    uint64_t rows_out = 0;
    uint64_t bytes_out = 0;

    Cost& operator+=(const Cost& other);
  };
  // The role of a Lane's thread: it reads, or it makes elements for the reader.
  enum class Role { kReads, kMakes };

  class Lane {
   public:
    // The calling thread's Lane; null if it measures nothing.
    static Lane* Current() { return current_; }
    // Charges time from now on to `place`; returns the previous place.
    size_t Enter(size_t place);
    Cost& At(size_t place);  // counts of `place`
    size_t place() const { return place_; }
    // Adds what another thread measured while it worked for this one.
    void Add(const std::vector<Cost>& costs);
    // Costs by place. Valid once the Lane is not in use.
    const std::vector<Cost>& costs() const { return costs_; }
    // Seconds ready to run without a core, charged to no place.
    double ready_s() const { return ready_s_; }

   private:
    friend class ReadProfile;
    void Begin();
    void Charge();

    static constinit thread_local Lane* current_;
    std::vector<Cost> costs_;
    size_t place_ = kRest;
    LaneClock clock_;  // its interval begins at the last charge
    double ready_s_ = 0;
  };

  // Gives the calling thread a Lane, or null, until this object ends.
  class Use {
   public:
    explicit Use(Lane* lane);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Lane* const lane_;
    Lane* const before_;
  };

  ReadProfile();
  Lane* AddLane(Role role);
  // Adds the cost of `place` on a remote worker. Any thread.
  void AddWork(size_t place, const Cost& cost);

  struct Sums {
    double elapsed_s = 0;      // since construction
    double process_cpu_s = 0;  // of all threads of the process
    size_t makers = 0;         // number of Lanes with role kMakes
    // Seconds in which threads of each role were ready to run without a core.
    double reads_ready_s = 0;
    double makes_ready_s = 0;
    std::vector<Cost> reads;  // by place; same length as makes
    std::vector<Cost> makes;
    std::vector<Cost> works;  // of remote workers
  };
  Sums Sum() const;

 private:
  struct Owned {
    Role role;
    std::unique_ptr<Lane> lane;
  };
  const double begun_s_;
  const double begun_cpu_s_;
  mutable std::mutex mutex_;
  std::vector<Owned> lanes_;  // guarded by mutex_
  std::vector<Cost> works_;   // likewise
};

// FramePlaceOf returns the number of a worker's place in frames
// (StepCost::place), nullopt if it has none. PlaceOfFrame is its inverse.
std::optional<uint32_t> FramePlaceOf(size_t place);
size_t PlaceOfFrame(uint32_t frame_place);

// Charges the calling thread's time to `place` until this object ends.
class ProfileSpan {
 public:
  explicit ProfileSpan(size_t place) : lane_(ReadProfile::Lane::Current()) {
    if (lane_ != nullptr) [[unlikely]]
      before_ = lane_->Enter(place);
  }
  ~ProfileSpan() {
    if (lane_ != nullptr) [[unlikely]]
      lane_->Enter(before_);
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

  // True if the thread measures, so that counting is worthwhile.
  explicit operator bool() const { return lane_ != nullptr; }
  ReadProfile::Lane* operator->() const { return lane_; }

 private:
  ReadProfile::Lane* const lane_;
  size_t before_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_READ_PROFILE_H_
