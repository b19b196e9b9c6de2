// ParseGraphJson: the canonical text back to a Graph. The text came over a
// wire or out of a journal, so nothing about it is trusted.

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/json_reader.h"
#include "core/dataset/source_text.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;
using Reader = JsonReader;

// More than ParseGraphYaml's bounds can become, with all escapes.
constexpr size_t kTextMax = size_t{64} << 20;
constexpr size_t kStepsMax = 1000;
constexpr size_t kRankMax = 32;

absl::Status ReadOutput(const Json& json,
                        std::vector<std::pair<std::string, Expr>>& outputs) {
  if (!json.is_array() || json.size() != 2) {
    return InvalidArgument("a map's output is not [name, expression]");
  }
  auto& [name, expr] = outputs.emplace_back();
  FM_RETURN_IF_ERROR(Reader::Bytes(json[0], name));
  return Reader::GetExpr(json[1], expr);
}

absl::Status ReadFeature(const Json& json,
                         std::vector<ParseExampleStep::Feature>& features) {
  if (!json.is_array() || json.size() != 3 || !json[1].is_string() ||
      !json[2].is_array() || json[2].size() > kRankMax) {
    return InvalidArgument("a feature is not [name, dtype, shape]");
  }
  ParseExampleStep::Feature& feature = features.emplace_back();
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

absl::Status ReadPadding(const Json& json, std::vector<Padding>& padding) {
  if (!json.is_array() || json.size() != 3 || !json[2].is_number()) {
    return InvalidArgument("a padding is not [component, shape, value]");
  }
  Padding& p = padding.emplace_back();
  FM_RETURN_IF_ERROR(Reader::Bytes(json[0], p.component));
  p.value = json[2].get<double>();
  if (json[1].is_null()) return absl::OkStatus();
  if (!json[1].is_array() || json[1].size() > kRankMax) {
    return InvalidArgument("a padding's shape is no list of dims");
  }
  p.shape.emplace();
  for (const Json& dim : json[1]) {
    if (!dim.is_number_integer()) {
      return InvalidArgument("a padding's dim is not an integer");
    }
    p.shape->push_back(dim.get<int64_t>());
  }
  return absl::OkStatus();
}

// The steps that make batches; false in `known` for another name.
absl::Status ReadBatchStep(const std::string& name, Reader& reader, Step& step,
                           bool& known) {
  known = true;
  const auto padding = [&](std::vector<Padding>& out) {
    return [&out](const Json& j) { return ReadPadding(j, out); };
  };
  if (name == "batch" || name == "ragged_batch" || name == "padded_batch") {
    auto& s = step.emplace<BatchStep>();
    s.layout = name == "batch"          ? BatchLayout::kEqual
               : name == "ragged_batch" ? BatchLayout::kRagged
                                        : BatchLayout::kPadded;
    if (s.layout == BatchLayout::kPadded) {
      reader.Expect({"drop_remainder", "padding", "size"})
          .ForEach("padding", padding(s.padding));
    } else {
      reader.Expect({"drop_remainder", "size"});
    }
    return reader.Get("drop_remainder", s.drop_remainder)
        .Get("size", s.size)
        .status();
  }
  if (name == "rebatch") {
    auto& s = step.emplace<RebatchStep>();
    return reader.Expect({"drop_remainder", "size"})
        .Get("drop_remainder", s.drop_remainder)
        .Get("size", s.size)
        .status();
  }
  if (name == "window") {
    auto& s = step.emplace<WindowStep>();
    return reader.Expect({"drop_remainder", "shift", "size", "stride"})
        .Get("drop_remainder", s.drop_remainder)
        .Get("shift", s.shift)
        .Get("size", s.size)
        .Get("stride", s.stride)
        .status();
  }
  if (name == "bucket_by_sequence_length") {
    auto& s = step.emplace<BucketBySequenceLengthStep>();
    return reader
        .Expect({"batch_sizes", "boundaries", "component", "drop_remainder",
                 "padding"})
        .Get("batch_sizes", s.batch_sizes)
        .Get("boundaries", s.boundaries)
        .GetBytes("component", s.component)
        .Get("drop_remainder", s.drop_remainder)
        .ForEach("padding", padding(s.padding))
        .status();
  }
  if (name == "token_batch") {
    auto& s = step.emplace<TokenBatchStep>();
    return reader
        .Expect({"component", "drop_remainder", "layout", "padding", "tokens"})
        .GetBytes("component", s.component)
        .Get("drop_remainder", s.drop_remainder)
        .Get("layout", "padded", BatchLayout::kPadded, "ragged",
             BatchLayout::kRagged, s.layout)
        .ForEach("padding", padding(s.padding))
        .Get("tokens", s.tokens)
        .status();
  }
  if (name == "pack") {
    auto& s = step.emplace<PackStep>();
    return reader.Expect({"bins", "length", "padding"})
        .Get("bins", s.bins)
        .Get("length", s.length)
        .ForEach("padding", padding(s.padding))
        .status();
  }
  known = false;
  return absl::OkStatus();
}

// Written without what it does not have, as before there was any of it.
absl::Status ReadShuffle(const Json& json, Reader& reader, ShuffleStep& step) {
  std::vector<const char*> keys = {"seed"};
  for (const char* key : {"block", "files", "window"}) {
    if (json.contains(key)) keys.push_back(key);
  }
  reader.Expect(keys).Get("seed", step.seed);
  if (json.contains("block")) reader.Get("block", step.block.emplace());
  if (json.contains("files")) reader.Get("files", step.files);
  if (json.contains("window")) reader.Get("window", step.window.emplace());
  return reader.status();
}

absl::Status ReadOnError(Reader& reader, OnErrorStep& step) {
  return reader.Expect({"cap", "policy", "quarantine"})
      .Get("cap", step.cap)
      .Get("policy", "skip", OnErrorStep::Policy::kSkip, "fail",
           OnErrorStep::Policy::kFail, step.policy)
      .GetBytes("quarantine", step.quarantine)
      .status();
}

// Steps of expressions and of tf.train's messages; false in `known` for
// another name.
absl::Status ReadElementStep(const std::string& name, Reader& reader,
                             Step& step, bool& known) {
  known = true;
  const auto features = [](std::vector<ParseExampleStep::Feature>& out) {
    return [&out](const Json& j) { return ReadFeature(j, out); };
  };
  if (name == "map" || name == "flat_map") {
    auto& outputs = name == "map" ? step.emplace<MapStep>().outputs
                                  : step.emplace<FlatMapStep>().outputs;
    return reader.Expect({"outputs"})
        .ForEach("outputs",
                 [&](const Json& j) { return ReadOutput(j, outputs); })
        .status();
  }
  if (name == "filter") {
    auto& s = step.emplace<FilterStep>();
    return reader.Expect({"predicate"}).Get("predicate", s.predicate).status();
  }
  if (name == "parse_example") {
    auto& s = step.emplace<ParseExampleStep>();
    return reader.Expect({"features"})
        .ForEach("features", features(s.features))
        .status();
  }
  if (name == "parse_sequence_example") {
    auto& s = step.emplace<ParseSequenceExampleStep>();
    return reader.Expect({"context", "sequence"})
        .ForEach("context", features(s.context))
        .ForEach("sequence", features(s.sequence))
        .status();
  }
  if (name == "on_error") {
    return ReadOnError(reader, step.emplace<OnErrorStep>());
  }
  if (name == "cache") {
    auto& s = step.emplace<CacheStep>();
    return reader.Expect({"memory_bytes", "path"})
        .Get("memory_bytes", s.memory_bytes)
        .GetBytes("path", s.path)
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
  FM_RETURN_IF_ERROR(ReadBatchStep(name, reader, step, known));
  if (known) return absl::OkStatus();
  FM_RETURN_IF_ERROR(ReadElementStep(name, reader, step, known));
  if (known) return absl::OkStatus();
  if (name == "shuffle") {
    return ReadShuffle(json.begin().value(), reader,
                       step.emplace<ShuffleStep>());
  }
  if (name == "shard") {
    auto& s = step.emplace<ShardStep>();
    return reader.Expect({"count", "index"})
        .Get("count", s.count)
        .Get("index", s.index)
        .status();
  }
  if (name == "enumerate") {
    auto& s = step.emplace<EnumerateStep>();
    return reader.Expect({"component", "start"})
        .GetBytes("component", s.component)
        .Get("start", s.start)
        .status();
  }
  if (name == "unbatch") {
    step.emplace<UnbatchStep>();
    return reader.Expect({}).status();
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

absl::Status ReadPlugins(const Json& json,
                         std::map<std::string, std::string>& plugins) {
  if (!json.is_object() || json.empty()) {
    return InvalidArgument("\"plugins\" is no object with keys");
  }
  for (const auto& [function, plugin] : json.items()) {
    if (!plugin.is_string()) {
      return InvalidArgument("\"plugins\": \"{}\" is no text", function);
    }
    plugins.emplace(function, plugin.get<std::string>());
  }
  return absl::OkStatus();
}

class GraphReader {
 public:
  absl::StatusOr<Graph> Read(const Json& json) {
    Graph graph;
    Reader reader(json, "the graph");
    std::vector<const char*> keys = {"options", "source", "steps"};
    const bool plugins = json.contains("plugins");
    if (plugins) keys.push_back("plugins");
    FM_RETURN_IF_ERROR(reader.Expect(keys).status());
    FM_RETURN_IF_ERROR(ReadOptions(json["options"], graph.options));
    if (plugins) {
      FM_RETURN_IF_ERROR(ReadPlugins(json["plugins"], graph.plugins));
    }
    FM_RETURN_IF_ERROR(ReadPipeline(json, reader, graph));
    return graph;
  }

 private:
  absl::Status ReadPipeline(const Json& json, Reader& reader, Graph& graph) {
    FM_RETURN_IF_ERROR(ReadSourceJson(
        json["source"],
        [this](const Json& one, Graph& input) { return ReadInput(one, input); },
        graph.source));
    const auto read = [&](const Json& one) {
      if (++steps_ > kStepsMax) {
        return InvalidArgument("more than {} steps", kStepsMax);
      }
      const size_t index = graph.steps.size();
      return Annotate(ReadStep(one, graph.steps.emplace_back()),
                      fmt::format("steps[{}]", index));
    };
    return reader.ForEach("steps", read).status();
  }

  absl::Status ReadInput(const Json& json, Graph& graph) {
    if (depth_ == kInputDepthMax || ++inputs_ > kInputsInAllMax) {
      return InvalidArgument("inputs stand more than {} deep, or are over {}",
                             kInputDepthMax, kInputsInAllMax);
    }
    Reader reader(json, "an input");
    FM_RETURN_IF_ERROR(reader.Expect({"source", "steps"}).status());
    ++depth_;
    FM_RETURN_IF_ERROR(ReadPipeline(json, reader, graph));
    --depth_;
    return absl::OkStatus();
  }

  size_t steps_ = 0;  // of all inputs, too
  size_t inputs_ = 0;
  size_t depth_ = 0;  // of the inputs that are being read
};

}  // namespace

absl::StatusOr<Graph> ParseGraphJson(std::string_view text) {
  if (text.size() > kTextMax) {
    return InvalidArgument("a graph of {} bytes is too long (at most {})",
                           text.size(), kTextMax);
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("the graph is not JSON");
  return GraphReader().Read(json);
}

}  // namespace feedmill
