#ifndef FEEDMILL_CORE_CLUSTER_NATURAL_ORDER_H_
#define FEEDMILL_CORE_CLUSTER_NATURAL_ORDER_H_

#include <string_view>

namespace feedmill {

// Natural order: compares digits as numbers and other characters as text, so
// that algo-9 precedes algo-10. A total order.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_NATURAL_ORDER_H_
