#ifndef FEEDMILL_CLIENT_SERVICE_READER_H_
#define FEEDMILL_CLIENT_SERVICE_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/reader.h"
#include "core/dataset/analysis.h"

namespace feedmill {

// Read (reader.h) through a service. REQUIRES: options.registry is set,
// options.service is not empty.
absl::StatusOr<std::unique_ptr<Reader>> ReadFromService(
    std::shared_ptr<const AnalyzedGraph> graph, ReadOptions options);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SERVICE_READER_H_
