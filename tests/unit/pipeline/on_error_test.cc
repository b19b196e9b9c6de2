// Failing elements are skipped, counted and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "core/sources/field_inference.h"
#include "tests/unit/pipeline/builtin_registry.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct SkippingRead {
  std::vector<std::string> lines;
  std::vector<SkippedElement> skipped;
  uint64_t count = 0;
  absl::Status status;
  std::optional<ReadPlace> place;
};

class OnError : public ::testing::Test {
 protected:
  Graph Parse(const std::string& yaml) const {
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    EXPECT_TRUE(graph.ok()) << yaml << "\n" << graph.status();
    return graph.ok() ? *graph : Graph();
  }

  SkippingRead ReadAll(const std::string& yaml,
                       LocalSequenceOptions options = {},
                       size_t limit = SIZE_MAX) const {
    SkippingRead out;
    options.on_skipped = [&out](const std::string& plan,
                                const SkippedElement& skipped) {
      EXPECT_FALSE(plan.empty());
      out.skipped.push_back(skipped);
      return absl::OkStatus();
    };
    const auto reader =
        LocalReader::Make(Parse(yaml), BuiltinRegistry(), options);
    out.status = reader.status();
    while (out.status.ok() && out.lines.size() < limit) {
      const auto chunk = (*reader)->Next(absl::InfiniteFuture());
      out.status = chunk.status();
      if (!chunk.ok() || !*chunk) break;
      for (size_t row = 0; row < (*chunk)->rows; ++row) {
        AppendJson(**chunk, row, out.lines.emplace_back());
      }
    }
    if (!reader.ok()) return out;
    out.count = (*reader)->sequence().skipped();
    out.place = (*reader)->sequence().PlaceBefore(0);
    return out;
  }

  const TestFolder folder_;
};

// Returns records "0", "1", …; every third record has corrupt data.
std::string DamagedRecords(int count) {
  std::string file;
  for (int k = 0; k < count; ++k) {
    file += TfRecordFile({std::to_string(k)});
    if (k % 3 == 1) file[file.size() - 5] ^= 1;
  }
  return file;
}

TEST_F(OnError, CorruptRecordsAreLeftOutAndNamed) {
  folder_.Write("x.tfrecord", DamagedRecords(7));
  const std::string yaml =
      "source: {tfrecord: {files: x.tfrecord}}\nsteps:\n  - on_error: skip\n"
      "  - repeat: 2\noptions: {seed: 1}\n";
  for (const size_t bytes : {size_t{1}, size_t{1} << 20}) {
    LocalSequenceOptions options;
    options.piece_bytes = bytes;
    const SkippingRead read = ReadAll(yaml, options);
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_THAT(read.lines,
                ElementsAre("\"0\"", "\"2\"", "\"3\"", "\"5\"", "\"6\"",
                            "\"0\"", "\"2\"", "\"3\"", "\"5\"", "\"6\""));
    EXPECT_EQ(read.count, 4u);
    ASSERT_THAT(read.skipped, SizeIs(4));
    const SkippedElement& last = read.skipped[3];
    EXPECT_EQ(last.cursor, (Cursor{11, 0}));
    EXPECT_THAT(last.error, HasSubstr(folder_ / "x.tfrecord: record 4"));
    EXPECT_THAT(last.records,
                ElementsAre(RecordOrigin{folder_ / "x.tfrecord", 4, 0, 1}));
  }
}

TEST_F(OnError, RowsOfTextFormatsAreLeftOutAndNamed) {
  folder_.Write("a.csv", "n,t\n1,a\nx,b\n3\n4,d\n,e\n6,f\n");
  const SkippingRead csv = ReadAll(
      "source: {csv: {files: a.csv, fields: {n: int64, t: bytes}}}\nsteps:\n"
      "  - on_error: skip\n  - batch: 2\noptions: {seed: 1}\n");
  EXPECT_TRUE(csv.status.ok()) << csv.status;
  EXPECT_THAT(csv.lines, ElementsAre(R"({"n":[1,4],"t":["a","d"]})",
                                     R"({"n":[6],"t":["f"]})"));
  ASSERT_THAT(csv.skipped, SizeIs(3));
  EXPECT_EQ(csv.skipped[1].records[0].record, 2u);
  folder_.Write("a.jsonl", "{\"n\": 1}\n{\"n\": [}\nno\n{\"n\": 4}\n");
  const SkippingRead json = ReadAll(
      "source: {jsonl: {files: a.jsonl, fields: {n: int64}}}\nsteps:\n"
      "  - shuffle: {seed: 3}\n  - on_error: skip\noptions: {seed: 1}\n");
  EXPECT_TRUE(json.status.ok()) << json.status;
  EXPECT_THAT(json.lines, SizeIs(2));
  EXPECT_THAT(json.skipped, SizeIs(2));
}

TEST_F(OnError, BadRecordsDoNotHideWhatFieldsThereAre) {
  folder_.Write("a.jsonl", "{\"n\": 1}\n{\"n\": [}\n{\"n\": 2, \"m\"\n");
  folder_.Write("a.csv", "n,m\n1,2\n3\n\"x\"y,2\n");
  for (const std::string name : {"jsonl", "csv"}) {
    Graph graph =
        Parse(fmt::format("source: {{{0}: {{files: a.{0}}}}}\n", name));
    ASSERT_TRUE(InferFields(graph).ok()) << name;
    const std::vector<SourceField>& fields = *SourceFields(graph.source);
    EXPECT_EQ(fields.size(), name == "csv" ? 2u : 1u);
    EXPECT_EQ(fields[0].dtype, DType::kInt64);
  }
  folder_.Write("a.csv", "n,m\n1\n");
  Graph graph = Parse("source: {csv: {files: a.csv}}\n");
  EXPECT_TRUE(absl::IsDataLoss(InferFields(graph)));
}

TEST_F(OnError, TheUnreadablePartOfADamagedFileIsOneElement) {
  folder_.Write("b.csv", "n\n1\n\"2\n3\n4\n");  // an unclosed quote
  const SkippingRead read = ReadAll(
      "source: {csv: {files: b.csv, fields: {n: int64}, multiline: true}}\n"
      "steps:\n  - on_error: skip\n  - repeat: 2\noptions: {seed: 1}\n");
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.lines, ElementsAre("{\"n\":1}", "{\"n\":1}"));
  EXPECT_EQ(read.count, 2u);
}

TEST_F(OnError, FailingStepsBeforeItAreCoveredAndThoseAfterItAreNot) {
  const SkippingRead before = ReadAll(
      "source: {range: 10}\nsteps:\n  - map: '12 // (x % 4)'\n"
      "  - on_error: skip\n  - enumerate\noptions: {seed: 1}\n");
  EXPECT_TRUE(before.status.ok()) << before.status;
  EXPECT_EQ(before.lines.size(), 7u);
  EXPECT_EQ(before.lines[6], R"({"index":6,"x":12})");
  EXPECT_EQ(before.count, 3u);
  EXPECT_THAT(before.skipped[0].error, HasSubstr("steps[0] map"));
  const SkippingRead after = ReadAll(
      "source: {range: 10}\nsteps:\n  - on_error: skip\n"
      "  - map: '12 // (x % 4)'\noptions: {seed: 1}\n");
  EXPECT_TRUE(absl::IsDataLoss(after.status)) << after.status;
  const SkippingRead fail = ReadAll(
      "source: {range: 10}\nsteps:\n  - map: '12 // (x - 4)'\n"
      "  - on_error: fail\noptions: {seed: 1}\n");
  EXPECT_TRUE(absl::IsDataLoss(fail.status)) << fail.status;
  EXPECT_THAT(fail.lines, SizeIs(4));
}

TEST_F(OnError, ABatchThatStandsBeforeItIsLeftOutWhole) {
  const SkippingRead read = ReadAll(
      "source: {range: 9}\nsteps:\n  - map: '12 // (x - 4)'\n  - batch: 3\n"
      "  - on_error: skip\noptions: {seed: 1}\n");
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.lines, ElementsAre("[-3,-4,-6]", "[6,4,3]"));
  ASSERT_THAT(read.skipped, SizeIs(1));
  EXPECT_EQ(read.skipped[0].records[0].record, 4u);
}

TEST_F(OnError, MoreThanTheCapFailsAndNamesTheLast) {
  const std::string yaml =
      "source: {range: 40}\nsteps:\n  - map: '12 // (x % 4)'\n"
      "  - on_error: {policy: skip, cap: CAP}\noptions: {seed: 1}\n";
  const auto with = [&](const std::string& cap) {
    std::string text = yaml;
    return text.replace(text.find("CAP"), 3, cap);
  };
  EXPECT_TRUE(ReadAll(with("10")).status.ok());
  const SkippingRead read = ReadAll(with("2"));
  EXPECT_TRUE(absl::IsDataLoss(read.status)) << read.status;
  EXPECT_THAT(
      ErrorText(read.status),
      AllOf(HasSubstr("3 elements could not be made"),
            HasSubstr("the cap of 2"), HasSubstr("record 8 of the range")));
  EXPECT_THAT(read.lines, SizeIs(6));
}

TEST_F(OnError, ATokenRemembersHowManyThereWere) {
  const std::string yaml =
      "source: {range: 40}\nsteps:\n  - map: '12 // (x % 4)'\n"
      "  - on_error: {policy: skip, cap: 6}\noptions: {seed: 1}\n";
  LocalSequenceOptions options;
  options.threads = 1;
  options.piece_bytes = 1;
  const SkippingRead first = ReadAll(yaml, options, 15);
  ASSERT_TRUE(first.place.has_value());
  EXPECT_EQ(first.place->skipped, 5u);
  options.resume = {1, 0, *first.place};
  const SkippingRead rest = ReadAll(yaml, options);
  EXPECT_TRUE(absl::IsDataLoss(rest.status));
  EXPECT_EQ(first.lines.size() + rest.lines.size(), 18u);
  EXPECT_EQ(rest.count, 7u);
}

TEST_F(OnError, UnneededElementsAreNotCounted) {
  const SkippingRead read = ReadAll(
      "source: {range: 40}\nsteps:\n  - map: '12 // (x % 4)'\n"
      "  - on_error: skip\n  - take: 3\noptions: {seed: 1}\n");
  EXPECT_THAT(read.lines, SizeIs(3));
  EXPECT_EQ(read.count, 1u);
}

TEST_F(OnError, APlaceThatItCannotCoverIsRefused) {
  const auto refused = [&](const std::string& yaml) {
    return ErrorText(Analyze(Parse(yaml), *BuiltinRegistry()).status());
  };
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n  - filter: 'x > 0'\n"
                      "  - batch: 2\n  - on_error: skip\n"),
              HasSubstr("Move it before that step"));
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n  - on_error: skip\n"
                      "  - on_error: fail\n"),
              HasSubstr("a pipeline has one on_error"));
  EXPECT_THAT(refused("source: {range: 4}\nsteps:\n"
                      "  - on_error: {policy: fail, cap: 3}\n"),
              HasSubstr("policy: skip"));
  EXPECT_THAT(refused("source:\n  concatenate:\n    - source: {range: 4}\n"
                      "      steps: [on_error: {policy: skip, cap: 3}]\nsteps: "
                      "[on_error: {policy: skip, cap: 4}]\n"),
              HasSubstr("write it once"));
}

TEST_F(OnError, CoversTheInputsOfASource) {
  const SkippingRead read = ReadAll(
      "source:\n  concatenate:\n    - source: {range: 5}\n      steps: [map: "
      "'12 // (x - 2)']\n    - source: {range: 2}\nsteps:\n"
      "  - on_error: skip\noptions: {seed: 1}\n");
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.lines, ElementsAre("-6", "-12", "12", "6", "0", "1"));
  ASSERT_THAT(read.skipped, SizeIs(1));
  EXPECT_EQ(read.skipped[0].records[0].record, 2u);
}

constexpr char kFails[] =
    "{source: {range: 5}, steps: [map: '12 // (x - 2)', filter: 'x != 6']}";

// Skipped elements of stream inputs take their turn.
TEST_F(OnError, CoversInputsThatAreStreams) {
  const std::string skips = "steps: [{on_error: skip}]\noptions: {seed: 1}\n";
  for (const size_t bytes : {size_t{1}, size_t{1} << 20}) {
    LocalSequenceOptions options;
    options.piece_bytes = bytes;
    const auto read = [&](const std::string& source) {
      SkippingRead out = ReadAll("source: {" + source + "}\n" + skips, options);
      EXPECT_TRUE(out.status.ok()) << out.status;
      EXPECT_EQ(out.count, out.skipped.size());
      return out;
    };
    const std::string inputs =
        std::string("[") + kFails + ", {source: {range: 3}}]";
    const SkippingRead row = read("concatenate: " + inputs);
    EXPECT_THAT(row.lines, ElementsAre("-6", "-12", "12", "0", "1", "2"));
    ASSERT_THAT(row.skipped, SizeIs(1));
    EXPECT_EQ(row.skipped[0].cursor, (Cursor{0, 2}));
    EXPECT_EQ(row.skipped[0].records[0].record, 2u);
    EXPECT_THAT(row.skipped[0].error,
                AllOf(HasSubstr("inputs[0]"), HasSubstr("steps[0] map")));
    EXPECT_THAT(read("interleave: " + inputs).lines,
                ElementsAre("-6", "0", "-12", "1", "2", "12"));
    const SkippingRead zip = read(
        "zip: [{source: {range: 5}, steps: [{map: {a: '12 // (x - 2)'}}, "
        "{filter: 'a != 6'}]}, {source: {range: 5}, steps: [{map: {b: '12 // "
        "(x - 1)'}}]}]");
    EXPECT_THAT(zip.lines,
                ElementsAre(R"({"a":-6,"b":-12})", R"({"a":12,"b":6})"));
    EXPECT_THAT(zip.skipped, SizeIs(2));
  }
}

TEST_F(OnError, CoversTheFirstElementOfAnInputOfTwoSteps) {
  const std::string zip =
      "source:\n  zip:\n"
      "    - {source: {range: 3}, steps: [{map: {a: x}}]}\n"
      "    - {source: {range: 3}, steps: [{map: '12 // x'}, {map: {b: x}}]}\n";
  EXPECT_THAT(std::string(ReadAll(zip).status.message()),
              HasSubstr("integer division by zero"));
  const SkippingRead read =
      ReadAll(zip + "steps: [{on_error: {policy: skip, cap: 1}}]");
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_THAT(read.lines, ElementsAre(R"({"a":1,"b":12})", R"({"a":2,"b":6})"));
}

TEST_F(OnError, InAnInputLeavesOutElementsOfThatInput) {
  const std::string own =
      "source:\n  zip:\n"
      "    - {source: {range: 5}, steps: [{map: {a: '12 // (x - 2)'}}, "
      "{on_error: {policy: skip, cap: 1}}]}\n"
      "    - {source: {range: 4}, steps: [{map: {b: x}}]}\n";
  for (const size_t bytes : {size_t{1}, size_t{1} << 20}) {
    LocalSequenceOptions options;
    options.piece_bytes = bytes;
    const SkippingRead read = ReadAll(own, options);
    EXPECT_TRUE(read.status.ok()) << read.status;
    EXPECT_THAT(read.lines,
                ElementsAre(R"({"a":-6,"b":0})", R"({"a":-12,"b":1})",
                            R"({"a":12,"b":2})", R"({"a":6,"b":3})"));
    EXPECT_THAT(read.skipped, SizeIs(1));
    EXPECT_EQ(read.count, 1u);
    // Counted again in each pass; exceeds the cap.
    const SkippingRead twice = ReadAll(own + "steps: [repeat: 2]\n", options);
    EXPECT_THAT(ErrorText(twice.status), HasSubstr("more than the cap of 1"));
    // Errors in later steps, and in an input without on_error, still fail.
    const SkippingRead later =
        ReadAll(own + "steps: [{map: '1 // b'}]\n", options);
    EXPECT_TRUE(absl::IsDataLoss(later.status));
    EXPECT_EQ(later.count, 0u);
  }
  // Before steps that see the sequence.
  const SkippingRead batches = ReadAll(
      "source:\n  concatenate:\n    - {source: {range: 5}, steps: [{map: '12 "
      "// "
      "(x - 2)'}, {on_error: skip}, {batch: 2}]}\n"
      "    - {source: {range: 2}, steps: [{batch: 2}]}\n");
  EXPECT_THAT(batches.lines, ElementsAre("[-6,-12]", "[12,6]", "[0,1]"));
  EXPECT_EQ(batches.count, 1u);
}

}  // namespace
}  // namespace feedmill
