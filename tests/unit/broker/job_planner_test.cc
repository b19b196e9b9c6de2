#include "broker/job_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/io/manifest.h"
#include "core/ops/builtin_functions.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

std::string Canonical(std::string_view yaml) {
  const absl::StatusOr<Graph> graph = ParseGraphYaml(yaml, "");
  EXPECT_TRUE(graph.ok()) << ErrorText(graph.status());
  return graph.ok() ? CanonicalText(*graph) : "";
}

class JobPlannerTest : public ::testing::Test {
 protected:
  JobShape Shape(std::string_view yaml, const std::string& manifest = "") {
    const absl::StatusOr<JobShape> shape =
        planner_.shape(Canonical(yaml), manifest, 7, 0);
    EXPECT_TRUE(shape.ok()) << ErrorText(shape.status());
    return shape.ok() ? *shape : JobShape{};
  }

  const Planner planner_ =
      MakePlanner(std::make_shared<const FunctionRegistry>());
};

TEST_F(JobPlannerTest, ARangeNeedsNoFilesAndBeginsWithLargeSplits) {
  const std::string graph = Canonical("source: {range: {stop: 1000}}");
  EXPECT_FALSE(*planner_.needs_manifest(graph));
  const JobShape shape = Shape("source: {range: {stop: 1000}}");
  EXPECT_EQ(shape.positions, 1000);
  EXPECT_EQ(shape.source_size, 1000);
  EXPECT_EQ(shape.manifest_hash, "");
  EXPECT_GE(shape.first_split, 1000);
}

TEST_F(JobPlannerTest, AWorkerLoadsPythonFunctionsBeforeAnySplit) {
  const std::string graph = Canonical(
      "source: {range: {stop: 1000}}\n"
      "steps: [{python: {function: AAAA, python: '3.11', output: {a: "
      "int64}}}]");
  EXPECT_TRUE(*planner_.needs_manifest(graph));
  EXPECT_EQ(planner_.shape(graph, "", 7, 0)->positions, 1000);
}

TEST_F(JobPlannerTest, HeavyCallsBeginWithSmallSplits) {
  auto registry = std::make_shared<FunctionRegistry>(BuiltinFunctions());
  FunctionRegistry::Function slow = *registry->Find("abs");
  slow.heavy = true;
  registry->Add("slow", slow);
  const Planner planner = MakePlanner(registry);
  const auto first = [&](const std::string& step) {
    const std::string yaml =
        "source: {range: {stop: 100000}}\nsteps: [" + step + "]";
    return planner.shape(Canonical(yaml), "", 7, 0)->first_split;
  };
  EXPECT_GE(first("{map: 'abs(x)'}"), 1000);
  EXPECT_LE(first("{map: '1 + slow(x)'}"), 16);
  EXPECT_LE(first("{filter: 'slow(x) > 3'}"), 16);
}

TEST_F(JobPlannerTest, PositionsAreWhatThePlanMakes) {
  const JobShape shape = Shape(
      "source: {range: {stop: 1000}}\n"
      "steps: [{repeat: 2}, {batch: {size: 64}}]");
  EXPECT_EQ(shape.positions, 32);  // 31.25 batches
  EXPECT_EQ(shape.source_size, 1000);
  EXPECT_EQ(shape.first_split, 64);
}

TEST_F(JobPlannerTest, ARepeatWithoutACountIsInfinite) {
  EXPECT_EQ(Shape("source: {range: {stop: 10}}\nsteps: [{repeat: }]").positions,
            kInfinite);
}

TEST_F(JobPlannerTest, ASourceWithoutEndHasARound) {
  const JobShape shape = Shape(
      "source: {mixture: {stop: repeat, weights: [1, 1], inputs: ["
      "{source: {range: {stop: 10}}}, {source: {range: {stop: 70}}}]}}");
  EXPECT_EQ(shape.positions, kInfinite);
  EXPECT_GE(shape.source_round, 140);
  EXPECT_LE(shape.source_round, 150);
  EXPECT_EQ(Shape("source: {range: {stop: 10}}").source_round, 0);
}

TEST_F(JobPlannerTest, ModeOffIsAWholePassForEachWorker) {
  const auto shape = [&](const std::string& steps) {
    const std::string graph =
        Canonical("source: {range: 10}\nsteps: [" + steps +
                  "]\noptions: {processing_mode: off}\n");
    EXPECT_TRUE(*planner_.needs_manifest(graph));  // waits for a worker
    const JobShape once = *planner_.shape(graph, "", 7, 0);
    if (once.in_passes) {
      const JobShape whole =
          *planner_.shape(planner_.run_graph(graph), "", 7, 0);
      EXPECT_EQ(whole.positions, kPassesMax * once.positions);
      EXPECT_EQ(*planner_.fingerprint(planner_.run_graph(graph)),
                once.fingerprint);
    }
    return once;
  };
  EXPECT_TRUE(shape("").in_passes);
  EXPECT_EQ(shape("").positions, 10);
  EXPECT_EQ(shape("batch: 4").positions, 3);  // each pass has its short batch
  EXPECT_EQ(shape("repeat, take: 4").positions, 4);
  EXPECT_FALSE(shape("repeat, take: 4").in_passes);  // so it cannot repeat
  EXPECT_FALSE(shape("repeat").in_passes);
  EXPECT_FALSE(shape("take: 0").in_passes);  // empty in any number of passes
  EXPECT_FALSE(
      planner_.shape(Canonical("source: {range: 10}\n"), "", 7, 0)->in_passes);
}

TEST_F(JobPlannerTest, TheFingerprintLeavesOutSeedAndOrder) {
  const std::string plain = Canonical("source: {range: {stop: 10}}");
  const std::string dressed =
      Canonical("source: {range: {stop: 10}}\noptions: {seed: 3, order: any}");
  ASSERT_NE(plain, dressed);
  EXPECT_EQ(*planner_.fingerprint(plain), *planner_.fingerprint(dressed));
  const std::string other = Canonical("source: {range: {stop: 11}}");
  EXPECT_NE(*planner_.fingerprint(plain), *planner_.fingerprint(other));
}

TEST_F(JobPlannerTest, AnInputOfAPipelineIsPlannedAlone) {  // P-292
  auto graph = ParseGraphYaml(
      "source: {zip: [{source: {range: 5}, steps: [{map: {a: x}}]}, {source: "
      "{concatenate: [{source: {range: 3}}, {source: {range: 4}, steps: "
      "[shuffle: {window: 2}]}]}, steps: [{map: {b: x}}]}]}",
      "");
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::set<std::string> fingerprints;
  const auto shape_of = [&](std::vector<size_t> part) {
    graph->part = std::move(part);
    const auto shape = planner_.shape(CanonicalText(*graph), "", 1, 0);
    EXPECT_TRUE(shape.ok()) << shape.status();
    if (!shape.ok()) return uint64_t{0};
    fingerprints.insert(shape->fingerprint);
    return shape->positions;
  };
  EXPECT_EQ(shape_of({}), 1U);  // a pass
  EXPECT_EQ(shape_of({0}), 5U);
  EXPECT_EQ(shape_of({1}), 1U);
  EXPECT_EQ(shape_of({1, 0}), 3U);
  EXPECT_EQ(shape_of({1, 1}), 4U);
  EXPECT_EQ(fingerprints.size(), 5U);
  for (const std::vector<size_t>& part :
       std::vector<std::vector<size_t>>{{2}, {0, 0}, {1, 1, 0}}) {
    graph->part = part;
    EXPECT_EQ(planner_.shape(CanonicalText(*graph), "", 1, 0).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(JobPlannerTest, FilesAreCountedByTheManifest) {
  const std::string yaml =
      "source: {images: {files: '/photos/*.jpg'}}\n"
      "steps: [{decode_image: {component: image}}]";
  EXPECT_TRUE(*planner_.needs_manifest(Canonical(yaml)));
  Manifest manifest;
  manifest.files = {{"/photos/a.jpg", 10, 1, 1}, {"/photos/b.jpg", 10, 1, 1}};
  const JobShape shape = Shape(yaml, manifest.Serialize());
  EXPECT_EQ(shape.positions, 2);
  EXPECT_EQ(shape.manifest_hash, manifest.Hash());
  EXPECT_LE(shape.first_split, 16);
}

TEST_F(JobPlannerTest, RefusesInvalidGraphsAndManifests) {
  EXPECT_EQ(planner_.needs_manifest("{").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(planner_.fingerprint("no json").ok());
  const std::string unknown =
      Canonical("source: {range: {stop: 10}}\nsteps: [{map: 'no_such(x)'}]");
  const absl::Status status = planner_.needs_manifest(unknown).status();
  EXPECT_THAT(ErrorText(status), HasSubstr("no_such"));
  const std::string files = Canonical("source: {text: {files: a.txt}}");
  EXPECT_FALSE(planner_.shape(files, "garbage", 1, 0).ok());
}

}  // namespace
}  // namespace feedmill
