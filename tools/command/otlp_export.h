#ifndef FEEDMILL_TOOLS_COMMAND_OTLP_EXPORT_H_
#define FEEDMILL_TOOLS_COMMAND_OTLP_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace feedmill {

// Posts the requests to an OTLP/HTTP endpoint, "http://host:4318/v1/traces",
// one after the other. `timeout`: for each. Errors: see HttpFetch;
// Unavailable also if a response rejects spans. They name the endpoint.
absl::Status ExportOtlp(const std::string& url,
                        const std::vector<std::string>& requests,
                        absl::Duration timeout);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_OTLP_EXPORT_H_
