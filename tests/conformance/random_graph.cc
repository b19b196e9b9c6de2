#include "tests/conformance/random_graph.h"

#include <turbojpeg.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/analysis.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"
#include "core/operators/registry.h"
#include "tests/conformance/random_expressions.h"
#include "tests/conformance/random_steps.h"
#include "tests/reference/riegeli_writer.h"

namespace feedmill::testing {
namespace {

namespace fs = std::filesystem;
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

Step RandomImageStep(Random& random) {
  switch (Below(random, 3)) {
    case 0: {
      DecodeImageStep decode;
      decode.channels = Below(random, 4) == 0 ? 1 : 3;
      if (Below(random, 2) == 0) decode.dct = DecodeImageStep::Dct::kFast;
      return MakeStep(decode);
    }
    case 1: {
      ResizeStep resize;
      resize.height = static_cast<int64_t>(2 + Below(random, 7));
      resize.width = static_cast<int64_t>(2 + Below(random, 7));
      if (Below(random, 3) == 0) resize.method = ResizeStep::Method::kNearest;
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
    case 3:
      return MakeStep(FilterStep{Parse(Pick(random, kFilters))});
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
      return MakeSource(CsvSource{
          .files = {directory + "/csv/" +
                    Pick(random, std::array{"a.csv.gz", "a.csv.zst"})},
          .fields = {{"label", DType::kFloat32, {}}, {"x", DType::kBytes, {}}},
          .missing = {"", "NA"}});
    case 5:
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
    if (step.Is<FilterStep>() || step.Is<FlatMapStep>() ||
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
    if (Below(random, 2) != 0 || input.source.Is<ImagesSource>()) {
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

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string Jpeg(int width, int height, uint64_t seed) {
  Random random(seed);
  std::vector<unsigned char> pixels(static_cast<size_t>(width * height * 3));
  for (size_t k = 0; k < pixels.size(); ++k) {
    pixels[k] = static_cast<unsigned char>(k * 7 + random() % 60);
  }
  tjhandle handle = tjInitCompress();
  unsigned char* jpeg = nullptr;
  unsigned long size = 0;
  FM_CHECK(tjCompress2(handle, pixels.data(), width, 0, height, TJPF_RGB, &jpeg,
                       &size, TJSAMP_420, 90, 0) == 0);
  std::string out(reinterpret_cast<char*>(jpeg), size);
  tjFree(jpeg);
  tjDestroy(handle);
  return out;
}

std::string Field(char tag, const std::string& bytes) {  // length < 16384
  std::string out(1, tag);
  if (bytes.size() > 127) out += static_cast<char>(bytes.size() % 128 + 128);
  out +=
      static_cast<char>(bytes.size() > 127 ? bytes.size() / 128 : bytes.size());
  return out + bytes;
}

std::string Example(const std::string& image, char label) {
  auto entry = [](const std::string& name, const std::string& feature) {
    return Field(10, Field(10, name) + Field(18, feature));
  };
  const float box[2] = {0.25f, static_cast<float>(label)};
  const std::string floats(reinterpret_cast<const char*>(box), sizeof box);
  return Field(10,
               entry("image", Field(10, Field(10, image))) +
                   entry("label", Field(26, Field(10, std::string(1, label)))) +
                   entry("box", Field(18, Field(10, floats))));
}

// Returns a SequenceExample of `steps` numbers and words.
std::string SequenceExample(int steps) {
  auto entry = [](const std::string& name, const std::string& feature) {
    return Field(10, Field(10, name) + Field(18, feature));
  };
  std::string numbers, words;
  for (int k = 0; k < steps; ++k) {
    const auto step = static_cast<char>(k * 3 % 11);
    numbers += Field(10, Field(26, Field(10, std::string(1, step))));
    words += Field(10, Field(10, Field(10, "w" + std::to_string(k))));
  }
  const std::string label(1, static_cast<char>(steps));
  return Field(10, entry("label", Field(26, Field(10, label)))) +
         Field(18, entry("x", numbers) + entry("words", words));
}

uint32_t MaskedCrc(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::string Framed(const std::string& record) {
  auto word = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::string length = word(uint64_t{record.size()});
  return length + word(MaskedCrc(length)) + record + word(MaskedCrc(record));
}

std::string Gzip(const std::string& bytes) {
  z_stream state{};
  FM_CHECK(deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + 16, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  state.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  FM_CHECK(deflate(&state, Z_FINISH) == Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

std::string Zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string TarMember(const std::string& name, const std::string& data) {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name);
  char size[16];
  std::snprintf(size, sizeof size, "%011zo", data.size());
  put(124, size);
  put(148, "        ");
  put(156, "0");
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(size, sizeof size, "%06o", sum);
  put(148, std::string(size) + std::string("\0 ", 2));
  return header + data + std::string((512 - data.size() % 512) % 512, '\0');
}

template <class T>
void Append(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An MDS shard of `samples` samples; the numbers begin at `first`.
std::string MdsShard(uint32_t samples, int first) {
  std::string head =
      R"({"column_encodings": ["uint8", "jpeg", "int32", "str", "str_int"], )"
      R"("column_names": ["u", "image", "label", "path", "x"], )"
      R"("column_sizes": [1, null, 4, null, null], "format": "mds"})";
  std::string data;
  std::vector<uint32_t> ends;
  for (int k = first; k < first + static_cast<int>(samples); ++k) {
    const std::string image = Jpeg(7 + k % 4, 8, static_cast<uint64_t>(k));
    const std::string path(static_cast<size_t>(k % 5), 'p');
    const std::string x = std::to_string(k * 7 % 13 - 4);
    for (const std::string* const text : {&image, &path, &x}) {
      Append(static_cast<uint32_t>(text->size()), data);
    }
    Append(static_cast<uint8_t>(k), data);
    data += image;
    Append(int32_t{k * 5 % 11}, data);
    data += path + x;
    ends.push_back(static_cast<uint32_t>(data.size()));
  }
  std::string out;
  Append(samples, out);
  const auto begin = static_cast<uint32_t>(8 + 4 * samples + head.size());
  Append(begin, out);
  for (const uint32_t end : ends) Append(begin + end, out);
  return out + head + data;
}

// A page of an LMDB tree: its nodes stand in order from the end on.
std::string LmdbPage(uint64_t number, uint16_t flags,
                     const std::vector<std::string>& nodes) {
  std::string page(4096, '\0');
  const auto put = [&page](size_t at, auto value) {
    std::memcpy(page.data() + at, &value, sizeof value);
  };
  size_t upper = page.size();
  put(0, number);
  put(10, flags);
  put(12, static_cast<uint16_t>(16 + 2 * nodes.size()));
  for (size_t k = 0; k < nodes.size(); ++k) {
    upper -= (nodes[k].size() + 1) / 2 * 2;
    nodes[k].copy(page.data() + upper, nodes[k].size());
    put(16 + 2 * k, static_cast<uint16_t>(upper));
  }
  put(14, static_cast<uint16_t>(upper));
  return page;
}

// A node: `low` is the size of the value, or the page of a branch.
std::string LmdbNode(uint32_t low, uint16_t flags, const std::string& key,
                     const std::string& value) {
  std::string node;
  Append(low, node);
  Append(flags, node);
  Append(static_cast<uint16_t>(key.size()), node);
  return node + key + value;
}

// One of the first two pages, which describe the tree.
std::string LmdbMeta(uint64_t number, uint64_t transaction, uint64_t entries,
                     uint64_t root, uint64_t last_page) {
  std::string page = LmdbPage(number, 8, {});
  const auto put = [&page](size_t at, auto value) {
    std::memcpy(page.data() + 16 + at, &value, sizeof value);
  };
  put(0, uint32_t{0xBEEFC0DE});
  put(4, uint32_t{1});
  put(24, uint32_t{4096});  // bytes of a page
  put(64, ~uint64_t{0});    // no free pages
  put(72 + 32, entries);
  put(72 + 40, root);
  put(120, last_page);
  put(128, transaction);
  return page;
}

// An LMDB file: two leaves below a branch, and a value in pages of its own. The
// first meta page is that of an earlier transaction.
std::string LmdbPairs() {
  const std::string large(5000, 'L');
  std::vector<std::string> leaves[2];
  for (int k = 0; k < 17; ++k) {
    const std::string key = std::string("k") + static_cast<char>('a' + k);
    const std::string value(static_cast<size_t>(k * 11 % 23), 'v');
    leaves[k / 9].push_back(
        LmdbNode(static_cast<uint32_t>(value.size()), 0, key, value));
  }
  std::string place;
  Append(uint64_t{5}, place);
  leaves[1].push_back(
      LmdbNode(static_cast<uint32_t>(large.size()), 1, "large", place));
  std::string overflow;
  Append(uint64_t{5}, overflow);
  Append(uint16_t{0}, overflow);
  Append(uint16_t{4}, overflow);
  Append(uint32_t{2}, overflow);  // pages
  overflow += large;
  overflow.resize(2 * 4096, '\0');
  return LmdbMeta(0, 6, 0, ~uint64_t{0}, 1) + LmdbMeta(1, 7, 18, 4, 6) +
         LmdbPage(2, 2, leaves[0]) + LmdbPage(3, 2, leaves[1]) +
         LmdbPage(4, 1, {LmdbNode(2, 0, "", ""), LmdbNode(3, 0, "kj", "")}) +
         overflow;
}

// Chunks of one record, of several, none, and some that blocks interrupt.
void MakeArrayRecordFiles(const std::string& directory) {
  std::vector<std::string> records;
  for (size_t k = 0; k < 23; ++k) {
    records.push_back(std::string(k * 17 % 29, static_cast<char>('a' + k)));
  }
  const auto write = [&](const std::string& name, size_t group) {
    Write(directory + "/" + name + ".array_record",
          reference::ArrayRecordFile(records, group));
  };
  write("1", 1);
  write("2", 5);
  for (std::string& record : records) record.resize(6000, 'r');
  write("3", 7);
  records.clear();
  write("4", 1);
}

void MakeFormatFiles(const std::string& directory) {
  fs::create_directories(directory + "/shards");
  Write(directory + "/shards/0.mds", MdsShard(9, 0));
  Write(directory + "/shards/1.mds", MdsShard(0, 0));
  Write(directory + "/shards/2.mds", MdsShard(13, 9));
  Write(directory + "/pairs.mdb", LmdbPairs());
  Write(directory + "/none.mdb", LmdbMeta(0, 0, 0, ~uint64_t{0}, 1) +
                                     LmdbMeta(1, 0, 0, ~uint64_t{0}, 1));
  MakeArrayRecordFiles(directory);
  fs::create_directories(directory + "/csv");
  std::string csv = "a,x,label,b\r\n";
  std::string jsonl;
  std::string tar;
  for (int k = 0; k < 33; ++k) {
    const std::string number = std::to_string(k * 5 % 17);
    const std::string text(static_cast<size_t>(k % 6),
                           static_cast<char>('a' + k % 5));
    csv += number + (k % 4 == 0 ? ",\"" + text + ",\"\"\"," : "," + text + ",");
    csv += (k % 7 == 0 ? "NA" : number + ".5") +
           (k % 3 == 0 ? ",true" : ",false") + (k % 2 == 0 ? "\r\n" : "\n");
    if (k % 10 == 0) csv += "\n";
    jsonl += R"({"path": ")" + text + R"(\u00e9", "more": {"x": [)" + number +
             R"(]}, "label": )" + number + R"(, "x": [)";
    for (int j = 0; j < k % 4; ++j) jsonl += (j > 0 ? "," : "") + number;
    jsonl += "]}\n";
    tar += TarMember("d/" + std::to_string(k) + ".label", number + "\n");
    tar += TarMember("d/" + std::to_string(k) + ".image",
                     Jpeg(8 + k % 3, 9, static_cast<uint64_t>(k)));
  }
  std::string odd = "x,label,a\n";
  for (int k = 0; k < 30; ++k) {
    odd += std::to_string(k * 7 % 13) + (k % 9 == 8 ? ",," : ",3,") +
           (k % 5 == 4 ? "many\n" : std::to_string(k) + "\n");
  }
  Write(directory + "/odd.csv", odd);
  Write(directory + "/csv/a.csv", csv);
  Write(directory + "/csv/b.csv", "b,x,a\ntrue,\"last\",-3");
  Write(directory + "/csv/c.csv", "");
  Write(directory + "/csv/a.csv.gz", Gzip(csv));
  Write(directory + "/csv/a.csv.zst", Zstd(csv));
  Write(directory + "/lines.jsonl", jsonl);
  Write(directory + "/images.tar", tar + std::string(1024, '\0'));
  std::string npy(
      "\x93NUMPY\x01\x00\x46\x00{'descr': '<i4', 'fortran_order': False, "
      "'shape': (40, 2, 3), }",
      10 + 63);
  npy += "      \n";
  for (int32_t k = 0; k < 40 * 6; ++k) {
    npy.append(reinterpret_cast<const char*>(&k), sizeof k);
  }
  Write(directory + "/rows.npy", npy);
  std::string lines;
  for (int k = 0; k < 50; ++k) lines += std::to_string(k) + " words\n";
  Write(directory + "/text/d.gz", Gzip(lines));
  Write(directory + "/words.txt", "\xef\xbb\xbf\x61\nword\r\n3\n\n7\n" +
                                      directory + "/photos/cat/0_0.jpg\n");
  fs::copy_file(PIECES_MODEL, directory + "/pieces.model",
                fs::copy_options::overwrite_existing);
}

}  // namespace

void MakeFixtureFiles(const std::string& directory) {
  for (const char* folder :
       {"/text", "/records", "/sequences", "/photos/cat", "/photos/dog"}) {
    fs::create_directories(directory + folder);
  }
  std::string lines;
  for (int k = 0; k < 40; ++k) {
    lines += std::string(static_cast<size_t>(k * 7 % 11),
                         static_cast<char>('a' + k % 26));
    lines += k % 5 == 0 ? " Word\r\n" : "\n";
  }
  Write(directory + "/text/a.txt", lines);
  Write(directory + "/text/b.txt", "last line without its end");
  Write(directory + "/text/c.txt", "");
  for (int file = 0; file < 2; ++file) {
    std::string records;
    for (int k = 0; k < 7; ++k) {
      records += Framed(
          Example(Jpeg(9 + k, 12 - k, static_cast<uint64_t>(file * 7 + k)),
                  static_cast<char>(k)));
    }
    Write(directory + "/records/" + std::to_string(file) + ".tfrecord",
          records);
  }
  // The fourth record's data does not match its checksum.
  std::string sequences;
  for (int k = 0; k < 12; ++k) {
    sequences += Framed(SequenceExample(k % 5));
    if (k == 3) sequences[sequences.size() - 5] ^= 1;
  }
  Write(directory + "/sequences/a.tfrecord", sequences);
  Write(directory + "/sequences/b.tfrecord", Framed(SequenceExample(2)));
  for (int k = 0; k < 9; ++k) {
    Write(directory + "/photos/" + (k % 3 == 0 ? "cat" : "dog") + "/" +
              std::to_string(k) + "_" + std::to_string(k % 4) + ".jpg",
          Jpeg(16, 12 + k % 2, static_cast<uint64_t>(k)));
  }
  MakeFormatFiles(directory);
}

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
