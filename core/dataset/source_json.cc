// Sources in the canonical text of a graph.

#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/base/utf8.h"
#include "core/dataset/canonical_json.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

constexpr const char* kStops[] = {"first_exhausted", "all_exhausted", "repeat"};

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

}  // namespace feedmill
