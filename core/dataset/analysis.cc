#include "core/dataset/analysis.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/chunk/validity.h"
#include "core/dataset/column_pruning.h"
#include "core/dataset/generator_source.h"
#include "core/dataset/graph_place.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/named_files.h"
#include "core/dataset/random_use.h"
#include "core/dataset/skipping.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/dataset/type_inference.h"

namespace feedmill {
namespace {

// True if an index must count the source's records: a shuffle precedes any step
// that would otherwise run on the client.
bool NeedsIndex(const Graph& graph, bool is_input) {
  if (PropertiesOf(graph.source).positions == Positions::kRecords) return false;
  if (is_input) return true;
  for (const Step& step : graph.steps) {
    const StepNeeds needs = NeedsOf(step);
    const auto* shuffle = step.As<ShuffleStep>();
    if ((shuffle != nullptr && needs == StepNeeds::kCounts &&
         !shuffle->files) ||
        step.Is<WeightedSampleStep>()) {
      return true;
    }
    if (needs == StepNeeds::kPlace || needs == StepNeeds::kSequence) {
      return false;
    }
  }
  return false;
}

// True if the number of the input's elements is known before anything runs, and
// each can be made alone.
bool IsCountedInput(const Graph& input);

// True if the inputs of the source are read as streams.
bool AreStreamed(const Source& source, const std::vector<Graph>& inputs) {
  return !PropertiesOf(source).measured.empty() ||
         !std::all_of(inputs.begin(), inputs.end(), IsCountedInput);
}

bool IsCountedInput(const Graph& input) {
  if (!ReadInOrderReason(input.source).empty()) return false;
  const std::vector<Graph>* const inputs = SourceInputs(input.source);
  if (inputs != nullptr && AreStreamed(input.source, *inputs)) return false;
  return std::all_of(
      input.steps.begin(), input.steps.end(), [](const Step& step) {
        const StepTraits traits = TraitsOf(step);
        return !traits.drops && !Skips(step) &&
               traits.needs != StepNeeds::kSequence &&
               (traits.needs != StepNeeds::kPlace || traits.keeps_count);
      });
}

// Finds the placement of each step, in order (docs/semantics/order.md).
class PlacementFinder {
 public:
  PlacementFinder(const Graph& graph, const SourceTraits& source)
      : graph_(graph), streamed_(source.streamed) {
    const SourceProperties properties = PropertiesOf(graph.source);
    if (properties.infinite) {
      infinite_ = fmt::format("the {} source", graph.source.name());
    }
    if (source.counted) return;
    uncertain_ = fmt::format("the {} source, whose number of {} is unknown",
                             graph.source.name(),
                             streamed_          ? "elements"
                             : properties.lines ? "lines"
                                                : "records");
  }

  absl::StatusOr<Placement> Next(size_t index) {
    const Step& step = graph_.steps[index];
    const StepTraits traits = TraitsOf(step);
    const StepNeeds needs = traits.needs;
    if (step.Is<ShuffleStep>() && needs == StepNeeds::kCounts) {
      FM_RETURN_IF_ERROR(step.Get<ShuffleStep>().files
                             ? CheckShuffleFiles(index)
                             : CheckShuffle(index));
    }
    if (step.Is<WeightedSampleStep>()) FM_RETURN_IF_ERROR(CheckSample(index));
    if (step.Is<RepeatStep>()) FM_RETURN_IF_ERROR(CheckRepeat(index));
    if (step.Is<OnErrorStep>()) FM_RETURN_IF_ERROR(CheckOnError(index));
    if (step.Is<CacheStep>()) FM_RETURN_IF_ERROR(CheckCache(index));
    if (traits.on_records) FM_RETURN_IF_ERROR(CheckRecords(index));
    if (traits.joins_records) joined_ = index;
    if (!client_ && needs == StepNeeds::kSequence) client_ = Name(index);
    if (!client_ && needs == StepNeeds::kPlace) {
      if (uncertain_) {
        client_ =
            fmt::format("{}, which needs the numbers of the elements after {}",
                        Name(index), *uncertain_);
      } else if (step.Is<BatchStep>() && batch_) {
        client_ = fmt::format("{}, which batches the batches of {}",
                              Name(index), Name(*batch_));
      }
    }
    if (step.Is<RepeatStep>() && !step.Get<RepeatStep>().count) {
      infinite_ = Name(index);
    }
    if (client_) return Placement::kClient;
    if (traits.drops || Skips(step)) uncertain_ = Name(index);
    if (step.Is<BatchStep>()) batch_ = index;
    // With a take, the plan reads a finite number of positions.
    if (step.Is<TakeStep>() || step.Is<SubsetStep>()) {
      cut_ = infinite_.has_value();
    }
    return needs == StepNeeds::kElement ? Placement::kWorker : Placement::kPlan;
  }

  // True if every position makes one element of the output.
  bool numbered() const { return !uncertain_ && !client_; }

 private:
  std::string Name(size_t index) const {
    return fmt::format("steps[{}] {}", index, graph_.steps[index].name());
  }

  absl::Status CheckShuffle(size_t index) const {
    const std::string_view reason = ReadInOrderReason(graph_.source);
    if (reason == "generator") {
      return InvalidArgument(
          "{}: a global shuffle reads elements in any order, and a generator "
          "makes them one after the other. Write `shuffle: {{window: N}}`",
          Name(index));
    }
    if (!reason.empty()) {
      return InvalidArgument(
          "{}: a global shuffle reads records in any order, and {} files can "
          "only be read from their beginning. {} the files, or write "
          "`shuffle: {{files: true}}` or `shuffle: {{window: N}}`",
          Name(index), reason,
          reason == "UTF-16" ? "Convert to UTF-8" : "Uncompress");
    }
    if (streamed_) {
      return InvalidArgument(
          "{}: a global shuffle reads elements in any order, and the elements "
          "of {} can only be read one after the other: an input is compressed, "
          "or has a filter or another step that changes the number of "
          "elements. Shuffle in the steps of the inputs, or write `shuffle: "
          "{{window: N}}`",
          Name(index), graph_.source.name());
    }
    if (client_) {
      return InvalidArgument(
          "{}: a global shuffle cannot stand after {}. Move it before that "
          "step, or write `shuffle: {{window: N}}`",
          Name(index), *client_);
    }
    if (!infinite_ || cut_) return absl::OkStatus();
    return InvalidArgument(
        "{}: a global shuffle needs all elements, and {} is infinite. Move the "
        "shuffle before the repeat (each pass is shuffled again), give the "
        "repeat a count, or write `shuffle: {{window: N}}`",
        Name(index), *infinite_);
  }

  // The same for a step that chooses elements of any places.
  absl::Status CheckSample(size_t index) const {
    std::string reason;
    if (const auto why = ReadInOrderReason(graph_.source); !why.empty()) {
      reason = fmt::format("the source ({}) is read from its beginning", why);
    } else if (streamed_) {
      reason = fmt::format("the elements of {} are read one after the other",
                           graph_.source.name());
    } else if (client_ || uncertain_) {
      reason = fmt::format("it cannot stand after {}",
                           client_ ? *client_ : *uncertain_);
    } else if (infinite_ && !cut_) {
      reason = fmt::format("{} is infinite", *infinite_);
    } else {
      return absl::OkStatus();
    }
    return InvalidArgument(
        "{}: it chooses among all elements by number, and {}. Move it to the "
        "beginning of the steps, of a source whose records can be counted",
        Name(index), reason);
  }

  absl::Status CheckShuffleFiles(size_t index) const {
    if (SourceFiles(graph_.source) == nullptr) {
      return InvalidArgument(
          "{}: `files: true` shuffles files, and the {} source has none",
          Name(index), graph_.source.name());
    }
    if (index == 0) return absl::OkStatus();
    return InvalidArgument("{}: a shuffle of files must be the first step",
                           Name(index));
  }

  absl::Status CheckOnError(size_t index) {
    if (client_) {
      return InvalidArgument(
          "{}: it covers steps that run on workers, and no step after {} does. "
          "Move it before that step",
          Name(index), *client_);
    }
    if (on_error_) {
      return InvalidArgument(
          "{}: a pipeline has one on_error, and {} comes before it",
          Name(index), Name(*on_error_));
    }
    on_error_ = index;
    return absl::OkStatus();
  }

  absl::Status CheckCache(size_t index) const {
    if (client_) {
      return InvalidArgument(
          "{}: it keeps elements that workers make, and no step after {} runs "
          "on workers. Move it before that step",
          Name(index), *client_);
    }
    const bool repeats = std::any_of(
        graph_.steps.begin(),
        graph_.steps.begin() + static_cast<ptrdiff_t>(index),
        [](const Step& step) {
          return step.Is<RepeatStep>() && !step.Get<RepeatStep>().count;
        });
    if (!repeats && (!infinite_ || cut_)) return absl::OkStatus();
    return InvalidArgument(
        "{}: it keeps one pass over its input, and {} is infinite. Move it "
        "before the repeat, or put a take after the infinite source",
        Name(index), *infinite_);
  }

  absl::Status CheckRecords(size_t index) const {
    if (!joined_) return absl::OkStatus();
    return InvalidArgument(
        "{}: it acts on single records, and {} joins them. Move it before that "
        "step",
        Name(index), Name(*joined_));
  }

  absl::Status CheckRepeat(size_t index) const {
    if (!infinite_) return absl::OkStatus();
    return InvalidArgument(
        "{}: it repeats its input after the end, and {} is infinite. Leave "
        "this repeat out, or give the earlier repeat a count",
        Name(index), *infinite_);
  }

  const Graph& graph_;
  const bool streamed_;
  // The reason why an element's place is unknown without running steps, if any.
  std::optional<std::string> uncertain_;
  std::optional<std::string>
      client_;                   // the reason why the client stage has begun
  std::optional<size_t> batch_;  // index of the plan's batch
  std::optional<size_t> on_error_;
  std::optional<size_t> joined_;         // the step that joined records
  std::optional<std::string> infinite_;  // the infinite repeat or source
  bool cut_ = false;                     // a take of the plan makes it finite
};

std::string_view PlacementName(Placement placement) {
  switch (placement) {
    case Placement::kPlan:
      return "plan";
    case Placement::kWorker:
      return "worker";
    case Placement::kClient:
      return "client";
  }
  return "";
}

std::string Indented(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const size_t end = lines.find('\n') + 1;
    out += "    ";
    out += lines.substr(0, end);
    lines.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::string DescribeSource(const Source& source) {
  const std::string own = source.kind().Describe(source.options());
  if (!own.empty()) return own;
  if (const auto* inputs = SourceInputs(source)) {
    return fmt::format("{} of {} input{}", source.name(), inputs->size(),
                       inputs->size() == 1 ? "" : "s");
  }
  const std::vector<std::string>* const files = SourceFiles(source);
  if (files == nullptr) return std::string(source.name());
  const Compression compression = SourceCompression(source);
  return fmt::format(
      "{}({}{}{})", source.name(),
      files->size() == 1 ? ShownName(files->front())
                         : fmt::format("{} names", files->size()),
      compression == Compression::kNone ? "" : ", ",
      compression == Compression::kNone ? "" : CompressionName(compression));
}

std::string AnalyzedGraph::Explain() const {
  std::string out =
      fmt::format("source  {} -> {}\n", DescribeSource(graph.source),
                  source.written.ToString());
  const Positions positions = PropertiesOf(graph.source).positions;
  out +=
      needs_index ? "        positions are records (indexed, for the "
                    "shuffle)\n"
      : source.streamed
          ? "        positions are passes over the inputs, which are read as "
            "streams: one worker puts their elements in order, and all make "
            "them\n"
      : !inputs.empty() ? "        positions are elements of the inputs\n"
      : positions == Positions::kRecords   ? "        positions are records\n"
      : graph.source.Is<GeneratorSource>() ? "        positions are shards\n"
      : positions == Positions::kBlocks
          ? "        positions are blocks of 4 MiB\n"
          : "        positions are files\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    out += fmt::format(
        "  inputs[{}]{}\n", i,
        graph.source.kind().DescribeInput(graph.source.options(), i));
    out += Indented(inputs[i]->Explain());
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string values = DescribeStep(graph.steps[i]);
    if (i == client_begin && steps[i].mapped != nullptr) {
      out += fmt::format(
          "{:<7} steps[{}] {}: {} -> {}, whose rows become elements\n",
          PlacementName(Placement::kWorker), i, graph.steps[i].name(), values,
          steps[i].mapped->ToString());
    }
    if (i == client_begin)
      out += "        ---- the steps below run at the client ----\n";
    out += fmt::format("{:<7} steps[{}] {}{}{} -> {}\n",
                       PlacementName(steps[i].placement), i,
                       graph.steps[i].name(), values.empty() ? "" : ": ",
                       values, steps[i].written->ToString());
  }
  for (const auto& [function, plugin] : graph.plugins) {
    out += fmt::format("        the function {} comes from the plugin {}\n",
                       function, plugin);
  }
  return out;
}

namespace {

// Returns the name of a step before steps[s] that may make other values when it
// runs again; "" if there is none.
std::string UnrepeatableBefore(const AnalyzedGraph& graph, size_t s) {
  for (size_t k = 0; k < s; ++k) {
    const Step& step = graph.graph.steps[k];
    if (TraitsOf(step).unrepeatable) {
      return fmt::format("steps[{}] {}", k, step.name());
    }
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string name =
        UnrepeatableBefore(*graph.inputs[i], graph.inputs[i]->steps.size());
    if (!name.empty()) return fmt::format("inputs[{}] {}", i, name);
  }
  return "";
}

// Rejects steps[s] if it needs the same values each time that an earlier step
// runs, and that step does not promise them.
absl::Status CheckRepeatable(const AnalyzedGraph& graph, size_t s) {
  const Step& step = graph.graph.steps[s];
  const StepTraits traits = TraitsOf(step);
  if (!traits.drops && traits.needs != StepNeeds::kSequence &&
      !step.Is<CacheStep>()) {
    return absl::OkStatus();
  }
  const std::string before = UnrepeatableBefore(graph, s);
  if (before.empty()) return absl::OkStatus();
  return InvalidArgument(
      "steps[{}] {}: it needs the same elements each time that they are made, "
      "and {} does not promise them; if equal elements always give equal "
      "results there, say deterministic=True",
      s, step.name(), before);
}

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> AnalyzePipeline(
    const Graph& graph, const FunctionRegistry& registry, bool is_input,
    size_t& steps_before);

// Analyses the source of `out` and its inputs.
absl::Status AnalyzeSource(const FunctionRegistry& registry,
                           size_t& steps_before, AnalyzedGraph& out) {
  const Source& source = out.graph.source;
  if (source.empty()) return InvalidArgument("the pipeline has no source");
  std::vector<ElementSpec> specs;
  out.source.needs_files =
      SourceFiles(source) != nullptr || !NamedFiles(out.graph).empty();
  if (const Graph* const table = TableOf(source)) {
    size_t none = 0;
    FM_ASSIGN_OR_RETURN(out.source.table,
                        AnalyzePipeline(*table, registry, false, none));
    out.source.needs_files = true;
  }
  if (const std::vector<Graph>* const inputs = SourceInputs(source)) {
    out.source.streamed = out.graph.sequenced || AreStreamed(source, *inputs);
    const bool is_input = !out.source.streamed;
    for (size_t i = 0; i < inputs->size(); ++i) {
      const std::string where = fmt::format("{} inputs[{}]", source.name(), i);
      auto input =
          AnalyzePipeline((*inputs)[i], registry, is_input, steps_before);
      if (!input.ok()) return AtInput(input.status(), i, where);
      specs.push_back(*(*input)->output);
      out.source.needs_files =
          out.source.needs_files || (*input)->source.needs_files;
      out.inputs.push_back(*std::move(input));
    }
  }
  absl::StatusOr<ElementSpec> spec =
      source.kind().Output(source.options(), specs);
  if (spec.ok() && SourceTypes(source) != nullptr &&
      !SourceTypes(source)->empty()) {
    spec = InvalidArgument(
        "`types` are those of some inferred fields, and `fields` declares all "
        "of them; leave one of the two out");
  }
  if (!spec.ok()) return AtSource(Annotate(spec.status(), "source"));
  out.source.spec = *std::move(spec);
  out.source.written = out.source.spec;
  return absl::OkStatus();
}

// Checks that only workers look into files and tables.
absl::Status CheckNamedFiles(const AnalyzedGraph& graph, size_t step) {
  const size_t begin = graph.client_begin;
  const bool client =
      begin < step || (begin == step && !graph.steps[step].mapped);
  if (!client) return absl::OkStatus();
  const std::vector<NamedFile> files = NamedFiles(graph.graph.steps[step]);
  const auto* const lookup = graph.graph.steps[step].As<LookupStep>();
  if (files.empty() && lookup == nullptr) return absl::OkStatus();
  return InvalidArgument(
      "steps[{}] {}: workers read {}, and this step runs at the "
      "client, as do all steps from steps[{}] {} on; use it in a step before "
      "that "
      "one",
      step, graph.graph.steps[step].name(),
      lookup == nullptr ? "the file " + files[0].path
                        : TableText(lookup->table),
      begin, graph.graph.steps[begin].name());
}

// Returns the first steps of a partly analysed pipeline as a pipeline of their
// own. Whether its failed elements are skipped is up to the whole pipeline.
std::shared_ptr<const AnalyzedGraph> StepsBefore(const AnalyzedGraph& whole,
                                                 size_t count) {
  auto out = std::make_shared<AnalyzedGraph>(whole);
  std::vector<Step>& steps = out->graph.steps;
  steps.erase(steps.begin() + static_cast<ptrdiff_t>(count), steps.end());
  out->client_begin = count;
  out->skip_before.reset();
  return out;
}

// Adds the fields of the source, or of its inputs, that are bytes because of
// one value.
void AddMadeBytes(const Source& source,
                  std::vector<const SourceField*>& fields) {
  if (const std::vector<SourceField>* const own = SourceFields(source)) {
    for (const SourceField& field : *own) {
      if (!field.why_bytes.empty()) fields.push_back(&field);
    }
  }
  if (const std::vector<Graph>* const inputs = SourceInputs(source)) {
    for (const Graph& input : *inputs) AddMadeBytes(input.source, fields);
  }
}

// Adds the reason to an error about bytes: the values that made columns of
// numbers bytes. Considers the columns that the error names, else all.
absl::Status WithReasonOfBytes(const Source& source,
                               const absl::Status& status) {
  constexpr size_t kReasonsMax = 3;
  std::string text = ErrorText(status);
  // An error about an unknown name lists the element's types, but is not about
  // them.
  if (text.find("bytes") == std::string::npos ||
      text.find("there is no component") != std::string::npos) {
    return status;
  }
  std::vector<const SourceField*> fields;
  AddMadeBytes(source, fields);
  const auto named = [&text](const SourceField* field) {
    return text.find(field->name) != std::string::npos;
  };
  if (std::any_of(fields.begin(), fields.end(), named)) {
    std::erase_if(fields, [&](const SourceField* f) { return !named(f); });
  }
  if (fields.empty()) return status;
  if (fields.size() > kReasonsMax) fields.resize(kReasonsMax);
  for (const SourceField* field : fields) {
    text += fmt::format("; \"{}\" is bytes because {}", field->name,
                        field->why_bytes);
  }
  const bool advised =
      std::all_of(fields.begin(), fields.end(), [](const SourceField* field) {
        return field->why_bytes.find("fields: {") != std::string::npos;
      });
  if (!advised) {
    text +=
        ". Declare the type with `fields`; a value that does not fit is then "
        "an error of its record, which on_error: skip leaves out";
  }
  return absl::Status(status.code(), text);
}

// Refuses a step that gives a component a reserved name.
absl::Status CheckNewNames(const Step& step) {
  absl::Status status;
  const auto check = [&status](const std::string& name) {
    if (status.ok()) status = CheckNotReserved(name);
  };
  step.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      if (const auto* outputs = std::get_if<Outputs*>(&field.value)) {
        for (const auto& output : **outputs) check(output.first);
      } else if (const auto* all = std::get_if<Features*>(&field.value)) {
        for (const auto& feature : **all) check(feature.name);
      } else if (const auto* one = std::get_if<ComponentName>(&field.value)) {
        check(*one->name);
      }
    }
  });
  return status;
}

// Refuses a step that names a component that may be null.
absl::Status CheckNoNulls(const Step& step, const ElementSpec& input) {
  if (step.Is<LookupStep>()) return absl::OkStatus();  // no row has a null
  absl::Status status;
  step.ReadFields([&](const FieldList& fields) {
    for (const Field& field : fields) {
      const auto* const named = std::get_if<ComponentName>(&field.value);
      if (named == nullptr || FindValidity(input, *named->name) < 0) continue;
      status = InvalidArgument(
          "\"{}\" may be null, and this step takes no nulls; write "
          "with_columns: {{{}: \"fill_null({}, value)\"}} before it",
          *named->name, *named->name, *named->name);
    }
  });
  return status;
}

// Returns the output of the next step, whose input is the output so far.
absl::StatusOr<ElementSpec> OutputOfNext(const AnalyzedGraph& graph,
                                         size_t batches,
                                         const FunctionRegistry& registry) {
  const size_t i = graph.steps.size();
  const Step& step = graph.graph.steps[i];
  const absl::Status names = CheckNewNames(step);
  absl::StatusOr<ElementSpec> output =
      names.ok() ? step.kind().Output(step.options(),
                                      {*graph.output, batches, registry})
                 : names;
  if (output.ok()) {
    const absl::Status taken = CheckNoNulls(step, *graph.output);
    if (!taken.ok()) output = taken;
  }
  if (output.ok()) {
    for (const ComponentSpec& c : output->components) {
      absl::Status fits = CheckValueSize(c.dtype, c.shape);
      if (fits.ok()) continue;
      output = std::move(fits);
      break;
    }
  }
  if (output.ok()) return output;
  return WithReasonOfBytes(
      graph.graph.source,
      Annotate(output.status(), fmt::format("steps[{}] {}", i, step.name())));
}

// Analyses the next step and adds it. `batches`: number of batch steps before
// it that are not undone.
absl::Status AddNextStep(const FunctionRegistry& registry, size_t batches,
                         PlacementFinder& placements, AnalyzedGraph& out) {
  const size_t i = out.steps.size();
  const Step& step = out.graph.steps[i];
  FM_ASSIGN_OR_RETURN(ElementSpec output, OutputOfNext(out, batches, registry));
  FM_RETURN_IF_ERROR(CheckRepeatable(out, i));
  FM_ASSIGN_OR_RETURN(const Placement placement, placements.Next(i));
  if (step.Is<CacheStep>()) {
    out.cached = StepsBefore(out, i);
    out.cached_steps = i + 1;
  }
  const bool same_logical_types =
      std::ranges::equal(output.components, out.output->components, {},
                         &ComponentSpec::logical, &ComponentSpec::logical);
  if (output != *out.output || !same_logical_types) {
    out.output = std::make_shared<ElementSpec>(std::move(output));
  }
  out.steps.push_back({placement, out.output, out.output, batches});
  if (placement == Placement::kClient && out.client_begin > i) {
    out.client_begin = i;
  }
  if (step.Is<BatchStep>() && placement == Placement::kPlan) {
    out.plan_batches = true;
  }
  if (Skips(step)) out.skip_before = i;
  if (out.elements) {
    out.elements = Skips(step)
                       ? std::nullopt
                       : step.kind().Count(step.options(), *out.elements);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> AnalyzePipeline(
    const Graph& graph, const FunctionRegistry& registry, bool is_input,
    size_t& steps_before) {
  auto out = std::make_shared<AnalyzedGraph>();
  out->graph = graph;
  out->random = UsesRandomNumbers(graph, registry);
  FM_RETURN_IF_ERROR(AnalyzeSource(registry, steps_before, *out));
  out->first_step = steps_before;
  steps_before += graph.steps.size();
  out->needs_index = NeedsIndex(graph, is_input);
  out->source.counted =
      out->needs_index ||
      (PropertiesOf(graph.source).positions == Positions::kRecords &&
       !out->source.streamed);
  out->client_begin = graph.steps.size();
  out->output = std::make_shared<ElementSpec>(out->source.spec);
  out->elements = graph.sequenced ? out->inputs[0]->elements
                                  : PropertiesOf(graph.source).elements;

  PlacementFinder placements(graph, out->source);
  size_t batches = 0;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    FM_RETURN_IF_ERROR(
        AtStep(AddNextStep(registry, batches, placements, *out), i));
    if (const auto* flat_map = graph.steps[i].As<FlatMapStep>()) {
      FM_ASSIGN_OR_RETURN(
          ElementSpec mapped,
          InferOutputs(flat_map->outputs, out->InputOf(i), registry));
      out->steps[i].mapped =
          std::make_shared<const ElementSpec>(std::move(mapped));
    }
    if (const Graph* const table = TableOf(graph.steps[i])) {
      size_t none = 0;
      FM_ASSIGN_OR_RETURN(out->steps[i].table,
                          AnalyzePipeline(*table, registry, false, none));
      out->source.needs_files =
          out->source.needs_files || out->steps[i].table->source.needs_files;
    }
    FM_RETURN_IF_ERROR(AtStep(CheckNamedFiles(*out, i), i));
    batches = BatchesAfter(graph.steps[i], batches);
  }
  out->numbered = placements.numbered();
  return std::shared_ptr<const AnalyzedGraph>(std::move(out));
}

// Refuses a graph that is marked as SequencedGraph's, and is none.
absl::Status CheckSequenced(const Graph& graph) {
  const std::vector<Graph>* const inputs = SourceInputs(graph.source);
  if (!graph.sequenced ||
      (inputs != nullptr && inputs->size() == 1 && graph.steps.empty())) {
    return absl::OkStatus();
  }
  return InvalidArgument("a sequenced graph has one input and no steps");
}

// Returns the input that `part` names (Graph::part).
absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> PartOf(
    std::shared_ptr<const AnalyzedGraph> whole,
    const std::vector<size_t>& part) {
  if (part.empty()) return whole;
  bool covered = false;
  for (const size_t index : part) {
    covered = covered || whole->skip_before.has_value();
    while (whole->cached != nullptr) {
      whole = whole->cached;
      covered = covered || whole->skip_before.has_value();
    }
    if (index >= whole->inputs.size()) {
      return InvalidArgument("the pipeline has no input {}", index);
    }
    whole = whole->inputs[index];
  }
  auto out = std::make_shared<AnalyzedGraph>(*whole);
  out->part = part;
  out->covered = covered;
  return std::shared_ptr<const AnalyzedGraph>(std::move(out));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Analyze(
    const Graph& graph, const FunctionRegistry& registry) {
  FM_RETURN_IF_ERROR(CheckSkipping(graph));
  FM_RETURN_IF_ERROR(CheckSequenced(graph));
  size_t steps_before = 0;
  FM_ASSIGN_OR_RETURN(const auto whole,
                      AnalyzePipeline(graph, registry, false, steps_before));
  return PartOf(PruneColumns(*whole), graph.part);
}

}  // namespace feedmill
