#include "python/src/pipeline.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "broker/plan_text.h"
#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/plugin_pins.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/definition/value.h"
#include "core/formats/memory_table.h"
#include "core/ops/plugin_functions.h"
#include "core/sources/field_inference.h"
#include "core/sources/manifest_resolution.h"
#include "feedmill/dataset.h"
#include "feedmill/element.h"
#include "feedmill/reader.h"
#include "python/src/arrays.h"
#include "python/src/gil.h"
#include "python/src/process.h"
#include "python/src/status.h"

namespace feedmill::python {
namespace {

namespace nb = nanobind;

constexpr std::array<std::string_view, 3> kEvenWords = {"exact", "drop", "pad"};

// Returns data of Python as a value of a definition. A str is a quoted scalar.
Value ValueOf(nb::handle object) {
  PyObject* const at = object.ptr();
  if (object.is_none()) return Value();
  if (PyBool_Check(at)) return Value(at == Py_True ? "true" : "false", false);
  if (PyLong_Check(at) || PyFloat_Check(at)) {
    return Value(nb::cast<std::string>(nb::repr(object)), false);
  }
  if (PyUnicode_Check(at)) {
    std::string text;
    if (nb::try_cast(object, text)) return Value(std::move(text), true);
    PyErr_Clear();
    Raise(InvalidArgument(
        "{} is not text: YAML holds Unicode only; rename the file, or name it "
        "by a glob",
        nb::cast<std::string>(nb::repr(object))));
  }
  if (nb::isinstance<PythonPipeline>(object)) {
    return Value(nb::cast<const PythonPipeline&>(object).pipeline());
  }
  if (PyDict_Check(at)) {
    Value::Map entries;
    for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
      entries.push_back({ValueOf(key), ValueOf(value)});
    }
    return Value(std::move(entries));
  }
  Value::List items;
  for (const nb::handle item : nb::cast<nb::list>(object)) {
    items.push_back(ValueOf(item));
  }
  return Value(std::move(items));
}

// Returns a view of the bytes, which it keeps.
Buffer ViewOf(const std::optional<PythonPipeline::Bytes>& bytes) {
  if (!bytes) return {};
  const auto* const data = reinterpret_cast<const std::byte*>(bytes->data());
  const size_t size = bytes->size();
  std::shared_ptr<const void> owner(new PythonPipeline::Bytes(*bytes),
                                    [](PythonPipeline::Bytes* held) {
                                      const GilHold gil;
                                      EnterPython([held] { delete held; });
                                    });
  return {std::move(owner), data, size};
}

// Returns the graph as a reader sees it, with inferred fields.
absl::StatusOr<Graph> Completed(const Graph& graph,
                                const FunctionRegistry& functions) {
  Graph completed = graph;
  FM_RETURN_IF_ERROR(InferFields(completed));
  PinPlugins(functions, completed);
  return completed;
}

absl::StatusOr<std::string> Explained(const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto functions, DefaultFunctions());
  FM_ASSIGN_OR_RETURN(const Graph completed, Completed(graph, *functions));
  FM_ASSIGN_OR_RETURN(
      std::string text,
      PlanText(completed, functions, ReadOptions{}.limits.budget_bytes));
  return HideUrlSecrets(std::move(text));
}

absl::StatusOr<std::shared_ptr<const AnalyzedGraph>> Analyzed(
    const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto functions, DefaultFunctions());
  FM_ASSIGN_OR_RETURN(const Graph completed, Completed(graph, *functions));
  return Analyze(completed, *functions);
}

bool MakesBatches(const Graph& graph) {
  const auto* inputs = SourceInputs(graph.source);
  size_t batches = inputs != nullptr && std::any_of(inputs->begin(),
                                                    inputs->end(), MakesBatches)
                       ? 1
                       : 0;
  for (const Step& step : graph.steps) batches = BatchesAfter(step, batches);
  return batches > 0;
}

absl::StatusOr<std::string> Outlined(const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto functions, DefaultFunctions());
  FM_ASSIGN_OR_RETURN(const auto analyzed, Analyze(graph, *functions));
  return analyzed->Explain();
}

}  // namespace

PythonPipeline PythonPipeline::FromYaml(std::string_view yaml,
                                        const std::string& directory) {
  return PythonPipeline(Take(ParsePipelineYaml(yaml, directory)));
}

PythonPipeline PythonPipeline::FromSource(const std::string& name,
                                          nb::handle options) {
  return PythonPipeline(Take(MakePipeline(name, ValueOf(options))));
}

PythonPipeline PythonPipeline::FromTable(
    const std::vector<TableColumn>& columns, size_t rows) {
  Chunk table;
  table.rows = rows;
  feedmill::ElementSpec spec;
  for (const auto& [name, dtype, shape, values, offsets, shapes, starts] :
       columns) {
    const std::optional<NamedType> type = TypeFromName(dtype);
    if (!type) Raise(InvalidArgument("there is no dtype {}", dtype));
    spec.components.push_back({name, type->dtype, shape, type->logical});
    table.columns.push_back({type->dtype, shape, ViewOf(values),
                             ViewOf(offsets), ViewOf(shapes), ViewOf(starts)});
  }
  table.spec = std::make_shared<const feedmill::ElementSpec>(std::move(spec));
  absl::StatusOr<Dataset> made =
      WithoutGil([&] { return Dataset::Memory(std::move(table)); });
  return PythonPipeline(Pipeline{.graph = Take(std::move(made)).graph()});
}

PythonPipeline PythonPipeline::Apply(const std::string& name,
                                     nb::handle options) const {
  return PythonPipeline(Take(WithStep(pipeline_, name, ValueOf(options))));
}

PythonPipeline PythonPipeline::WithOptions(nb::handle options) const {
  return PythonPipeline(
      Take(feedmill::WithOptions(pipeline_, ValueOf(options))));
}

PythonPipeline PythonPipeline::In(const std::string& directory) const {
  PythonPipeline absolute = *this;
  MakePathsAbsolute(directory, absolute.pipeline_.graph);
  return absolute;
}

std::optional<std::string> PythonPipeline::even() const {
  if (!pipeline_.even) return std::nullopt;
  return std::string(kEvenWords.at(static_cast<size_t>(*pipeline_.even)));
}

std::vector<std::tuple<std::string, std::string, std::string>>
PythonPipeline::Parts() const {
  std::vector<std::tuple<std::string, std::string, std::string>> parts;
  for (PipelinePart& part : ShownParts(pipeline_)) {
    parts.emplace_back(std::move(part.place), std::move(part.name),
                       std::move(part.value));
  }
  return parts;
}

PythonPipeline::State PythonPipeline::ToState() const {
  Graph carried = graph();
  Check(WithoutGil([&] {
    return CarryTables(carried, std::numeric_limits<size_t>::max());
  }));
  return {CanonicalText(carried), job(), even()};
}

PythonPipeline::State PythonPipeline::Identity() const {
  return {IdentityText(graph()), job(), even()};
}

PythonPipeline PythonPipeline::FromState(const State& state) {
  const auto& [canonical, job, even] = state;
  Pipeline pipeline = Take(ParsePipelineJson(canonical));
  pipeline.job = job;
  const auto word = std::find(kEvenWords.begin(), kEvenWords.end(), even);
  if (word != kEvenWords.end()) {
    pipeline.even = static_cast<Even>(word - kEvenWords.begin());
  }
  return PythonPipeline(std::move(pipeline));
}

bool PythonPipeline::Batched() const { return MakesBatches(graph()); }

std::string PythonPipeline::Explain() const {
  return Take(Interruptible([this] { return Explained(graph()); }));
}

std::string PythonPipeline::Outline() const { return Take(Outlined(graph())); }

std::vector<SpecEntry> PythonPipeline::ElementSpec() const {
  const auto analyzed =
      Take(Interruptible([this] { return Analyzed(graph()); }));
  return SpecEntries(*analyzed->output);
}

std::vector<std::string> PythonPipeline::ClassNames() const {
  return Take(
      Interruptible([this]() -> absl::StatusOr<std::vector<std::string>> {
        FM_ASSIGN_OR_RETURN(const auto analyzed, Analyzed(graph()));
        return ClassNamesOf(*analyzed);
      }));
}

std::optional<std::vector<SpecEntry>> PythonPipeline::KnownSpec() const {
  const auto functions = Take(DefaultFunctions());
  const auto analyzed = Analyze(graph(), *functions);
  if (!analyzed.ok()) return std::nullopt;
  return SpecEntries(*(*analyzed)->output);
}

nb::list PythonPipeline::FirstWithin(uint64_t count, double seconds) const {
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  std::vector<Chunk> chunks;
  WithoutGil([&] {
    ReadOptions options;
    options.hooks.interrupted = [end] { return absl::Now() > end; };
    options.limits.threads = 1;
    const auto reader = Read(graph(), std::move(options));
    for (uint64_t rows = 0; reader.ok() && rows < count;) {
      auto chunk = (*reader)->Next();
      if (!chunk.ok() || !chunk->has_value()) break;
      chunks.push_back(
          (*chunk)->Slice(0, std::min<uint64_t>(count - rows, (*chunk)->rows)));
      rows += chunks.back().rows;
    }
  });
  nb::list elements;
  for (Chunk& chunk : chunks) {
    const ChunkArrays arrays(std::move(chunk), Nulls::kMasked,
                             /*logical=*/true);
    for (size_t row = 0; row < arrays.rows(); ++row) {
      elements.append(nb::steal(arrays.Row(row)));
    }
  }
  return elements;
}

std::string PythonPipeline::Provenance(uint64_t number, uint64_t epoch,
                                       uint64_t seed, std::string allow_python,
                                       std::string python_path) const {
  ReadOptions options;
  options.epoch = epoch;
  options.seed = seed;
  options.hooks.allow_python = std::move(allow_python);
  options.hooks.python_path = std::move(python_path);
  return Take(
             Interruptible([&] { return ShowBatch(graph(), number, options); }))
      .ToJson();
}

std::vector<SpecEntry> SpecEntries(const feedmill::ElementSpec& spec) {
  std::vector<SpecEntry> entries;
  const std::span all(spec.components);
  for (size_t c = 0; c < all.size(); ++c) {
    if (IsValidity(all, c)) continue;
    entries.emplace_back(all[c].name,
                         std::string(TypeName(all[c].dtype, all[c].logical)),
                         all[c].shape, MayBeNull(all, c));
  }
  return entries;
}

}  // namespace feedmill::python
