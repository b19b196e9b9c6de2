#ifndef FEEDMILL_CORE_DATASET_NEAREST_NAME_H_
#define FEEDMILL_CORE_DATASET_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// Returns the known name of which `name` is most likely a misspelling, or "" if
// none is near. Near means: letters swapped, missing, added or changed, at most
// one in three. Of equally near names, the first.
std::string NearestName(std::string_view name,
                        const std::vector<std::string_view>& known);

// Returns "; did you mean \"batch\"?" as the end of a message, or "" if no name
// is near.
std::string DidYouMean(std::string_view name,
                       const std::vector<std::string_view>& known);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_NEAREST_NAME_H_
