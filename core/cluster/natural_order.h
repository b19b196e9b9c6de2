#ifndef FEEDMILL_CORE_CLUSTER_NATURAL_ORDER_H_
#define FEEDMILL_CORE_CLUSTER_NATURAL_ORDER_H_

#include <string_view>

namespace feedmill {

// Names by their letters, and where these are equal so far, by their numbers:
// algo-9 before algo-10. A total order.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_NATURAL_ORDER_H_
