#include "core/dataset/graph_text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_text.h"
#include "core/dataset/source_types.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

template <class T>
Json Optional(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json PaddingToJson(const std::vector<Padding>& padding) {
  Json list = Json::array();
  for (const Padding& p : padding) {
    list.push_back(
        Json::array({BytesToJson(p.component), Optional(p.shape), p.value}));
  }
  return list;
}

Json OutputsToJson(const std::vector<std::pair<std::string, Expr>>& outputs) {
  Json list = Json::array();
  for (const auto& [name, expr] : outputs) {
    list.push_back(Json::array({BytesToJson(name), expr.ToString()}));
  }
  return {{"outputs", std::move(list)}};
}

Json FeaturesToJson(const std::vector<ParseExampleStep::Feature>& features) {
  Json list = Json::array();
  for (const auto& f : features) {
    list.push_back(Json::array(
        {BytesToJson(f.name), std::string(DTypeName(f.dtype)), f.shape}));
  }
  return list;
}

// The value of a step; its key is StepName. Lists of pairs keep their order.
struct StepToJson {
  Json operator()(const MapStep& s) const { return OutputsToJson(s.outputs); }
  Json operator()(const FlatMapStep& s) const {
    return OutputsToJson(s.outputs);
  }
  Json operator()(const FilterStep& s) const {
    return {{"predicate", s.predicate.ToString()}};
  }
  Json operator()(const ParseExampleStep& s) const {
    return {{"features", FeaturesToJson(s.features)}};
  }
  Json operator()(const ParseSequenceExampleStep& s) const {
    return {{"context", FeaturesToJson(s.context)},
            {"sequence", FeaturesToJson(s.sequence)}};
  }
  Json operator()(const OnErrorStep& s) const {
    const bool skip = s.policy == OnErrorStep::Policy::kSkip;
    return {{"cap", Optional(s.cap)},
            {"policy", skip ? "skip" : "fail"},
            {"quarantine", BytesToJson(s.quarantine)}};
  }
  Json operator()(const CacheStep& s) const {
    return {{"memory_bytes", Optional(s.memory_bytes)},
            {"path", BytesToJson(s.path)}};
  }
  Json operator()(const DecodeImageStep& s) const {
    const bool accurate = s.dct == DecodeImageStep::Dct::kAccurate;
    return {{"channels", s.channels},
            {"component", BytesToJson(s.component)},
            {"dct", accurate ? "accurate" : "fast"}};
  }
  Json operator()(const ResizeStep& s) const {
    const bool bilinear = s.method == ResizeStep::Method::kBilinear;
    return {{"component", BytesToJson(s.component)},
            {"height", s.height},
            {"method", bilinear ? "bilinear" : "nearest"},
            {"width", s.width}};
  }
  Json operator()(const RandomFlipStep& s) const {
    const bool across = s.direction == RandomFlipStep::Direction::kHorizontal;
    return {{"component", BytesToJson(s.component)},
            {"direction", across ? "horizontal" : "vertical"},
            {"probability", s.probability}};
  }
  Json operator()(const ShuffleStep& s) const {
    Json out{{"seed", Optional(s.seed)}};
    if (s.window) out["window"] = *s.window;
    if (s.block) out["block"] = *s.block;
    if (s.files) out["files"] = true;
    return out;
  }
  Json operator()(const BatchStep& s) const {
    Json out{{"drop_remainder", s.drop_remainder}, {"size", s.size}};
    if (s.layout == BatchLayout::kPadded) {
      out["padding"] = PaddingToJson(s.padding);
    }
    return out;
  }
  Json operator()(const RepeatStep& s) const {
    return {{"count", Optional(s.count)}};
  }
  Json operator()(const TakeStep& s) const { return {{"count", s.count}}; }
  Json operator()(const SkipStep& s) const { return {{"count", s.count}}; }
  Json operator()(const ShardStep& s) const {
    return {{"count", s.count}, {"index", s.index}};
  }
  Json operator()(const EnumerateStep& s) const {
    return {{"component", BytesToJson(s.component)}, {"start", s.start}};
  }
  Json operator()(const UnbatchStep&) const { return Json::object(); }
  Json operator()(const RebatchStep& s) const {
    return {{"drop_remainder", s.drop_remainder}, {"size", s.size}};
  }
  Json operator()(const WindowStep& s) const {
    return {{"drop_remainder", s.drop_remainder},
            {"shift", s.shift == 0 ? s.size : s.shift},
            {"size", s.size},
            {"stride", s.stride}};
  }
  Json operator()(const BucketBySequenceLengthStep& s) const {
    return {{"batch_sizes", s.batch_sizes},
            {"boundaries", s.boundaries},
            {"component", BytesToJson(s.component)},
            {"drop_remainder", s.drop_remainder},
            {"padding", PaddingToJson(s.padding)}};
  }
  Json operator()(const TokenBatchStep& s) const {
    const bool padded = s.layout == BatchLayout::kPadded;
    return {{"component", BytesToJson(s.component)},
            {"drop_remainder", s.drop_remainder},
            {"layout", padded ? "padded" : "ragged"},
            {"padding", PaddingToJson(s.padding)},
            {"tokens", s.tokens}};
  }
  Json operator()(const PackStep& s) const {
    return {{"bins", s.bins},
            {"length", s.length},
            {"padding", PaddingToJson(s.padding)}};
  }
};

Json ToJson(const Graph& graph) {
  const bool any = graph.options.order == Order::kAny;
  const bool off =
      graph.options.processing_mode == Options::ProcessingMode::kOff;
  Json json = InputToJson(graph);
  json["options"] = {{"order", any ? "any" : "deterministic"},
                     {"processing_mode", off ? "off" : "dynamic"},
                     {"seed", Optional(graph.options.seed)}};
  if (!graph.plugins.empty()) json["plugins"] = graph.plugins;
  return json;
}

}  // namespace

Json InputToJson(const Graph& graph) {
  Json steps = Json::array();
  for (const Step& step : graph.steps) {
    Json one = Json::object();
    one[std::string(StepName(step))] = std::visit(StepToJson{}, step);
    steps.push_back(std::move(one));
  }
  return {{"source", SourceToJson(graph.source)}, {"steps", std::move(steps)}};
}

namespace {

void MakePathAbsolute(const std::string& directory, std::string& file) {
  if (file.empty() || file[0] == '/') return;
  if (file.find("://") != std::string::npos) return;
  std::string_view rest = file;
  while (rest.substr(0, 2) == "./") rest.remove_prefix(2);
  const bool slash = !directory.empty() && directory.back() == '/';
  file = fmt::format("{}{}{}", directory, slash ? "" : "/", rest);
}

}  // namespace

void MakePathsAbsolute(const std::string& directory, Graph& graph) {
  for (Step& step : graph.steps) {
    if (auto* on_error = std::get_if<OnErrorStep>(&step)) {
      MakePathAbsolute(directory, on_error->quarantine);
    }
    if (auto* cache = std::get_if<CacheStep>(&step)) {
      MakePathAbsolute(directory, cache->path);
    }
    ChangeNamedFiles(
        [&](std::string& path) { MakePathAbsolute(directory, path); }, step);
  }
  if (auto* inputs = SourceInputs(graph.source)) {
    for (Graph& input : *inputs) MakePathsAbsolute(directory, input);
  }
  std::vector<std::string>* const files = SourceFiles(graph.source);
  if (files == nullptr) return;
  for (std::string& file : *files) MakePathAbsolute(directory, file);
}

std::string CanonicalText(const Graph& graph) { return ToJson(graph).dump(); }

std::string Fingerprint(const Graph& graph) {
  Json json = ToJson(graph);
  json["options"].erase("seed");
  json["options"].erase("order");
  const std::string text = json.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Graph SlottedGraph(const Graph& graph) {
  Graph slotted = graph;
  slotted.steps.push_back(RepeatStep{static_cast<int64_t>(kSlotsMax)});
  return slotted;
}

std::string_view StepName(const Step& step) {
  struct Visitor {
    std::string_view operator()(const MapStep&) const { return "map"; }
    std::string_view operator()(const FilterStep&) const { return "filter"; }
    std::string_view operator()(const ParseExampleStep&) const {
      return "parse_example";
    }
    std::string_view operator()(const DecodeImageStep&) const {
      return "decode_image";
    }
    std::string_view operator()(const ResizeStep&) const { return "resize"; }
    std::string_view operator()(const RandomFlipStep&) const {
      return "random_flip";
    }
    std::string_view operator()(const ShuffleStep&) const { return "shuffle"; }
    std::string_view operator()(const BatchStep& s) const {
      return s.layout == BatchLayout::kEqual    ? "batch"
             : s.layout == BatchLayout::kPadded ? "padded_batch"
                                                : "ragged_batch";
    }
    std::string_view operator()(const RepeatStep&) const { return "repeat"; }
    std::string_view operator()(const TakeStep&) const { return "take"; }
    std::string_view operator()(const SkipStep&) const { return "skip"; }
    std::string_view operator()(const ShardStep&) const { return "shard"; }
    std::string_view operator()(const EnumerateStep&) const {
      return "enumerate";
    }
    std::string_view operator()(const UnbatchStep&) const { return "unbatch"; }
    std::string_view operator()(const RebatchStep&) const { return "rebatch"; }
    std::string_view operator()(const WindowStep&) const { return "window"; }
    std::string_view operator()(const BucketBySequenceLengthStep&) const {
      return "bucket_by_sequence_length";
    }
    std::string_view operator()(const TokenBatchStep&) const {
      return "token_batch";
    }
    std::string_view operator()(const PackStep&) const { return "pack"; }
    std::string_view operator()(const FlatMapStep&) const { return "flat_map"; }
    std::string_view operator()(const ParseSequenceExampleStep&) const {
      return "parse_sequence_example";
    }
    std::string_view operator()(const OnErrorStep&) const { return "on_error"; }
    std::string_view operator()(const CacheStep&) const { return "cache"; }
  };
  return std::visit(Visitor{}, step);
}

}  // namespace feedmill
