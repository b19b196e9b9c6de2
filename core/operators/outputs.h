#ifndef FEEDMILL_CORE_OPERATORS_OUTPUTS_H_
#define FEEDMILL_CORE_OPERATORS_OUTPUTS_H_

#include <string>

#include "core/dataset/fields.h"

namespace feedmill {

// Return a short list of the outputs or feature names, for --explain.
std::string DescribeOutputs(const Outputs& outputs);
std::string DescribeFeatures(const Features& features);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_OUTPUTS_H_
