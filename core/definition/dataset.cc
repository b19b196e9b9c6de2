#include "feedmill/dataset.h"

#include <algorithm>
#include <string_view>

#include "core/base/status.h"
#include "core/dataset/foreign_names.h"
#include "core/dataset/graph.h"
#include "core/dataset/image_table_source.h"
#include "core/dataset/lookup_step.h"
#include "core/definition/pipeline_file.h"
#include "core/definition/pipeline_text.h"
#include "core/formats/memory_table.h"
#include "core/operators/registry.h"

namespace feedmill {
namespace {

template <class Options>
Dataset FromSource(Options options) {
  Graph graph;
  graph.source = MakeSource(std::move(options));
  return Dataset(std::move(graph));
}

// Makes a source from files and from options without files.
template <class Options>
Dataset FromFiles(std::vector<std::string> files, Options options) {
  options.files = std::move(files);
  return FromSource(std::move(options));
}

std::vector<Graph> GraphsOf(const std::vector<Dataset>& datasets) {
  std::vector<Graph> graphs;
  for (const Dataset& dataset : datasets) graphs.push_back(dataset.graph());
  return graphs;
}

// Sets one field to a value of the same type. An expression may be a text.
struct SetField {
  const OptionValue& value;
  absl::Status& unread;  // why a text is no expression

  template <class T>
  bool Set(T& out) const {
    const T* const same = std::get_if<T>(&value);
    if (same != nullptr) out = *same;
    return same != nullptr;
  }
  template <class T>
  bool operator()(T* out) const {
    return Set(*out);
  }
  bool operator()(Expr* out) const { return Set(*out) || Read(*out); }
  bool operator()(Outputs* out) const {
    Expr expr;
    if (Set(*out)) return true;
    if (!Set(expr) && !Read(expr)) return false;
    *out = {{"", expr}};
    return true;
  }
  bool Read(Expr& out) const {
    const auto* const text = std::get_if<std::string>(&value);
    if (text == nullptr) return false;
    auto parsed = Expr::Parse(*text);
    unread = parsed.status();
    if (parsed.ok()) out = *std::move(parsed);
    return unread.ok();
  }
  bool operator()(double* out) const {
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      *out = static_cast<double>(*integer);
      return true;
    }
    return Set(*out);
  }
  bool operator()(std::optional<int64_t>* out) const {
    return Set(out->emplace());
  }
  bool operator()(std::optional<uint64_t>* out) const {
    int64_t integer = 0;
    if (!Set(integer) || integer < 0) return false;
    *out = static_cast<uint64_t>(integer);
    return true;
  }
  bool operator()(const ComponentName& out) const { return Set(*out.name); }
  bool operator()(const FilePath& out) const { return Set(*out.path); }
  bool operator()(const Word& out) const {
    std::string word;
    if (!Set(word)) return false;
    const auto found = std::find(out.words().begin(), out.words().end(), word);
    if (found == out.words().end()) return false;
    out.set(static_cast<size_t>(found - out.words().begin()));
    return true;
  }
  bool operator()(const PaddingList& out) const { return Set(*out.padding); }
  bool operator()(const FileNames& out) const { return Set(*out.files); }
  bool operator()(const FileCompression& out) const {
    return Set(*out.compression);
  }
  bool operator()(const DeclaredFields& out) const { return Set(*out.fields); }
  bool operator()(const InputPipelines& out) const {
    const auto* const inputs = std::get_if<std::vector<Dataset>>(&value);
    if (inputs != nullptr) *out.inputs = GraphsOf(*inputs);
    return inputs != nullptr;
  }
};

std::string HintOrNames(const std::string& name, const std::string& where,
                        const std::vector<std::string_view>& known) {
  const std::string hint = NameHint(name, where, known);
  return hint.empty() ? fmt::format("; there are {}", fmt::join(known, ", "))
                      : hint;
}

absl::Status SetFields(const std::string& step, const StepOptions& options,
                       const FieldList& fields) {
  for (const auto& [name, value] : options) {
    const auto field =
        std::find_if(fields.begin(), fields.end(),
                     [&](const Field& one) { return one.name == name; });
    if (field == fields.end()) {
      std::vector<std::string_view> known;
      for (const Field& one : fields) known.push_back(one.name);
      return InvalidArgument("{} has no option \"{}\"{}", step, name,
                             HintOrNames(name, step, known));
    }
    absl::Status unread;
    if (!std::visit(SetField{value, unread}, field->value)) {
      if (!unread.ok()) {
        return Annotate(unread, fmt::format("{} {}", step, name));
      }
      return InvalidArgument(
          "{}: the option \"{}\" has another type, or this value is not "
          "allowed: {}",
          step, name, field->help);
    }
  }
  for (const Field& field : fields) {
    if (field.Has(Field::kRequired) &&
        options.find(std::string(field.name)) == options.end()) {
      return InvalidArgument("{} needs the option \"{}\": {}", step, field.name,
                             field.help);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Dataset Dataset::Range(int64_t start, int64_t stop, int64_t step) {
  return FromSource(RangeSource{start, stop, step});
}

absl::StatusOr<Dataset> Dataset::Memory(Chunk table) {
  FM_ASSIGN_OR_RETURN(MemorySource source, SourceOfTable(std::move(table)));
  return FromSource(std::move(source));
}

Dataset Dataset::TfRecord(std::vector<std::string> files,
                          Compression compression) {
  return FromSource(TfRecordSource{std::move(files), compression});
}

Dataset Dataset::Text(std::vector<std::string> files, Compression compression) {
  return FromSource(TextSource{std::move(files), compression});
}

Dataset Dataset::FixedLength(std::vector<std::string> files,
                             FixedLengthSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Npy(std::vector<std::string> files, NpySource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Jsonl(std::vector<std::string> files, JsonlSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Csv(std::vector<std::string> files, CsvSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::WebDataset(std::vector<std::string> files,
                            WebDatasetSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Parquet(std::vector<std::string> files,
                         ParquetSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Arrow(std::vector<std::string> files, ArrowSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Mds(std::vector<std::string> files, MdsSource options) {
  return FromFiles(std::move(files), std::move(options));
}

Dataset Dataset::Lmdb(std::vector<std::string> files) {
  return FromSource(LmdbSource{std::move(files)});
}

Dataset Dataset::ArrayRecord(std::vector<std::string> files) {
  return FromSource(ArrayRecordSource{std::move(files)});
}

Dataset Dataset::Concatenate(const std::vector<Dataset>& inputs) {
  return FromSource(ConcatenateSource{GraphsOf(inputs)});
}

Dataset Dataset::Zip(const std::vector<Dataset>& inputs) {
  return FromSource(ZipSource{GraphsOf(inputs)});
}

Dataset Dataset::Interleave(const std::vector<Dataset>& inputs,
                            InterleaveOptions options) {
  return FromSource(InterleaveSource{GraphsOf(inputs), options.cycle_length,
                                     options.block_length});
}

Dataset Dataset::Mixture(const std::vector<Dataset>& inputs,
                         std::vector<double> weights, MixtureStop stop,
                         MixtureMeasure measure, std::vector<int64_t> changes) {
  return FromSource(MixtureSource{GraphsOf(inputs), std::move(weights), stop,
                                  std::move(measure), std::move(changes)});
}

Dataset Dataset::Images(std::vector<std::string> files, ImageLabel label,
                        std::vector<std::string> classes) {
  return FromSource(ImagesSource{std::move(files), label, std::move(classes)});
}

Dataset Dataset::ImageTable(const Dataset& table, std::string column) {
  return FromSource(ImageTableSource{GraphsOf({table}), std::move(column)});
}

Dataset::Dataset(Graph graph)
    : graph_(std::make_shared<const Graph>(std::move(graph))) {}

absl::StatusOr<Dataset> Dataset::FromYaml(std::string_view text,
                                          const std::string& directory) {
  FM_ASSIGN_OR_RETURN(Graph graph, ParseGraphYaml(text, directory));
  return Dataset(std::move(graph));
}

absl::StatusOr<Dataset> Dataset::FromYamlFile(const std::string& path) {
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, LoadPipeline(path));
  return Dataset(std::move(pipeline.graph));
}

Dataset Dataset::With(Step step) const {
  Graph graph = *graph_;
  graph.steps.push_back(std::move(step));
  return graph;
}

Dataset Dataset::Map(Outputs outputs) const {
  return With(MakeStep(MapStep{std::move(outputs)}));
}

Dataset Dataset::WithColumns(Outputs outputs) const {
  return With(MakeStep(WithColumnsStep{std::move(outputs)}));
}

Dataset Dataset::Lookup(const Dataset& table, LookupOptions options) const {
  return With(MakeStep(LookupStep{std::move(options), GraphsOf({table})}));
}

Dataset Dataset::Select(std::vector<std::string> components) const {
  return With(MakeStep(SelectStep{std::move(components)}));
}

Dataset Dataset::Drop(std::vector<std::string> components) const {
  return With(MakeStep(DropStep{std::move(components)}));
}

Dataset Dataset::Rename(
    const std::vector<std::pair<std::string, std::string>>& names) const {
  RenameStep step;
  for (const auto& [old, renamed] : names) {
    step.names.emplace_back(old, Expr::Named(renamed));
  }
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::Filter(Expr predicate) const {
  return With(MakeStep(FilterStep{std::move(predicate)}));
}

Dataset Dataset::Sample(SampleStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::Split(SplitStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::ParseExample(Features features) const {
  return With(MakeStep(ParseExampleStep{std::move(features)}));
}

Dataset Dataset::ParseSequenceExample(ParseSequenceExampleStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::FlatMap(Outputs outputs) const {
  return With(MakeStep(FlatMapStep{std::move(outputs)}));
}

Dataset Dataset::OnError(OnErrorStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::Cache(CacheStep options) const {
  return With(MakeStep(std::move(options)));
}

Dataset Dataset::DecodeImage(DecodeImageStep options) const {
  return With(MakeStep(std::move(options)));
}

Dataset Dataset::Resize(int64_t height, int64_t width,
                        ResizeStep options) const {
  options.height = height;
  options.width = width;
  return Resize(std::move(options));
}

Dataset Dataset::Resize(ResizeStep options) const {
  return With(MakeStep(std::move(options)));
}

Dataset Dataset::RandomFlip(RandomFlipStep options) const {
  return With(MakeStep(std::move(options)));
}

Dataset Dataset::Shuffle(std::optional<uint64_t> seed) const {
  return With(MakeStep(ShuffleStep{.seed = seed}));
}

Dataset Dataset::ShuffleWindow(int64_t window,
                               std::optional<uint64_t> seed) const {
  return With(MakeStep(ShuffleStep{.seed = seed, .window = window}));
}

Dataset Dataset::ShuffleBlocks(int64_t block, std::optional<int64_t> window,
                               std::optional<uint64_t> seed) const {
  return With(
      MakeStep(ShuffleStep{.seed = seed, .window = window, .block = block}));
}

Dataset Dataset::ShuffleFiles(std::optional<uint64_t> seed) const {
  return With(MakeStep(ShuffleStep{.seed = seed, .files = true}));
}

Dataset Dataset::Batch(int64_t size, BatchOptions options) const {
  return With(MakeStep(
      BatchStep{size, options.drop_remainder, BatchLayout::kEqual, {}}));
}

Dataset Dataset::PaddedBatch(int64_t size, PaddedBatchOptions options) const {
  return With(
      MakeStep(BatchStep{size, options.drop_remainder, BatchLayout::kPadded,
                         std::move(options.padding)}));
}

Dataset Dataset::RaggedBatch(int64_t size, BatchOptions options) const {
  return With(MakeStep(
      BatchStep{size, options.drop_remainder, BatchLayout::kRagged, {}}));
}

Dataset Dataset::Unbatch() const { return With(MakeStep(UnbatchStep{})); }

Dataset Dataset::Rebatch(int64_t size, BatchOptions options) const {
  return With(MakeStep(RebatchStep{size, options.drop_remainder}));
}

Dataset Dataset::Window(int64_t size, WindowOptions options) const {
  return With(MakeStep(
      WindowStep{size, options.shift, options.stride, options.drop_remainder}));
}

Dataset Dataset::BucketBySequenceLength(BucketBySequenceLengthStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::TokenBatch(TokenBatchStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::Pack(PackStep step) const {
  return With(MakeStep(std::move(step)));
}

Dataset Dataset::Repeat(std::optional<int64_t> count) const {
  return With(MakeStep(RepeatStep{count}));
}

Dataset Dataset::Take(int64_t count) const {
  return With(MakeStep(TakeStep{count}));
}

Dataset Dataset::Skip(int64_t count) const {
  return With(MakeStep(SkipStep{count}));
}

Dataset Dataset::Shard(int64_t count, int64_t index) const {
  return With(MakeStep(ShardStep{count, index}));
}

Dataset Dataset::Subset(std::vector<int64_t> indices) const {
  return With(MakeStep(SubsetStep{std::move(indices)}));
}

Dataset Dataset::WeightedSample(WeightedSampleStep options) const {
  return With(MakeStep(std::move(options)));
}

Dataset Dataset::Enumerate(EnumerateStep options) const {
  return With(MakeStep(std::move(options)));
}

absl::StatusOr<Dataset> Dataset::Apply(const std::string& name,
                                       const StepOptions& options) const {
  const StepKind* const kind = FindStepKind(name);
  if (kind == nullptr) {
    return InvalidArgument("there is no step \"{}\"{}", name,
                           HintOrNames(name, "", StepNames()));
  }
  absl::Status status;
  Step step = kind->New(name).Changed([&](const FieldList& fields) {
    status = SetFields(name, options, fields);
  });
  if (!status.ok()) return status;
  return With(std::move(step));
}

absl::StatusOr<Dataset> Dataset::From(const std::string& name,
                                      const StepOptions& options) {
  const SourceKind* const kind = FindSourceKind(name);
  if (kind == nullptr) {
    return InvalidArgument("there is no source \"{}\"; there are {}", name,
                           fmt::join(SourceNames(), ", "));
  }
  absl::Status status;
  Graph graph;
  graph.source = kind->New();
  graph.source.Change([&](const FieldList& fields) {
    status = SetFields(name, options, fields);
  });
  if (!status.ok()) return status;
  return Dataset(std::move(graph));
}

absl::StatusOr<Dataset> Dataset::From(const std::string& name) {
  return From(name, {});
}

absl::StatusOr<Dataset> Dataset::Apply(const std::string& name) const {
  return Apply(name, {});
}

Dataset Dataset::WithSeed(uint64_t seed) const {
  Graph graph = *graph_;
  graph.options.seed = seed;
  return graph;
}

Dataset Dataset::WithProcessingMode(ProcessingMode mode) const {
  Graph graph = *graph_;
  graph.options.processing_mode = mode;
  return graph;
}

Dataset Dataset::WithOrder(Order order) const {
  Graph graph = *graph_;
  graph.options.order = order;
  return graph;
}

}  // namespace feedmill
