#ifndef FEEDMILL_TOOLS_COMMAND_STATUS_TABLE_H_
#define FEEDMILL_TOOLS_COMMAND_STATUS_TABLE_H_

#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// Formats a dispatcher's status (a JSON object) for people: first its plain
// values, one per line, then a table per list of objects, with the keys as
// columns. Unknown keys are shown too, so that an older command can show a
// newer service. Internal if the text is not a JSON object.
absl::StatusOr<std::string> StatusTable(const std::string& json);

// Returns the events of a status, the last one last, one per line and with the
// elements that were left out below. Internal if it is not a JSON object.
absl::StatusOr<std::string> EventsTable(const std::string& json);
// Returns the events of a status as a JSON array.
absl::StatusOr<std::string> EventsJson(const std::string& json);

// Returns the same values as YAML, one per line. Internal if the text is not a
// JSON object or array.
absl::StatusOr<std::string> StatusYaml(const std::string& json);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_STATUS_TABLE_H_
