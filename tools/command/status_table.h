#ifndef FEEDMILL_TOOLS_COMMAND_STATUS_TABLE_H_
#define FEEDMILL_TOOLS_COMMAND_STATUS_TABLE_H_

#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// A dispatcher's status (a JSON object) for people: its plain values first,
// one a line, then a table for each list of objects, with the objects' keys
// as columns. Keys that are not known here are shown like any other, so an
// older command can show a newer service. Internal for other text.
absl::StatusOr<std::string> StatusTable(const std::string& json);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_STATUS_TABLE_H_
