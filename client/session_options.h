#ifndef FEEDMILL_CLIENT_SESSION_OPTIONS_H_
#define FEEDMILL_CLIENT_SESSION_OPTIONS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "client/read_token.h"
#include "client/session_settings.h"
#include "core/dataset/analysis.h"
#include "feedmill/reader.h"

namespace feedmill {

// Makes the session settings of a reader of a service. Draws a seed and a name
// if none is given. InvalidArgument names the wrong option.
absl::StatusOr<ReadSessionSettings> MakeSessionSettings(
    const AnalyzedGraph& graph, const ReadOptions& options,
    const ReadRules& rules, const std::optional<ReadToken>& token);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SESSION_OPTIONS_H_
