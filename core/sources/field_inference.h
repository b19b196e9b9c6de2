#ifndef FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/sources/framing.h"
#include "feedmill/sources.h"

namespace feedmill {

// Fills in the fields of a source that has none declared, from the sound ones
// of the first 1,000 records of its files (npy, webdataset: from the first
// one's header or element). They become part of the graph, so that all who read
// it take the same; graphs with declared fields stay as they are. Reads files
// of this machine: NotFound where there are none, which says to declare the
// fields.
absl::Status InferFields(Graph& graph);

// ---- for the formats

// The first records of a file.
struct FileSample {
  std::string file;
  std::string header;  // empty if the framing has none
  std::vector<std::string> records;
};

// The first sound records of the files, `records` in all at most, and not many
// more than 64 MiB.
absl::StatusOr<std::vector<FileSample>> SampleFiles(
    const Framing& framing, Compression compression,
    const std::vector<std::string>& files, size_t records);

// The records of all samples.
std::vector<std::string> RecordsOf(const std::vector<FileSample>& samples);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
