#include "core/pipeline/lane_clock.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr double kOffCoreChecked = 100e-6;  // seconds

}  // namespace

void LaneClock::Begin(double cpu_s, double delay_s, double wall_s) {
  cpu_s_ = cpu_s;
  delay_s_ = delay_s;
  wall_s_ = wall_s;
  off_core_s_ = 0;
}

LaneClock::Interval LaneClock::End(double cpu_s, double wall_s,
                                   absl::FunctionRef<double()> run_delay) {
  const double elapsed = wall_s - wall_s_;
  const double cpu = cpu_s - cpu_s_;
  const double off_core = std::max(0.0, elapsed - cpu);
  off_core_s_ += off_core;
  double ready = 0;
  if (off_core_s_ > kOffCoreChecked) [[unlikely]] {
    const double delay = run_delay();
    const double grown = delay - delay_s_;
    ready = std::clamp(grown, 0.0, off_core);
    delay_s_ = delay - std::max(0.0, grown - off_core_s_);
    off_core_s_ = 0;
  }
  cpu_s_ = cpu_s;
  wall_s_ = wall_s;
  return {elapsed - ready, cpu, ready};
}

}  // namespace feedmill
