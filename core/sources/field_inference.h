#ifndef FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
#define FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/io/byte_stream.h"
#include "core/io/file_system.h"
#include "core/sources/framing.h"
#include "feedmill/dataset_options.h"

namespace feedmill {

// Adds to a source the properties that its files show and its options lack.
// They become part of the graph, so that all processes read the files alike.
//   compression  from the first bytes of the first file (InferCompression)
//   fields       from the valid ones of the first 1,000 records, and of the
//                first records of some further files (other formats than csv
//                and jsonl: from the first file's header or element)
// Declared fields are not changed. Reads files of this machine. NotFound if
// there are none; the message says to declare the fields.
absl::Status InferFields(Graph& graph);

// ---- for the implementations of formats

// The first records of a file.
struct FileSample {
  std::string file;
  std::string header;  // empty if the framing has none
  std::vector<std::string> records;
  // True for a file behind those with the first records. An error in it is no
  // error of the inference: it is reported when the file is read.
  bool further = false;
};

// Returns the first valid records of the files: `records` in total, and not
// much more than 64 MiB. The last file gives up to `most` records, as long as
// all are less than 1 MiB.
absl::StatusOr<std::vector<FileSample>> SampleFiles(
    const Framing& framing, const StreamCoding& coding,
    const std::vector<FoundFile>& files, size_t records, size_t most);
inline constexpr size_t kSmallRecords = 10'000;

// Returns up to kFurtherFiles of the files behind the first ones, spread
// evenly.
std::vector<const FoundFile*> FurtherFiles(const std::vector<FoundFile>& files,
                                           size_t first);

// Adds the first kFurtherRecords valid records of FurtherFiles behind the files
// of `samples`. They are read side by side, at most kFurtherBytes of each.
// Files that cannot be read are left out.
inline constexpr size_t kFurtherFiles = 31;
inline constexpr size_t kFurtherRecords = 10;
inline constexpr uint64_t kFurtherBytes = uint64_t{1} << 20;
void AddFurtherFiles(const Framing& framing, const StreamCoding& coding,
                     const std::vector<FoundFile>& files,
                     std::vector<FileSample>& samples);

// Leaves `records` of all files before the further ones, and returns the other
// records, which are of one file. RestoreMore adds them again.
std::vector<std::string> RemoveMore(std::vector<FileSample>& samples,
                                    size_t records);
void RestoreMore(std::vector<std::string> more,
                 std::vector<FileSample>& samples);
// Replaces types of numbers by the types of `wider`, which are of more records.
// A type is kept if these records would make it bytes: a rare damaged value
// stays an error of its record.
void WidenNumbers(const std::vector<SourceField>& wider,
                  std::vector<SourceField>& fields);

// Checks that the name of a field can name a component. InvalidArgument
// names the file.
absl::Status CheckFieldName(std::string_view name, const std::string& file);

// Returns the records of all samples.
std::vector<std::string> RecordsOf(const std::vector<FileSample>& samples);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FIELD_INFERENCE_H_
