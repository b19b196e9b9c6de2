#ifndef FEEDMILL_CORE_IO_URL_OPTIONS_H_
#define FEEDMILL_CORE_IO_URL_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

// Options behind the name of an object: "?region=eu-west-1&anonymous=true" of
// "s3://bucket/a.csv?region=eu-west-1&anonymous=true".

// Returns the position of the '?' that begins options; the end if there are
// none. A '?' followed by NAME=VALUE, without '/' and '*', begins options; any
// other '?' is part of the name.
size_t FindUrlOptions(std::string_view name);

// Returns the name of an object with options, or none (""). Without options, a
// '?' of the name that would begin some is written "[?]".
std::string JoinUrlOptions(std::string name, std::string_view options);
// Returns the name as it was before JoinUrlOptions. REQUIRES: no options.
std::string NameWithoutEscape(std::string name);

// Splits options, without their '?', into names and decoded values.
// InvalidArgument if an option has no value.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>>
ParseUrlOptions(std::string_view text);

// Parses "1", "true", "YES" and so on.
std::optional<bool> ParseFlag(std::string text);

// Parses "localhost:9000" or "http://localhost:9000". Adds the scheme and
// removes trailing slashes. InvalidArgument calls the text `what`.
absl::StatusOr<std::string> ParseEndpoint(std::string_view text,
                                          std::string_view scheme,
                                          std::string_view what);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_URL_OPTIONS_H_
