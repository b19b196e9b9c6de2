#include "core/sources/field_inference.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/sources/compression_inference.h"
#include "core/sources/record_format.h"
#include "core/sources/record_stream.h"

namespace feedmill {
namespace {

constexpr size_t kBytesMax = size_t{64} << 20;

absl::StatusOr<std::vector<std::string>> Files(const Source& source) {
  std::vector<std::string> out;
  const std::vector<std::string>& patterns = *SourceFiles(source);
  FM_ASSIGN_OR_RETURN(auto all, FindAllFiles(patterns));
  for (size_t k = 0; k < patterns.size(); ++k) {
    FM_ASSIGN_OR_RETURN(auto files, FormatOf(source).FilesToRead(
                                        patterns[k], std::move(all[k])));
    for (FoundFile& file : files) out.push_back(std::move(file.name));
  }
  return out;
}

// Adds the header of a file and its first records to `sample`.
absl::Status AddRecords(const Framing& framing, const StreamCoding& coding,
                        size_t records_max, FileSample& sample, size_t& bytes) {
  const std::string& path = sample.file;
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(path));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    FM_ASSIGN_OR_RETURN(const size_t got, file->Read(offset, out));
    if (got == out.size()) return absl::OkStatus();
    return FailedPrecondition("{}: it became shorter while it was read", path);
  };
  RecordStream stream(framing, path,
                      MakeByteStream(coding, read, 0, identity.size));
  std::vector<std::string>& records = sample.records;
  while (records.size() < records_max && bytes < kBytesMax) {
    FM_ASSIGN_OR_RETURN(const bool more, stream.Next());
    sample.header = stream.header();
    for (const Extent& record : stream.records()) {
      if (records.size() == records_max || bytes >= kBytesMax) break;
      records.emplace_back(stream.window().substr(record.begin, record.size));
      bytes += record.size;
    }
    if (!more) break;
  }
  // A bad record further on is reported when it is read.
  return records.empty() && sample.header.empty() ? stream.error()
                                                  : absl::OkStatus();
}

// Returns an error that names the file if its fields cannot be components.
absl::Status CheckFound(const std::vector<SourceField>& fields,
                        const std::string& file) {
  if (fields.size() > kComponentsMax) {
    return InvalidArgument(
        "{}: it has {} fields, and an element at most {} components; name "
        "those that are needed, as in fields: {{{}: {}}}",
        file, fields.size(), kComponentsMax, fields[0].name,
        DTypeName(fields[0].dtype));
  }
  std::set<std::string_view> names;
  for (const SourceField& field : fields) {
    if (field.name.empty() && fields.size() > 1) {
      return InvalidArgument(
          "{}: it has a field whose name is \"\", so no step can name it; "
          "name those that are needed, as in fields: {{{}: {}}}",
          file, fields.back().name, DTypeName(fields.back().dtype));
    }
    if (names.insert(field.name).second) continue;
    return InvalidArgument(
        "{}: it has two fields \"{}\"; rename one, or name those that are "
        "needed with `fields`",
        file, field.name);
  }
  return absl::OkStatus();
}

// Sets the compression, too, by the files that were found.
absl::StatusOr<std::vector<SourceField>> Infer(Source& source) {
  FM_ASSIGN_OR_RETURN(const auto files, Files(source));
  InferCompression(source, files.front());
  FM_ASSIGN_OR_RETURN(auto fields,
                      FormatOf(source).InferFields(source.options(), files));
  FM_RETURN_IF_ERROR(CheckFound(fields, files[0]));
  return fields;
}

}  // namespace

absl::StatusOr<std::vector<FileSample>> SampleFiles(
    const Framing& framing, const StreamCoding& coding,
    const std::vector<std::string>& files, size_t records) {
  std::vector<FileSample> samples;
  size_t bytes = 0;
  for (const std::string& path : files) {
    FileSample& sample = samples.emplace_back(FileSample{path, {}, {}});
    FM_RETURN_IF_ERROR(AddRecords(framing, coding, records, sample, bytes));
    records -= sample.records.size();
    if (records == 0 || bytes >= kBytesMax) break;
  }
  return samples;
}

std::vector<std::string> RecordsOf(const std::vector<FileSample>& samples) {
  std::vector<std::string> records;
  for (const FileSample& sample : samples) {
    records.insert(records.end(), sample.records.begin(), sample.records.end());
  }
  return records;
}

absl::Status InferFields(Graph& graph) {
  if (auto* inputs = MutableSourceInputs(graph.source)) {
    for (size_t i = 0; i < inputs->size(); ++i) {
      FM_RETURN_IF_ERROR(
          Annotate(InferFields((*inputs)[i]), fmt::format("inputs[{}]", i)));
    }
    return absl::OkStatus();
  }
  const std::vector<SourceField>* const fields = SourceFields(graph.source);
  if (fields == nullptr || !fields->empty()) {
    InferCompression(graph.source);
    return absl::OkStatus();
  }
  if (SourceFiles(graph.source)->empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<SourceField>> found = Infer(graph.source);
  if (found.status().code() == absl::StatusCode::kNotFound) {
    return NotFound(
        "{} (this process reads the first records to infer the fields; if "
        "only workers have the files, declare `fields`)",
        ErrorText(found.status()));
  }
  if (!found.ok()) {
    return absl::Status(
        found.status().code(),
        fmt::format("cannot infer the fields of the {} source: {}",
                    graph.source.name(), ErrorText(found.status())));
  }
  *MutableSourceFields(graph.source) = *std::move(found);
  return absl::OkStatus();
}

}  // namespace feedmill
