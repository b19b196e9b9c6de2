// Datasets that are registered under an id (P-230 to P-233).

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::HasSubstr;

// Says it, and returns the answer.
DatasetReply Ask(Cluster& cluster, std::string id, std::string graph = "") {
  cluster.Say("reader", DatasetRequest{std::move(id), std::move(graph)});
  const auto* reply = std::get_if<DatasetReply>(&cluster.last->message);
  EXPECT_NE(reply, nullptr);
  return reply == nullptr ? DatasetReply{} : *reply;
}

TEST(Datasets, AreFoundByTheirIds) {
  Cluster cluster;
  EXPECT_TRUE(absl::IsNotFound(Ask(cluster, "photos").status));
  const DatasetReply registered = Ask(cluster, "photos", "range 10");
  EXPECT_TRUE(registered.status.ok()) << registered.status;
  EXPECT_EQ(registered.id, "photos");
  EXPECT_EQ(Ask(cluster, "photos").graph, "range 10");
  EXPECT_EQ(Ask(cluster, "photos").seen.journal,
            cluster.dispatcher().state().journal);
}

TEST(Datasets, MayBeRegisteredAgainButNotChanged) {
  Cluster cluster;
  Ask(cluster, "photos", "range 10");
  const size_t events = cluster.journal.size();
  EXPECT_TRUE(Ask(cluster, "photos", "range 10").status.ok());
  const DatasetReply other = Ask(cluster, "photos", "range 11");
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status));
  EXPECT_EQ(other.graph, "");
  EXPECT_EQ(cluster.journal.size(), events);
  EXPECT_EQ(Ask(cluster, "photos").graph, "range 10");
}

TEST(Datasets, OutliveTheDispatcher) {
  Cluster cluster;
  Ask(cluster, "photos", "range 10");
  cluster.Restart();
  EXPECT_EQ(Ask(cluster, "photos").graph, "range 10");
}

TEST(Datasets, AreBounded) {
  DispatcherSettings settings;
  settings.datasets_max = 2;
  settings.dataset_bytes_max = 30;
  Cluster cluster(settings);
  EXPECT_TRUE(absl::IsInvalidArgument(
      Ask(cluster, std::string(257, 'x'), "range 10").status));
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(cluster, "", "range 10").status));
  EXPECT_TRUE(Ask(cluster, "a", "range 10").status.ok());
  EXPECT_THAT(ErrorText(Ask(cluster, "b", "range 10000000000000000").status),
              HasSubstr("would have 33 bytes, its limit is 30"));
  EXPECT_TRUE(Ask(cluster, "b", "range 11").status.ok());
  EXPECT_THAT(ErrorText(Ask(cluster, "c", "range 1").status),
              HasSubstr("has 2 datasets, its limit"));
  EXPECT_TRUE(Ask(cluster, "a", "range 10").status.ok());
}

}  // namespace
}  // namespace feedmill::testing
