#ifndef FEEDMILL_CORE_OPERATORS_OUTPUTS_H_
#define FEEDMILL_CORE_OPERATORS_OUTPUTS_H_

#include <string>

#include "core/dataset/fields.h"

namespace feedmill {

// The outputs or the names of features, short, for --explain.
std::string DescribeOutputs(const Outputs& outputs);
std::string DescribeFeatures(const Features& features);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_OUTPUTS_H_
