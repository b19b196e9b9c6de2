#ifndef FEEDMILL_CLIENT_SERVICE_READER_H_
#define FEEDMILL_CLIENT_SERVICE_READER_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "client/read_token.h"
#include "core/dataset/analysis.h"
#include "feedmill/reader.h"

namespace feedmill {

// Read (reader.h) through a service. REQUIRES: options.hooks.registry is set,
// options.service is not empty. `token`: options.resume.token, checked against
// the graph. `rules`: what it hands out.
absl::StatusOr<std::unique_ptr<Reader>> ReadFromService(
    std::shared_ptr<const AnalyzedGraph> graph, ReadOptions options,
    ReadRules rules, std::optional<ReadToken> token);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SERVICE_READER_H_
