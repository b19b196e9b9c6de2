#ifndef FEEDMILL_CORE_BASE_GAIN_H_
#define FEEDMILL_CORE_BASE_GAIN_H_

#include <string>

namespace feedmill {

// Parts of the sentences that say what bounds a read.

// A reader that waits for a smaller part of its time does not count as waiting.
inline constexpr double kWaitNoticed = 0.1;
// Larger speedups are given as this one.
inline constexpr double kGainMax = 1000;

// Returns the speedup without a bound that takes `part` of the time, 0 to 1.
double GainOf(double part);
// Returns "up to 2.5 times faster" or "many times faster".
std::string GainText(double gain);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_GAIN_H_
