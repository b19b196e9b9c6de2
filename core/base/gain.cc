#include "core/base/gain.h"

#include <fmt/format.h>

#include <algorithm>

namespace feedmill {

double GainOf(double part) {
  const double rest = 1 - std::clamp(part, 0.0, 1.0);
  return std::min(kGainMax, rest <= 0 ? kGainMax : 1 / rest);
}

std::string GainText(double gain) {
  if (gain >= 100) return "many times faster";
  return fmt::format("up to {:.1f} times faster", gain);
}

}  // namespace feedmill
