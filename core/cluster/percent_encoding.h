#ifndef FEEDMILL_CORE_CLUSTER_PERCENT_ENCODING_H_
#define FEEDMILL_CORE_CLUSTER_PERCENT_ENCODING_H_

#include <string>
#include <string_view>

namespace feedmill {

// Returns the text with all bytes but letters, digits, '-', '.', '_' and '~' as
// %XX.
std::string PercentEncode(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CLUSTER_PERCENT_ENCODING_H_
