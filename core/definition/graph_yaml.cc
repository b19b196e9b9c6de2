// ParseGraphYaml: YAML nodes to a Graph. The schema drives the parser, so its
// depth is fixed and every list is bounded, however the YAML's aliases expand.

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/definition/options_text.h"
#include "core/definition/pipeline_text.h"
#include "core/definition/yaml_values.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

constexpr size_t kYamlTextMax = size_t{1} << 20;
constexpr size_t kYamlStepsMax = 1000;
// Not a kind of source: its value is the canonical text of a whole pipeline,
// whose steps come before the steps of the file.
constexpr char kGraphSource[] = "graph";

class YamlReader : private YamlValues {
 public:
  // options.job of the text.
  const std::string& job() const { return job_; }
  // options.even of the text.
  Even even() const { return even_; }
  // Lines of the source and of each step of the text.
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
    FM_ASSIGN_OR_RETURN(Graph whole, WholeGraphOf(root));
    graph.options = whole.options;
    graph.plugins = whole.plugins;
    FM_RETURN_IF_ERROR(
        ForEachKey(root, "the pipeline", {"source", "steps", "options"},
                   [&](const std::string& key, const YAML::Node& value) {
                     if (key == "source") {
                       has_source = true;
                       return ReadSource(value, whole, graph);
                     }
                     if (key == "steps") return ReadSteps(value, graph.steps);
                     return ReadOptions(value, graph.options);
                   }));
    if (!has_source) {
      return Error(root, "",
                   "there is no source; write, for example, "
                   "source: {range: {stop: 10}}");
    }
    PutFirst(whole, graph);
    return graph;
  }

 private:
  // ---- inputs of the source

  static int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

  static bool IsWholeGraph(const YAML::Node& source) {
    return source.IsMap() && source.size() == 1 &&
           (*source.begin()).first.IsScalar() &&
           (*source.begin()).first.Scalar() == kGraphSource;
  }

  // The pipeline that the source of `pipeline` is; an empty one if it is none.
  absl::StatusOr<Graph> WholeGraphOf(const YAML::Node& pipeline) {
    Graph none;
    if (!pipeline.IsMap()) return none;
    const YAML::Node source = pipeline["source"];
    if (!source.IsDefined() || !IsWholeGraph(source)) return none;
    const YAML::Node text = (*source.begin()).second;
    if (!text.IsScalar()) {
      return Error(text, "source graph",
                   "expected the text that 'feedmill dataset show' prints, "
                   "found " +
                       Kind(text));
    }
    absl::StatusOr<Graph> whole = ParseGraphJson(text.Scalar());
    if (!whole.ok()) {
      return Error(text, "source graph", ErrorText(whole.status()));
    }
    steps_ += whole->steps.size();
    return whole;
  }

  // Puts the steps of a whole pipeline before the steps of the file.
  void PutFirst(Graph& whole, Graph& graph) {
    at_->steps.insert(at_->steps.begin(), whole.steps.size(), at_->source);
    graph.steps.insert(graph.steps.begin(),
                       std::make_move_iterator(whole.steps.begin()),
                       std::make_move_iterator(whole.steps.end()));
  }

  // `whole`: what WholeGraphOf the pipeline returned.
  absl::Status ReadSource(const YAML::Node& node, Graph& whole, Graph& graph) {
    Source& source = graph.source;
    at_->source = LineOf(node);
    FM_RETURN_IF_ERROR(Count(node));
    const Names known = SourceNames();
    if (!node.IsMap() || node.size() != 1) {
      return Error(node, "source",
                   "expected one of " + Joined(known) +
                       " with its files or options, found " + Kind(node));
    }
    if (IsWholeGraph(node)) {
      source = std::move(whole.source);
      return absl::OkStatus();
    }
    const auto entry = *node.begin();
    std::string name;
    FM_RETURN_IF_ERROR(ReadKey(entry.first, "source", name));
    const SourceKind* const kind = FindSourceKind(name);
    if (kind == nullptr) {
      return Error(entry.first, "source",
                   "there is no source " + Quoted(name) +
                       HintFor(name, "source", known));
    }
    FM_ASSIGN_OR_RETURN(
        source, options_yaml_.ReadSource(*kind, entry.first, entry.second));
    return absl::OkStatus();
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
    FM_ASSIGN_OR_RETURN(Graph source_graph, WholeGraphOf(node));
    FM_RETURN_IF_ERROR(
        ForEachKey(node, where, {"source", "steps"},
                   [&](const std::string& key, const YAML::Node& value) {
                     if (key == "steps") return ReadSteps(value, graph.steps);
                     has_source = true;
                     return ReadSource(value, source_graph, graph);
                   }));
    PutFirst(source_graph, graph);
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
    const StepKind* const kind = FindStepKind(name);
    if (kind == nullptr) {
      return Error(at, where,
                   "there is no step " + Quoted(name) +
                       HintFor(name, where, StepNames()));
    }
    FM_ASSIGN_OR_RETURN(
        Step step,
        options_yaml_.ReadStep(*kind, name, where + " " + name, at, value));
    steps.push_back(std::move(step));
    return absl::OkStatus();
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
        node, "options", {"even", "job", "order", "processing_mode", "seed"},
        [&](const std::string& key, const YAML::Node& value) {
          if (key == "seed") {
            return ReadSeedYaml(*this, "seed", value, options.seed);
          }
          if (key == "job") return ReadJob(value);
          size_t word = 0;
          if (key == "even") {
            FM_RETURN_IF_ERROR(
                ReadWord(value, "even", {"exact", "drop", "pad"}, word));
            even_ = static_cast<Even>(word);
            return absl::OkStatus();
          }
          if (key == "order") {
            FM_RETURN_IF_ERROR(
                ReadWord(value, "order", {"deterministic", "any"}, word));
            options.order = word == 0 ? Order::kDeterministic : Order::kAny;
            return absl::OkStatus();
          }
          // Like tf.data service, each mode has two names.
          FM_RETURN_IF_ERROR(ReadWord(
              value, "processing_mode",
              {"dynamic", "distributed_epoch", "off", "parallel_epochs"},
              word));
          options.processing_mode = word < 2 ? Options::ProcessingMode::kDynamic
                                             : Options::ProcessingMode::kOff;
          return absl::OkStatus();
        });
  }

  OptionsYaml options_yaml_{*this,
                            [this](const YAML::Node& item, Graph& input) {
                              return ReadInput(item, input);
                            }};
  size_t steps_ = 0;  // including steps of inputs
  size_t inputs_ = 0;
  size_t depth_ = 0;  // nesting of the current input
  std::string job_;
  Even even_ = Even::kExact;
  GraphLines lines_;
  GraphLines* at_ = &lines_;  // lines of the current input or of the whole
};

// Checks that YAML is text without control characters, because the parser can
// take minutes for a megabyte of other bytes.
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

// Records where a document begins.
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

// Returns the code unit of a JSON escape "\\ud83d" that begins here, if it is
// half of a pair.
std::optional<uint32_t> HalfPairAt(std::string_view text, size_t at) {
  uint32_t unit = 0;
  if (text.substr(at, 2) != "\\u" || at + 6 > text.size()) return std::nullopt;
  const char* const end = text.data() + at + 6;
  if (std::from_chars(end - 4, end, unit, 16).ptr != end) return std::nullopt;
  return unit >= 0xd800 && unit < 0xe000 ? std::optional(unit) : std::nullopt;
}

// Writes the pairs of escapes with which JSON has characters beyond 16 bits,
// "\\ud83d\\ude00", as YAML has them: "\\U0001f600".
std::string WithYamlEscapes(std::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const auto high = HalfPairAt(text, at);
    const auto low = HalfPairAt(text, std::min(at + 6, text.size()));
    if (high && low && *high < 0xdc00 && *low >= 0xdc00) {
      const uint32_t code = 0x10000 + ((*high - 0xd800) << 10) + *low - 0xdc00;
      out += fmt::format("\\U{:08x}", code);
      at += 12;
      continue;
    }
    // A backslash that is escaped begins no escape.
    const size_t size = text[at] == '\\' && !high ? 2 : 1;
    out += text.substr(at, size);
    at += size;
  }
  return out;
}

// Checks that there is one document. YAML::LoadAll could do it, but loops for
// ever on a comma after the first document.
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

namespace {

// Throws YAML::Exception if the text is not YAML.
absl::StatusOr<Pipeline> ParsePipeline(const std::string& text,
                                       const std::string& directory) {
  FM_RETURN_IF_ERROR(CheckIsOneDocument(text));
  YamlReader reader;
  FM_ASSIGN_OR_RETURN(Graph graph, reader.ReadGraph(YAML::Load(text)));
  if (!directory.empty()) MakePathsAbsolute(directory, graph);
  return Pipeline{std::move(graph), reader.job(), reader.even(),
                  reader.lines()};
}

}  // namespace

absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory) {
  if (text.size() > kYamlTextMax) {
    return InvalidArgument("a pipeline of {} bytes is too long (at most {})",
                           text.size(), kYamlTextMax);
  }
  FM_RETURN_IF_ERROR(CheckIsText(text));
  try {
    const std::string copy(text);
    try {
      return ParsePipeline(copy, directory);
    } catch (const YAML::Exception& error) {
      // The parser refuses pairs of escapes, which programs write in JSON.
      const std::string escaped = WithYamlEscapes(text);
      if (escaped == copy) throw;
      return ParsePipeline(escaped, directory);
    }
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
