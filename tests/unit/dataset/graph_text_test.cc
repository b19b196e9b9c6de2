#include "core/dataset/graph_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/status.h"
#include "core/definition/pipeline_text.h"
#include "feedmill/dataset.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Graph FromYaml(const std::string& text) {
  auto graph = ParseGraphYaml(text, "/data");
  EXPECT_TRUE(graph.ok()) << ErrorText(graph.status());
  return graph.ok() ? *graph : Graph{};
}

std::string YamlError(const std::string& text) {
  const auto graph = ParseGraphYaml(text, "/data");
  return graph.ok() ? "no error" : ErrorText(graph.status());
}

// Returns the error of a range pipeline with these steps.
std::string StepError(const std::string& steps) {
  return YamlError("source: {range: 10}\nsteps:\n" + steps);
}

constexpr char kEverything[] = R"(
source:
  images: {files: [photos/*/*.jpg, /other/*.png, ./a.jpg, "s3://b/c"],
           label: filename}
steps:
  - parse_example: {image: bytes, label: int64, feat: "float32[3, 2]"}
  - decode_image:
  - decode_image: {component: other, channels: 1, dct: fast}
  - resize: {height: 224, width: 0xe0}
  - resize: {component: other, height: 8, width: 9, method: nearest}
  - random_flip
  - random_flip: {direction: vertical, probability: .25}
  - map: "x * x + 1"
  - map: {out: a + 1, other: b}
  - filter: x % 3 != 0
  - shuffle: {seed: 7}
  - shuffle
  - shuffle:
  - batch: {size: 32, drop_remainder: true}
  - batch: 4
  - repeat:
  - repeat: 2
  - take: 5
  - skip: {count: 6}
options: {order: any, processing_mode: dynamic, seed: 18446744073709551615}
)";

TEST(GraphYamlTest, ReadsEveryStep) {
  const Graph graph = FromYaml(kEverything);
  const auto& images = graph.source.Get<ImagesSource>();
  EXPECT_THAT(images.files, ElementsAre("/data/photos/*/*.jpg", "/other/*.png",
                                        "/data/a.jpg", "s3://b/c"));
  EXPECT_EQ(images.label, ImagesSource::Label::kFilename);
  ASSERT_EQ(graph.steps.size(), 19u);
  const auto& parse = graph.steps[0].Get<ParseExampleStep>();
  ASSERT_EQ(parse.features.size(), 3u);
  EXPECT_EQ(parse.features[2].dtype, DType::kFloat32);
  EXPECT_EQ(parse.features[2].shape, (Shape{3, 2}));
  EXPECT_EQ(graph.steps[2].Get<DecodeImageStep>().channels, 1);
  EXPECT_EQ(graph.steps[3].Get<ResizeStep>().width, 224);
  EXPECT_EQ(graph.steps[6].Get<RandomFlipStep>().probability, 0.25);
  EXPECT_EQ(graph.steps[8].Get<MapStep>().outputs[1].first, "other");
  EXPECT_EQ(graph.steps[10].Get<ShuffleStep>().seed, 7u);
  EXPECT_FALSE(graph.steps[12].Get<ShuffleStep>().seed.has_value());
  EXPECT_TRUE(graph.steps[13].Get<BatchStep>().drop_remainder);
  EXPECT_EQ(graph.steps[14].Get<BatchStep>().size, 4);
  EXPECT_FALSE(graph.steps[15].Get<RepeatStep>().count.has_value());
  EXPECT_EQ(graph.steps[18].Get<SkipStep>().count, 6);
  EXPECT_EQ(graph.options.order, Order::kAny);
  EXPECT_EQ(graph.options.seed, UINT64_MAX);
}

TEST(GraphYamlTest, ReadsTheStepsOnSequences) {
  const Graph graph = FromYaml(R"(
source: {range: 3}
steps:
  - shuffle: {window: 100, seed: 3}
  - shard: {count: 4, index: 1}
  - enumerate
  - enumerate: {component: n, start: -2}
  - padded_batch: {size: 2, shapes: {a: 3, b: ["?", 4]}, values: {b: -1.5}}
  - ragged_batch: 5
  - unbatch
  - rebatch: {size: 3, drop_remainder: true}
  - window: {size: 4, shift: 2, stride: 3}
  - bucket_by_sequence_length: {component: a, boundaries: [2, 5], batch_sizes: [3, 2, 1]}
  - token_batch: {tokens: 64, layout: ragged}
  - pack: {length: 128, method: first_fit, bins: 4, values: {a: 7}}
)");
  ASSERT_EQ(graph.steps.size(), 12u);
  EXPECT_EQ(graph.steps[0].Get<ShuffleStep>().window, 100);
  EXPECT_EQ(graph.steps[1].Get<ShardStep>().index, 1);
  EXPECT_EQ(graph.steps[3].Get<EnumerateStep>().start, -2);
  const auto& padded = graph.steps[4].Get<BatchStep>();
  EXPECT_EQ(padded.layout, BatchLayout::kPadded);
  ASSERT_EQ(padded.padding.size(), 2u);
  EXPECT_EQ(padded.padding[0].shape, (Shape{3}));
  EXPECT_EQ(padded.padding[1].shape, (Shape{kUnknownDim, 4}));
  EXPECT_EQ(padded.padding[1].value, -1.5);
  EXPECT_EQ(graph.steps[5].name(), "ragged_batch");
  EXPECT_EQ(graph.steps[8].Get<WindowStep>().stride, 3);
  const auto& bucket = graph.steps[9].Get<BucketBySequenceLengthStep>();
  EXPECT_THAT(bucket.boundaries, ElementsAre(2, 5));
  EXPECT_THAT(bucket.batch_sizes, ElementsAre(3, 2, 1));
  EXPECT_EQ(graph.steps[10].Get<TokenBatchStep>().layout, BatchLayout::kRagged);
  EXPECT_EQ(graph.steps[11].Get<PackStep>().padding[0].value, 7);
  const std::string text = CanonicalText(graph);
  const auto back = ParseGraphJson(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalText(*back), text);
  EXPECT_EQ(text.find("null,\"window\""), std::string::npos);
}

TEST(GraphYamlTest, ReadsTheStepsOnBadDataAndMessages) {
  const Graph graph = FromYaml(R"yaml(
source: {tfrecord: {files: a}}
steps:
  - shuffle: {files: true}
  - shuffle: {block: 64, window: 4, seed: 3}
  - parse_sequence_example: {context: {id: "int64[?]"}, sequence: {w: bytes}}
  - on_error: {policy: skip, cap: 9, quarantine: bad.jsonl}
  - flat_map: {w: w, n: "length(w)"}
  - flat_map: "split(w)"
  - on_error: fail
)yaml");
  ASSERT_EQ(graph.steps.size(), 7u);
  EXPECT_TRUE(graph.steps[0].Get<ShuffleStep>().files);
  EXPECT_EQ(graph.steps[1].Get<ShuffleStep>().block, 64);
  EXPECT_EQ(graph.steps[1].Get<ShuffleStep>().window, 4);
  const auto& parse = graph.steps[2].Get<ParseSequenceExampleStep>();
  EXPECT_EQ(parse.context[0].shape, (Shape{kUnknownDim}));
  EXPECT_EQ(parse.sequence[0].dtype, DType::kBytes);
  const auto& on_error = graph.steps[3].Get<OnErrorStep>();
  EXPECT_EQ(on_error.policy, OnErrorStep::Policy::kSkip);
  EXPECT_EQ(on_error.cap, 9);
  EXPECT_EQ(on_error.quarantine, "/data/bad.jsonl");
  EXPECT_EQ(graph.steps[4].Get<FlatMapStep>().outputs.size(), 2u);
  EXPECT_EQ(graph.steps[6].Get<OnErrorStep>().policy,
            OnErrorStep::Policy::kFail);
  const std::string text = CanonicalText(graph);
  const auto back = ParseGraphJson(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalText(*back), text);
}

TEST(GraphYamlTest, ReadsCaches) {
  const Graph graph = FromYaml(
      "source: {range: 3}\nsteps: [cache, {cache: kept}, {cache: {path: /k}},"
      " {cache: {memory_bytes: 77}}]");
  const auto cache = [&graph](size_t step) {
    return graph.steps.at(step).Get<CacheStep>();
  };
  EXPECT_EQ(cache(0).path, "");
  EXPECT_EQ(cache(0).memory_bytes, std::nullopt);
  EXPECT_EQ(cache(1).path, "/data/kept");
  EXPECT_EQ(cache(2).path, "/k");
  EXPECT_EQ(cache(3).memory_bytes, 77);
  const auto back = ParseGraphJson(CanonicalText(graph));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(CanonicalText(*back), CanonicalText(graph));
}

TEST(GraphYamlTest, ReadsTheSources) {
  const auto range = FromYaml("source: {range: {start: -5, stop: 3, step: 2}}")
                         .source.Get<RangeSource>();
  EXPECT_EQ(range.start, -5);
  EXPECT_EQ(range.step, 2);
  EXPECT_EQ(FromYaml("source: {range: 10}").source.Get<RangeSource>().stop, 10);
  EXPECT_THAT(
      FromYaml("source: {text: {files: a}}").source.Get<TextSource>().files,
      ElementsAre("/data/a"));
  EXPECT_THAT(
      FromYaml("source: {tfrecord: [a, b]}").source.Get<TfRecordSource>().files,
      ElementsAre("/data/a", "/data/b"));
}

constexpr char kInputs[] = R"(
source:
  mixture:
    weights: [0.7, 3e-1]
    stop: all_exhausted
    inputs:
      - source: {text: a}
        steps: [shuffle, {map: length(x)}]
      - source:
          interleave:
            cycle_length: 2
            block_length: 3
            inputs:
              - source: {concatenate: [{source: {range: 1}}]}
              - source: {zip: {inputs: [{source: {range: 2}}]}}
                steps: [{take: 1}]
steps: [{batch: 2}]
)";

TEST(GraphYamlTest, ReadsSourcesMadeOfInputs) {
  const Graph graph = FromYaml(kInputs);
  const auto& mixture = graph.source.Get<MixtureSource>();
  EXPECT_THAT(mixture.weights, ElementsAre(0.7, 0.3));
  EXPECT_EQ(mixture.stop, MixtureSource::Stop::kAllExhausted);
  ASSERT_EQ(mixture.inputs.size(), 2u);
  EXPECT_THAT(mixture.inputs[0].source.Get<TextSource>().files,
              ElementsAre("/data/a"));
  EXPECT_EQ(mixture.inputs[0].steps.size(), 2u);
  const auto& turns = mixture.inputs[1].source.Get<InterleaveSource>();
  EXPECT_EQ(turns.cycle_length, 2);
  EXPECT_EQ(turns.block_length, 3);
  EXPECT_EQ(turns.inputs[1].source.Get<ZipSource>().inputs.size(), 1u);
  EXPECT_EQ(turns.inputs[1].steps.size(), 1u);
  EXPECT_EQ(graph.steps.size(), 1u);
}

TEST(CanonicalTextTest, HasInputsWithTheirStepsAndNoOptions) {
  const std::string text = CanonicalText(FromYaml(kInputs));
  const auto again = ParseGraphJson(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(CanonicalText(*again), text);
  EXPECT_EQ(
      CanonicalText(FromYaml("source: {interleave: [{source: {range: 1}}]}")),
      R"({"options":{"order":"deterministic","processing_mode":"dynamic",)"
      R"("seed":null},"source":{"interleave":{"block_length":1,)"
      R"("cycle_length":1,"inputs":[{"source":{"range":{"start":0,"step":1,)"
      R"("stop":1}},"steps":[]}]}},"steps":[]})");
  const Dataset one = Dataset::Range(1);
  EXPECT_EQ(
      CanonicalText(Dataset::Interleave({one}).graph()),
      CanonicalText(FromYaml("source: {interleave: [{source: {range: 1}}]}")));
  EXPECT_EQ(
      CanonicalText(Dataset::Mixture({one, one.Take(3)}, {2, 0.5}).graph()),
      CanonicalText(FromYaml("source: {mixture: {weights: [2, 0.5], inputs: "
                             "[{source: {range: 1}}, {source: {range: 1}, "
                             "steps: [{take: 3}]}]}}")));
}

TEST(CanonicalTextTest, InputsInInputsHaveAnEnd) {
  std::string json = R"({"source":{"range":{"start":0,"step":1,"stop":1}},)"
                     R"("steps":[]})";
  std::string yaml = "{source: {range: 1}}";
  for (int depth = 0; depth < 9; ++depth) {
    json = R"({"source":{"zip":{"inputs":[)" + json + R"(]}},"steps":[]})";
    yaml = "{source: {zip: [" + yaml + "]}}";
  }
  json.replace(0, 1,
               R"({"options":{"order":"deterministic",)"
               R"("processing_mode":"dynamic","seed":null},)");
  EXPECT_THAT(ErrorText(ParseGraphJson(json).status()),
              HasSubstr("more than 8 deep"));
  EXPECT_THAT(ErrorText(ParseGraphYaml(yaml, "/data").status()),
              HasSubstr("more than 8 deep"));
}

TEST(GraphYamlTest, NamesThePlaceAndTheNearestName) {
  EXPECT_EQ(StepError("  - bacth: 3\n"),
            "line 3, column 5: steps[0]: there is no step \"bacth\"; did you "
            "mean \"batch\"?");
  EXPECT_EQ(StepError("  - take: 1\n  - batch: {siez: 3}\n"),
            "line 4, column 13: steps[1] batch: there is no \"siez\"; did you "
            "mean \"size\"?");
  const std::pair<const char*, const char*> cases[] = {
      {"sorce: {}\n",
       "line 1, column 1: the pipeline: there is no \"sorce\"; "
       "did you mean \"source\"?"},
      {"steps: []\n", "there is no source"},
      {"[1]\n", "a pipeline is a map"},
      {"", "the pipeline is empty"},
      {"a: 1\n---\nb: 2\n", "one YAML document, another begins here"},
      {"{source: {range: 1}}, {steps: []}",
       "line 1, column 21: a pipeline is one YAML document"},
      {"source: {range: {start: 1}}", "range: there is no stop"},
      {"source: {rnage: 3}", "did you mean \"range\"?"},
      {"source: {zip: [a, b]}", "an input: expected a map"},
      {"source: {zip: {}}", "zip: there is no inputs"},
      {"source: {zip: []}", "expected a list of inputs"},
      {"source: {zip: [{steps: []}]}", "an input: there is no source"},
      {"source: {zip: [{source: {range: 1}, options: {seed: "
       "1}}]}",
       "an input: there is no \"options\""},
      {"source: {interleave: {inputs: [{source: {range: 1}}], "
       "cycle_length: 0}}",
       "interleave cycle_length: expected 1 or more, found 0"},
      {"source: {mixture: {inputs: [{source: {range: 1}}], "
       "stop: never}}",
       "expected one of first_exhausted, all_exhausted, "
       "repeat"},
      {"source: {range: 3, text: a}", "expected one of array_record, arrow"},
      {"source: {text: {}}", "there is no files"},
      {"source: {text: []}", "the list of files is empty"},
      {"source: {images: {files: a, label: dir}}",
       "expected one of folder, filename, found \"dir\""},
      {"source: {range: 1}\noptions: {processing_mode: static}",
       "expected one of dynamic, distributed_epoch, off, parallel_epochs"},
      {"source: {range: 1}\noptions: {job: ''}",
       "job: the name of a job must not be empty"},
      {"source: {range: 1}\noptions: {seed: -1}", "-1 is out of range, 0 to"},
      {"source: {range: 1}\nsource: {range: 2}", "\"source\" is there twice"},
      {"source: {range: 9223372036854775808}", "is out of range"},
      {"source: {range: 1e6}", "expected an integer, found \"1e6\""},
      {"source: [a\n", "line 2, column 1: not YAML"},
      {"a: *b\n", "not YAML"},
  };
  for (const auto& [text, what] : cases) {
    EXPECT_THAT(YamlError(text), HasSubstr(what)) << text;
  }
}

TEST(GraphYamlTest, ExplainsWrongValuesOfSteps) {
  const std::pair<const char*, const char*> cases[] = {
      {"  - batch: {size: many}", "expected an integer, found \"many\""},
      {"  - batch: \"3\"", "expected an integer"},
      {"  - batch: {size: 2, drop_remainder: yes}", "expected true or false"},
      {"  - batch: {}", "there is no size"},
      {"  - batch:", "it needs a value"},
      {"  - batch", "it needs a value"},
      {"  - map: [1]", "expected an expression, found a list"},
      {"  - map: x +",
       "line 3, column 10: steps[0] map: cannot read the "
       "expression \"x +\", column 4"},
      {"  - map: {a: x, a: x}", "\"a\" is there twice"},
      {"  - parse_example: {a: int63}", "there is no type \"int63\""},
      {"  - parse_example: {a: \"int64[2\"}", "is not closed"},
      {"  - parse_example: {a: \"int64[-2]\"}", "is not a type like"},
      {"  - parse_example: a", "expected a map like"},
      {"  - shuffle: {blocks: 3}", "did you mean \"block\""},
      {"  - on_error: ship", "expected one of fail, skip"},
      {"  - on_error: {cap: 3}", "there is no policy"},
      {"  - padded_batch: {shapes: {x: 3}}", "there is no size"},
      {"  - padded_batch: {size: 2, shapes: [3]}",
       "expected a map from components"},
      {"  - padded_batch: {size: 2, shapes: {x: [-3]}}",
       "expected dimensions like [128, 3]"},
      {"  - padded_batch: {size: 2, values: {x: often}}", "expected a number"},
      {"  - ragged_batch: {size: 2, shapes: {x: 1}}", "there is no \"shapes\""},
      {"  - window: {size: 2, shift: 0}", "expected 1 or more"},
      {"  - shard: {count: 2}", "there is no index"},
      {"  - pack: {bins: 2}", "there is no length"},
      {"  - bucket_by_sequence_length: {batch_sizes: 3}", "expected a list"},
      {"  - token_batch: {tokens: 3, layout: equal}",
       "expected one of padded, ragged"},
      {"  - shuffle: 7", "expected a map with seed"},
      {"  - repeat: x", "expected an integer, found \"x\""},
      {"  - {take: 1, skip: 2}", "one item is one step"},
      {"  - [take]", "expected a step, found a list"},
      {"  - random_flip: {probability: often}", "expected a number"},
  };
  for (const auto& [steps, what] : cases) {
    EXPECT_THAT(StepError(steps), HasSubstr(what)) << steps;
  }
  EXPECT_THAT(YamlError("source: {range: 1}\nsteps: {take: 1}"),
              HasSubstr("steps: expected a list"));
}

// json.dumps of Python writes characters beyond 16 bits in this way.
TEST(GraphYamlTest, ReadsThePairsOfEscapesOfJson) {
  const auto graph = ParseGraphYaml(
      R"({"source": {"text": {"files": ["/\ud83d\ude00", "/\\ud83d"]}}})", "/");
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->source.As<TextSource>()->files,
            (std::vector<std::string>{"/\U0001f600", "/\\ud83d"}));
  EXPECT_THAT(YamlError(R"({"source": {"text": "\ud83d"}})"),
              HasSubstr("not YAML"));
}

TEST(GraphYamlTest, NamesTheJobThatItIsReadAs) {
  const auto named = ParsePipelineYaml(
      "source: {range: 3}\noptions: {job: epoch-1, seed: 7}\n", "");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->job, "epoch-1");
  EXPECT_EQ(named->graph.options.seed, 7);
  const auto own =
      ParsePipelineYaml("source: {range: 3}\noptions: {seed: 7}\n", "");
  EXPECT_EQ(own->job, "");
  EXPECT_EQ(CanonicalText(own->graph), CanonicalText(named->graph));
}

TEST(GraphYamlTest, IsBounded) {
  EXPECT_THAT(YamlError(std::string(2 << 20, ' ')), HasSubstr("too long"));
  std::string many = "source: {range: 1}\nsteps:\n";
  for (int i = 0; i < 1001; ++i) many += "  - take: 1\n";
  EXPECT_THAT(YamlError(many), HasSubstr("more than 1000 steps"));
  EXPECT_THAT(YamlError(std::string(100'000, '[')), HasSubstr("not YAML"));
  // Each line expands to ten of the previous line.
  std::string bomb = "a: &a0 [x]\n";
  for (int i = 1; i < 30; ++i) {
    bomb += fmt::format("b{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) bomb += fmt::format("*a{},", i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(YamlError(bomb), "no error");
  // One large map, used in a thousand steps.
  std::string shared = "source: {range: 1}\nsteps:\n  - map: &m {";
  for (int i = 0; i < 500; ++i) shared += fmt::format("c{}: x, ", i);
  shared += "}\n";
  for (int i = 0; i < 900; ++i) shared += "  - map: *m\n";
  EXPECT_THAT(YamlError(shared), HasSubstr("too large"));
  EXPECT_NE(YamlError("source: &s {range: *s}\n"), "no error");
  EXPECT_NE(YamlError("&s source: *s\nsteps: &t [*t]\n"), "no error");
}

TEST(CanonicalTextTest, WritesEveryDefaultInAFixedOrder) {
  const std::string text =
      CanonicalText(Dataset::Range(10)
                        .Map([](Expr x) { return x * x + 1; })
                        .Shuffle()
                        .Batch(32)
                        .Repeat()
                        .graph());
  EXPECT_EQ(text,
            R"json({"options":{"order":"deterministic",)json"
            R"json("processing_mode":"dynamic","seed":null},)json"
            R"json("source":{"range":{"start":0,"step":1,"stop":10}},)json"
            R"json("steps":[{"map":{"outputs":[["","((x * x) + 1)"]]}},)json"
            R"json({"shuffle":{"seed":null}},)json"
            R"json({"batch":{"drop_remainder":false,"size":32}},)json"
            R"json({"repeat":{"count":null}}]})json");
}

TEST(CanonicalTextTest, YamlAndTheBuilderMakeTheSameGraph) {
  const Graph yaml = FromYaml(
      "source: {images: {files: '*.jpg'}}\n"
      "steps: [decode_image, resize: {height: 3, width: 4}, "
      "shuffle: {seed: 7}, batch: 2]");
  Graph built = Dataset::Images({"*.jpg"})
                    .DecodeImage()
                    .Resize(3, 4)
                    .Shuffle(7)
                    .Batch(2)
                    .graph();
  MakePathsAbsolute("/data", built);
  EXPECT_EQ(CanonicalText(yaml), CanonicalText(built));
}

TEST(CanonicalTextTest, LeavesOutNewOptionsThatHaveTheirDefault) {
  const auto text_of = [](const DecodeImageStep& step) {
    return CanonicalText(Dataset::Images({"/a.jpg"}).DecodeImage(step).graph());
  };
  EXPECT_THAT(text_of({}),
              HasSubstr(R"json([{"decode_image":{"channels":3,)json"
                        R"json("component":"image","dct":"accurate"}}])json"));
  const DecodeImageStep odd{.on_warning = DecodeImageStep::OnWarning::kFail,
                            .truncated = DecodeImageStep::Truncated::kPad};
  EXPECT_THAT(text_of(odd), AllOf(HasSubstr(R"json("on_warning":"fail")json"),
                                  HasSubstr(R"json("truncated":"pad")json")));
  const auto again = ParseGraphJson(text_of(odd));
  ASSERT_TRUE(again.ok()) << ErrorText(again.status());
  EXPECT_EQ(CanonicalText(*again), text_of(odd));
  EXPECT_EQ(text_of(odd),
            CanonicalText(FromYaml(
                "source: {images: {files: /a.jpg}}\n"
                "steps: [decode_image: {on_warning: fail, truncated: pad}]")));
}

TEST(CanonicalTextTest, IsReadBackEqual) {
  Graph odd = Dataset::Text({"/a\xff\xfe", "/größe"})
                  .Map({{"\xff", Expr("\xff") == Expr::Named("x")}})
                  .graph();
  for (const Graph& graph :
       {FromYaml(kEverything), odd, Dataset::Range(0).graph()}) {
    const std::string text = CanonicalText(graph);
    const auto again = ParseGraphJson(text);
    ASSERT_TRUE(again.ok()) << ErrorText(again.status()) << text;
    EXPECT_EQ(CanonicalText(*again), text);
  }
  EXPECT_EQ(
      ParseGraphJson(CanonicalText(odd))->source.Get<TextSource>().files[0],
      "/a\xff\xfe");
}

TEST(CanonicalTextTest, ForeignTextIsRefused) {
  const std::string good = CanonicalText(Dataset::Range(3).Take(1).graph());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto graph = ParseGraphJson(text);
    return graph.ok() ? "no error" : ErrorText(graph.status());
  };
  EXPECT_EQ(changed("\"take\"", "\"tkae\""),
            "steps[0]: there is no step \"tkae\"");
  EXPECT_EQ(changed("\"step\":1", "\"step\":\"1\""),
            "range step: expected an integer, found \"1\"");
  EXPECT_THAT(changed("\"count\":1", "\"count\":18446744073709551615"),
              HasSubstr("is out of range"));
  EXPECT_THAT(changed("\"count\":1", "\"count\":1,\"more\":2"),
              HasSubstr("there is no \"more\""));
  EXPECT_THAT(changed("\"seed\":null", "\"sede\":null"),
              HasSubstr("there is no \"sede\""));
  EXPECT_THAT(changed("{\"count\":1}", "[]"), HasSubstr("expected a map"));
  EXPECT_THAT(changed("\"stop\":3", "\"stop\":3.5"),
              HasSubstr("expected an integer"));
  EXPECT_THAT(changed("\"seed\":null", "\"order\":\"any\""),
              HasSubstr("is there twice"));
  EXPECT_THAT(changed(",\"seed\":null", ""), HasSubstr("found a map"));
  for (const char* text : {"", "3", "{", "[]", "{}", "null", "\"\xff\""}) {
    EXPECT_FALSE(ParseGraphJson(text).ok()) << text;
  }
  EXPECT_FALSE(ParseGraphJson(std::string(100'000, '[')).ok());
}

TEST(FingerprintTest, IgnoresSeedAndOrderOnly) {
  const Dataset dataset = Dataset::Range(10).Shuffle();
  const std::string fingerprint = Fingerprint(dataset.graph());
  EXPECT_EQ(fingerprint.size(), 32u);
  EXPECT_EQ(Fingerprint(dataset.WithSeed(3).WithOrder(Order::kAny).graph()),
            fingerprint);
  EXPECT_NE(Fingerprint(Dataset::Range(10).Shuffle(3).graph()), fingerprint);
  EXPECT_NE(Fingerprint(Dataset::Range(11).Shuffle().graph()), fingerprint);
}

TEST(GraphYaml, CountsOfEmptyMaps) {
  const auto infinite =
      ParseGraphYaml("source: {range: 3}\nsteps: [repeat: {}]\n", "");
  ASSERT_TRUE(infinite.ok()) << infinite.status();
  EXPECT_FALSE(infinite->steps[0].Get<RepeatStep>().count.has_value());
  for (const char* step : {"take: {}", "skip: {}"}) {
    const auto graph = ParseGraphYaml(
        "source: {range: 3}\nsteps: [" + std::string(step) + "]\n", "");
    EXPECT_THAT(ErrorText(graph.status()),
                ::testing::HasSubstr("there is no count"));
  }
}

}  // namespace
}  // namespace feedmill
