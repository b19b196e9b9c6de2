#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/printable_text.h"
#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/skipping.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_file.h"
#include "core/operators/registry.h"
#include "core/sources/field_inference.h"
#include "core/sources/manifest_resolution.h"
#include "feedmill/reader.h"
#include "tools/command/commands.h"
#include "tools/command/element_table.h"
#include "tools/command/element_writer.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/source_guess.h"
#include "tools/command/stop_signals.h"

namespace feedmill {
namespace {

constexpr char kWhatIsRead[] =
    "FILE is a pipeline's file (*.yaml, *.yml, '-': standard input), or a "
    "data\n"
    "file, folder, glob or URL of any source (feedmill steps). Its name says "
    "the\n"
    "source or, where it says nothing, its first bytes do; --as says it in any "
    "case.";

std::string HeadSummary() {
  return fmt::format(
      "Shows the first elements as a table, or as JSON lines in a pipe.\n{}",
      kWhatIsRead);
}
constexpr char kHeadExamples[] =
    "Only as much is read as these elements need. A table shortens long "
    "values\n"
    "and shows images as kind and size, and as pictures on terminals that can\n"
    "draw them. JSON lines have all values whole.\n"
    "\n"
    "Examples:\n"
    "  feedmill head houses.csv\n"
    "  feedmill head -n 20 s3://bucket/table.parquet\n"
    "  feedmill head train.yaml --json | jq .label\n"
    "  feedmill head part-00000 --as tfrecord";

std::string SchemaSummary() {
  return fmt::format(
      "Shows the components of an element: name, dtype and shape ('?': it "
      "differs\nfrom element to element).\n{}",
      kWhatIsRead);
}
constexpr char kSchemaExamples[] =
    "For a data file, the first line is its source as a pipeline has it. "
    "Looks\n"
    "into files only where types have to be found out.\n"
    "\n"
    "Examples:\n"
    "  feedmill schema houses.csv\n"
    "  feedmill schema train.yaml --json";

std::string CountSummary() {
  return fmt::format("Prints the number of elements.\n{}", kWhatIsRead);
}
constexpr char kCountExamples[] =
    "Footers and indexes of files give the number where they can; else the "
    "elements\n"
    "are read. Components on which the number does not depend are not made.\n"
    "\n"
    "Examples:\n"
    "  feedmill count 's3://bucket/table/*.parquet'\n"
    "  feedmill count train.yaml";

// The flags of the commands that look at files and pipelines.
struct LookFlags {
  static constexpr char kByName[] = "by-name";

  std::vector<std::string> words;
  std::string as = kByName;
  bool json = false;
  bool table = false;
  std::string allow_python;
  OpPluginFlag op_plugins;

  void DeclareInput(FlagSet& flags) {
    std::vector<std::string> choices = {kByName};
    for (const SourceKind* const kind : SourceKinds()) {
      if (SourceFiles(kind->New()) != nullptr) {
        choices.emplace_back(kind->name());
      }
    }
    flags.OneOf("--as", choices,
                "Source of data files; by-name: by their names and first bytes",
                &as);
    flags.Text("--allow-python", "FILE",
               "Interpreter that runs the Python functions of a pipeline; "
               "default: none",
               &allow_python);
    op_plugins.Declare(flags);
    flags.Positionals("FILE", "A pipeline's file, or data files of one kind",
                      &words);
  }
  void DeclareOutput(FlagSet& flags) {
    flags.Bool("--json", "Print JSON lines; default in a pipe", &json);
    flags.Bool("--table", "Print a table; default on a terminal", &table);
  }
  absl::Status Check(const FlagSet& flags) const {
    if (words.empty()) {
      return flags.Error("a pipeline's file, or a data file, is missing");
    }
    if (json && table)
      return flags.Error("--json and --table exclude each other");
    const bool pipeline = IsPipelineName(words.front());
    if (pipeline && words.size() > 1) {
      return flags.Error("give one pipeline's file, or data files");
    }
    if (pipeline && as != kByName) {
      return flags.Error("--as is for data files; a pipeline has its source");
    }
    return absl::OkStatus();
  }
  bool prints_table() const {
    return table || (!json && isatty(STDOUT_FILENO) != 0);
  }
};

// A pipeline that is looked at, with absolute paths.
struct Looked {
  Pipeline pipeline;
  std::string file;    // of the pipeline; "": data files
  std::string source;  // of data files, as YAML
  std::shared_ptr<const FunctionRegistry> functions;

  absl::Status WithLine(absl::Status status) const {
    return file.empty() ? status
                        : feedmill::WithLine(std::move(status), pipeline, file);
  }
};

absl::StatusOr<Looked> LookAt(const LookFlags& flags,
                              const Invocation& invocation) {
  Looked looked;
  FM_ASSIGN_OR_RETURN(looked.functions,
                      flags.op_plugins.AddTo(invocation.registry));
  if (IsPipelineName(flags.words.front())) {
    looked.file = flags.words.front();
    FM_ASSIGN_OR_RETURN(looked.pipeline, LoadPipeline(looked.file));
  } else {
    FM_ASSIGN_OR_RETURN(
        looked.pipeline,
        GuessPipeline(flags.words,
                      flags.as == LookFlags::kByName ? "" : flags.as));
    looked.source = YamlText(looked.pipeline);
    std::error_code error;
    MakePathsAbsolute(std::filesystem::current_path(error).string(),
                      looked.pipeline.graph);
  }
  return looked;
}

ReadOptions OptionsOf(const LookFlags& flags, const Looked& looked) {
  ReadOptions options;
  options.hooks.registry = looked.functions;
  options.hooks.allow_python = flags.allow_python;
  options.hooks.cancel = &ReadInterrupt::cancel();
  // More threads would read further ahead than the elements need.
  options.limits.threads = 1;
  return options;
}

// Returns the exit status: of the signal, if one ended the command.
absl::StatusOr<int> ExitOf(const absl::Status& status) {
  if (ReadInterrupt::signal() != 0) return 128 + ReadInterrupt::signal();
  if (absl::IsAborted(status)) return 0;  // the output's reader has enough
  FM_RETURN_IF_ERROR(status);
  return 0;
}

size_t TerminalWidth() {
  constexpr size_t kWidth = 80;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return std::numeric_limits<size_t>::max();
  const bool known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kWidth;
}

// ---- head

// Returns the protocol for the choice `pictures` of the flag.
PictureProtocol ProtocolOf(const std::string& pictures) {
  if (pictures == "never") return PictureProtocol::kNone;
  const bool always = pictures == "always";
  if (!always && isatty(STDOUT_FILENO) == 0) return PictureProtocol::kNone;
  const PictureProtocol known = PictureProtocolOf([](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  });
  return always && known == PictureProtocol::kNone ? PictureProtocol::kIterm
                                                   : known;
}

absl::Status PrintHead(const LookFlags& flags, const std::string& pictures,
                       const Looked& looked, const Graph& graph) {
  FM_ASSIGN_OR_RETURN(const auto reader, Read(graph, OptionsOf(flags, looked)));
  std::vector<Chunk> chunks;
  ElementWriter writer(ElementWriter::Format::kJsonl, STDOUT_FILENO,
                       absl::Now(), ReadInterrupt::cancel());
  for (;;) {
    const auto chunk = reader->Next();
    if (chunk.ok() && chunk->has_value()) {
      if (flags.prints_table()) {
        chunks.push_back(**chunk);
      } else {
        FM_RETURN_IF_ERROR(writer.Add(**chunk));
      }
      continue;
    }
    // The elements before an error are shown, too.
    if (!chunks.empty()) {
      const TableRows rows =
          TableOfElements(reader->spec(), chunks, ProtocolOf(pictures));
      std::fputs(AlignedTable(rows, TerminalWidth()).c_str(), stdout);
    } else if (chunk.ok() && flags.prints_table()) {
      std::puts("no elements");
    }
    return chunk.status();
  }
}

// ---- schema

// Returns the components that users see: without validities.
std::vector<size_t> ShownComponents(const ElementSpec& spec) {
  std::vector<size_t> shown;
  for (size_t c = 0; c < spec.components.size(); ++c) {
    if (!IsValidity(std::span(spec.components), c)) shown.push_back(c);
  }
  return shown;
}

nlohmann::ordered_json JsonOf(const ComponentSpec& component) {
  nlohmann::ordered_json shape = nlohmann::ordered_json::array();
  for (const int64_t dim : component.shape) {
    shape.push_back(dim == kUnknownDim ? nlohmann::ordered_json()
                                       : nlohmann::ordered_json(dim));
  }
  return {{"name", component.name},
          {"dtype", TypeName(component.dtype, component.logical)},
          {"shape", std::move(shape)}};
}

void PrintSpec(const ElementSpec& spec) {
  for (const size_t c : ShownComponents(spec)) {
    nlohmann::ordered_json json = JsonOf(spec.components[c]);
    if (MayBeNull(std::span(spec.components), c)) json["nullable"] = true;
    std::puts(json.dump().c_str());
  }
}

void PrintSpecTable(const ElementSpec& spec, const std::string& source) {
  TableRows rows = {{"name", "dtype", "shape"}};
  for (const size_t c : ShownComponents(spec)) {
    const ComponentSpec& component = spec.components[c];
    std::string dtype(TypeName(component.dtype, component.logical));
    if (MayBeNull(std::span(spec.components), c)) dtype += '?';
    rows.push_back(
        {component.name.empty() ? "value" : PrintableText(component.name),
         std::move(dtype), ShapeToString(component.shape)});
  }
  if (!source.empty()) fmt::print("{}\n", HideUrlSecrets(source));
  std::fputs(AlignedTable(rows, std::numeric_limits<size_t>::max()).c_str(),
             stdout);
}

// Prints the names of the labels of images.
void PrintClasses(const AnalyzedGraph& graph) {
  constexpr size_t kShown = 20;
  const auto names = ClassNamesOf(graph);
  if (!names.ok() || names->empty()) return;
  std::fputs("\nlabels  ", stdout);
  for (size_t k = 0; k < std::min(names->size(), kShown); ++k) {
    fmt::print("{}{} = {}", k == 0 ? "" : ", ", PrintableText((*names)[k]), k);
  }
  if (names->size() > kShown) fmt::print(", … ({} in all)", names->size());
  std::puts("");
}

// ---- count

// Returns the pipeline with elements of one constant component, so that those
// on which the number of elements does not depend are not made. A pipeline
// keeps all components if their errors decide which elements are left out, or
// if a cache keeps them.
Graph ForCounting(Graph graph) {
  const bool keeps = std::ranges::any_of(
      graph.steps, [](const Step& step) { return step.Is<CacheStep>(); });
  if (!keeps && !SkippingOf(graph).has_value()) {
    graph.steps.push_back(
        MakeStep(MapStep{.outputs = {{"n", Expr(int64_t{0})}}}));
  }
  return graph;
}

absl::StatusOr<uint64_t> CountOf(const LookFlags& flags, const Looked& looked) {
  if (IsInfinite(looked.pipeline.graph)) {
    return InvalidArgument(
        "the pipeline repeats without end; count it before its repeat, or "
        "with a take behind it");
  }
  ReadOptions options = OptionsOf(flags, looked);
  options.limits.threads = 0;
  FM_ASSIGN_OR_RETURN(
      const auto reader,
      Read(ForCounting(looked.pipeline.graph), std::move(options)));
  if (const auto known = reader->left()) return *known;
  uint64_t count = 0;
  for (;;) {
    FM_ASSIGN_OR_RETURN(const auto chunk, reader->Next());
    if (!chunk.has_value()) return count;
    count += chunk->rows;
  }
}

}  // namespace

absl::StatusOr<int> RunHead(const Invocation& invocation) {
  LookFlags look;
  uint64_t elements = 5;
  FlagSet flags("head", HeadSummary(), kHeadExamples);
  flags.Count("-n,--elements", uint64_t{0},
              uint64_t{std::numeric_limits<int64_t>::max()},
              "Number of elements", &elements);
  look.DeclareOutput(flags);
  std::string pictures = "auto";
  flags.OneOf("--pictures", {"auto", "never", "always"},
              "Draw the images of a table; auto: on a terminal that is known "
              "to do so (kitty, Ghostty, iTerm2, WezTerm, mintty)",
              &pictures);
  look.DeclareInput(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(look.Check(flags));
  FM_ASSIGN_OR_RETURN(const Looked looked, LookAt(look, invocation));
  Graph graph = looked.pipeline.graph;
  graph.steps.push_back(
      MakeStep(TakeStep{.count = static_cast<int64_t>(elements)}));
  ReadInterrupt::CatchSignals();
  return ExitOf(looked.WithLine(PrintHead(look, pictures, looked, graph)));
}

absl::StatusOr<int> RunSchema(const Invocation& invocation) {
  LookFlags look;
  FlagSet flags("schema", SchemaSummary(), kSchemaExamples);
  look.DeclareOutput(flags);
  look.DeclareInput(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(look.Check(flags));
  FM_ASSIGN_OR_RETURN(Looked looked, LookAt(look, invocation));
  FM_RETURN_IF_ERROR(looked.WithLine(InferFields(looked.pipeline.graph)));
  const auto analyzed = Analyze(looked.pipeline.graph, *looked.functions);
  FM_RETURN_IF_ERROR(looked.WithLine(analyzed.status()));
  if (look.prints_table()) {
    PrintSpecTable(*(*analyzed)->output, looked.source);
    PrintClasses(**analyzed);
  } else {
    PrintSpec(*(*analyzed)->output);
  }
  return 0;
}

absl::StatusOr<int> RunCount(const Invocation& invocation) {
  LookFlags look;
  FlagSet flags("count", CountSummary(), kCountExamples);
  look.DeclareInput(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  FM_RETURN_IF_ERROR(look.Check(flags));
  FM_ASSIGN_OR_RETURN(const Looked looked, LookAt(look, invocation));
  ReadInterrupt::CatchSignals();
  const auto count = CountOf(look, looked);
  if (count.ok()) fmt::print("{}\n", *count);
  return ExitOf(looked.WithLine(count.status()));
}

}  // namespace feedmill
