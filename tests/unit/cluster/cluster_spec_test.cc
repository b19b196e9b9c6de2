#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/hash/hash.h"
#include "core/base/status.h"
#include "feedmill/cluster.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ClusterSpec Given(
    const std::vector<std::pair<std::string, ClusterSpec::Tasks>>& jobs) {
  auto spec = ClusterSpec::FromJobs(jobs);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : ClusterSpec();
}

using List = std::vector<std::string>;

// tensorflow server_lib_test: testClusterSpecAccessors
TEST(ClusterSpec, AccessorsOfDenseAndSparseJobs) {
  const ClusterSpec spec =
      Given({{"ps", List{"ps0:2222", "ps1:1111"}},
             {"worker", List{"worker0:3333", "worker1:4444", "worker2:5555"}},
             {"sparse", JobTasks{{0, "sparse0:2222"}, {3, "sparse3:3333"}}}});
  EXPECT_THAT(spec.Jobs(), ElementsAre("ps", "worker", "sparse"));
  EXPECT_EQ(*spec.NumTasks("ps"), 2u);
  EXPECT_EQ(*spec.NumTasks("sparse"), 2u);
  EXPECT_THAT(*spec.TaskIndices("sparse"), ElementsAre(0, 3));
  EXPECT_EQ(*spec.TaskAddress("worker", 1), "worker1:4444");
  EXPECT_EQ(*spec.TaskAddress("sparse", 3), "sparse3:3333");
  EXPECT_THAT(
      *spec.JobTaskList("sparse"),
      ElementsAre("sparse0:2222", std::nullopt, std::nullopt, "sparse3:3333"));
}

TEST(ClusterSpec, UnknownJobsAndTasksAreNotFound) {
  const ClusterSpec spec = Given({{"ps", List{"ps0:2222"}}});
  EXPECT_EQ(spec.NumTasks("unknown").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::IsNotFound(spec.TaskIndices("unknown").status()));
  EXPECT_TRUE(absl::IsNotFound(spec.TaskAddress("unknown", 0).status()));
  EXPECT_TRUE(absl::IsNotFound(spec.JobTaskList("unknown").status()));
  EXPECT_TRUE(absl::IsNotFound(spec.TaskAddress("ps", 1).status()));
  EXPECT_THAT(ErrorText(spec.NumTasks("unknown").status()), HasSubstr("ps"));
}

// testProtoDictDefEquivalences and its variants with string indices, holes and
// no tasks.
TEST(ClusterSpec, RoundTripsThroughEveryForm) {
  const ClusterSpec specs[] = {
      ClusterSpec(),
      Given({{"empty", JobTasks{}}}),
      Given({{"job1", List{"tf-server0:2222"}},
             {"job2", List{"tf-server1:2222", "tf-server2:2222"}}}),
      Given({{"job3", JobTasks{{1, "[::1]:2222"}, {7, "h:%port%"}}}}),
  };
  for (const ClusterSpec& spec : specs) {
    EXPECT_EQ(*ClusterSpec::FromDef(spec.AsClusterDef()), spec);
    EXPECT_EQ(*ClusterSpec::FromJobs(spec.AsDict()), spec);
    EXPECT_EQ(*ClusterSpec::FromJson(spec.ToJson()), spec) << spec.ToJson();
    EXPECT_EQ(*ClusterSpec::FromYaml(spec.ToYaml()), spec) << spec.ToYaml();
  }
  EXPECT_EQ(*ClusterSpec::FromJson(R"({"job1": {"0": "h:1", "1": "h:2"}})"),
            Given({{"job1", List{"h:1", "h:2"}}}));
}

// testStringConversion
TEST(ClusterSpec, PrintsLikePython) {
  EXPECT_EQ(Given({{"z", List{"h:1"}}, {"b", JobTasks{{3, "h:1"}}}}).ToString(),
            "ClusterSpec({'b': {3: 'h:1'}, 'z': ['h:1']})");
}

// testEq, testNe, testEmptyClusterSpecIsFalse, testNonEmptyClusterSpecIsTrue
TEST(ClusterSpec, EqualityTruthAndHashFollowTheTasks) {
  const ClusterSpec list =
      Given({{"job", List{"h:1"}}, {"other", List{"h:2"}}});
  const ClusterSpec map =
      Given({{"other", List{"h:2"}}, {"job", JobTasks{{0, "h:1"}}}});
  EXPECT_EQ(list, map);
  EXPECT_EQ(absl::Hash<ClusterSpec>()(list), absl::Hash<ClusterSpec>()(map));
  EXPECT_NE(list, Given({{"job", List{"h:2"}}, {"other", List{"h:1"}}}));
  EXPECT_FALSE(ClusterSpec());
  EXPECT_TRUE(list);
}

// The original failed for an empty job with an error of max().
TEST(ClusterSpec, AnEmptyJobIsAJob) {
  const ClusterSpec spec = Given({{"worker", List{}}});
  EXPECT_TRUE(spec.JobTaskList("worker")->empty());
  EXPECT_EQ(*spec.NumTasks("worker"), 0u);
}

// The original accepts all of these.
TEST(ClusterSpec, RefusesWhatCannotBeACluster) {
  const std::pair<ClusterSpec::Tasks, const char*> wrong[] = {
      {JobTasks{{-1, "h:1"}}, "negative"},
      {List{"h"}, "no port"},
      {List{"h:70000"}, "port"},
      {List{""}, "no port"},
      {List{"::1:5050"}, "brackets"},
      {List{"tcp://h:1"}, "scheme"},
      {List{"h h:1"}, "host"},
      {List{"[h]:1"}, "IPv6"},
  };
  for (const auto& [tasks, text] : wrong) {
    const auto spec = ClusterSpec::FromJobs({{"worker", tasks}});
    ASSERT_TRUE(absl::IsInvalidArgument(spec.status())) << text;
    EXPECT_THAT(ErrorText(spec.status()), HasSubstr(text));
    EXPECT_THAT(ErrorText(spec.status()), HasSubstr("worker"));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      ClusterSpec::FromJobs({{"a", List{}}, {"a", List{}}}).status()));
}

TEST(ClusterSpec, BadTextsAreErrorsThatNameThePlace) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{\"worker\": [\"h:1\"", "JSON"},
      {"[\"h:1\"]", "map from job"},
      {"{\"worker\": \"h:1\"}", "worker"},
      {"{\"worker\": {\"1.7\": \"h:1\"}}", "1.7"},
      {"{\"worker\": {\"x\": \"h:1\"}}", "task index"},
      {"{\"worker\": [[\"h:1\"]]}", "host:port"},
      {"{\"worker\": [\"h:1\"], \"worker\": []}", "twice"},
      {"{\"worker\": {\"1\": \"h:1\", \"1\": \"h:2\"}}", "twice"},
  };
  for (const auto& [text, expected] : wrong) {
    const auto spec = ClusterSpec::FromJson(text);
    ASSERT_TRUE(absl::IsInvalidArgument(spec.status())) << text;
    EXPECT_THAT(ErrorText(spec.status()), HasSubstr(expected)) << text;
  }
  EXPECT_FALSE(ClusterSpec::FromYaml("a: &x [h:1]\nb: *x\n").ok());
  EXPECT_FALSE(ClusterSpec::FromYaml(std::string(100'000, '[')).ok());
  EXPECT_FALSE(ClusterSpec::FromYaml("a: [").ok());
}

}  // namespace
}  // namespace feedmill
