#ifndef FEEDMILL_STORES_HTTP_URL_H_
#define FEEDMILL_STORES_HTTP_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// OK if `name` can be the URL of a file. InvalidArgument for a folder, a name
// without host or path, or invalid bytes; says what to write instead.
absl::Status CheckUrl(std::string_view name);

// Returns the URL that `pattern` names: "[*]" and "[[]" of its path mean these
// characters, as in all patterns; "?" begins the query. InvalidArgument also
// for a pattern with wildcards.
absl::StatusOr<std::string> UrlOfPattern(std::string_view pattern);

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_URL_H_
