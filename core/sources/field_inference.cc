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
#include "core/chunk/validity.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/nearest_name.h"
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
// Inference reads this many bytes of records without a notable delay.
constexpr size_t kSmallBytes = size_t{1} << 20;

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
  size_t most;         // the same, of small records
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
    return bytes >= bounds.bytes || records.size() >= bounds.most ||
           (records.size() >= bounds.records && bytes >= kSmallBytes);
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
    if (const absl::Status name = CheckNotReserved(field.name); !name.ok()) {
      return InvalidArgument(
          "{}: {}; rename the field, or name only the other ones (`fields`, or "
          "`columns` of Parquet and Arrow)",
          file, ErrorText(name));
    }
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

// Replaces the types of fields.
absl::Status SetTypes(const std::vector<SourceField>& types,
                      std::vector<SourceField>& fields) {
  for (size_t t = 0; t < types.size(); ++t) {
    if (IsValidity(std::span(types), t)) continue;
    const auto at =
        std::ranges::find(fields, types[t].name, &SourceField::name);
    if (at == fields.end()) {
      std::vector<std::string_view> known;
      for (const SourceField& field : fields) known.push_back(field.name);
      return InvalidArgument(
          "`types` has \"{}\", which the records that were looked at lack{}; a "
          "rare field needs `fields` with all components",
          types[t].name, DidYouMean(types[t].name, known));
    }
    *at = types[t];
    at->has_nulls = MayBeNull(std::span(types), t);
  }
  return absl::OkStatus();
}

// Adds the validity of each field that has nulls.
std::vector<SourceField> WithValidities(std::vector<SourceField> fields) {
  std::vector<SourceField> all;
  for (SourceField& field : fields) {
    const bool nullable = std::exchange(field.has_nulls, false);
    const std::string validity = ValidityName(field.name);
    all.push_back(std::move(field));
    if (nullable) all.push_back({validity, DType::kBool, {}});
  }
  return all;
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
  if (const auto* types = SourceTypes(source)) {
    FM_RETURN_IF_ERROR(SetTypes(*types, fields));
  }
  return WithValidities(std::move(fields));
}

}  // namespace

absl::StatusOr<std::vector<FileSample>> SampleFiles(
    const Framing& framing, const StreamCoding& coding,
    const std::vector<FoundFile>& files, size_t records, size_t most) {
  std::vector<FileSample> samples;
  size_t bytes = 0;
  for (const FoundFile& file : files) {
    FileSample& sample = samples.emplace_back();
    const SampleBounds bounds{records, most,
                              std::numeric_limits<uint64_t>::max(), kBytesMax};
    FM_RETURN_IF_ERROR(
        AddRecords(framing, coding, file, bounds, sample, bytes));
    if (sample.records.size() >= records || bytes >= kBytesMax) break;
    records -= sample.records.size();
    most -= sample.records.size();
  }
  return samples;
}

std::vector<const FoundFile*> FurtherFiles(const std::vector<FoundFile>& files,
                                           size_t first) {
  const size_t rest = files.size() - first;
  const size_t count = std::min(rest, kFurtherFiles);
  std::vector<const FoundFile*> out;
  for (size_t k = 0; k < count; ++k) {
    // e.g. 100 others: 0, 3, 6, …, 99
    out.push_back(
        &files[first + (count == 1 ? 0 : k * (rest - 1) / (count - 1))]);
  }
  return out;
}

void AddFurtherFiles(const Framing& framing, const StreamCoding& coding,
                     const std::vector<FoundFile>& files,
                     std::vector<FileSample>& samples) {
  const auto others = FurtherFiles(files, samples.size());
  const size_t count = others.size();
  std::vector<FileSample> further(count);
  std::vector<char> read(count);  // not bool: threads write to it
  // No call fails, so all files are looked at.
  ForEachSideBySide(count, count, [&](size_t k) {
    further[k].further = true;
    size_t bytes = 0;
    const SampleBounds bounds{kFurtherRecords, kFurtherRecords, kFurtherBytes,
                              kFurtherBytes};
    read[k] =
        AddRecords(framing, coding, *others[k], bounds, further[k], bytes).ok()
            ? 1
            : 0;
    return absl::OkStatus();
  }).IgnoreError();
  for (size_t k = 0; k < count; ++k) {
    if (read[k] != 0) samples.push_back(std::move(further[k]));
  }
}

namespace {

// Returns the last sample before the further files, or null.
FileSample* LastOfFirst(std::vector<FileSample>& samples) {
  FileSample* last = nullptr;
  for (FileSample& sample : samples) {
    if (!sample.further) last = &sample;
  }
  return last;
}

}  // namespace

std::vector<std::string> RemoveMore(std::vector<FileSample>& samples,
                                    size_t records) {
  FileSample* const last = LastOfFirst(samples);
  if (last == nullptr) return {};
  for (const FileSample& sample : samples) {
    if (!sample.further && &sample != last) records -= sample.records.size();
  }
  if (last->records.size() <= records) return {};
  const auto begin = last->records.begin() + static_cast<ptrdiff_t>(records);
  std::vector<std::string> more(std::make_move_iterator(begin),
                                std::make_move_iterator(last->records.end()));
  last->records.resize(records);
  return more;
}

void RestoreMore(std::vector<std::string> more,
                 std::vector<FileSample>& samples) {
  std::ranges::move(more, std::back_inserter(LastOfFirst(samples)->records));
}

void WidenNumbers(const std::vector<SourceField>& wider,
                  std::vector<SourceField>& fields) {
  for (SourceField& field : fields) {
    const auto at = std::ranges::find(wider, field.name, &SourceField::name);
    if (at != wider.end() && at->shape == field.shape &&
        at->dtype != DType::kBytes && field.dtype != DType::kBytes) {
      field.dtype = at->dtype;
    }
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

namespace {

// Replaces the file of an images source's classes by its lines.
absl::Status ReadClasses(Source& source) {
  const auto* const given = source.As<ImagesSource>();
  if (given == nullptr || given->classes_file.empty()) return absl::OkStatus();
  constexpr uint64_t kClassesBytesMax = uint64_t{4} << 20;
  ImagesSource images = *given;
  const std::string file = std::exchange(images.classes_file, "");
  FM_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kClassesBytesMax));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) images.classes.push_back(std::move(line));
  }
  if (images.classes.empty()) {
    return InvalidArgument("{}: it has no names of classes", file);
  }
  source = Source(source.kind(), std::move(images));
  return absl::OkStatus();
}

}  // namespace

absl::Status InferFields(Graph& graph) {
  FM_RETURN_IF_ERROR(ChangeTables(InferFields, graph));
  if (auto* inputs = MutableSourceInputs(graph.source)) {
    for (size_t i = 0; i < inputs->size(); ++i) {
      FM_RETURN_IF_ERROR(
          Annotate(InferFields((*inputs)[i]), fmt::format("inputs[{}]", i)));
    }
    return absl::OkStatus();
  }
  FM_RETURN_IF_ERROR(ReadClasses(graph.source));
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
  if (auto* types = MutableSourceTypes(graph.source)) types->clear();
  return absl::OkStatus();
}

}  // namespace feedmill
