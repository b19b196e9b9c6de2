// Compares pipelines of every shape with the reference interpreter. The
// elements must not depend on threads or on the cuts of the sequence.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <algorithm>
#include <random>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/chunk/order_hash.h"
#include "core/dataset/analysis.h"
#include "core/definition/pipeline_text.h"
#include "core/operators/registry.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/client_stage.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"
#include "tests/reference/interpreter.h"
#include "tests/unit/pipeline/builtin_registry.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Jpeg(int width, int height, int seed) {
  std::vector<unsigned char> pixels(static_cast<size_t>(width * height * 3));
  for (size_t k = 0; k < pixels.size(); ++k) {
    pixels[k] = static_cast<unsigned char>(k * 7 / 3 + k / 50 * 11 +
                                           static_cast<size_t>(seed) * 31);
  }
  const tjhandle codec = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;  // NOLINT: the library's type
  tjCompress2(codec, pixels.data(), width, 0, height, TJPF_RGB, &out, &size,
              TJSAMP_420, 90, 0);
  std::string file(reinterpret_cast<char*>(out), size);
  tjFree(out);
  tjDestroy(codec);
  return file;
}

// ---- tf.train.Example, written by hand
std::string Field(int number, std::string_view body) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  for (size_t size = body.size();; size >>= 7) {
    out += static_cast<char>(size >= 128 ? (size & 127) | 128 : size);
    if (size < 128) break;
  }
  return out + std::string(body);
}
std::string Feature(std::string_view name, std::string_view feature) {
  return Field(1, Field(1, name) + Field(2, feature));
}
std::string Example(std::string_view image, int label) {
  const std::string number(1, static_cast<char>(label));
  return Field(1, Feature("image", Field(1, Field(1, image))) +
                      Feature("label", Field(3, Field(1, number))));
}

// The files that the pipelines below read.
class Files {
 public:
  Files() {
    for (int k = 0; k < 7; ++k) {
      const std::string jpeg = Jpeg(20 + 3 * k, 30 - 2 * k, k);
      folder_.Write(fmt::format("photos/{}/{}.jpg", k % 2 ? "dog" : "cat", k),
                    jpeg);
      folder_.Write(fmt::format("same/{}.jpg", k), Jpeg(8, 6, k));
      examples_.push_back(Example(jpeg, k));
    }
    folder_.Write("examples.tfrecord", TfRecordFile(examples_));
    std::mt19937 random(1);
    std::vector<std::string> words;
    std::string text;
    for (int k = 0; k < 5000; ++k) {
      text += std::string(random() % 2000, static_cast<char>('a' + k % 26));
      text += "\n";
      if (k < 40) words.push_back(std::string(random() % 9, 'w'));
    }
    folder_.Write("text/1.txt", text);  // larger than one block
    folder_.Write("text/2.txt", "one\n\ntwo\r\nthree");
    folder_.Write("small.txt", "A\nbb\nCcC\n\neeeee\n");
    folder_.Write("words-1.tfrecord", TfRecordFile(words));
    folder_.Write("words-2.tfrecord", TfRecordFile({"end"}));
  }

  const std::string& path() const { return folder_.path(); }
  const TestFolder& folder() const { return folder_; }

 private:
  TestFolder folder_;
  std::vector<std::string> examples_;
};

const Files& SomeFiles() {
  static const Files files;
  return files;
}

Graph ParseInFiles(const std::string& yaml) {
  const auto graph = ParseGraphYaml(yaml, SomeFiles().path());
  EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
  return graph.ok() ? *graph : Graph();
}

struct Outcome {
  size_t elements = 0;
  std::string hash;
  absl::Status status;
  std::vector<std::string> lines;  // the first few
};

Outcome ReadAll(const Graph& graph, LocalSequenceOptions options,
                size_t limit = SIZE_MAX) {
  Outcome out;
  const auto reader = LocalReader::Make(graph, BuiltinRegistry(), options);
  if (!reader.ok()) {
    out.status = reader.status();
    return out;
  }
  OrderHash hash;
  while (out.elements < limit) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    out.status = chunk.status();
    if (!chunk.ok() || !*chunk) break;
    EXPECT_TRUE((*chunk)->Validate().ok()) << (*chunk)->Validate();
    const size_t rows = std::min((*chunk)->rows, limit - out.elements);
    hash.Add(**chunk, 0, rows);
    for (size_t row = 0; row < rows && out.lines.size() < 100; ++row) {
      AppendJson(**chunk, row, out.lines.emplace_back());
    }
    out.elements += rows;
  }
  out.hash = hash.Hex();
  if (!out.status.ok()) {  // the error persists
    EXPECT_EQ((*reader)->Next(absl::InfiniteFuture()).status(), out.status);
  }
  return out;
}

class AnyPipeline : public ::testing::TestWithParam<const char*> {};

TEST_P(AnyPipeline, EqualsTheReferenceForEveryCut) {
  constexpr size_t kLimit = 300;
  const Graph graph = ParseInFiles(GetParam());
  const bool infinite =
      std::any_of(graph.steps.begin(), graph.steps.end(), [](const Step& step) {
        const auto* repeat = step.As<RepeatStep>();
        return repeat != nullptr && !repeat->count;
      });
  const size_t limit = infinite ? kLimit : SIZE_MAX;
  const reference::Sequence expected = reference::Interpret(graph, 0, 0, limit);
  const std::string hash = reference::OrderHash(expected.elements);
  for (const int threads : {1, 2, 4}) {
    for (const size_t bytes : {size_t{1}, size_t{100}, size_t{1} << 20}) {
      LocalSequenceOptions options;
      options.threads = threads;
      options.piece_bytes = bytes;
      const Outcome read = ReadAll(graph, options, limit);
      ASSERT_EQ(read.elements, expected.elements.size())
          << threads << " threads, pieces of " << bytes << "\n"
          << GetParam() << read.status;
      EXPECT_EQ(read.hash, hash)
          << threads << " threads, pieces of " << bytes << "\n"
          << GetParam() << ::testing::PrintToString(read.lines);
      EXPECT_EQ(!read.status.ok(), expected.failed)
          << GetParam() << read.status << expected.failure;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Range, AnyPipeline,
    ::testing::Values(
        "source: {range: 10}\noptions: {seed: 7}\n",
        "source: {range: 0}\noptions: {seed: 7}\n",
        "source: {range: {start: 9, stop: -9, step: -2}}\noptions: {seed: 7}\n",
        "source: {range: {stop: 5000}}\nsteps:\n"
        "  - map: 'x * x + 1'\n  - filter: 'x % 3 != 0'\n  - batch: {size: 7}\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 5000}}\nsteps:\n"
        "  - filter: 'x % 3 != 0'\n  - filter: 'x % 7 == 1'\n"
        "  - map: {a: x, b: 'x / 2', c: x, d: '5'}\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 5000}}\nsteps:\n"
        "  - map: {a: x, b: 'cast(x, uint8)'}\n  - batch: {size: 16}\n"
        "  - map: {s: 'sum(a)', b: b}\n  - filter: 's % 2 == 0'\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 9001}}\nsteps:\n"
        "  - map: 'x + 1'\n  - batch: {size: 4500}\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 9001}}\nsteps:\n"
        "  - batch: {size: 4500}\n  - map: 'x - min(x)'\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 100}}\nsteps:\n"
        "  - shuffle: {seed: 3}\n  - repeat: 3\n  - batch: {size: 8}\n"
        "  - skip: 2\n  - take: 20\noptions: {seed: 7}\n",
        "source: {range: {stop: 100}}\nsteps:\n"
        "  - shuffle: {}\n  - batch: {size: 8, drop_remainder: true}\n"
        "  - repeat: 2\noptions: {seed: 7}\n",
        "source: {range: {stop: 100}}\nsteps:\n"
        "  - filter: 'x % 2 == 0'\n  - repeat\noptions: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 2 == 0'\n  - take: 7\n  - repeat: 3\n"
        "  - batch: {size: 4}\noptions: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 2 == 0'\n  - batch: {size: 4}\n  - repeat: 3\n"
        "  - skip: 5\n  - map: 'sum(x)'\n  - filter: 'x % 3 != 0'\n"
        "  - take: 9\noptions: {seed: 7}\n",
        "source: {range: {stop: 20}}\nsteps:\n"
        "  - filter: 'x % 2 == 0'\n  - skip: 3\n  - repeat: 2\n"
        "  - batch: {size: 3}\n  - repeat: 2\n  - batch: {size: 2}\n"
        "options: {seed: 7}\n",
        "source: {range: 20}\nsteps: [{filter: 'x > 3'}, {take: 2}, repeat, "
        "{batch: 5}]\noptions: {seed: 7}\n",
        "source: {range: 20}\nsteps: [{filter: 'x > 3'}, {take: 0}]\n",
        // Constants whose shape is known only by running them.
        "source: {range: 9}\nsteps: [{map: {a: x, b: \"split('one two')\", c: "
        "\"split('')\"}}, {filter: 'a % 3 != 0'}, {batch: 4}]\n",
        "source: {range: 9}\nsteps: [{map: {a: \"split('one two')[0]\", b: "
        "\"length(split('a bc')[1]) + x\"}}]\n"));

INSTANTIATE_TEST_SUITE_P(
    DataErrors, AnyPipeline,
    ::testing::Values(
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - map: '100 // (x - 33)'\noptions: {seed: 7}\n",
        // The later step fails for an earlier row.
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - map: {a: x, b: '1 // (x - 40)'}\n"
        "  - map: {a: a, c: '1 // (a - 20)'}\noptions: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 3 == 0'\n  - map: '1 // (x - 30)'\n"
        "  - batch: {size: 4}\noptions: {seed: 7}\n",
        // Rows so large that they are computed in place.
        "source: {range: {stop: 7}}\nsteps:\n"
        "  - map: 'full([70001], cast(1000 // (5 - x), uint8))'\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 9}}\nsteps:\n"
        "  - map: {a: 'full([9001], x) * 2 + x', b: x}\n"
        "  - map: {a: a, b: 'sum(a) // (b - 7)', c: 'a + 1'}\n"
        "  - batch: {size: 2}\noptions: {seed: 7}\n",
        // The row that would fail is filtered out.
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x != 30'\n  - map: '1 // (x - 30)'\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - map: '1 // (x - 30)'\n  - batch: {size: 4}\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - batch: {size: 4}\n  - map: '1 // (sum(x) - 86)'\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 3 == 0'\n  - map: '1 // (x - 30)'\n  - take: 10\n"
        "options: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 3 == 0'\n  - map: '1 // (x - 30)'\n  - take: 5\n"
        "  - repeat: 3\noptions: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 2 == 0'\n  - skip: 1\n  - map: '1 // (x - 30)'\n"
        "  - take: 5\n  - batch: {size: 2}\noptions: {seed: 7}\n",
        "source: {range: {stop: 50}}\nsteps:\n"
        "  - filter: 'x % 2 == 0'\n  - batch: {size: 4}\n"
        "  - map: '1 // (sum(x) - 156)'\noptions: {seed: 7}\n"));

INSTANTIATE_TEST_SUITE_P(
    Files, AnyPipeline,
    ::testing::Values(
        "source: {tfrecord: {files: 'words-*.tfrecord'}}\n"
        "steps:\n  - shuffle: {}\n  - repeat: 2\n  - map: {x: x, n: "
        "'length(x)'}\n"
        "options: {seed: 7}\n",
        "source: {tfrecord: {files: 'words-*.tfrecord'}}\n"
        "steps:\n  - batch: {size: 6}\noptions: {seed: 7}\n",
        "source: {tfrecord: {files: 'words-*.tfrecord'}}\n"
        "steps:\n  - batch: {size: 6}\n  - batch: {size: 2}\n"
        "options: {seed: 7}\n",
        "source: {text: {files: ['text/*.txt', 'small.txt']}}\n"
        "options: {seed: 7}\n",
        "source: {text: {files: ['small.txt', 'text']}}\n"
        "steps:\n  - filter: 'length(x) % 5 == 1'\n  - map: 'upper(x)'\n"
        "  - batch: {size: 3}\noptions: {seed: 7}\n",
        "source: {text: {files: ['small.txt', 'text/2.txt']}}\n"
        "steps:\n  - shuffle: {}\n  - batch: {size: 3}\n  - repeat: 2\n"
        "options: {seed: 7}\n",
        "source: {text: {files: ['small.txt', 'text/2.txt']}}\n"
        "steps:\n  - repeat: 3\n  - skip: 4\n"
        "  - map: 'full([2, 3, 1], length(x))'\n"
        "options: {seed: 7}\n",
        "source: {text: {files: small.txt}}\n"
        "steps:\n  - repeat: 9\n  - map: {n: 'full([2, 3, 1], 4)'}\n"
        "  - random_flip: {component: n}\noptions: {seed: 7}\n"));

INSTANTIATE_TEST_SUITE_P(
    Images, AnyPipeline,
    ::testing::Values(
        "source: {images: {files: photos}}\n"
        "steps:\n  - map: {label: label, n: 'length(image)'}\n"
        "options: {seed: 7}\n",
        "source: {images: {files: photos}}\n"
        "steps:\n  - repeat: 5\n  - shuffle: {}\n  - decode_image: {}\n"
        "  - resize: {height: 16, width: 12}\n  - random_flip: {}\n"
        "  - map: {image: image, label: label}\n  - batch: {size: 4}\n"
        "options: {seed: 7}\n",
        "source: {images: {files: photos}}\n"
        "steps:\n  - repeat: 5\n  - decode_image: {dct: fast}\n"
        "  - resize: {height: 16, width: 12, method: nearest}\n"
        "  - map: {image: image, label: label}\n"
        "  - batch: {size: 4}\n  - random_flip: {direction: vertical}\n"
        "options: {seed: 7}\n",
        "source: {images: {files: photos}}\n"
        "steps:\n  - decode_image: {channels: 1}\n  - random_flip: {}\n"
        "  - map: {image: image, mean: 'mean(image)'}\noptions: {seed: 7}\n",
        "source: {images: {files: photos}}\n"
        "steps:\n  - decode_image: {}\n  - filter: 'label == 1'\n"
        "  - resize: {height: 9, width: 9}\n  - random_flip: {}\n"
        "  - map: {image: image, label: label}\n  - batch: {size: 2}\n"
        "  - random_flip: {probability: 0.3}\noptions: {seed: 7}\n",
        // Rows of different shapes.
        "source: {images: {files: photos}}\n"
        "steps:\n  - decode_image: {}\n  - batch: {size: 2}\n"
        "options: {seed: 7}\n",
        "source: {images: {files: same}}\n"
        "steps:\n  - batch: {size: 3}\n  - decode_image: {}\n"
        "  - random_flip: {}\noptions: {seed: 7}\n",
        "source: {images: {files: [photos, small.txt]}}\n"
        "steps:\n  - decode_image: {}\noptions: {seed: 7}\n",
        "source: {tfrecord: {files: examples.tfrecord}}\n"
        "steps:\n  - parse_example: {image: bytes, label: int64}\n"
        "  - decode_image: {}\n  - resize: {height: 10, width: 10}\n"
        "  - random_flip: {}\n  - batch: {size: 3}\noptions: {seed: 7}\n",
        "source: {tfrecord: {files: examples.tfrecord}}\n"
        "steps:\n  - batch: {size: 3}\n"
        "  - parse_example: {label: int64, image: bytes}\n"
        "options: {seed: 7}\n",
        "source: {tfrecord: {files: [examples.tfrecord, "
        "words-1.tfrecord]}}\n"
        "steps:\n  - parse_example: {label: int64}\noptions: {seed: 7}\n"));

// ---- single properties

TEST(LocalReader, NamesTheFileOfABadRecord) {
  TestFolder folder;
  std::string records = TfRecordFile({"a", "b", "c"});
  records[TfRecordFile({"a", "b"}).size() + 12] = 'X';
  folder.Write("x.tfrecord", records);
  Graph graph;
  graph.source = MakeSource(TfRecordSource{{folder / "x.tfrecord"}});
  const Outcome read = ReadAll(graph, {});
  EXPECT_THAT(read.lines, ElementsAre("\"a\"", "\"b\""));
  EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ErrorText(read.status),
              HasSubstr(folder / "x.tfrecord: record 2 at offset 34"));
}

TEST(LocalReader, NamesTheFileAndStepOfABadImage) {
  const Outcome read =
      ReadAll(ParseInFiles("source: {images: {files: small.txt}}\n"
                           "steps:\n  - decode_image: {}\n"),
              {});
  EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ErrorText(read.status),
              HasSubstr("small.txt: steps[0] decode_image: "));
}

TEST(LocalReader, TellsPipelinesThatCannotRun) {
  const auto code = [](const std::string& yaml) {
    return ReadAll(ParseInFiles(yaml), {}).status.code();
  };
  EXPECT_EQ(code("source: {text: {files: nothing.txt}}\n"),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(code("source: {range: {stop: 3}}\nsteps:\n  - map: 'y'\n"),
            absl::StatusCode::kInvalidArgument);
}

TEST(LocalReader, AnInfiniteRepeatOfNothingIsAnError) {
  for (const char* yaml :
       {"source: {range: {stop: 100}}\nsteps:\n  - filter: 'x < 0'\n"
        "  - repeat\n",
        "source: {range: {stop: 0}}\nsteps:\n  - repeat\n",
        "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x >= 0'\n"
        "  - skip: 10\n  - repeat\n",
        "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x == 0'\n"
        "  - repeat\n  - batch: {size: 3}\n  - filter: 'sum(x) > 0'\n"}) {
    const Outcome read = ReadAll(ParseInFiles(yaml), {});
    EXPECT_EQ(read.elements, 0u);
    EXPECT_EQ(read.status.code(), absl::StatusCode::kFailedPrecondition)
        << yaml;
  }
}

TEST(LocalReader, DoesNotMakeWhatATakeLeavesOut) {
  const Outcome read = ReadAll(
      ParseInFiles("source: {range: {stop: 1000000000000}}\nsteps:\n"
                   "  - filter: 'x % 2 == 0'\n  - take: 3\n  - repeat: 4\n"),
      {});
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.elements, 12u);
}

// ---- the worker stage alone

struct Stage {
  explicit Stage(const std::string& yaml) {
    const Graph graph = ParseInFiles(yaml);
    analyzed = Analyze(graph, *BuiltinRegistry()).value();
    manifest = std::make_shared<Manifest>(ResolveManifest(*analyzed).value());
    const uint64_t size = SourceSize(*analyzed, *manifest).value();
    plan = Plan::Make(analyzed, size, 7, 0).value();
    stage = WorkerStage::Make(plan, manifest, BuiltinRegistry()).value();
    scratch = stage->NewScratch();
  }

  Piece Run(Cursor begin, Cursor end, size_t bytes = size_t{1} << 20) {
    return Run(begin, end, Share(), bytes);
  }
  Piece Run(Cursor begin, Cursor end, Share share,
            size_t bytes = size_t{1} << 20) {
    auto piece = stage->ForShare(share)->Run(begin, end, bytes, *scratch);
    EXPECT_TRUE(piece.ok()) << piece.status();
    EXPECT_TRUE(piece->Validate().ok()) << piece->Validate();
    return *std::move(piece);
  }

  std::vector<std::string> Lines(const Piece& piece) {
    std::vector<std::string> lines;
    for (size_t row = 0; row < piece.chunk.rows; ++row) {
      AppendJson(piece.chunk, row, lines.emplace_back());
    }
    return lines;
  }

  std::shared_ptr<const AnalyzedGraph> analyzed;
  std::shared_ptr<const Manifest> manifest;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const WorkerStage> stage;
  std::unique_ptr<WorkerStage::Scratch> scratch;
};

TEST(WorkerStage, NamesRowsByBitsWhereAFilterDropsSome) {
  Stage stage(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x % 4 == 1'\n");
  const Piece piece = stage.Run({2, 0}, {12, 0});
  EXPECT_THAT(stage.Lines(piece), ElementsAre("5", "9"));
  EXPECT_EQ(piece.begin, (Cursor{2, 0}));
  EXPECT_EQ(piece.end, (Cursor{12, 0}));
  EXPECT_EQ(piece.CursorOf(0), (Cursor{5, 0}));
  EXPECT_EQ(piece.CursorOf(1), (Cursor{9, 0}));
}

TEST(WorkerStage, MakesOnlyOneRanksWhereThePlanKnowsThem) {
  Stage stage("source: {range: {stop: 20}}\n");
  const Piece piece = stage.Run({2, 0}, {12, 0}, Share{1, 3});
  EXPECT_THAT(stage.Lines(piece), ElementsAre("4", "7", "10"));
  EXPECT_EQ(piece.end, (Cursor{12, 0}));
  EXPECT_EQ(piece.CursorOf(2), (Cursor{10, 0}));
  EXPECT_EQ(stage.Run({4, 1}, {8, 0}, Share{1, 3}).CursorOf(0), (Cursor{7, 0}));
  // After a filter, the elements' positions are unknown in advance.
  Stage filtered(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x % 4 == 1'\n");
  EXPECT_EQ(filtered.Run({0, 0}, {12, 0}, Share{1, 3}).chunk.rows, 3);
}

// Elements returned by a sharing reader begin just after its last element.
TEST(WorkerStage, BeginsWhereItIsAskedTo) {
  Stage filtered(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x % 4 == 1'\n");
  const Piece some = filtered.Run({1, 1}, {23, 0});
  EXPECT_EQ(some.begin, (Cursor{1, 1}));
  EXPECT_THAT(filtered.Lines(some), ElementsAre("5", "9", "13", "17", "21"));
  EXPECT_EQ(some.CursorOf(0), (Cursor{5, 0}));
  EXPECT_EQ(some.CursorOf(4), (Cursor{21, 0}));
  Stage dense("source: {range: {stop: 100}}\n");
  const Piece all = dense.Run({1, 1}, {4, 0});
  EXPECT_EQ(all.begin, (Cursor{1, 1}));
  EXPECT_THAT(dense.Lines(all), ElementsAre("2", "3"));
  EXPECT_EQ(all.CursorOf(0), (Cursor{2, 0}));
  EXPECT_EQ(dense.Run({3, 1}, {4, 0}).end, (Cursor{4, 0}));
}

TEST(WorkerStage, NamesLinesByTheirPlaceInABlock) {
  Stage stage(
      "source: {text: {files: ['small.txt', 'text/2.txt']}}\nsteps:\n"
      "  - filter: 'length(x) > 0'\n");
  const Piece piece = stage.Run({0, 1}, {1, 3});
  EXPECT_THAT(stage.Lines(piece), ElementsAre("\"bb\"", "\"CcC\"", "\"eeeee\"",
                                              "\"one\"", "\"two\\r\""));
  EXPECT_EQ(piece.CursorOf(0), (Cursor{0, 1}));
  EXPECT_EQ(piece.CursorOf(2), (Cursor{0, 4}));
  EXPECT_EQ(piece.CursorOf(4), (Cursor{1, 2}));
  EXPECT_EQ(piece.end, (Cursor{1, 3}));
}

TEST(WorkerStage, StopsAtTheBytesAskedForAndGetsFurther) {
  Stage stage("source: {range: {stop: 100000}}\n");
  Cursor at{0, 0};
  size_t pieces = 0;
  while (at < Cursor{1000, 0}) {
    const Piece piece = stage.Run(at, {1000, 0}, 160);
    EXPECT_EQ(piece.begin, at);
    ASSERT_GT(piece.end, at);
    EXPECT_LE(piece.chunk.rows, 20u);
    at = piece.end;
    ++pieces;
  }
  EXPECT_GE(pieces, 50u);
  EXPECT_EQ(stage.Run({0, 0}, {1000, 0}, 0).chunk.rows, 1u);
}

TEST(WorkerStage, EndsAPieceBeforeTheElementThatFails) {
  Stage stage(
      "source: {range: {stop: 100}}\nsteps:\n  - map: '6 // (x - 3)'\n");
  const Piece piece = stage.Run({1, 0}, {50, 0});
  EXPECT_THAT(stage.Lines(piece), ElementsAre("-3", "-6"));
  EXPECT_EQ(piece.end, (Cursor{3, 0}));
  EXPECT_EQ(piece.error.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ErrorText(piece.error), HasSubstr("steps[0] map: "));
  const Piece again = stage.Run({3, 0}, {50, 0});
  EXPECT_EQ(again.chunk.rows, 0u);
  EXPECT_EQ(again.end, (Cursor{3, 0}));
}

TEST(WorkerStage, EstimatesWhatIsKnownBeforehand) {
  EXPECT_EQ(Stage("source: {range: {stop: 9}}\nsteps:\n  - batch: {size: 4}\n")
                .stage->EstimatedBytes(),
            32u);
  EXPECT_FALSE(Stage("source: {range: {stop: 9}}\n").stage->heavy());
  Stage photos(
      "source: {images: {files: photos}}\nsteps:\n"
      "  - decode_image: {}\n");
  EXPECT_EQ(photos.stage->EstimatedBytes(), 0u);
  EXPECT_TRUE(photos.stage->heavy());
}

// ---- the client stage alone

TEST(ClientStage, CountsABatchThatIsTakenApartWithItsLastRecord) {
  Stage stage(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x >= 0'\n"
      "  - batch: {size: 3}\n  - unbatch\n");
  const auto client =
      ClientStage::Make(stage.plan, BuiltinRegistry(), {}).value();
  ASSERT_TRUE(client->Push(stage.Run({0, 0}, {10, 0})).ok());
  std::vector<uint64_t> inputs;
  for (; client->front() != nullptr; client->PopFront()) {
    for (size_t row = 0; row < client->front()->chunk.rows; ++row) {
      inputs.push_back(client->front()->InputOf(row));
    }
  }
  EXPECT_EQ(inputs, (std::vector<uint64_t>{0, 0, 3, 3, 3, 6, 6, 6, 9}));
}

TEST(ClientStage, CountsTheInputRowsBehindItsOutputs) {
  Stage stage(
      "source: {range: {stop: 100}}\nsteps:\n  - filter: 'x % 2 == 0'\n"
      "  - batch: {size: 3}\n  - filter: 'sum(x) != 24'\n");
  const auto client =
      ClientStage::Make(stage.plan, BuiltinRegistry(), {}).value();
  ASSERT_TRUE(client->Push(stage.Run({0, 0}, {10, 0})).ok());
  const auto last_input = [&] {
    ClientStage::Output* const out = client->front();
    return out == nullptr ? 0 : out->InputOf(out->chunk.rows - 1);
  };
  EXPECT_EQ(last_input(), 3u);
  client->PopFront();
  EXPECT_EQ(client->ready(), 0u);
  ASSERT_TRUE(client->Push(stage.Run({10, 0}, {19, 0})).ok());
  EXPECT_EQ(last_input(), 9u);  // the second batch was filtered out
  client->PopFront();
  ASSERT_TRUE(client->Finish().ok());
  EXPECT_EQ(last_input(), 10u);
  EXPECT_EQ(client->front()->chunk.columns[0].RowShape(0), Shape{1});
}

TEST(ClientStage, SaysFromWhereOnItNeedsRows) {
  Stage stage(
      "source: {range: {stop: 10}}\nsteps:\n  - filter: 'x >= 0'\n"
      "  - take: 2\n  - repeat: 3\n");
  const auto client =
      ClientStage::Make(stage.plan, BuiltinRegistry(), {}).value();
  ASSERT_TRUE(client->Push(stage.Run({0, 0}, {1, 0})).ok());
  EXPECT_EQ(client->needed_from(), 1u);
  ASSERT_TRUE(client->Push(stage.Run({1, 0}, {3, 0})).ok());
  EXPECT_EQ(client->needed_from(), 10u);
  ASSERT_TRUE(client->Push(stage.Run({10, 0}, {22, 0})).ok());
  EXPECT_TRUE(client->done());
  size_t rows = 0;
  for (; client->front() != nullptr; client->PopFront()) {
    rows += client->front()->chunk.rows;
  }
  EXPECT_EQ(rows, 6u);
}

}  // namespace
}  // namespace feedmill
