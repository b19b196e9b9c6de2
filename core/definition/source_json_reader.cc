// Sources in the canonical text of a graph, back from it.

#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/definition/json_reader.h"
#include "core/definition/source_text.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr size_t kDefaultRankMax = 32;
constexpr const char* kStops[] = {"first_exhausted", "all_exhausted", "repeat"};

absl::Status ReadField(const Json& json, std::vector<SourceField>& fields) {
  if (!json.is_array() || json.size() != 3 || !json[1].is_string() ||
      !json[2].is_array() || json[2].size() > kDefaultRankMax) {
    return InvalidArgument("a field is not [name, dtype, shape]");
  }
  SourceField& field = fields.emplace_back();
  FM_RETURN_IF_ERROR(JsonReader::Bytes(json[0], field.name));
  const auto dtype = DTypeFromName(json[1].get<std::string>());
  if (!dtype.has_value()) {
    return InvalidArgument("there is no dtype \"{}\"",
                           json[1].get<std::string>());
  }
  field.dtype = *dtype;
  for (const Json& dim : json[2]) {
    if (!dim.is_number_integer()) {
      return InvalidArgument("a field's dim is not an integer");
    }
    field.shape.push_back(dim.get<int64_t>());
  }
  return absl::OkStatus();
}

// Reads what kinds of sources have in common, and checks the keys.
template <class S>
JsonReader& ReadShared(JsonReader& reader,
                       std::initializer_list<const char*> keys, S& source) {
  reader.Expect(keys).Get("files", source.files);
  if constexpr (requires { source.compression; }) {
    size_t word = 0;
    reader.GetWord("compression", {"none", "gzip", "zstd"}, word);
    source.compression = word == 0   ? Compression::kNone
                         : word == 1 ? Compression::kGzip
                                     : Compression::kZstd;
  }
  if constexpr (requires { source.fields; }) {
    reader.ForEach("fields", [&](const Json& json) {
      return ReadField(json, source.fields);
    });
  }
  return reader;
}

absl::Status ReadTabular(const std::string& name, JsonReader& reader,
                         Source& source) {
  if (name == "jsonl") {
    return ReadShared(reader, {"compression", "fields", "files"},
                      source.emplace<JsonlSource>())
        .status();
  }
  if (name == "webdataset") {
    return ReadShared(reader, {"compression", "fields", "files"},
                      source.emplace<WebDatasetSource>())
        .status();
  }
  if (name == "npy") {
    return ReadShared(reader, {"fields", "files"}, source.emplace<NpySource>())
        .status();
  }
  auto& csv = source.emplace<CsvSource>();
  csv.missing.clear();
  return ReadShared(reader,
                    {"compression", "delimiter", "fields", "files", "header",
                     "missing", "multiline"},
                    csv)
      .Get("header", csv.header)
      .GetBytes("delimiter", csv.delimiter)
      .Get("missing", csv.missing)
      .Get("multiline", csv.multiline)
      .status();
}

// A source made of inputs; false in `known` for another name.
absl::Status ReadCombined(const std::string& name, JsonReader& reader,
                          const ReadInputJson& read_input, Source& source,
                          bool& known) {
  const auto read = [&](JsonReader& from, std::vector<Graph>& inputs) {
    return from.ForEach("inputs", [&](const Json& json) {
      return read_input(json, inputs.emplace_back());
    });
  };
  known = true;
  if (name == "concatenate") {
    reader.Expect({"inputs"});
    return read(reader, source.emplace<ConcatenateSource>().inputs).status();
  }
  if (name == "zip") {
    reader.Expect({"inputs"});
    return read(reader, source.emplace<ZipSource>().inputs).status();
  }
  if (name == "interleave") {
    auto& interleave = source.emplace<InterleaveSource>();
    reader.Expect({"block_length", "cycle_length", "inputs"});
    return read(reader, interleave.inputs)
        .Get("block_length", interleave.block_length)
        .Get("cycle_length", interleave.cycle_length)
        .status();
  }
  if (name == "mixture") {
    auto& mixture = source.emplace<MixtureSource>();
    size_t stop = 0;
    reader.Expect({"inputs", "stop", "weights"});
    const absl::Status status =
        read(reader, mixture.inputs)
            .GetWord("stop", {kStops[0], kStops[1], kStops[2]}, stop)
            .ForEach("weights",
                     [&](const Json& json) {
                       if (!json.is_number()) {
                         return InvalidArgument("a weight is not a number");
                       }
                       mixture.weights.push_back(json.get<double>());
                       return absl::OkStatus();
                     })
            .status();
    mixture.stop = static_cast<MixtureSource::Stop>(stop);
    return status;
  }
  known = false;
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadSourceJson(const Json& json, const ReadInputJson& read_input,
                            Source& source) {
  if (!json.is_object() || json.size() != 1) {
    return InvalidArgument("source is not an object with one key");
  }
  const std::string& name = json.begin().key();
  JsonReader reader(json.begin().value(), "source " + name);
  if (name == "range") {
    auto& range = source.emplace<RangeSource>();
    return reader.Expect({"start", "stop", "step"})
        .Get("start", range.start)
        .Get("stop", range.stop)
        .Get("step", range.step)
        .status();
  }
  if (name == "tfrecord") {
    return ReadShared(reader, {"compression", "files"},
                      source.emplace<TfRecordSource>())
        .status();
  }
  if (name == "text") {
    return ReadShared(reader, {"compression", "files"},
                      source.emplace<TextSource>())
        .status();
  }
  if (name == "images") {
    auto& images = source.emplace<ImagesSource>();
    return ReadShared(reader, {"files", "label"}, images)
        .Get("label", "folder", ImagesSource::Label::kFolder, "filename",
             ImagesSource::Label::kFilename, images.label)
        .status();
  }
  if (name == "fixed_length") {
    auto& fixed = source.emplace<FixedLengthSource>();
    return ReadShared(reader,
                      {"compression", "files", "footer_bytes", "header_bytes",
                       "record_bytes"},
                      fixed)
        .Get("record_bytes", fixed.record_bytes)
        .Get("header_bytes", fixed.header_bytes)
        .Get("footer_bytes", fixed.footer_bytes)
        .status();
  }
  bool combined = false;
  FM_RETURN_IF_ERROR(ReadCombined(name, reader, read_input, source, combined));
  if (combined) return absl::OkStatus();
  for (const char* known : {"jsonl", "csv", "npy", "webdataset"}) {
    if (name == known) return ReadTabular(name, reader, source);
  }
  return InvalidArgument("there is no source \"{}\"", name);
}

}  // namespace feedmill
