#include "core/sources/field_inference.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/dataset/source_types.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "core/io/side_by_side.h"
#include "core/sources/compression_inference.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_format.h"
#include "core/sources/record_stream.h"

namespace feedmill {
namespace {

constexpr size_t kBytesMax = size_t{64} << 20;

absl::StatusOr<std::vector<FoundFile>> Files(const Source& source) {
  std::vector<FoundFile> out;
  const std::vector<std::string>& patterns = *SourceFiles(source);
  FM_ASSIGN_OR_RETURN(auto all, FindAllFiles(patterns));
  for (size_t k = 0; k < patterns.size(); ++k) {
    FM_ASSIGN_OR_RETURN(auto files, FormatOf(source).FilesToRead(
                                        patterns[k], std::move(all[k])));
    std::ranges::move(files, std::back_inserter(out));
  }
  return out;
}

// Bounds of the records that are taken from files.
struct SampleBounds {
  size_t records;      // of a file
  uint64_t file_size;  // bytes of a file that are looked at
  size_t bytes;        // of all records together
};

// Adds the header of a file and its first records to `sample`, and their bytes
// to `bytes`.
absl::Status AddRecords(const Framing& framing, const StreamCoding& coding,
                        const FoundFile& found, const SampleBounds& bounds,
                        FileSample& sample, size_t& bytes) {
  sample.file = found.name;
  const std::string& path = sample.file;
  FM_ASSIGN_OR_RETURN(const auto file, OpenFile(found));
  FM_ASSIGN_OR_RETURN(const FileIdentity identity, file->Identity());
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    FM_ASSIGN_OR_RETURN(const size_t got, file->Read(offset, out));
    if (got == out.size()) return absl::OkStatus();
    return FailedPrecondition("{}: it became shorter while it was read", path);
  };
  const uint64_t size = std::min(identity.size, bounds.file_size);
  RecordStream stream(framing, path, MakeByteStream(coding, read, 0, size));
  std::vector<std::string>& records = sample.records;
  const auto full = [&] {
    return records.size() >= bounds.records || bytes >= bounds.bytes;
  };
  while (!full()) {
    FM_ASSIGN_OR_RETURN(const bool more, stream.Next());
    sample.header = stream.header();
    for (const Extent& record : stream.records()) {
      if (full()) break;
      records.emplace_back(stream.window().substr(record.begin, record.size));
      bytes += record.size;
    }
    if (!more) break;
  }
  // The last record may be cut where the bytes that are looked at end.
  if (size < identity.size && stream.finished() && stream.error().ok() &&
      !records.empty()) {
    records.pop_back();
  }
  // A bad record further on is reported when it is read.
  return records.empty() && sample.header.empty() ? stream.error()
                                                  : absl::OkStatus();
}

// Returns "NAME: TYPE" of a field, as YAML has it.
std::string TextOf(const SourceField& field) {
  return fmt::format("{}: {}", Shown(field.name), DTypeName(field.dtype));
}

// Returns an error that names the file if its fields cannot be components.
absl::Status CheckFound(const std::vector<SourceField>& fields,
                        const std::string& file) {
  if (fields.size() > kComponentsMax) {
    return InvalidArgument(
        "{}: it has {} fields, and an element at most {} components; name the "
        "needed fields, as in fields: {{{}}}",
        file, fields.size(), kComponentsMax, TextOf(fields[0]));
  }
  std::set<std::string_view> names;
  for (const SourceField& field : fields) {
    FM_RETURN_IF_ERROR(CheckFieldName(field.name, file));
    if (field.name.empty() && fields.size() > 1) {
      return InvalidArgument(
          "{}: it has a field whose name is \"\", so no step can name it; "
          "name the needed fields, as in fields: {{{}}}",
          file,
          TextOf(field.name == fields.back().name ? fields.front()
                                                  : fields.back()));
    }
    if (names.insert(field.name).second) continue;
    return InvalidArgument(
        "{}: it has two fields \"{}\"; rename one, or name the needed fields "
        "with `fields`",
        file, field.name);
  }
  return absl::OkStatus();
}

// Makes large integers in inferred floats errors, where a source has the
// option.
void KeepIntegers(Source& source, const std::vector<SourceField>& fields) {
  const bool floats = std::ranges::any_of(
      fields, [](const SourceField& field) { return IsFloat(field.dtype); });
  if (!floats) return;
  source.Change([](const FieldList& options) {
    for (const Field& option : options) {
      if (option.Has(Field::kSetIfInferred)) {
        *std::get<bool*>(option.value) = true;
      }
    }
  });
}

// Sets the compression, too, by the files that were found.
absl::StatusOr<std::vector<SourceField>> Infer(Source& source) {
  FM_ASSIGN_OR_RETURN(const auto files, Files(source));
  InferCompression(source, files);
  FM_ASSIGN_OR_RETURN(auto fields,
                      FormatOf(source).InferFields(source.options(), files));
  FM_RETURN_IF_ERROR(CheckFound(fields, files[0].name));
  return fields;
}

}  // namespace

absl::StatusOr<std::vector<FileSample>> SampleFiles(
    const Framing& framing, const StreamCoding& coding,
    const std::vector<FoundFile>& files, size_t records) {
  std::vector<FileSample> samples;
  size_t bytes = 0;
  for (const FoundFile& file : files) {
    FileSample& sample = samples.emplace_back();
    const SampleBounds bounds{records, std::numeric_limits<uint64_t>::max(),
                              kBytesMax};
    FM_RETURN_IF_ERROR(
        AddRecords(framing, coding, file, bounds, sample, bytes));
    records -= sample.records.size();
    if (records == 0 || bytes >= kBytesMax) break;
  }
  return samples;
}

void AddFurtherFiles(const Framing& framing, const StreamCoding& coding,
                     const std::vector<FoundFile>& files,
                     std::vector<FileSample>& samples) {
  const size_t first = samples.size();
  const size_t rest = files.size() - first;
  const size_t count = std::min(rest, kFurtherFiles);
  std::vector<FileSample> further(count);
  std::vector<char> read(count);  // not bool: threads write to it
  // No call fails, so all files are looked at.
  ForEachSideBySide(count, count, [&](size_t k) {
    // e.g. 100 others: 0, 3, 6, …, 99
    const size_t at = count == 1 ? 0 : k * (rest - 1) / (count - 1);
    further[k].further = true;
    size_t bytes = 0;
    const SampleBounds bounds{kFurtherRecords, kFurtherBytes, kFurtherBytes};
    read[k] = AddRecords(framing, coding, files[first + at], bounds, further[k],
                         bytes)
                      .ok()
                  ? 1
                  : 0;
    return absl::OkStatus();
  }).IgnoreError();
  for (size_t k = 0; k < count; ++k) {
    if (read[k] != 0) samples.push_back(std::move(further[k]));
  }
}

absl::Status CheckFieldName(std::string_view name, const std::string& file) {
  if (IsUtf8(name)) return absl::OkStatus();
  return InvalidArgument(
      "{}: the name of its field \"{}\" is not UTF-8; rename it or convert the "
      "file to UTF-8, or name only the other fields with `fields`",
      file, Shown(name));
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
  const std::vector<std::string>* const files = SourceFiles(graph.source);
  if (files == nullptr || files->empty()) return absl::OkStatus();
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
  KeepIntegers(graph.source, *found);
  *MutableSourceFields(graph.source) = *std::move(found);
  return absl::OkStatus();
}

}  // namespace feedmill
