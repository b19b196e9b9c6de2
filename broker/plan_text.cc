#include "broker/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "broker/element_sizes.h"
#include "broker/job_planner.h"
#include "broker/planner.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/dataset/type_inference.h"
#include "core/io/manifest.h"
#include "core/pipeline/block_program.h"
#include "core/plan/plan.h"
#include "core/process/process_quota.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/record_format.h"
#include "core/sources/source_plan.h"
#include "feedmill/dispatcher.h"

namespace feedmill {
namespace {

std::string Name(const AnalyzedGraph& graph, size_t step) {
  return fmt::format("steps[{}] {}", step, graph.graph.steps[step].name());
}

std::string Names(const AnalyzedGraph& graph, const std::vector<size_t>& steps,
                  std::string_view between) {
  std::vector<std::string> names;
  for (const size_t step : steps) names.push_back(Name(graph, step));
  return fmt::format("{}", fmt::join(names, between));
}

// ---- steps that run as one pass

// Steps with one placement that are compiled into one program, and its input.
struct Pass {
  std::vector<size_t> steps;
  std::string_view placement;
  std::string_view rows;  // name of its rows
};

std::vector<Pass> PassesOf(const AnalyzedGraph& graph) {
  std::vector<Pass> passes{{{}, "worker", "records"}};
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    const bool mapped = graph.steps[s].mapped != nullptr;
    if (s >= graph.client_begin && !(s == graph.client_begin && mapped)) break;
    if (step.Is<BatchStep>()) {
      passes.push_back({{}, "worker", "batches"});
    }
    if (step.Is<CacheStep>()) {
      passes.push_back({{}, "worker", passes.back().rows});
      continue;
    }
    // Marker steps compute nothing; the worker numbers elements.
    if (step.Is<OnErrorStep>()) continue;
    if (graph.steps[s].placement == Placement::kWorker || mapped ||
        step.Is<EnumerateStep>()) {
      passes.back().steps.push_back(s);
    }
  }
  passes.push_back({{}, "client", "elements"});
  for (size_t s = graph.client_begin; s < graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    if (NeedsOf(step) == StepNeeds::kElement) {
      passes.back().steps.push_back(s);
    } else if (!step.Is<RepeatStep>()) {
      passes.push_back({{}, "client", "elements"});
    }
  }
  return passes;
}

// `covered`: an on_error of a pipeline around this one skips its elements.
// `of`: prefix of the steps' names, e.g. "inputs[0] "; "" for the whole
// pipeline.
std::string FusedText(const std::shared_ptr<const AnalyzedGraph>& graph,
                      const std::shared_ptr<const FunctionRegistry>& functions,
                      bool covered = false, const std::string& of = "") {
  std::string out;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    out += FusedText(graph->inputs[i], functions, graph->skip_before || covered,
                     fmt::format("{}inputs[{}] ", of, i));
  }
  const auto plan = Plan::Make(graph, 1, 0, 0);
  for (const Pass& pass : PassesOf(*graph)) {
    if (pass.steps.empty() || !plan.ok()) continue;
    const auto program = BlockProgram::Make(*plan, functions, pass.steps,
                                            graph->InputOf(pass.steps[0]),
                                            graph->skip_before || covered);
    if (!program.ok()) continue;  // it needs files, which only workers read
    for (const BlockProgram::Moved& moved : (*program)->moved()) {
      out +=
          fmt::format("moved   {}{} before {}\n", of, Name(*graph, moved.step),
                      Names(*graph, moved.before, ", "));
    }
    out +=
        fmt::format("fused   {}{}: {} in one pass, {}\n", of, pass.placement,
                    Names(*graph, pass.steps, " + "),
                    (*program)->rows_together() == 1
                        ? fmt::format("{} one at a time", pass.rows)
                    : (*program)->heavy()
                        ? fmt::format("up to {} {} at a time",
                                      (*program)->rows_together(), pass.rows)
                        : fmt::format("over blocks of up to {} {} in the cache",
                                      kBlockRows, pass.rows));
  }
  return out;
}

// ---- steps that run earlier than written

std::string MovedText(const AnalyzedGraph& graph) {
  std::string out;
  for (size_t s = 0; s < graph.client_begin; ++s) {
    const Step& step = graph.graph.steps[s];
    // Batches and numbers are made at their written position.
    if (graph.steps[s].placement != Placement::kPlan || step.Is<BatchStep>() ||
        step.Is<EnumerateStep>()) {
      continue;
    }
    std::vector<size_t> over;
    for (size_t before = 0; before < s; ++before) {
      if (graph.graph.steps[before].Is<CacheStep>()) over.clear();
      if (graph.steps[before].placement == Placement::kWorker &&
          !graph.graph.steps[before].Is<CacheStep>() &&
          !graph.graph.steps[before].Is<OnErrorStep>()) {
        over.push_back(before);
      }
    }
    if (over.empty()) continue;
    out += fmt::format("moved   {} before {}\n", Name(graph, s),
                       Names(graph, over, ", "));
  }
  return out;
}

// ---- unused components

// Lists components of `written` that are missing in `made`.
void AddUnused(const std::string& by, const ElementSpec& written,
               const ElementSpec& made, std::string& out) {
  for (const ComponentSpec& c : written.components) {
    if (made.Find(c.name) >= 0) continue;
    out += fmt::format(
        "unused  {} of {}: no step needs it, so it is not made\n", c.name, by);
  }
}

// `of`: prefix of the names, e.g. "inputs[0] "; "" for the whole pipeline.
std::string UnusedText(const AnalyzedGraph& graph, const std::string& of = "") {
  std::string out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    out += UnusedText(*graph.inputs[i], fmt::format("{}inputs[{}] ", of, i));
  }
  // Unused components of inputs are listed with the inputs.
  if (graph.inputs.empty()) {
    AddUnused(of + "the source", graph.source.written, graph.source.spec, out);
  }
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    const AnalyzedStep& made = graph.steps[s];
    const StepTraits traits = TraitsOf(step);
    if (traits.lists_components) {
      AddUnused(of + Name(graph, s), *made.written, *made.output, out);
    } else if (!traits.changes.empty() &&
               !FindComponent(*made.output, traits.changes).ok()) {
      out += fmt::format("unused  {}{}: no step needs {}, so it does not run\n",
                         of, Name(graph, s), traits.changes);
    }
  }
  return out;
}

// ---- files

// Lists facts known only from the files, e.g. the labels of images. `of`:
// prefix of the names, e.g. "inputs[0] "; "" for the whole pipeline.
std::string ManifestText(const AnalyzedGraph& graph, const Manifest& manifest,
                         const std::string& of = "") {
  std::string out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (i >= manifest.inputs.size()) break;
    out += ManifestText(*graph.inputs[i], manifest.inputs[i],
                        fmt::format("{}inputs[{}] ", of, i));
  }
  const Source& source = graph.graph.source;
  const RecordFormat* const format = source.kind().format();
  if (format == nullptr) return out;
  return out + format->DescribeManifest(source.options(), manifest,
                                        graph.source.spec, of);
}

// ---- positions, splits and memory

std::string Counted(uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string_view PositionWord(const AnalyzedGraph& graph) {
  if (graph.plan_batches) return "batches";
  if (graph.source.streamed) return "passes over the inputs";
  if (graph.source.counted)
    return graph.inputs.empty() ? "records" : "elements";
  return PropertiesOf(graph.graph.source).positions == Positions::kBlocks
             ? "blocks of 4 MiB"
             : "files";
}

uint64_t FilesOf(const Manifest& manifest) {
  uint64_t files = manifest.files.size();
  for (const Manifest& input : manifest.inputs) files += FilesOf(input);
  return files;
}

absl::StatusOr<std::string> SplitsText(
    const AnalyzedGraph& graph, const Manifest& manifest,
    const std::shared_ptr<const FunctionRegistry>& functions,
    const ElementSizes& sizes) {
  std::string out;
  if (FilesOf(manifest) > 0) {
    out += fmt::format("files   {}, {}\n", Counted(FilesOf(manifest), "file"),
                       SizeText(manifest.TotalBytes()));
  }
  FM_ASSIGN_OR_RETURN(const JobShape shape,
                      MakePlanner(functions).shape(CanonicalText(graph.graph),
                                                   manifest.Serialize(), 0, 0));
  const DispatcherSettings settings;
  const bool infinite = shape.positions == kInfinite;
  const uint64_t first = std::min(shape.first_split, shape.positions);
  out += fmt::format(
      "splits  {} positions ({}); the first splits have {} positions, later "
      "splits hold {} ms of work and {} at most",
      infinite ? "infinite" : fmt::format("{}", shape.positions),
      PositionWord(graph), first,
      absl::ToInt64Milliseconds(settings.split_time),
      SizeText(settings.split_bytes));
  const std::optional<uint64_t> each = sizes.OfPosition();
  if (!infinite && each && *each > 0) {
    const uint64_t fit = std::max<uint64_t>(1, settings.split_bytes / *each);
    out += fmt::format("; at least {}",
                       Counted((shape.positions + fit - 1) / fit, "split"));
  }
  return out + "\n";
}

std::string MemoryText(const AnalyzedGraph& graph, const ElementSizes& sizes,
                       uint64_t client_bytes) {
  std::string out = fmt::format(
      "memory  a worker, or a local read: at most {} of elements made ahead, "
      "and about {} a thread for {}\n",
      SizeText(ElementMemory(0, AvailableCpus())), SizeText(sizes.OfThread()),
      sizes.OfPosition()
          ? fmt::format("positions of about {}", SizeText(*sizes.OfPosition()))
          : "positions of unknown size");
  out +=
      fmt::format("        the client: at most {} of elements received ahead",
                  SizeText(client_bytes));
  for (size_t s = graph.client_begin; s < graph.steps.size(); ++s) {
    const auto held = sizes.HeldBy(s);
    if (!held.empty())
      out += fmt::format("; {} holds {}", Name(graph, s), held);
  }
  return out + "\n";
}

}  // namespace

absl::StatusOr<std::string> PlanText(
    const Graph& graph, std::shared_ptr<const FunctionRegistry> functions,
    uint64_t client_bytes) {
  FM_ASSIGN_OR_RETURN(const auto analyzed, Analyze(graph, *functions));
  std::string out = analyzed->Explain();
  out += FusedText(analyzed, functions);
  out += MovedText(*analyzed);
  out += UnusedText(*analyzed);
  Manifest manifest;
  if (analyzed->source.needs_files) {
    auto resolved = ResolveManifest(*analyzed);
    if (!resolved.ok()) {
      return out + fmt::format("files   unavailable on this machine: {}\n",
                               ErrorText(resolved.status()));
    }
    manifest = *std::move(resolved);
    out += ManifestText(*analyzed, manifest);
  }
  const ElementSizes sizes(*analyzed, manifest);
  FM_ASSIGN_OR_RETURN(const std::string splits,
                      SplitsText(*analyzed, manifest, functions, sizes));
  return out + splits + MemoryText(*analyzed, sizes, client_bytes);
}

}  // namespace feedmill
