#ifndef FEEDMILL_CORE_DATASET_NEAREST_NAME_H_
#define FEEDMILL_CORE_DATASET_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// The name that `name` most likely is a misspelling of, or "" if none is near:
// letters swapped, missing, added or changed, at most one in three. The first
// of equally near ones.
std::string NearestName(std::string_view name,
                        const std::vector<std::string_view>& known);

// "; did you mean \"batch\"?", or "" if none is near: to end a message with.
std::string DidYouMean(std::string_view name,
                       const std::vector<std::string_view>& known);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_NEAREST_NAME_H_
