#ifndef FEEDMILL_CORE_OPERATORS_MIXTURE_SHARES_H_
#define FEEDMILL_CORE_OPERATORS_MIXTURE_SHARES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/combining_sources.h"
#include "core/plan/mixture_schedule.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// Returns the weights of a mixture as integers without a common divisor, for
// each of its phases. Weights are taken as written decimals, so that 0.7 and
// 0.3 become 7 and 3. InvalidArgument if a weight is not a positive number
// (with changes it may be 0), or if the integers sum up to more than 2^20.
absl::StatusOr<std::vector<MixtureShares>> SharesOfMixture(
    const MixtureSource& source);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_MIXTURE_SHARES_H_
