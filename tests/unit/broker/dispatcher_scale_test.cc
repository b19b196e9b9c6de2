#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/broker/dispatcher_vocabulary.h"

// The number of workers that the dispatcher wants, from what its peers report.

namespace feedmill::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

DispatcherSettings Settings() {
  DispatcherSettings settings;
  settings.scale.workers_max = 8;
  settings.scale.interval = absl::Seconds(2);
  return settings;
}

// A worker whose two threads are busy, and a reader that waits 75 % of its
// time, for `seconds`.
void Work(Cluster& cluster, Reader& reader, Miller& worker, int seconds) {
  const PlanId plan = worker.leases().at(0).plan;
  for (int half = 1; half <= 2 * seconds; ++half) {
    cluster.Pass(absl::Milliseconds(500), {&reader}, {&worker});
    ClientBeat beat;
    beat.job = reader.hello().job;
    beat.session = reader.hello().session;
    beat.run = reader.answer->run->run;
    beat.sent = cluster.now();
    ReaderLoad read;
    read.elapsed = absl::Milliseconds(500 * half);
    read.waited = absl::Milliseconds(375 * half);
    read.elements = static_cast<uint64_t>(100 * half);
    beat.load = read;
    cluster.Say(reader.peer(), beat);
    WorkerBeat says = worker.says;
    WorkerLoad load;
    load.threads = 2;
    load.tasks = 2;
    load.busy = absl::Seconds(1) * half;
    load.plans = {{plan, 4, 0, 0, 0, 0, 0, {{1, 1'000'000}}}};
    says.load = load;
    cluster.Say(worker.peer(), says);
  }
}

TEST(Scale, WantsMoreWorkersForAReaderThatWaits) {
  Cluster cluster(Settings());
  Miller& worker = cluster.AddWorker("w1", 4);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000000").Hello();
  worker.Beat();
  EXPECT_EQ(cluster.dispatcher().Snapshot(cluster.now()).workers_wanted,
            std::nullopt);
  Work(cluster, reader, worker, 8);
  EXPECT_THAT(cluster.TakeNotes(),
              Contains(HasSubstr("wants 4 workers instead of 1: job 'j' waits "
                                 "75 % of its time for data")));
  const Json status =
      Json::parse(cluster.dispatcher().StatusJson(cluster.now()));
  EXPECT_EQ(status["scale"]["workers_wanted"], 4);
  EXPECT_EQ(status["scale"]["workers_max"], 8);
  EXPECT_EQ(status["jobs"][0]["workers_wanted"], 4);
  const DispatcherSnapshot snapshot =
      cluster.dispatcher().Snapshot(cluster.now());
  EXPECT_EQ(snapshot.workers_wanted, 4u);
  EXPECT_EQ(snapshot.jobs.at(0).workers_wanted, 4u);
  EXPECT_EQ(snapshot.scale_changes, 1u);
}

TEST(Scale, WantsAsManyWorkersAfterARestart) {
  Cluster cluster(Settings());
  Miller& worker = cluster.AddWorker("w1", 4);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000000").Hello();
  worker.Beat();
  Work(cluster, reader, worker, 8);
  const ScaleMemory memory = cluster.state().scale;
  EXPECT_EQ(memory.wanted, 4u);
  cluster.Restart();
  EXPECT_EQ(cluster.dispatcher().Snapshot(cluster.now()).workers_wanted, 4u);
  // The program that starts workers gets the number without a new decision.
  EXPECT_EQ(cluster.dispatcher().OnTick(cluster.now()).workers_wanted, 4u);
  EXPECT_EQ(cluster.state().scale, memory);
}

TEST(Scale, CountsJobsWithoutANameAsOne) {
  Cluster cluster(Settings());
  Miller& worker = cluster.AddWorker("w1", 4);
  Reader& reader = cluster.AddReader("@1", "solo", "range 1000000").Hello();
  worker.Beat();
  Work(cluster, reader, worker, 8);
  EXPECT_THAT(cluster.TakeNotes(),
              Contains(HasSubstr("wants 4 workers instead of 1: the group of "
                                 "jobs without a name waits")));
}

TEST(Scale, SaysNothingWhileNothingIsRead) {
  Cluster cluster(Settings());
  Miller& worker = cluster.AddWorker("w1", 4);
  cluster.Pass(absl::Seconds(20), {}, {&worker});
  EXPECT_THAT(cluster.TakeNotes(), Not(Contains(HasSubstr("wants"))));
  EXPECT_EQ(cluster.dispatcher().Snapshot(cluster.now()).workers_wanted, 1u);
}

}  // namespace
}  // namespace feedmill::testing
