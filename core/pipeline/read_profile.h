#ifndef FEEDMILL_CORE_PIPELINE_READ_PROFILE_H_
#define FEEDMILL_CORE_PIPELINE_READ_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace feedmill {

// Where the time of a read goes: to the source, to each step, to waiting …
// Threads measure what they do in lanes of their own, each moment for one place
// only; a thread without a lane measures nothing, which costs nothing. Time in
// which a thread was ready to run and had no core (run_delay.h) is summed
// apart: a place is charged for time on a core or blocked, on a busy machine
// too.
//
//   ReadProfile profile;
//   {
//     const ReadProfile::Use use(profile.AddLane(ReadProfile::Role::kReads));
//     … reads, on this thread …
//   }
//   profile.Sum();
//
// Thread-safety: AddLane from any thread; Sum when no lane is in use any more.
class ReadProfile {
 public:
  // The places that are no steps; step k of all as written (those of inputs
  // stand before those of the whole) is kSteps + k.
  enum Place : size_t { kRest, kSource, kChunks, kWaiting, kOutput, kSteps };
  struct Cost {
    double wall_s = 0;  // on a core or blocked
    double cpu_s = 0;
    uint64_t rows_in = 0;
    uint64_t rows_out = 0;
    uint64_t bytes_out = 0;
  };
  // What the threads of a lane are there for: the one that reads, or those that
  // make what it reads.
  enum class Role { kReads, kMakes };

  class Lane {
   public:
    // The calling thread's; null: it measures nothing.
    static Lane* Current() { return current_; }
    // What this thread does from now on is for `place`; returns what it was
    // for until now.
    size_t Enter(size_t place);
    Cost& At(size_t place);  // the counts of it
    size_t place() const { return place_; }
    // By place, once it is in use no more.
    const std::vector<Cost>& costs() const { return costs_; }
    // Seconds ready to run without a core; no place is charged for them.
    double ready_s() const { return ready_s_; }

   private:
    friend class ReadProfile;
    void Begin();
    void Charge();

    static constinit thread_local Lane* current_;
    std::vector<Cost> costs_;
    size_t place_ = kRest;
    double wall_s_ = 0;  // when it was charged last
    double cpu_s_ = 0;
    double delay_s_ = 0;     // the thread's run delay when it was read last
    double off_core_s_ = 0;  // time off the core since then
    double ready_s_ = 0;
  };

  // Gives the calling thread a lane, or null, until the end of this.
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
  // What a worker elsewhere took for `place`. Any thread.
  void AddWork(size_t place, const Cost& cost);

  struct Sums {
    double elapsed_s = 0;      // since this was made
    double process_cpu_s = 0;  // of all threads of the process
    size_t makers = 0;         // lanes of that role
    // Seconds in which the lanes' threads were ready to run without a core.
    double reads_ready_s = 0;
    double makes_ready_s = 0;
    std::vector<Cost> reads;  // by place; as long as makes
    std::vector<Cost> makes;
    std::vector<Cost> works;  // by workers elsewhere
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

// The number by which frames name a place of a worker (StepCost::place), and
// back; nullopt for one that no frame names.
std::optional<uint32_t> FramePlaceOf(size_t place);
size_t PlaceOfFrame(uint32_t frame_place);

// The calling thread works for `place` until the end of this.
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

  // Whether it is measured: then what is counted may be found out.
  explicit operator bool() const { return lane_ != nullptr; }
  ReadProfile::Lane* operator->() const { return lane_; }

 private:
  ReadProfile::Lane* const lane_;
  size_t before_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_READ_PROFILE_H_
