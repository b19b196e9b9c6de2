// The text of `read --explain`.
#include "broker/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/element_sizes.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class PlanTextTest : public ::testing::Test {
 protected:
  std::string Text(const std::string& yaml) const {
    const auto graph = ParseGraphYaml(yaml, folder_.path());
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (!graph.ok()) return "";
    const auto text = PlanText(
        *graph, std::make_shared<const FunctionRegistry>(BuiltinFunctions()),
        uint64_t{64} << 20);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : "";
  }

  const TestFolder folder_;
};

TEST_F(PlanTextTest, SaysWhatRunsAsOnePass) {
  EXPECT_THAT(
      Text("source: {range: 100}\nsteps: [{map: 'x + 1'}, {filter: 'x > 3'}, "
           "{shuffle: }, {map: 'x * 2'}]\n"),
      AllOf(HasSubstr("fused   worker: steps[0] map + steps[1] filter + "
                      "steps[3] map in one pass, over blocks of up to 4096"),
            HasSubstr("moved   steps[2] shuffle before steps[0] map, "
                      "steps[1] filter\n")));
  EXPECT_THAT(
      Text("source: {range: 100}\nsteps: [{map: 'x + 1'}, {batch: 4}, {map: "
           "'x * 2'}, {batch: 2}, {map: 'x + 1'}, {map: 'x + 2'}]\n"),
      AllOf(HasSubstr("worker: steps[0] map in one pass"),
            HasSubstr("worker: steps[2] map in one pass, over blocks of up to "
                      "4096 batches"),
            HasSubstr("client: steps[4] map + steps[5] map in one pass")));
}

TEST_F(PlanTextTest, ACacheEndsAPassAndNothingMovesOverIt) {
  EXPECT_THAT(
      Text("source: {range: 100}\nsteps: [{map: 'x + 1'}, cache, {map: 'x * "
           "2'}, shuffle]\n"),
      AllOf(HasSubstr("fused   worker: steps[0] map in one pass"),
            HasSubstr("fused   worker: steps[2] map in one pass"),
            HasSubstr("steps[1] cache: in memory, at most 1024 MiB a process"),
            HasSubstr("moved   steps[3] shuffle before steps[2] map\n")));
}

TEST_F(PlanTextTest, SaysWhichWorkAFilterRunsBefore) {
  EXPECT_THAT(Text("source: {text: {files: a.txt}}\nsteps: [{map: {n: "
                   "'length(x)', x: 're_replace(x, \"a\", \"b\")'}}, "
                   "{filter: 'n > 3'}]\n"),
              HasSubstr("moved   steps[1] filter before steps[0] map\n"));
}

TEST_F(PlanTextTest, SaysItOfInputs) {
  EXPECT_THAT(
      Text("source: {concatenate: [{source: {range: 9}, steps: [{filter: 'x > "
           "3'}]}, {source: {range: 9}}]}\nsteps: [{map: 'x + 1'}]\n"),
      AllOf(HasSubstr("fused   inputs[0] worker: steps[0] filter in one pass"),
            HasSubstr("fused   worker: steps[0] map in one pass"),
            HasSubstr("positions are passes over the inputs")));
}

TEST_F(PlanTextTest, NamesComponentsThatNothingNeeds) {
  folder_.Write("a.csv", "a,b,c\n1,2,3\n");
  const std::string csv =
      "source: {csv: {files: a.csv, fields: {a: int64, b: int64, c: int64}}}\n";
  EXPECT_THAT(Text(csv + "steps: [{filter: 'b > 1'}, {map: {a: a}}]\n"),
              AllOf(HasSubstr("unused  c of the source: no step needs it, so "
                              "it is not made\n"),
                    Not(HasSubstr("unused  a")), Not(HasSubstr("unused  b"))));
  EXPECT_THAT(Text(csv), Not(HasSubstr("unused")));
  EXPECT_THAT(
      Text("source: {images: 'photos/*.jpg'}\nsteps: [decode_image, {map: {l: "
           "label, m: 'label + 1'}}, {map: l}]\n"),
      AllOf(HasSubstr("unused  image of the source: no step"),
            HasSubstr("unused  path of the source: no step"),
            HasSubstr("unused  steps[0] decode_image: no step needs image, so "
                      "it does not run\n"),
            HasSubstr("unused  m of steps[1] map: no step needs it")));
  EXPECT_THAT(Text("source: {zip: [{source: {range: 9}, steps: [{map: {a: x, "
                   "b: x}}]}, {source: {range: 9}, steps: [{map: {c: x}}]}]}\n"
                   "steps: [{map: c}]\n"),
              AllOf(HasSubstr("unused  b of inputs[0] steps[0] map: no step"),
                    Not(HasSubstr("unused  a")), Not(HasSubstr("unused  c"))));
}

TEST_F(PlanTextTest, ListsTheLabelsOfImages) {
  folder_.Write("photos/cat/a.jpg", "");
  folder_.Write("photos/bird/b.jpg", "");
  folder_.Write("digits/7/a.png", "");
  EXPECT_THAT(Text("source: {images: 'photos/*/*.jpg'}\n"),
              HasSubstr("labels  bird = 0, cat = 1\n"));
  EXPECT_THAT(Text("source: {images: 'photos/*/*.jpg'}\nsteps: [{map: path}]"),
              Not(HasSubstr("labels")));
  EXPECT_THAT(Text("source: {images: 'digits/*/*'}\n"),
              HasSubstr("labels  integers: the names of the files' folders\n"));
  EXPECT_THAT(Text("source: {images: {files: 'digits/*/*', label: filename}}"),
              HasSubstr("labels  a = 0\n"));
  EXPECT_THAT(Text("source: {concatenate: [{source: {images: 'photos/*/*.jpg'}}"
                   ", {source: {images: 'digits/*/*'}}]}\n"),
              AllOf(HasSubstr("labels  inputs[0] bird = 0, cat = 1\n"),
                    HasSubstr("labels  inputs[1] integers: ")));
  for (int k = 0; k < 25; ++k) {
    folder_.Write(fmt::format("many/{}/x.jpg", static_cast<char>('a' + k)), "");
  }
  EXPECT_THAT(Text("source: {images: 'many/*/*.jpg'}\n"),
              AllOf(HasSubstr("s = 18, t = 19, … (25 in all)\n"),
                    Not(HasSubstr("u = 20"))));
}

TEST_F(PlanTextTest, SaysHowManySplitsAndHowMuchMemory) {
  EXPECT_THAT(
      Text("source: {range: 10000000}\nsteps: [{filter: 'x > 3'}, {batch: "
           "100}]\n"),
      AllOf(HasSubstr("splits  10000000 positions (records); the first splits "
                      "have 4096 positions, later splits hold 100 ms of work "
                      "and 16 MiB at most; at least 5 splits\n"),
            ContainsRegex("memory  a worker, or a local read: at most [0-9.]+ "
                          "[MG]iB of elements made ahead"),
            HasSubstr("positions of about 8 B"),
            HasSubstr("the client: at most 64 MiB of elements received ahead; "
                      "steps[1] batch holds 99 elements, 792 B\n")));
  EXPECT_THAT(Text("source: {range: 10}\nsteps: [{repeat: }]\n"),
              HasSubstr("splits  infinite positions"));
  folder_.Write("a.txt", "one\ntwo\n");
  EXPECT_THAT(Text("source: {text: a.txt}\n"),
              AllOf(HasSubstr("files   1 file, 8 B\n"),
                    HasSubstr("splits  1 positions (blocks of 4 MiB)"),
                    HasSubstr("positions of unknown size")));
  EXPECT_THAT(Text("source: {text: a.txt}\nsteps: [{shuffle: }]\n"),
              HasSubstr("splits  2 positions (records)"));
}

TEST_F(PlanTextTest, DoesWithoutFilesThatAreElsewhere) {
  EXPECT_THAT(Text("source: {text: nowhere.txt}\nsteps: [{map: length(x)}]\n"),
              AllOf(HasSubstr("files   unavailable on this machine: "),
                    HasSubstr("nowhere.txt"), HasSubstr("steps[0] map")));
}

TEST(SizeTextTest, IsShort) {
  EXPECT_EQ(SizeText(0), "0 B");
  EXPECT_EQ(SizeText(1023), "1023 B");
  EXPECT_EQ(SizeText(1536), "1.5 KiB");
  EXPECT_EQ(SizeText(uint64_t{256} << 20), "256 MiB");
}

}  // namespace
}  // namespace feedmill
