// ParseGraphYaml: YAML nodes to a Graph, driven by the schema, so that its
// depth is fixed and every list is bounded however the YAML's aliases expand.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/pipeline_text.h"
#include "core/dataset/shape_text.h"
#include "core/dataset/source_text.h"
#include "core/dataset/step_text.h"
#include "core/dataset/yaml_values.h"

namespace feedmill {
namespace {

constexpr size_t kYamlTextMax = size_t{1} << 20;
constexpr size_t kYamlStepsMax = 1000;
constexpr size_t kTermsMax = 100'000;

class YamlReader : private YamlValues {
 public:
  // options.job of what was read.
  const std::string& job() const { return job_; }
  // Lines of the source and of each step of the text that was read.
  const GraphLines& lines() const { return lines_; }

  absl::StatusOr<Graph> ReadGraph(const YAML::Node& root) {
    if (!root.IsMap()) {
      return Error(root, "",
                   "a pipeline is a map with source and steps, "
                   "this is " +
                       Kind(root));
    }
    Graph graph;
    bool has_source = false;
    FM_RETURN_IF_ERROR(
        ForEachKey(root, "the pipeline", {"source", "steps", "options"},
                   [&](const std::string& key, const YAML::Node& value) {
                     if (key == "source") {
                       has_source = true;
                       return ReadSource(value, graph.source);
                     }
                     if (key == "steps") return ReadSteps(value, graph.steps);
                     return ReadOptions(value, graph.options);
                   }));
    if (!has_source) {
      return Error(root, "",
                   "there is no source; write, for example, "
                   "source: {range: {stop: 10}}");
    }
    return graph;
  }

 private:
  // ---- inputs of the source

  static int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

  absl::Status ReadSource(const YAML::Node& node, Source& source) {
    at_->source = LineOf(node);
    return ReadSourceYaml(
        *this, node,
        [this](const YAML::Node& item, Graph& input) {
          return ReadInput(item, input);
        },
        source);
  }

  absl::Status ReadInput(const YAML::Node& node, Graph& graph) {
    static const std::string where = "an input";
    if (depth_ == kInputDepthMax) {
      return Error(node, where,
                   fmt::format("inputs are nested more than {} deep", depth_));
    }
    if (++inputs_ > kInputsInAllMax) {
      return Error(node, where,
                   fmt::format("more than {} inputs", kInputsInAllMax));
    }
    ++depth_;
    GraphLines& whole = *at_;
    at_ = &whole.inputs.emplace_back();
    bool has_source = false;
    FM_RETURN_IF_ERROR(
        ForEachKey(node, where, {"source", "steps"},
                   [&](const std::string& key, const YAML::Node& value) {
                     if (key == "steps") return ReadSteps(value, graph.steps);
                     has_source = true;
                     return ReadSource(value, graph.source);
                   }));
    at_ = &whole;
    --depth_;
    if (has_source) return absl::OkStatus();
    return Error(node, where, "there is no source");
  }

  // ---- steps

  absl::Status ReadSteps(const YAML::Node& node, std::vector<Step>& steps) {
    FM_RETURN_IF_ERROR(Count(node));
    if (node.IsNull()) return absl::OkStatus();
    if (!node.IsSequence()) {
      return Error(node, "steps",
                   "expected a list, each item a step like "
                   "\"- batch: 32\", found " +
                       Kind(node));
    }
    for (const YAML::Node& item : node) {
      if (++steps_ > kYamlStepsMax) {
        return Error(item, "steps",
                     fmt::format("more than {} steps", kYamlStepsMax));
      }
      FM_RETURN_IF_ERROR(ReadStep(item, steps));
      at_->steps.push_back(LineOf(item));
    }
    return absl::OkStatus();
  }

  absl::Status ReadStep(const YAML::Node& item, std::vector<Step>& steps) {
    static const Names kSteps = {
        "map",          "filter",      "parse_example",
        "decode_image", "resize",      "random_flip",
        "shuffle",      "batch",       "padded_batch",
        "ragged_batch", "unbatch",     "rebatch",
        "window",       "token_batch", "bucket_by_sequence_length",
        "pack",         "repeat",      "take",
        "skip",         "shard",       "enumerate",
        "flat_map",     "on_error",    "parse_sequence_example",
        "cache"};
    const std::string where = fmt::format("steps[{}]", steps.size());
    FM_RETURN_IF_ERROR(Count(item));
    std::string name;
    YAML::Node at = item;
    YAML::Node value;
    if (item.IsScalar()) {  // - shuffle
      name = item.Scalar();
    } else if (item.IsMap() && item.size() == 1) {
      const auto entry = *item.begin();
      FM_RETURN_IF_ERROR(ReadKey(entry.first, where, name));
      at.reset(entry.first);
      value.reset(entry.second);
    } else {
      return Error(item, where,
                   item.IsMap() && item.size() > 1
                       ? "one item is one step; begin each with its own \"-\""
                       : "expected a step, found " + Kind(item));
    }
    if (std::find(kSteps.begin(), kSteps.end(), name) == kSteps.end()) {
      return Error(
          at, where,
          "there is no step " + Quoted(name) + HintFor(name, where, kSteps));
    }
    Step step;
    FM_RETURN_IF_ERROR(
        ReadStepValue(where + " " + name, name, at, value, step));
    steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status ReadStepValue(const std::string& where, const std::string& name,
                             const YAML::Node& at, const YAML::Node& value,
                             Step& step) {
    const bool optional = name == "decode_image" || name == "random_flip" ||
                          name == "shuffle" || name == "repeat" ||
                          name == "unbatch" || name == "enumerate" ||
                          name == "cache";
    if (value.IsNull() && !optional) {
      return Error(at, where, "it needs a value; docs/steps.md shows it");
    }
    if (name == "map") {
      return ReadOutputs(where, value, step.emplace<MapStep>().outputs);
    }
    if (name == "flat_map") {
      return ReadOutputs(where, value, step.emplace<FlatMapStep>().outputs);
    }
    if (name == "on_error") {
      return ReadOnErrorYaml(*this, where, value, step.emplace<OnErrorStep>());
    }
    if (name == "cache") {
      return ReadCacheYaml(*this, where, value, step.emplace<CacheStep>());
    }
    if (name == "filter") {
      return ReadExpr(value, where, step.emplace<FilterStep>().predicate);
    }
    if (name == "parse_example") {
      return ReadFeatures(where, value,
                          step.emplace<ParseExampleStep>().features);
    }
    if (name == "parse_sequence_example") {
      return ReadParseSequence(where, value,
                               step.emplace<ParseSequenceExampleStep>());
    }
    if (name == "decode_image") {
      return ReadDecode(where, value, step.emplace<DecodeImageStep>());
    }
    if (name == "resize") {
      return ReadResize(where, at, value, step.emplace<ResizeStep>());
    }
    if (name == "random_flip") {
      return ReadFlip(where, value, step.emplace<RandomFlipStep>());
    }
    if (name == "shuffle") {
      return ReadShuffleYaml(*this, where, value, step.emplace<ShuffleStep>());
    }
    bool known = false;
    FM_RETURN_IF_ERROR(
        ReadBatchYaml(*this, where, name, at, value, step, known));
    if (known) return absl::OkStatus();
    if (name == "unbatch") {
      step = UnbatchStep{};
      return ForEachOptionalKey(value, where, {}, {});
    }
    if (name == "shard") {
      return ReadShard(where, at, value, step.emplace<ShardStep>());
    }
    if (name == "enumerate") {
      return ReadEnumerate(where, value, step.emplace<EnumerateStep>());
    }
    if (name == "repeat") {
      if (value.IsNull() || (value.IsMap() && value.size() == 0)) {
        step = RepeatStep{};
        return absl::OkStatus();
      }
      int64_t count = 0;
      FM_RETURN_IF_ERROR(ReadCount(where, value, count));
      step = RepeatStep{count};
      return absl::OkStatus();
    }
    if (name == "take") {
      return ReadCount(where, value, step.emplace<TakeStep>().count);
    }
    return ReadCount(where, value, step.emplace<SkipStep>().count);
  }

  // take: 5, or take: {count: 5}
  absl::Status ReadCount(const std::string& where, const YAML::Node& value,
                         int64_t& count) {
    if (!value.IsMap()) return ReadInteger(value, where, count);
    if (value.size() == 0) return Error(value, where, "count is missing");
    return ForEachKey(value, where, {"count"},
                      [&](const std::string&, const YAML::Node& v) {
                        return ReadInteger(v, where, count);
                      });
  }

  absl::Status ReadExpr(const YAML::Node& node, const std::string& where,
                        Expr& out) {
    std::string text;
    FM_RETURN_IF_ERROR(ReadString(node, where, "an expression", text));
    absl::StatusOr<Expr> expr = Expr::Parse(text);
    if (!expr.ok()) return Error(node, where, ErrorText(expr.status()));
    out = *std::move(expr);
    terms_ += out.nodes();
    if (terms_ <= kTermsMax) return absl::OkStatus();
    return Error(node, where,
                 fmt::format("the expressions have more than {} terms in all",
                             kTermsMax));
  }

  absl::Status ReadOutputs(const std::string& where, const YAML::Node& value,
                           std::vector<std::pair<std::string, Expr>>& outputs) {
    if (!value.IsMap()) {
      outputs.resize(1);
      return ReadExpr(value, where, outputs[0].second);
    }
    FM_RETURN_IF_ERROR(Count(value));
    for (const auto& entry : value) {
      std::string name;
      FM_RETURN_IF_ERROR(ReadKey(entry.first, where, name));
      for (const auto& output : outputs) {
        if (output.first == name) {
          return Error(entry.first, where, Quoted(name) + " is there twice");
        }
      }
      Expr expr;
      FM_RETURN_IF_ERROR(ReadExpr(entry.second, where + " " + name, expr));
      outputs.emplace_back(std::move(name), std::move(expr));
    }
    return absl::OkStatus();
  }

  // parse_sequence_example: {context: {id: int64}, sequence: {word: bytes}}
  absl::Status ReadParseSequence(const std::string& where,
                                 const YAML::Node& value,
                                 ParseSequenceExampleStep& step) {
    return ForEachKey(value, where, {"context", "sequence"},
                      [&](const std::string& key, const YAML::Node& v) {
                        return ReadFeatures(
                            where + " " + key, v,
                            key == "context" ? step.context : step.sequence);
                      });
  }

  absl::Status ReadFeatures(const std::string& where, const YAML::Node& value,
                            std::vector<ParseExampleStep::Feature>& features) {
    FM_RETURN_IF_ERROR(Count(value));
    if (!value.IsMap()) {
      return Error(value, where,
                   "expected a map like {image: bytes, label: "
                   "int64}, found " +
                       Kind(value));
    }
    for (const auto& entry : value) {
      ParseExampleStep::Feature feature;
      FM_RETURN_IF_ERROR(ReadKey(entry.first, where, feature.name));
      for (const auto& other : features) {
        if (other.name == feature.name) {
          return Error(entry.first, where,
                       Quoted(feature.name) + " is there twice");
        }
      }
      std::string type;
      FM_RETURN_IF_ERROR(ReadString(entry.second, where + " " + feature.name,
                                    "a type like int64 or \"float32[3]\"",
                                    type));
      const absl::Status parsed = ParseTypeText(
          type, feature.dtype, feature.shape, Dims::kMayBeUnknown);
      if (!parsed.ok()) {
        return Error(entry.second, where + " " + feature.name,
                     ErrorText(parsed));
      }
      features.push_back(std::move(feature));
    }
    return absl::OkStatus();
  }

  absl::Status ReadDecode(const std::string& where, const YAML::Node& value,
                          DecodeImageStep& step) {
    return ForEachOptionalKey(
        value, where, {"component", "channels", "dct"},
        [&](const std::string& key, const YAML::Node& v) {
          if (key == "component") {
            return ReadString(v, where, "a component", step.component);
          }
          if (key == "channels") return ReadInteger(v, where, step.channels);
          size_t dct = 0;
          FM_RETURN_IF_ERROR(ReadWord(v, where, {"accurate", "fast"}, dct));
          step.dct = dct == 0 ? DecodeImageStep::Dct::kAccurate
                              : DecodeImageStep::Dct::kFast;
          return absl::OkStatus();
        });
  }

  absl::Status ReadResize(const std::string& where, const YAML::Node& at,
                          const YAML::Node& value, ResizeStep& step) {
    bool height = false, width = false;
    FM_RETURN_IF_ERROR(ForEachKey(
        value, where, {"component", "height", "width", "method"},
        [&](const std::string& key, const YAML::Node& v) {
          if (key == "component") {
            return ReadString(v, where, "a component", step.component);
          }
          if (key == "height") {
            height = true;
            return ReadInteger(v, where + " height", step.height);
          }
          if (key == "width") {
            width = true;
            return ReadInteger(v, where + " width", step.width);
          }
          size_t method = 0;
          const absl::Status read =
              ReadWord(v, where, {"bilinear", "nearest"}, method);
          step.method = method == 0 ? ResizeStep::Method::kBilinear
                                    : ResizeStep::Method::kNearest;
          return read;
        }));
    if (!height) return Error(at, where, "there is no height");
    if (!width) return Error(at, where, "there is no width");
    return absl::OkStatus();
  }

  absl::Status ReadFlip(const std::string& where, const YAML::Node& value,
                        RandomFlipStep& step) {
    return ForEachOptionalKey(
        value, where, {"component", "direction", "probability"},
        [&](const std::string& key, const YAML::Node& v) {
          if (key == "component") {
            return ReadString(v, where, "a component", step.component);
          }
          if (key == "probability") {
            return ReadReal(v, where, step.probability);
          }
          size_t direction = 0;
          FM_RETURN_IF_ERROR(
              ReadWord(v, where, {"horizontal", "vertical"}, direction));
          step.direction = direction == 0
                               ? RandomFlipStep::Direction::kHorizontal
                               : RandomFlipStep::Direction::kVertical;
          return absl::OkStatus();
        });
  }

  absl::Status ReadShard(const std::string& where, const YAML::Node& at,
                         const YAML::Node& value, ShardStep& step) {
    bool count = false, index = false;
    FM_RETURN_IF_ERROR(
        ForEachKey(value, where, {"count", "index"},
                   [&](const std::string& key, const YAML::Node& v) {
                     (key == "count" ? count : index) = true;
                     return ReadInteger(
                         v, where, key == "count" ? step.count : step.index);
                   }));
    if (!count) return Error(at, where, "there is no count");
    if (!index) return Error(at, where, "there is no index");
    return absl::OkStatus();
  }

  absl::Status ReadEnumerate(const std::string& where, const YAML::Node& value,
                             EnumerateStep& step) {
    return ForEachOptionalKey(value, where, {"component", "start"},
                              [&](const std::string& key, const YAML::Node& v) {
                                if (key == "start")
                                  return ReadInteger(v, where, step.start);
                                return ReadString(v, where, "a component",
                                                  step.component);
                              });
  }

  // ---- options

  absl::Status ReadJob(const YAML::Node& node) {
    FM_RETURN_IF_ERROR(ReadString(node, "job", "a name", job_));
    if (job_.empty())
      return Error(node, "job", "the name of a job must not be empty");
    return absl::OkStatus();
  }

  absl::Status ReadOptions(const YAML::Node& node, Options& options) {
    return ForEachOptionalKey(
        node, "options", {"job", "order", "processing_mode", "seed"},
        [&](const std::string& key, const YAML::Node& value) {
          if (key == "seed") {
            return ReadSeedYaml(*this, "seed", value, options.seed);
          }
          if (key == "job") return ReadJob(value);
          size_t word = 0;
          if (key == "order") {
            FM_RETURN_IF_ERROR(
                ReadWord(value, "order", {"deterministic", "any"}, word));
            options.order = word == 0 ? Order::kDeterministic : Order::kAny;
            return absl::OkStatus();
          }
          // The originals have two names for each.
          FM_RETURN_IF_ERROR(ReadWord(
              value, "processing_mode",
              {"dynamic", "distributed_epoch", "off", "parallel_epochs"},
              word));
          options.processing_mode = word < 2 ? Options::ProcessingMode::kDynamic
                                             : Options::ProcessingMode::kOff;
          return absl::OkStatus();
        });
  }

  size_t terms_ = 0;  // of all expressions
  size_t steps_ = 0;  // of all inputs, too
  size_t inputs_ = 0;
  size_t depth_ = 0;  // of the inputs that are being read
  std::string job_;
  GraphLines lines_;
  GraphLines* at_ = &lines_;  // of the input that is being read, or the whole
};

// YAML is text without control characters. The parser can take minutes over a
// megabyte of other bytes.
absl::Status CheckIsText(std::string_view text) {
  size_t line = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\n') ++line;
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') ||
        byte == 0x7f) {
      return InvalidArgument(
          "line {}: not YAML: the byte {:#04x} is not text; is this the right "
          "file?",
          line, byte);
    }
  }
  return absl::OkStatus();
}

// Sees where a document begins.
class DocumentStart final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

// YAML::LoadAll would tell the same, but of a comma behind the first document
// it makes empty ones without end.
absl::Status CheckIsOneDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (!parser.HandleNextDocument(start)) {
    return InvalidArgument("the pipeline is empty; write source: and steps:");
  }
  if (!parser.HandleNextDocument(start)) return absl::OkStatus();
  return InvalidArgument(
      "line {}, column {}: a pipeline is one YAML document, another begins "
      "here",
      start.mark().line + 1, start.mark().column + 1);
}

}  // namespace

absl::StatusOr<Graph> ParseGraphYaml(std::string_view text,
                                     const std::string& directory) {
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipelineYaml(text, directory));
  return std::move(pipeline.graph);
}

absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory) {
  if (text.size() > kYamlTextMax) {
    return InvalidArgument("a pipeline of {} bytes is too long (at most {})",
                           text.size(), kYamlTextMax);
  }
  FM_RETURN_IF_ERROR(CheckIsText(text));
  try {
    const std::string copy(text);
    FM_RETURN_IF_ERROR(CheckIsOneDocument(copy));
    YamlReader reader;
    FM_ASSIGN_OR_RETURN(Graph graph, reader.ReadGraph(YAML::Load(copy)));
    if (!directory.empty()) MakePathsAbsolute(directory, graph);
    return Pipeline{std::move(graph), reader.job(), reader.lines()};
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) {
      return InvalidArgument("not YAML: {}", error.msg);
    }
    return InvalidArgument("line {}, column {}: not YAML: {}",
                           error.mark.line + 1, error.mark.column + 1,
                           error.msg);
  }
}

}  // namespace feedmill
