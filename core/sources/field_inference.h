#ifndef FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/io/byte_stream.h"
#include "core/sources/framing.h"
#include "feedmill/sources.h"

namespace feedmill {

// Adds to a source the properties that its files show and its options lack.
// They become part of the graph, so that all processes read the files alike.
//   compression  from the first bytes of the first file (InferCompression)
//   fields       from the valid ones of the first 1,000 records (npy,
//   webdataset,
//                mds: from the first file's header or element)
// Declared fields are not changed. Reads files of this machine. NotFound if
// there are none; the message says to declare the fields.
absl::Status InferFields(Graph& graph);

// ---- for the implementations of formats

// The first records of a file.
struct FileSample {
  std::string file;
  std::string header;  // empty if the framing has none
  std::vector<std::string> records;
};

// Returns the first valid records of the files: at most `records` in total, and
// not much more than 64 MiB.
absl::StatusOr<std::vector<FileSample>> SampleFiles(
    const Framing& framing, const StreamCoding& coding,
    const std::vector<std::string>& files, size_t records);

// Returns the records of all samples.
std::vector<std::string> RecordsOf(const std::vector<FileSample>& samples);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
