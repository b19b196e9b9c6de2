#ifndef FEEDMILL_TESTS_UNIT_OPERATORS_EXAMPLE_STEPS_H_
#define FEEDMILL_TESTS_UNIT_OPERATORS_EXAMPLE_STEPS_H_

#include <vector>

#include "core/dataset/step.h"

namespace feedmill {

// Returns the step of each line of YAML that the descriptions of steps have. A
// line that is wrong fails the test.
std::vector<Step> ExampleSteps();

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_OPERATORS_EXAMPLE_STEPS_H_
