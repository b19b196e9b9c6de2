#include "tests/conformance/random_graph.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/image_table_source.h"
#include "core/dataset/lookup_step.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/operators/registry.h"
#include "core/sources/record_format.h"
#include "tests/conformance/random_expressions.h"
#include "tests/conformance/random_steps.h"

namespace feedmill::testing {
namespace {

using Random = std::mt19937_64;  // same on all machines, unlike distributions

template <size_t N>
const char* Pick(Random& random, const std::array<const char*, N>& choices) {
  return choices[Below(random, N)];
}

Expr Parse(const std::string& text) {
  auto expr = Expr::Parse(text);
  FM_CHECK(expr.ok());
  return *expr;
}

Step RandomMap(Random& random) {
  MapStep map;
  switch (Below(random, 8)) {
    case 7:  // a later step may need only the second draw
      map.outputs = {{"a", Parse("random.integers(0, 9) // (x % 3)")},
                     {"x", Parse("x + random.integers(0, 100)")},
                     {"b", Parse("random.uniform()")}};
      break;
    case 6:  // … or the output without errors
      map.outputs = {{"a", Parse(Pick(random, kFailing))},
                     {"x", Parse("x")},
                     {"label", Parse("to_number(to_string(x), int8)")}};
      break;
    case 5:  // two draws of one step
      map.outputs = {{"a", Parse("x + random.integers(0, 100)")},
                     {"b", Parse("random.uniform() < 0.5")}};
      break;
    case 0:
      map.outputs = {{"a", Parse("x")}, {"b", Parse("x % 5 == 0")}};
      break;
    case 1:
      map.outputs = {{"image", Parse("image")}, {"label", Parse("label + 1")}};
      break;
    default:
      map.outputs = {{"", Parse(Pick(random, kMaps))}};
  }
  return MakeStep(map);
}

// Looks into a table that has no row for some keys.
Step RandomLookup(Random& random) {
  JsonlSource keys{.files = {"keys.jsonl"},
                   .fields = {{"b", DType::kBool, {}},
                              {"k", DType::kInt16, {}},
                              {"valid(k)", DType::kBool, {}},
                              {"path", DType::kBytes, {}},
                              {"valid(path)", DType::kBool, {}}}};
  LookupStep lookup;
  lookup.key = Pick(random, std::array{"x", "label", "a"});
  lookup.table_key = "k";
  if (Below(random, 2) == 0) lookup.columns = {"b"};
  lookup.unmatched = static_cast<Unmatched>(Below(random, 3));
  lookup.table.push_back({MakeSource(std::move(keys)), {}, {}});
  return MakeStep(std::move(lookup));
}

Step RandomColumnsStep(Random& random) {
  switch (Below(random, 7)) {
    case 6:
      return RandomLookup(random);
    case 0:
      return MakeStep(SelectStep{{"x"}});
    case 1:
      return MakeStep(SelectStep{{"b", "a"}});
    case 2:
      return MakeStep(DropStep{{Below(random, 2) == 0 ? "a" : "label"}});
    case 3:
      return MakeStep(RenameStep{{{"a", Parse("b")}, {"b", Parse("x")}}});
    case 4:
      return MakeStep(
          WithColumnsStep{{{"b", Parse("random.integers(0, 9) // (x % 3)")},
                           {"x", Parse("x + random.integers(0, 100)")}}});
    default:
      return MakeStep(WithColumnsStep{{{"x", Parse(Pick(random, kMaps))},
                                       {"a", Parse(Pick(random, kFailing))}}});
  }
}

Step RandomImageStep(Random& random) {
  switch (Below(random, 3)) {
    case 0: {
      DecodeImageStep decode;
      decode.channels =
          std::array<int64_t, 5>{1, 4, 3, 3, 3}.at(Below(random, 5));
      if (Below(random, 4) == 0) decode.apply_exif_orientation = true;
      if (Below(random, 6) == 0) {
        decode.dtype = DecodeImageStep::Dtype::kUInt16;
      }
      if (Below(random, 2) == 0) decode.dct = DecodeImageStep::Dct::kFast;
      return MakeStep(decode);
    }
    case 1: {
      ResizeStep resize;
      const auto side = static_cast<int64_t>(2 + Below(random, 7));
      switch (Below(random, 4)) {
        case 0:
          resize.shorter = side;
          break;
        case 1:
          resize.longer = side;
          break;
        default:
          resize.height = side;
          resize.width = static_cast<int64_t>(2 + Below(random, 7));
      }
      if (Below(random, 3) == 0) resize.method = ResizeStep::Method::kNearest;
      resize.antialias = Below(random, 3) == 0 &&
                         resize.method == ResizeStep::Method::kBilinear;
      return MakeStep(resize);
    }
    default: {
      RandomFlipStep flip;
      if (Below(random, 2) == 0) {
        flip.direction = RandomFlipStep::Direction::kVertical;
      }
      if (Below(random, 3) == 0) flip.probability = 0.9;
      return MakeStep(flip);
    }
  }
}

// Makes a step that leaves elements out.
Step RandomChoice(Random& random) {
  switch (Below(random, 4)) {
    case 0:
      return MakeStep(SampleStep{.fraction = 0.6, .seed = -1});
    case 1:
      return MakeStep(
          SplitStep{.parts = {0.25, 0.5, 0.25},
                    .part = static_cast<int64_t>(Below(random, 3))});
    default:
      return MakeStep(FilterStep{Parse(Pick(random, kFilters))});
  }
}

Step RandomStep(Random& random) {
  if (Below(random, 3) == 0) return RandomSequenceStep(random);
  switch (Below(random, 16)) {
    case 13:
      return MakeStep(FlatMapStep{{{"", Parse(Pick(random, kFlatMaps))}}});
    case 14:
      if (Below(random, 2) == 0) {
        return MakeStep(
            ParseExampleStep{{{"x", DType::kFloat32, {kUnknownDim}},
                              {"none", DType::kInt64, {kUnknownDim, 2}},
                              {"label", DType::kInt64, {}}}});
      }
      return MakeStep(
          ParseSequenceExampleStep{{{"label", DType::kInt64, {}}},
                                   {{"x", DType::kInt64, {}},
                                    {"words", DType::kBytes, {}},
                                    {"none", DType::kFloat32, {2}}}});
    case 15:
      return MakeStep(MapStep{{{"", Parse(Pick(random, kFailing))}}});
    case 0:
    case 1:
      return RandomMap(random);
    case 2:
      return RandomColumnsStep(random);
    case 3:
      return RandomChoice(random);
    case 4:
      return MakeStep(ParseExampleStep{{{"image", DType::kBytes, {}},
                                        {"label", DType::kInt64, {}},
                                        {"box", DType::kFloat32, {2}}}});
    case 5:
    case 6:
      return RandomImageStep(random);
    case 7: {
      ShuffleStep shuffle;
      if (Below(random, 3) == 0) shuffle.seed = Below(random, 100);
      return MakeStep(shuffle);
    }
    case 8:
    case 9:
      return MakeStep(BatchStep{static_cast<int64_t>(1 + Below(random, 6)),
                                Below(random, 3) == 0,
                                BatchLayout::kEqual,
                                {}});
    case 10: {
      RepeatStep repeat;
      if (Below(random, 6) != 0) {
        repeat.count = static_cast<int64_t>(Below(random, 4));
      }
      return MakeStep(repeat);
    }
    case 11:
      return MakeStep(TakeStep{static_cast<int64_t>(Below(random, 40))});
    default:
      return MakeStep(SkipStep{static_cast<int64_t>(Below(random, 12))});
  }
}

Source RecordsSource(Random& random, const std::string& directory) {
  switch (Below(random, 15)) {
    case 3:
      if (Below(random, 2) == 0) {
        return MakeSource(CsvSource{.files = {directory + "/odd.csv"},
                                    .fields = {{"a", DType::kInt16, {}},
                                               {"x", DType::kInt64, {}},
                                               {"label", DType::kInt32, {}}}});
      }
      return MakeSource(CsvSource{.files = {directory + "/csv/*.csv"},
                                  .fields = {{"b", DType::kBool, {}},
                                             {"a", DType::kInt16, {}},
                                             {"x", DType::kBytes, {}}},
                                  .multiline = Below(random, 2) == 0});
    case 4:
      if (Below(random, 3) == 0) {
        return MakeSource(CsvSource{.files = {directory + "/marks.csv"},
                                    .fields = {{"x", DType::kBytes, {}},
                                               {"a", DType::kInt64, {}},
                                               {"label", DType::kFloat32, {}}},
                                    .delimiter = ";",
                                    .quote = "'",
                                    .escape = "\\",
                                    .decimal = ",",
                                    .thousands = "."});
      }
      return MakeSource(CsvSource{
          .files = {directory + "/csv/" +
                    Pick(random, std::array{"a.csv.gz", "a.csv.zst"})},
          .fields = {{"label", DType::kFloat32, {}}, {"x", DType::kBytes, {}}},
          .missing = {"", "NA"}});
    case 5:
      if (Below(random, 2) == 0) {
        return MakeSource(
            JsonlSource{.files = {directory + "/nulls.jsonl"},
                        .fields = {{"x", DType::kInt64, {}},
                                   {"valid(x)", DType::kBool, {}},
                                   {"a", DType::kInt16, {}},
                                   {"valid(a)", DType::kBool, {}},
                                   {"label", DType::kInt32, {}},
                                   {"b", DType::kBool, {}},
                                   {"valid(b)", DType::kBool, {}},
                                   {"path", DType::kBytes, {}},
                                   {"valid(path)", DType::kBool, {}}}});
      }
      return MakeSource(
          JsonlSource{.files = {directory + "/lines.jsonl"},
                      .fields = {{"x", DType::kInt64, {kUnknownDim}},
                                 {"path", DType::kBytes, {}},
                                 {"label", DType::kInt32, {}}}});
    case 6:
      return MakeSource(
          WebDatasetSource{.files = {directory + "/images.tar"},
                           .fields = {{"label", DType::kInt64, {}},
                                      {"image", DType::kBytes, {}},
                                      {"__key__", DType::kBytes, {}}}});
    case 7:
      return MakeSource(
          NpySource{{directory + "/rows.npy"}, {{"", DType::kInt32, {2, 3}}}});
    case 8:
      return MakeSource(FixedLengthSource{.files = {directory + "/rows.npy"},
                                          .record_bytes = 8,
                                          .header_bytes = 80});
    case 0:
      if (Below(random, 3) == 0)
        return MakeSource(TextSource{{directory + "/text/d.gz"}});
      return MakeSource(TextSource{{directory + "/text/*.txt"}});
    case 1:
      return MakeSource(TfRecordSource{{directory + "/records/*.tfrecord"}});
    case 2: {
      if (Below(random, 3) == 0) {
        ImageTableSource images{.column = "photo"};
        JsonlSource list{.files = {directory + "/photos/list.jsonl"},
                         .fields = {{"photo", DType::kBytes, {}},
                                    {"label", DType::kInt64, {}},
                                    {"valid(label)", DType::kBool, {}},
                                    {"a", DType::kInt16, {kUnknownDim}}}};
        images.table.push_back({MakeSource(std::move(list)), {}, {}});
        return MakeSource(std::move(images));
      }
      ImagesSource images;
      images.files = {directory + "/photos/*/*.jpg"};
      if (Below(random, 2) == 0) images.label = ImagesSource::Label::kFilename;
      return MakeSource(images);
    }
    case 9:
      return MakeSource(TfRecordSource{{directory + "/sequences/*.tfrecord"}});
    case 10:
      if (Below(random, 3) == 0) {
        return MakeSource(
            LmdbSource{{directory + "/pairs.mdb", directory + "/none.mdb"}});
      }
      if (Below(random, 2) == 0) {
        return MakeSource(ArrayRecordSource{{directory + "/*.array_record"}});
      }
      return MakeSource(MdsSource{{directory + "/shards/*.mds"},
                                  {{"label", DType::kInt32, {}},
                                   {"path", DType::kBytes, {}},
                                   {"x", DType::kInt64, {}},
                                   {"image", DType::kBytes, {}}}});
    default: {
      RangeSource range;
      range.start = static_cast<int64_t>(Below(random, 9)) - 4;
      range.step = Below(random, 4) == 0 ? -3 : 1;
      range.stop =
          range.start + range.step * static_cast<int64_t>(Below(random, 60));
      return MakeSource(range);
    }
  }
}

// Adds steps that fit; draws again if one does not fit.
void AddSteps(Random& random, size_t wanted, const FunctionRegistry& registry,
              const std::function<bool(const Graph&)>& fits, Graph& graph) {
  for (size_t tries = 0; graph.steps.size() < wanted && tries < 60; ++tries) {
    graph.steps.push_back(RandomStep(random));
    if (!Analyze(graph, registry).ok() || !fits(graph)) graph.steps.pop_back();
  }
}

// True if the elements are counted and not none.
bool FitsAsInput(const Graph& graph) {
  for (const Step& step : graph.steps) {
    if (TraitsOf(step).drops || step.Is<FlatMapStep>() ||
        step.Is<OnErrorStep>() || step.Is<BatchStep>()) {
      return false;
    }
    const auto* repeat = step.As<RepeatStep>();
    if (repeat != nullptr && repeat->count == 0) return false;
    const auto* take = step.As<TakeStep>();
    if (take != nullptr && take->count == 0) return false;
    if (step.Is<SkipStep>()) return false;
  }
  const auto* range = graph.source.As<RangeSource>();
  return range == nullptr || range->start != range->stop;
}

// The counters of records in batches of batches are undefined.
bool FlipsBatchesOfBatches(const Graph& graph) {
  size_t batches = 0, most = 0;
  for (const Step& step : graph.steps) {
    batches = BatchesAfter(step, batches);
    most = std::max(most, batches);
    if (most > 1 && step.Is<RandomFlipStep>()) return true;
  }
  return false;
}

// For inputs that are not counted: any step, but a finite source, because
// filters could remove everything of an infinite one.
bool FitsAsStream(const Graph& graph) {
  return !PropertiesOf(graph.source).infinite && !FlipsBatchesOfBatches(graph);
}

// Inserts an on_error that skips, at a valid place.
void AddSkipping(Random& random, const FunctionRegistry& registry,
                 Graph& graph) {
  Graph with = graph;
  const auto at = static_cast<ptrdiff_t>(Below(random, with.steps.size() + 1));
  with.steps.insert(with.steps.begin() + at,
                    MakeStep(OnErrorStep{OnErrorStep::Policy::kSkip, {}, {}}));
  if (Analyze(with, registry).ok() && FitsAsStream(with)) graph = with;
}

Source RandomSource(Random& random, const std::string& directory,
                    const FunctionRegistry& registry, int depth);

// Makes a source of two or three inputs. The draw may not fit.
Source InputsSource(Random& random, const std::string& directory,
                    const FunctionRegistry& registry, int depth) {
  std::vector<Graph> inputs(2 + Below(random, 2));
  const bool alike = Below(random, 3) != 0;
  const auto fits = Below(random, 3) == 0 ? FitsAsStream : FitsAsInput;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Graph& input = inputs[i];
    input.source = i > 0 && alike && Below(random, 2) == 0
                       ? inputs[0].source
                       : RandomSource(random, directory, registry, depth + 1);
    AddSteps(random, Below(random, 4), registry, fits, input);
    if (fits == FitsAsStream && Below(random, 4) == 0) {
      AddSkipping(random, registry, input);
    }
    if (Below(random, 2) != 0 || input.source.Is<ImagesSource>() ||
        input.source.Is<ImageTableSource>()) {
      continue;
    }
    const auto* name = Pick(random, std::array{"a", "x", "c"});
    input.steps.push_back(MakeStep(MapStep{{{name, Parse("x")}}}));
  }
  switch (Below(random, 4)) {
    case 0:
      return MakeSource(ConcatenateSource{std::move(inputs)});
    case 1:
      return MakeSource(ZipSource{std::move(inputs)});
    case 2: {
      InterleaveSource interleave{std::move(inputs)};
      interleave.cycle_length = static_cast<int64_t>(Below(random, 4));
      interleave.block_length = static_cast<int64_t>(1 + Below(random, 4));
      return MakeSource(interleave);
    }
    default: {
      MixtureSource mixture{std::move(inputs), {}};
      for (size_t i = 0; i < mixture.inputs.size(); ++i) {
        constexpr std::array kWeights = {0.7, 0.3, 1.0, 0.05, 3.0, 0.2};
        mixture.weights.push_back(kWeights[Below(random, kWeights.size())]);
      }
      mixture.stop = static_cast<MixtureSource::Stop>(Below(random, 3));
      while (mixture.changes.size() < 3 && Below(random, 3) == 0) {
        const int64_t last =
            mixture.changes.empty() ? 0 : mixture.changes.back();
        mixture.changes.push_back(last + 1 +
                                  static_cast<int64_t>(Below(random, 8)));
        // A zero is no input's weight in the last phase.
        const size_t none = Below(random, 2 * mixture.inputs.size());
        if (mixture.inputs.size() > 1 && none < mixture.inputs.size()) {
          mixture.weights[mixture.weights.size() - 1 - none] = 0;
        }
        for (size_t i = 0; i < mixture.inputs.size(); ++i) {
          mixture.weights.push_back(Below(random, 2) == 0 ? 1 : 0.25);
        }
      }
      if (Below(random, 3) == 0) {
        mixture.measure = {Below(random, 2) == 0 ? MixtureMeasure::Unit::kBytes
                                                 : MixtureMeasure::Unit::kItems,
                           "x"};
      }
      return MakeSource(mixture);
    }
  }
}

Source RandomSource(Random& random, const std::string& directory,
                    const FunctionRegistry& registry, int depth) {
  if (depth > 2 || Below(random, 3) != 0) {
    return RecordsSource(random, directory);
  }
  for (int tries = 0; tries < 20; ++tries) {
    Graph graph;
    graph.source = InputsSource(random, directory, registry, depth);
    const auto& inputs = *SourceInputs(graph.source);
    const auto analyzed = Analyze(graph, registry);
    if (analyzed.ok() &&
        std::all_of(
            inputs.begin(), inputs.end(),
            (*analyzed)->source.streamed ? FitsAsStream : FitsAsInput)) {
      return graph.source;
    }
  }
  return MakeSource(RangeSource{0, 9, 1});
}

// Adds a sample by weights or classes, one for each of `size` elements.
void AddWeightedSample(Random& random, uint64_t size, Graph& graph) {
  WeightedSampleStep sample;
  const bool by_class = Below(random, 2) == 0;
  const uint64_t classes = 1 + Below(random, 4);
  for (uint64_t k = 0; k < size && by_class; ++k) {
    sample.classes.push_back(static_cast<int64_t>(Below(random, classes)));
  }
  const bool weighted = !by_class || Below(random, 2) == 0;
  for (uint64_t k = 0; k < (by_class ? classes : size) && weighted; ++k) {
    sample.weights.push_back(0.25 +
                             0.1 * static_cast<double>(Below(random, 50)));
  }
  sample.distinct = Below(random, 2) == 0;
  if (sample.distinct || Below(random, 2) == 0) {
    sample.count = static_cast<int64_t>(
        Below(random, sample.distinct ? size + 1 : 2 * size));
  }
  graph.steps.push_back(MakeStep(std::move(sample)));
}

}  // namespace

Graph RandomGraph(uint64_t seed, const std::string& directory,
                  const FunctionRegistry& registry) {
  Random random(seed * 0x9E3779B97F4A7C15ULL + 1);
  Graph graph;
  graph.source = RandomSource(random, directory, registry, 0);
  graph.options.seed = Below(random, 1000);
  const size_t wanted = Below(random, 8);
  // The reference cuts off infinite sources; filters could remove everything of
  // them.
  if (PropertiesOf(graph.source).infinite) {
    graph.steps.push_back(
        MakeStep(TakeStep{static_cast<int64_t>(Below(random, 40))}));
  }
  if (graph.source.Is<RangeSource>() && Below(random, 3) == 0) {
    const RecordFormat& format = FormatOf(graph.source);
    const uint64_t size = *format.Size(graph.source.options());
    if (size > 0) AddWeightedSample(random, size, graph);
  }
  AddSteps(
      random, wanted, registry,
      [](const Graph& drawn) { return !FlipsBatchesOfBatches(drawn); }, graph);
  if (SourceInputs(graph.source) != nullptr && Below(random, 3) == 0) {
    AddSkipping(random, registry, graph);
  }
  FM_CHECK(Analyze(graph, registry).ok());
  MakePathsAbsolute(directory, graph);
  return graph;
}

}  // namespace feedmill::testing
