#ifndef FEEDMILL_TESTS_SIM_PLANTED_BUGS_H_
#define FEEDMILL_TESTS_SIM_PLANTED_BUGS_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/simulation.h"

namespace feedmill::sim {

// Typical mistakes in a delivery protocol, as subclasses of the real state
// machines. They test the simulation: it must find each of them.
struct PlantedBug {
  std::string name;
  std::string rule;  // of tests/model/README.md
  Makers makers;
};
const std::vector<PlantedBug>& PlantedBugs();

// Returns the bug of that name, or null.
const PlantedBug* FindBug(const std::string& name);

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_PLANTED_BUGS_H_
