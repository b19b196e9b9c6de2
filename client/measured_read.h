#ifndef FEEDMILL_CLIENT_MEASURED_READ_H_
#define FEEDMILL_CLIENT_MEASURED_READ_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/dataset/analysis.h"
#include "core/pipeline/read_profile.h"
#include "feedmill/reader.h"

namespace feedmill {

// The measurements of a Profile (reader.h), and the read that they are of.
struct MeasuredRead {
  // Shared by the readers, for as long as they live.
  std::shared_ptr<ReadProfile> profile = std::make_shared<ReadProfile>();
  // The pipeline of the readers; null before the first one.
  std::shared_ptr<const AnalyzedGraph> graph;
  bool local = true;  // they make the elements in this process
  // Names the time between calls of the readers.
  std::string output = "the application";
  std::string verdict{};  // of the dispatcher; "": unknown
};

// Returns the measurements of ReadHooks::profile; null if it is not set.
std::shared_ptr<ReadProfile> MeasurementsOf(const ReadHooks& hooks);

// Measures the thread that reads: its time in calls of the reader, and the time
// between these calls.
//
// Thread-safety: one thread at a time.
class ReadingLane {
 public:
  // Null: measures nothing.
  explicit ReadingLane(std::shared_ptr<ReadProfile> profile)
      : profile_(std::move(profile)),
        lane_(profile_ == nullptr
                  ? nullptr
                  : profile_->AddLane(ReadProfile::Role::kReads)) {}

  // Measures the calling thread until it is destroyed. Does nothing if the
  // application measures that thread itself.
  class Call {
   public:
    explicit Call(ReadingLane& lane);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    ReadingLane* const lane_;  // null: not measured
    std::optional<ReadProfile::Use> use_;
  };

 private:
  // A thread's clocks at a moment.
  struct Moment {
    std::thread::id thread;
    double wall_s = 0;
    double cpu_s = 0;
    static Moment Now();
  };

  const std::shared_ptr<ReadProfile> profile_;
  ReadProfile::Lane* const lane_;
  std::optional<Moment> left_;  // the end of the last call
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_MEASURED_READ_H_
