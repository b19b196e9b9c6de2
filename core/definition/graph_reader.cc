// The functions of pipeline_text.h: values to a pipeline. The schema drives the
// reader, so its depth is fixed and every list is bounded, however the YAML's
// aliases expand.

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/definition/value.h"
#include "core/definition/value_reader.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

constexpr size_t kStepsMax = 1000;
constexpr size_t kInputsMax = 1000;
constexpr size_t kInputDepthMax = 8;
// Not a kind of source: its value is the canonical text of a whole pipeline,
// whose steps come before the steps of the file.
constexpr std::string_view kGraphSource = "graph";

// Reads a pipeline, or adds to one.
class GraphReader {
 public:
  // `folder`: of relative paths of files that are read now.
  GraphReader(DefinitionForm form, Pipeline begun, std::string folder = "")
      : values_(form, begun.size, std::move(folder)),
        pipeline_(std::move(begun)) {}

  absl::Status Read(const Value& root) {
    if (!root.is_map()) {
      return ValueReader::Error(
          root, "",
          "a pipeline is a map with source and steps, this is " +
              ValueReader::KindOf(root));
    }
    Names keys = {"source", "steps", "options"};
    if (values_.canonical()) {
      keys.insert(keys.end(), {"plugins", "part", "sequenced"});
    }
    return ReadParts(root, "the pipeline", keys, pipeline_.graph,
                     [&](const std::string& key, const Value& value) {
                       if (key == "options") return ReadOptions(value);
                       if (key == "plugins") return ReadPlugins(value);
                       if (key == "part") return ReadPart(value);
                       return values_.ReadBool(value, key,
                                               pipeline_.graph.sequenced);
                     });
  }

  absl::Status ReadSource(const Value& value) {
    return ReadSource(value, pipeline_.graph);
  }
  // `at`: value with the place of the step's name.
  absl::Status ReadStep(const std::string& name, const Value& at,
                        const Value& value) {
    return ReadStep(name, at, value, pipeline_.graph);
  }
  absl::Status ReadOptions(const Value& value) {
    if (value.is_nothing() && !values_.canonical()) return absl::OkStatus();
    Options& options = pipeline_.graph.options;
    Names keys = {"even", "job", "order", "processing_mode", "seed"};
    if (values_.canonical()) {
      keys = {"order", "processing_mode", "seed"};
      if (value.is_map() && value.map().size() < keys.size()) {
        return ValueReader::Unexpected(value, "options",
                                       ValueReader::Joined(keys));
      }
    }
    return values_.ForEachKey(
        value, "options", keys,
        [&](const std::string& key, const Value& one) -> absl::Status {
          if (key == "seed") return values_.ReadSeed(one, key, options.seed);
          if (key == "job") {
            FM_RETURN_IF_ERROR(
                values_.ReadString(one, key, "a name", pipeline_.job));
            if (!pipeline_.job.empty()) return absl::OkStatus();
            return ValueReader::Error(one, key,
                                      "the name of a job must not be empty");
          }
          size_t word = 0;
          if (key == "even") {
            FM_RETURN_IF_ERROR(
                values_.ReadWord(one, key, {"exact", "drop", "pad"}, word));
            pipeline_.even = static_cast<Even>(word);
          } else if (key == "order") {
            FM_RETURN_IF_ERROR(
                values_.ReadWord(one, key, {"deterministic", "any"}, word));
            options.order = word == 0 ? Order::kDeterministic : Order::kAny;
          } else {
            // Like tf.data service, each mode has two names.
            FM_RETURN_IF_ERROR(values_.ReadWord(
                one, key,
                {"dynamic", "distributed_epoch", "off", "parallel_epochs"},
                word));
            options.processing_mode = word < 2
                                          ? Options::ProcessingMode::kDynamic
                                          : Options::ProcessingMode::kOff;
          }
          return absl::OkStatus();
        });
  }

  Pipeline Take() && {
    pipeline_.size = values_.size();
    return std::move(pipeline_);
  }

 private:
  using Names = ValueReader::Names;

  // Reads source and steps of a whole pipeline or of an input, and calls
  // on_other for other keys.
  absl::Status ReadParts(const Value& value, const std::string& where,
                         const Names& keys, Graph& graph,
                         const ValueReader::OnKey& on_other) {
    FM_ASSIGN_OR_RETURN(Graph whole, ReadWhole(value));
    graph.source = std::move(whole.source);
    if (&graph == &pipeline_.graph) {
      graph.options = whole.options;
      graph.plugins = std::move(whole.plugins);
    }
    Names missing = {"source"};
    if (values_.canonical()) missing = keys;
    std::erase(missing, "plugins");
    std::erase(missing, "part");
    std::erase(missing, "sequenced");
    FM_RETURN_IF_ERROR(values_.ForEachKey(
        value, where, keys, [&](const std::string& key, const Value& part) {
          std::erase(missing, key);
          if (key == "source") return ReadSource(part, graph);
          if (key == "steps") return ReadSteps(part, graph);
          return on_other(key, part);
        }));
    at_->steps.insert(at_->steps.begin(), whole.steps.size(), at_->source);
    graph.steps.insert(graph.steps.begin(),
                       std::make_move_iterator(whole.steps.begin()),
                       std::make_move_iterator(whole.steps.end()));
    if (missing.empty()) return absl::OkStatus();
    if (missing.front() == "source" && &graph == &pipeline_.graph) {
      return ValueReader::Error(value, "",
                                "there is no source; write, for example, "
                                "source: {range: {stop: 10}}");
    }
    return ValueReader::Error(value, where,
                              fmt::format("there is no {}", missing.front()));
  }

  absl::Status ReadSource(const Value& value, Graph& graph) {
    at_->source = value.place().line;
    FM_RETURN_IF_ERROR(values_.Count(value));
    const Names known = SourceNames();
    if (!value.is_map() || value.map().size() != 1) {
      return ValueReader::Unexpected(value, "source",
                                     "one of " + ValueReader::Joined(known) +
                                         " with its files or options");
    }
    const auto& [key, options] = value.map().front();
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadKey(key, "source", name));
    if (name == kGraphSource && !graph.source.empty()) return absl::OkStatus();
    const SourceKind* const kind = FindSourceKind(name);
    if (kind == nullptr) {
      return ValueReader::Error(key, "source",
                                "there is no source " +
                                    ValueReader::Quoted(name) +
                                    values_.HintFor(name, "source", known));
    }
    FM_ASSIGN_OR_RETURN(graph.source, ReadSourceOptions(values_, read_input_,
                                                        *kind, key, options));
    return absl::OkStatus();
  }

  // Reads the pipeline that the source of `value` is, if it is one.
  absl::StatusOr<Graph> ReadWhole(const Value& value) {
    if (values_.canonical() || !value.is_map()) return Graph();
    const Value* const source = value.Find("source");
    if (source == nullptr || !source->is_map() || source->map().size() != 1) {
      return Graph();
    }
    const Value* const text = source->Find(kGraphSource);
    if (text == nullptr) return Graph();
    if (!text->is_scalar()) {
      return ValueReader::Unexpected(
          *text, "source graph",
          "the text that 'feedmill dataset show' prints");
    }
    absl::StatusOr<Graph> whole = ParseGraphJson(text->text());
    if (!whole.ok()) {
      return ValueReader::Error(*text, "source graph",
                                ErrorText(whole.status()));
    }
    FM_RETURN_IF_ERROR(CountSteps(*text, whole->steps.size()));
    return whole;
  }

  absl::Status ReadInputOf(const Value& value, Graph& graph) {
    FM_RETURN_IF_ERROR(CountInput(value, 1, 1));
    if (const Pipeline* const whole = value.pipeline()) {
      return AddInput(value, *whole, graph);
    }
    ++depth_;
    GraphLines& outer = *at_;
    at_ = &outer.inputs.emplace_back();
    FM_RETURN_IF_ERROR(ReadParts(
        value, "an input", {"source", "steps"}, graph,
        [](const std::string&, const Value&) { return absl::OkStatus(); }));
    at_ = &outer;
    --depth_;
    return absl::OkStatus();
  }

  absl::Status AddInput(const Value& value, const Pipeline& whole,
                        Graph& graph) {
    DefinitionCounts& size = values_.size();
    size.values += whole.size.values;
    size.scalar_bytes += whole.size.scalar_bytes;
    size.terms += whole.size.terms;
    FM_RETURN_IF_ERROR(values_.Count(value));
    FM_RETURN_IF_ERROR(CountSteps(value, whole.size.steps));
    FM_RETURN_IF_ERROR(
        CountInput(value, whole.size.inputs, 1 + whole.size.depth));
    graph.source = whole.graph.source;
    graph.steps = whole.graph.steps;
    return absl::OkStatus();
  }

  absl::Status CountInput(const Value& value, size_t inputs, size_t depth) {
    DefinitionCounts& size = values_.size();
    size.inputs += inputs;
    size.depth = std::max(size.depth, depth_ + depth);
    if (size.depth > kInputDepthMax) {
      return ValueReader::Error(
          value, "an input",
          fmt::format("inputs are nested more than {} deep", kInputDepthMax));
    }
    if (size.inputs <= kInputsMax) return absl::OkStatus();
    return ValueReader::Error(value, "an input",
                              fmt::format("more than {} inputs", kInputsMax));
  }

  absl::Status ReadSteps(const Value& value, Graph& graph) {
    if (value.is_nothing() && !values_.canonical()) return values_.Count(value);
    return values_.ForEachItem(value, "steps",
                               "a list, each item a step like \"- batch: 32\"",
                               [&](const Value& item) {
                                 FM_RETURN_IF_ERROR(ReadItem(item, graph));
                                 at_->steps.push_back(item.place().line);
                                 return absl::OkStatus();
                               });
  }

  absl::Status ReadItem(const Value& item, Graph& graph) {
    const std::string where = fmt::format("steps[{}]", graph.steps.size());
    FM_RETURN_IF_ERROR(values_.Count(item));
    if (item.is_scalar() && !values_.canonical()) {  // - shuffle
      return ReadStep(item.text(), item, Value(), graph);
    }
    if (!item.is_map() || item.map().size() != 1) {
      if (!item.is_map() || item.map().empty()) {
        return ValueReader::Unexpected(item, where, "a step");
      }
      return ValueReader::Error(
          item, where, "one item is one step; begin each with its own \"-\"");
    }
    const auto& [key, value] = item.map().front();
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadKey(key, where, name));
    return ReadStep(name, key, value, graph);
  }

  absl::Status ReadStep(const std::string& name, const Value& at,
                        const Value& value, Graph& graph) {
    FM_RETURN_IF_ERROR(CountSteps(at, 1));
    const std::string where = fmt::format("steps[{}]", graph.steps.size());
    const StepKind* const kind = FindStepKind(name);
    if (kind == nullptr) {
      return ValueReader::Error(at, where,
                                "there is no step " +
                                    ValueReader::Quoted(name) +
                                    values_.HintFor(name, where, StepNames()));
    }
    FM_ASSIGN_OR_RETURN(Step step,
                        ReadStepOptions(values_, read_input_, *kind, name,
                                        where + " " + name, at, value));
    graph.steps.push_back(std::move(step));
    return absl::OkStatus();
  }

  absl::Status CountSteps(const Value& value, size_t steps) {
    values_.size().steps += steps;
    if (values_.size().steps <= kStepsMax) return absl::OkStatus();
    return ValueReader::Error(value, "steps",
                              fmt::format("more than {} steps", kStepsMax));
  }

  absl::Status ReadPlugins(const Value& value) {
    if (!value.is_map() || value.map().empty()) {
      return ValueReader::Unexpected(value, "plugins", "a map of functions");
    }
    return values_.ForEachEntry(
        value, "plugins", "a map",
        [&](const Value&, const std::string& function, const Value& plugin) {
          return values_.ReadString(plugin, "plugins " + function, "a plugin",
                                    pipeline_.graph.plugins[function]);
        });
  }

  absl::Status ReadPart(const Value& value) {
    return values_.ForEachItem(
        value, "part", "a list of numbers",
        [&](const Value& item) -> absl::Status {
          int64_t index = 0;
          FM_RETURN_IF_ERROR(values_.ReadInteger(item, "part", index));
          pipeline_.graph.part.push_back(static_cast<size_t>(index));
          return absl::OkStatus();
        });
  }

  ValueReader values_;
  const ReadInput read_input_ = [this](const Value& item, Graph& input) {
    return ReadInputOf(item, input);
  };
  Pipeline pipeline_;
  GraphLines* at_ = &pipeline_.lines;  // of the current input or of the whole
  size_t depth_ = 0;                   // of the current input
};

}  // namespace

absl::StatusOr<Pipeline> ParsePipelineYaml(std::string_view text,
                                           const std::string& directory) {
  FM_ASSIGN_OR_RETURN(const Value root, ValueOfYaml(text));
  GraphReader reader(DefinitionForm::kWritten, {}, directory);
  FM_RETURN_IF_ERROR(reader.Read(root));
  Pipeline pipeline = std::move(reader).Take();
  if (!directory.empty()) MakePathsAbsolute(directory, pipeline.graph);
  return pipeline;
}

absl::StatusOr<Graph> ParseGraphYaml(std::string_view text,
                                     const std::string& directory) {
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipelineYaml(text, directory));
  return std::move(pipeline.graph);
}

absl::StatusOr<Pipeline> ParsePipelineJson(std::string_view text) {
  FM_ASSIGN_OR_RETURN(const Value root, ValueOfJson(text));
  GraphReader reader(DefinitionForm::kCanonical, {});
  FM_RETURN_IF_ERROR(reader.Read(root));
  return std::move(reader).Take();
}

absl::StatusOr<Graph> ParseGraphJson(std::string_view text) {
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipelineJson(text));
  return std::move(pipeline.graph);
}

absl::StatusOr<Pipeline> MakePipeline(const std::string& source,
                                      const Value& options) {
  GraphReader reader(DefinitionForm::kWritten, {});
  FM_RETURN_IF_ERROR(
      reader.ReadSource(Value(Value::Map{{Value(source, true), options}})));
  return std::move(reader).Take();
}

absl::StatusOr<Pipeline> WithStep(const Pipeline& pipeline,
                                  const std::string& name,
                                  const Value& options) {
  GraphReader reader(DefinitionForm::kWritten, pipeline);
  FM_RETURN_IF_ERROR(reader.ReadStep(name, Value(), options));
  return std::move(reader).Take();
}

absl::StatusOr<Pipeline> WithOptions(const Pipeline& pipeline,
                                     const Value& options) {
  GraphReader reader(DefinitionForm::kWritten, pipeline);
  FM_RETURN_IF_ERROR(reader.ReadOptions(options));
  return std::move(reader).Take();
}

}  // namespace feedmill
