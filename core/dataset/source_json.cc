// Sources in the canonical text of a graph.

#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/dataset/json_reader.h"
#include "core/dataset/source_text.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr size_t kDefaultRankMax = 32;
constexpr const char* kStops[] = {"first_exhausted", "all_exhausted", "repeat"};

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80                    ? 1
                          : lead >= 0xc2 && lead <= 0xdf ? 2
                          : lead >= 0xe0 && lead <= 0xef ? 3
                          : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                         : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3fu);
    }
    if (length == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000)))
      return false;
    if (length == 4 && (point < 0x10000 || point > 0x10ffff)) return false;
    i += length;
  }
  return true;
}

Json StringsToJson(const std::vector<std::string>& strings) {
  Json out = Json::array();
  for (const std::string& one : strings) out.push_back(BytesToJson(one));
  return out;
}

// What only this kind of source has.
struct OwnValues {
  Json& json;

  void operator()(const RangeSource& s) const {
    json["start"] = s.start;
    json["stop"] = s.stop;
    json["step"] = s.step;
  }
  void operator()(const ImagesSource& s) const {
    const bool folder = s.label == ImagesSource::Label::kFolder;
    json["label"] = folder ? "folder" : "filename";
  }
  void operator()(const FixedLengthSource& s) const {
    json["record_bytes"] = s.record_bytes;
    json["header_bytes"] = s.header_bytes;
    json["footer_bytes"] = s.footer_bytes;
  }
  void operator()(const CsvSource& s) const {
    json["header"] = s.header;
    json["delimiter"] = BytesToJson(s.delimiter);
    json["missing"] = StringsToJson(s.missing);
    json["multiline"] = s.multiline;
  }
  void operator()(const InterleaveSource& s) const {
    json["cycle_length"] = CycleLength(s);
    json["block_length"] = s.block_length;
  }
  void operator()(const MixtureSource& s) const {
    json["weights"] = s.weights;
    json["stop"] = kStops[static_cast<size_t>(s.stop)];
  }
  template <class S>
  void operator()(const S&) const {}
};

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

Json BytesToJson(const std::string& bytes) {
  if (IsUtf8(bytes)) return bytes;
  std::string hex;
  for (char c : bytes) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return Json{{"hex", hex}};
}

Json SourceToJson(const Source& source) {
  Json value = Json::object();
  if (const auto* files = SourceFiles(source)) {
    value["files"] = StringsToJson(*files);
  }
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.compression; }) {
          value["compression"] =
              std::string(CompressionName(SourceCompression(source)));
        }
      },
      source);
  if (const auto* fields = SourceFields(source)) {
    Json list = Json::array();
    for (const SourceField& f : *fields) {
      list.push_back(Json::array(
          {BytesToJson(f.name), std::string(DTypeName(f.dtype)), f.shape}));
    }
    value["fields"] = std::move(list);
  }
  if (const auto* inputs = SourceInputs(source)) {
    Json list = Json::array();
    for (const Graph& input : *inputs) list.push_back(InputToJson(input));
    value["inputs"] = std::move(list);
  }
  std::visit(OwnValues{value}, source);
  Json out = Json::object();
  out[std::string(SourceName(source))] = std::move(value);
  return out;
}

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
