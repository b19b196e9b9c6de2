#ifndef FEEDMILL_BROKER_FLEET_SCALE_H_
#define FEEDMILL_BROKER_FLEET_SCALE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "broker/autoscaler.h"
#include "broker/dispatcher_context.h"
#include "broker/job_verdicts.h"

namespace feedmill {

// Asks the autoscaler, with the figures of the present fleet and jobs, how many
// workers are wanted. Pure.
class FleetScale {
 public:
  // The references must outlive this object.
  FleetScale(DispatcherContext& context, const JobVerdicts& verdicts)
      : context_(context),
        verdicts_(verdicts),
        autoscaler_(context.settings.scale) {}

  // Continues with the findings that the state has of an earlier dispatcher.
  void Restore(absl::Time now);
  // Decides again if it is time.
  void Look(absl::Time now);
  // Returns the wanted number of workers if it changed since the last call.
  std::optional<uint64_t> TakeChange() {
    return std::exchange(changed_, std::nullopt);
  }
  const Autoscaler& autoscaler() const { return autoscaler_; }
  // Returns the wishes of the job; null if there are none yet.
  const JobScale* Find(const JobState& job) const;

 private:
  ScaleFigures FiguresOf(absl::Time now, uint64_t workers) const;

  DispatcherContext& context_;
  const JobVerdicts& verdicts_;
  Autoscaler autoscaler_;
  std::optional<uint64_t> changed_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_FLEET_SCALE_H_
