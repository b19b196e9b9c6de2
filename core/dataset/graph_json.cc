// ParseGraphJson: the canonical text back to a Graph. The text came over a
// wire or out of a journal, so nothing about it is trusted.

#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

// More than ParseGraphYaml's bounds can become, with all escapes.
constexpr size_t kTextMax = size_t{64} << 20;
constexpr size_t kStepsMax = 1000;
constexpr size_t kRankMax = 32;

// Reads typed members of one JSON object; the first error stays.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(where) {
    if (!json_.is_object()) Fail("is not an object");
  }

  // No other keys than these, each of them there.
  Reader& Expect(std::initializer_list<const char*> keys) {
    if (!status_.ok()) return *this;
    for (const char* key : keys) {
      if (!json_.contains(key)) {
        Fail(fmt::format("lacks \"{}\"", key));
        return *this;
      }
    }
    if (json_.size() != keys.size()) Fail("has a key too many");
    return *this;
  }
  Reader& Get(const char* key, int64_t& out) {
    if (!status_.ok()) return *this;
    const Json& value = json_[key];
    constexpr auto kMax = std::numeric_limits<int64_t>::max();
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() &&
         value.get<uint64_t>() > static_cast<uint64_t>(kMax))) {
      Fail(fmt::format("\"{}\" is not an int64", key));
    } else {
      out = value.get<int64_t>();
    }
    return *this;
  }
  Reader& Get(const char* key, std::optional<int64_t>& out) {
    if (!status_.ok() || json_[key].is_null()) return *this;
    return Get(key, out.emplace());
  }
  Reader& Get(const char* key, std::optional<uint64_t>& out) {
    if (!status_.ok() || json_[key].is_null()) return *this;
    if (!json_[key].is_number_unsigned()) {
      Fail(fmt::format("\"{}\" is not a uint64", key));
    } else {
      out = json_[key].get<uint64_t>();
    }
    return *this;
  }
  Reader& Get(const char* key, bool& out) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_boolean()) {
      Fail(fmt::format("\"{}\" is not a bool", key));
    } else {
      out = json_[key].get<bool>();
    }
    return *this;
  }
  Reader& Get(const char* key, double& out) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_number()) {
      Fail(fmt::format("\"{}\" is not a number", key));
    } else {
      out = json_[key].get<double>();
    }
    return *this;
  }
  Reader& Get(const char* key, Expr& out) {
    if (!status_.ok()) return *this;
    status_ = GetExpr(json_[key], out);
    return *this;
  }
  Reader& GetBytes(const char* key, std::string& out) {
    if (status_.ok()) status_ = Bytes(json_[key], out);
    return *this;
  }
  Reader& Get(const char* key, std::vector<std::string>& out) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_array()) {
      Fail(fmt::format("\"{}\" is not a list", key));
      return *this;
    }
    for (const Json& item : json_[key]) {
      status_ = Bytes(item, out.emplace_back());
      if (!status_.ok()) return *this;
    }
    return *this;
  }
  // One of two words, the first or the second value.
  template <class T>
  Reader& Get(const char* key, const char* first, T first_value,
              const char* second, T second_value, T& out) {
    if (!status_.ok()) return *this;
    if (json_[key] == first) {
      out = first_value;
    } else if (json_[key] == second) {
      out = second_value;
    } else {
      Fail(fmt::format("\"{}\" is neither {} nor {}", key, first, second));
    }
    return *this;
  }
  // Calls read for each item of a list.
  template <class F>
  Reader& ForEach(const char* key, F&& read) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_array()) Fail(fmt::format("\"{}\" is not a list", key));
    if (!status_.ok()) return *this;
    for (const Json& item : json_[key]) {
      status_ = read(item);
      if (!status_.ok()) break;
    }
    return *this;
  }

  absl::Status status() const { return status_; }

  static absl::Status Bytes(const Json& json, std::string& out) {
    if (json.is_string()) {
      out = json.get<std::string>();
      return absl::OkStatus();
    }
    const bool hex = json.is_object() && json.size() == 1 &&
                     json.contains("hex") && json["hex"].is_string();
    if (!hex) return InvalidArgument("a name is not a string");
    const auto digits = json["hex"].get<std::string>();
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (digits.size() % 2 != 0 ||
        digits.find_first_not_of(kDigits) != std::string::npos) {
      return InvalidArgument("a name's hex is not hexadecimal");
    }
    out.clear();
    for (size_t i = 0; i < digits.size(); i += 2) {
      out += static_cast<char>(kDigits.find(digits[i]) * 16 +
                               kDigits.find(digits[i + 1]));
    }
    return absl::OkStatus();
  }
  static absl::Status GetExpr(const Json& json, Expr& out) {
    if (!json.is_string()) {
      return InvalidArgument("an expression is not a string");
    }
    FM_ASSIGN_OR_RETURN(out, Expr::Parse(json.get<std::string>()));
    return absl::OkStatus();
  }

 private:
  void Fail(const std::string& what) {
    status_ = InvalidArgument("{} {}", where_, what);
  }

  const Json& json_;
  std::string where_;
  absl::Status status_;
};

absl::Status ReadSource(const Json& json, Source& source) {
  if (!json.is_object() || json.size() != 1) {
    return InvalidArgument("source is not an object with one key");
  }
  const std::string& name = json.begin().key();
  Reader reader(json.begin().value(), "source " + name);
  if (name == "range") {
    auto& range = source.emplace<RangeSource>();
    return reader.Expect({"start", "stop", "step"})
        .Get("start", range.start)
        .Get("stop", range.stop)
        .Get("step", range.step)
        .status();
  }
  if (name == "tfrecord") {
    auto& tfrecord = source.emplace<TfRecordSource>();
    return reader.Expect({"files"}).Get("files", tfrecord.files).status();
  }
  if (name == "text") {
    auto& text = source.emplace<TextSource>();
    return reader.Expect({"files"}).Get("files", text.files).status();
  }
  if (name == "images") {
    auto& images = source.emplace<ImagesSource>();
    return reader.Expect({"files", "label"})
        .Get("files", images.files)
        .Get("label", "folder", ImagesSource::Label::kFolder, "filename",
             ImagesSource::Label::kFilename, images.label)
        .status();
  }
  return InvalidArgument("there is no source \"{}\"", name);
}

absl::Status ReadOutput(const Json& json, MapStep& step) {
  if (!json.is_array() || json.size() != 2) {
    return InvalidArgument("a map's output is not [name, expression]");
  }
  auto& [name, expr] = step.outputs.emplace_back();
  FM_RETURN_IF_ERROR(Reader::Bytes(json[0], name));
  return Reader::GetExpr(json[1], expr);
}

absl::Status ReadFeature(const Json& json, ParseExampleStep& step) {
  if (!json.is_array() || json.size() != 3 || !json[1].is_string() ||
      !json[2].is_array() || json[2].size() > kRankMax) {
    return InvalidArgument("a feature is not [name, dtype, shape]");
  }
  ParseExampleStep::Feature& feature = step.features.emplace_back();
  FM_RETURN_IF_ERROR(Reader::Bytes(json[0], feature.name));
  const std::optional<DType> dtype = DTypeFromName(json[1].get<std::string>());
  if (!dtype.has_value()) {
    return InvalidArgument("there is no dtype \"{}\"",
                           json[1].get<std::string>());
  }
  feature.dtype = *dtype;
  for (const Json& dim : json[2]) {
    if (!dim.is_number_integer()) {
      return InvalidArgument("a feature's dim is not an integer");
    }
    feature.shape.push_back(dim.get<int64_t>());
  }
  return absl::OkStatus();
}

// The image steps; false in `known` for another name.
absl::Status ReadImageStep(const std::string& name, Reader& reader, Step& step,
                           bool& known) {
  known = true;
  if (name == "decode_image") {
    auto& s = step.emplace<DecodeImageStep>();
    return reader.Expect({"channels", "component", "dct"})
        .Get("channels", s.channels)
        .GetBytes("component", s.component)
        .Get("dct", "accurate", DecodeImageStep::Dct::kAccurate, "fast",
             DecodeImageStep::Dct::kFast, s.dct)
        .status();
  }
  if (name == "resize") {
    auto& s = step.emplace<ResizeStep>();
    return reader.Expect({"component", "height", "method", "width"})
        .Get("height", s.height)
        .Get("width", s.width)
        .GetBytes("component", s.component)
        .Get("method", "bilinear", ResizeStep::Method::kBilinear, "nearest",
             ResizeStep::Method::kNearest, s.method)
        .status();
  }
  if (name == "random_flip") {
    auto& s = step.emplace<RandomFlipStep>();
    return reader.Expect({"component", "direction", "probability"})
        .Get("probability", s.probability)
        .GetBytes("component", s.component)
        .Get("direction", "horizontal", RandomFlipStep::Direction::kHorizontal,
             "vertical", RandomFlipStep::Direction::kVertical, s.direction)
        .status();
  }
  known = false;
  return absl::OkStatus();
}

absl::Status ReadStep(const Json& json, Step& step) {
  if (!json.is_object() || json.size() != 1) {
    return InvalidArgument("a step is not an object with one key");
  }
  const std::string& name = json.begin().key();
  Reader reader(json.begin().value(), name);
  bool known = false;
  FM_RETURN_IF_ERROR(ReadImageStep(name, reader, step, known));
  if (known) return absl::OkStatus();
  if (name == "map") {
    auto& s = step.emplace<MapStep>();
    return reader.Expect({"outputs"})
        .ForEach("outputs", [&](const Json& j) { return ReadOutput(j, s); })
        .status();
  }
  if (name == "filter") {
    auto& s = step.emplace<FilterStep>();
    return reader.Expect({"predicate"}).Get("predicate", s.predicate).status();
  }
  if (name == "parse_example") {
    auto& s = step.emplace<ParseExampleStep>();
    return reader.Expect({"features"})
        .ForEach("features", [&](const Json& j) { return ReadFeature(j, s); })
        .status();
  }
  if (name == "shuffle") {
    auto& s = step.emplace<ShuffleStep>();
    return reader.Expect({"seed"}).Get("seed", s.seed).status();
  }
  if (name == "batch") {
    auto& s = step.emplace<BatchStep>();
    return reader.Expect({"drop_remainder", "size"})
        .Get("drop_remainder", s.drop_remainder)
        .Get("size", s.size)
        .status();
  }
  reader.Expect({"count"});
  if (name == "repeat") {
    return reader.Get("count", step.emplace<RepeatStep>().count).status();
  }
  if (name == "take") {
    return reader.Get("count", step.emplace<TakeStep>().count).status();
  }
  if (name == "skip") {
    return reader.Get("count", step.emplace<SkipStep>().count).status();
  }
  return InvalidArgument("there is no step \"{}\"", name);
}

absl::Status ReadOptions(const Json& json, Options& options) {
  return Reader(json, "options")
      .Expect({"order", "processing_mode", "seed"})
      .Get("order", "deterministic", Order::kDeterministic, "any", Order::kAny,
           options.order)
      .Get("processing_mode", "dynamic", Options::ProcessingMode::kDynamic,
           "off", Options::ProcessingMode::kOff, options.processing_mode)
      .Get("seed", options.seed)
      .status();
}

absl::StatusOr<Graph> ReadGraph(const Json& json) {
  Graph graph;
  Reader reader(json, "the graph");
  FM_RETURN_IF_ERROR(reader.Expect({"options", "source", "steps"}).status());
  FM_RETURN_IF_ERROR(ReadOptions(json["options"], graph.options));
  FM_RETURN_IF_ERROR(ReadSource(json["source"], graph.source));
  const auto read = [&](const Json& one) {
    if (graph.steps.size() >= kStepsMax) {
      return InvalidArgument("more than {} steps", kStepsMax);
    }
    const size_t index = graph.steps.size();
    return Annotate(ReadStep(one, graph.steps.emplace_back()),
                    fmt::format("steps[{}]", index));
  };
  FM_RETURN_IF_ERROR(reader.ForEach("steps", read).status());
  return graph;
}

}  // namespace

absl::StatusOr<Graph> ParseGraphJson(std::string_view text) {
  if (text.size() > kTextMax) {
    return InvalidArgument("a graph of {} bytes is too long (at most {})",
                           text.size(), kTextMax);
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("the graph is not JSON");
  return ReadGraph(json);
}

}  // namespace feedmill
