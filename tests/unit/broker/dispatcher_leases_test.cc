// Leases that the dispatcher gives to workers, and its messages about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "broker/dispatcher.h"
#include "broker/split_sizer.h"
#include "tests/unit/broker/dispatcher_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// ---- manifests

TEST(Manifest, AnyWorkerIsAskedAndTheAnswerPlansTheRun) {
  Cluster cluster;
  Reader& reader = cluster.AddReader("j", "solo", "files 50").Hello();
  EXPECT_FALSE(reader.live());
  Miller& worker = cluster.AddWorker("w1");
  ASSERT_THAT(worker.answer->manifests, SizeIs(1));
  EXPECT_EQ(worker.answer->manifests[0].graph, "files 50");
  worker.says.manifests = {{worker.answer->manifests[0].graph_fingerprint,
                            absl::OkStatus(), "the files"}};
  worker.Beat();
  EXPECT_TRUE(reader.live());
  EXPECT_THAT(worker.answer->manifests, IsEmpty());
  ASSERT_THAT(worker.answer->definitions, SizeIs(1));
  EXPECT_EQ(worker.answer->definitions[0].manifest, "the files");
}

TEST(Manifest, AJobThatIsForgottenToMakeRoomForItIsNotPlanned) {
  DispatcherSettings settings;
  settings.job_bytes_max = 40;
  settings.client_timeout = absl::Seconds(5);
  Cluster cluster(settings);
  cluster.AddReader("a", "solo", "files 50").Hello();
  Reader& reader = cluster.AddReader("b", "solo", "files 50").Hello();
  Miller& worker = cluster.AddWorker("w1");
  cluster.Pass(absl::Seconds(10), {&reader}, {&worker});  // a's is silent
  ASSERT_THAT(worker.answer->manifests, SizeIs(1));
  worker.says.manifests = {{worker.answer->manifests[0].graph_fingerprint,
                            absl::OkStatus(), std::string(30, 'f')}};
  worker.Beat();
  EXPECT_EQ(cluster.job("a"), nullptr);
  EXPECT_EQ(cluster.job("b")->phase, RunPhase::kRunning);
}

TEST(Manifest, AnotherWorkerIsAskedWhenTheFirstIsLost) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Miller& second = cluster.AddWorker("w2");
  Reader& reader = cluster.AddReader("j", "solo", "files 50").Hello();
  EXPECT_THAT(first.answer->manifests, SizeIs(1));
  EXPECT_THAT(second.answer->manifests, IsEmpty());
  cluster.Pass(absl::Seconds(2), {&reader}, {&second});
  EXPECT_THAT(second.answer->manifests, SizeIs(1));
}

TEST(Manifest, AFailureRefusesTheReadersAndTheNextReaderTriesAgain) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "files 50").Hello();
  worker.says.manifests = {
      {"files 50", NotFound("no file matches /data/*.jpg"), ""}};
  worker.Beat();
  ASSERT_TRUE(reader.reject);
  EXPECT_EQ(reader.reject->reason, RejectReason::kRefused);
  EXPECT_EQ(reader.reject->detail.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorText(reader.reject->detail),
            "worker w1: no file matches /data/*.jpg; workers read the files, "
            "so each machine of a worker needs them at this same absolute path "
            "(a shared folder, say)");
  worker.says.manifests.clear();
  worker.Beat();
  Reader& again = cluster.AddReader("j", "solo", "files 60").Hello();
  EXPECT_FALSE(again.reject);
  EXPECT_THAT(worker.answer->manifests, SizeIs(1));
}

// ---- leases

TEST(Leases, HeadsGoFirstAndTheLeastLoadedWorkerGetsThem) {
  Cluster cluster;
  Miller& small = cluster.AddWorker("w1", 1);
  Miller& large = cluster.AddWorker("w2", 3);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  EXPECT_THAT(small.leases(), SizeIs(1));
  EXPECT_THAT(large.leases(), SizeIs(3));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(reader.split(i).leases, SizeIs(1)) << i;
  }
  EXPECT_THAT(reader.split(4).leases, IsEmpty());
}

TEST(Leases, AHeadIsLeasedEvenIfAllSlotsAreHeld) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 2);
  cluster.AddReader("a", "solo", "range 1000").Hello();
  EXPECT_THAT(worker.leases(), SizeIs(2));
  Reader& late = cluster.AddReader("b", "solo", "range 1000").Hello();
  EXPECT_THAT(late.split(0).leases, SizeIs(1));
}

TEST(Leases, MoveFromALostWorkerWithAHigherAttempt) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const LeaseRef lease = reader.split(0).leases.at(0);
  EXPECT_EQ(lease.worker, WorkerId("w1"));
  Miller& second = cluster.AddWorker("w2");
  cluster.Pass(absl::Seconds(2), {&reader}, {&second});
  ASSERT_THAT(reader.split(0).leases, SizeIs(1));
  EXPECT_EQ(reader.split(0).leases[0].worker, WorkerId("w2"));
  EXPECT_GT(reader.split(0).leases[0].attempt, lease.attempt);
  // The worker returns as the same process: its leases are gone.
  first.Beat();
  for (const Lease& held : first.leases()) {
    EXPECT_NE(held.split, reader.split(0).split);
  }
}

TEST(Leases, ARestartedWorkerLosesThemAndTheOldLifeIsIgnored) {  // rule 5
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const Attempt before = reader.split(0).leases.at(0).attempt;
  const WorkerBeat old = worker.says;
  worker.says.incarnation = Incarnation(1'000);
  worker.answer.reset();
  worker.Beat();
  EXPECT_GT(reader.split(0).leases.at(0).attempt, before);
  worker.Forget();
  cluster.Say(worker.peer(), old);
  EXPECT_EQ(worker.heard, 0);
}

TEST(Leases, AWorkerThatTakesAnotherNameLosesThemAtOnce) {  // P-210
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const Attempt before = reader.split(0).leases.at(0).attempt;
  worker.says.worker = WorkerId("w2");
  worker.says.incarnation = Incarnation(1'000);
  worker.answer.reset();
  worker.Beat();
  ASSERT_THAT(reader.split(0).leases, SizeIs(1));
  EXPECT_EQ(reader.split(0).leases[0].worker, WorkerId("w2"));
  EXPECT_GT(reader.split(0).leases[0].attempt, before);
}

TEST(Leases, AStandingCursorGetsASecondAttemptOnAnIdleWorker) {  // rule 18
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 8);
  Reader& reader = cluster.AddReader("j", "solo", "range 6").Hello();
  Miller& second = cluster.AddWorker("w2", 8);
  cluster.Pass(absl::Milliseconds(900), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
  cluster.Pass(absl::Milliseconds(300), {&reader}, {&first, &second});
  ASSERT_THAT(reader.split(0).leases, SizeIs(2));
  EXPECT_EQ(reader.split(0).leases[1].worker, WorkerId("w2"));
  EXPECT_THAT(reader.split(1).leases, SizeIs(1));
}

TEST(Leases, AConsumerThatIsSlowItselfGetsNoSecondAttempt) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 8);
  Reader& reader = cluster.AddReader("j", "solo", "range 6").Hello();
  Miller& second = cluster.AddWorker("w2", 8);
  reader.Report(reader.split(0).split, {0, 3}, {0, 1});
  cluster.Pass(absl::Seconds(3), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
}

TEST(Leases, WithoutAnIdleWorkerAFullOneTakesTheHeadLater) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1", 1);
  Miller& second = cluster.AddWorker("w2", 1);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.Pass(absl::Milliseconds(1800), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
  cluster.Pass(absl::Milliseconds(600), {&reader}, {&first, &second});
  EXPECT_THAT(reader.split(0).leases, SizeIs(2));
}

TEST(Leases, EachAttemptThatIsSlowDoublesTheWaitForTheNext) {
  Cluster cluster;
  std::vector<Miller*> workers;  // they are full, and bring nothing
  for (int i = 0; i < 4; ++i) {
    workers.push_back(&cluster.AddWorker(fmt::format("w{}", i), 1));
  }
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const auto attempt = [&] { return reader.split(0).leases.back().attempt; };
  for (const int seconds : {2, 4, 8}) {
    const Attempt last = attempt();
    cluster.Pass(absl::Milliseconds(1000 * seconds - 200), {&reader}, workers);
    ASSERT_EQ(attempt(), last) << seconds;
    cluster.Pass(absl::Milliseconds(400), {&reader}, workers);
    ASSERT_GT(attempt(), last) << seconds;
  }
}

TEST(Leases, AHeadThatDrainingWorkersGaveBackGetsItsSecondAttemptAsSoon) {
  Cluster cluster;
  std::vector<Miller*> drained;
  Miller& first = cluster.AddWorker("w0", 1);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  ASSERT_EQ(reader.split(0).leases.at(0).worker, first.says.worker);
  // The head moves to each of five workers that drain one after the other.
  drained.push_back(&first);
  for (int i = 1; i < 6; ++i) {
    Miller& next = cluster.AddWorker(fmt::format("w{}", i), 1);
    drained.back()->says.draining = true;
    drained.back()->Beat();
    ASSERT_EQ(reader.split(0).leases.at(0).worker, next.says.worker);
    drained.push_back(&next);
  }
  Miller& holder = *drained.back();
  Miller& other = cluster.AddWorker("other", 1);
  cluster.Pass(absl::Milliseconds(1800), {&reader}, {&holder, &other});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
  cluster.Pass(absl::Milliseconds(600), {&reader}, {&holder, &other});
  EXPECT_THAT(reader.split(0).leases, SizeIs(2));
}

TEST(Leases, FailuresGoElsewhereAndThenFailTheSplit) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Miller& second = cluster.AddWorker("w2");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const SplitId head = reader.split(0).split;
  std::vector<std::string> tried;
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(reader.split(0).leases, SizeIs(1));
    const LeaseRef lease = reader.split(0).leases[0];
    tried.push_back(lease.worker.value());
    Miller& holder = lease.worker == first.says.worker ? first : second;
    holder.says.failures = {
        {head, lease.attempt, Unavailable("/data/a.jpg: I/O error")}};
    holder.Beat().Beat();  // repeated until the lease ends
  }
  EXPECT_NE(tried[0], tried[1]);
  ASSERT_EQ(reader.split(0).split, head);
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
  EXPECT_THAT(ErrorText(reader.split(0).error), HasSubstr("a.jpg"));
}

// Fails all leases of one worker and has the other one compute all splits,
// once.
void FailOnOne(Cluster& cluster, Miller& broken, Reader& reader) {
  broken.says.failures.clear();
  for (const Lease& lease : broken.leases()) {
    broken.says.failures.push_back(
        {lease.split, lease.attempt, Unavailable("/data/a.jpg: I/O error")});
  }
  broken.Beat();
  reader.Beat();
  for (const BoundSplit& split : std::vector(reader.splits())) {
    if (split.leases.size() == 1 &&
        split.leases[0].worker != broken.says.worker) {
      reader.Finish(split);
    }
  }
  reader.Beat();
  broken.says.failures.clear();
  cluster.Pass(absl::Milliseconds(200), {&reader}, {&broken});
}

TEST(Aside, AWorkerOnWhichSplitsFailThatOthersComputeIsNamed) {
  Cluster cluster;
  Miller& broken = cluster.AddWorker("w1", 2);
  Miller& sound = cluster.AddWorker("w2", 2);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.TakeNotes();
  for (int round = 0; round < 6; ++round) {
    sound.Beat();
    FailOnOne(cluster, broken, reader);
  }
  EXPECT_THAT(cluster.TakeNotes(),
              Contains(AllOf(HasSubstr("worker w1 is set aside: 4 splits"),
                             HasSubstr("a.jpg: I/O error"))));
  const DispatcherSnapshot snapshot =
      cluster.dispatcher().Snapshot(cluster.now());
  EXPECT_TRUE(snapshot.workers.at(0).set_aside);
  EXPECT_GE(snapshot.workers.at(0).leases_failed, 4u);
  EXPECT_FALSE(snapshot.workers.at(1).set_aside);
  EXPECT_EQ(snapshot.workers.at(1).leases_failed, 0u);
  sound.Beat();
  broken.Beat();
  EXPECT_THAT(broken.leases(), IsEmpty());
  EXPECT_FALSE(sound.leases().empty());
  // An operator lets it work again.
  cluster.Carry(
      cluster.dispatcher().DrainWorker(cluster.now(), "w1", false).effects);
  broken.Beat();
  reader.Beat();
  broken.Beat();
  EXPECT_FALSE(broken.leases().empty());
}

TEST(Aside, AWorkerThatIsNeededWorksAgain) {
  Cluster cluster;
  Miller& broken = cluster.AddWorker("w1", 2);
  Miller& sound = cluster.AddWorker("w2", 2);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  for (int round = 0; round < 6; ++round) {
    sound.Beat();
    FailOnOne(cluster, broken, reader);
  }
  ASSERT_TRUE(
      cluster.dispatcher().Snapshot(cluster.now()).workers.at(0).set_aside);
  sound.says.draining = true;
  sound.Beat();
  cluster.TakeNotes();
  broken.Beat();
  EXPECT_THAT(cluster.TakeNotes(),
              Contains(HasSubstr("worker w1 is no longer set aside")));
  reader.Beat();
  broken.Beat();
  EXPECT_FALSE(broken.leases().empty());
}

TEST(Aside, TheOnlyWorkerThatCanRunAFunctionWorks) {
  Cluster cluster;
  Miller& broken = cluster.AddPythonWorker("w1", "2.1.0");
  Miller& sound = cluster.AddPythonWorker("w2", "2.1.0");
  Miller& other = cluster.AddPythonWorker("w3", "1.26.4");
  Reader& reader = cluster.AddReader("j", "solo", "range 500 python").Hello();
  for (Miller* const worker : {&broken, &sound}) {
    if (worker->answer->manifests.empty()) continue;
    worker->says.manifests = {
        {worker->answer->manifests[0].graph_fingerprint, absl::OkStatus(), ""}};
    worker->Beat();
    worker->says.manifests.clear();
  }
  ASSERT_TRUE(reader.live());
  for (int round = 0; round < 6; ++round) {
    sound.Beat();
    FailOnOne(cluster, broken, reader);
  }
  const auto aside = [&] {
    return cluster.dispatcher().Snapshot(cluster.now()).workers.at(0).set_aside;
  };
  ASSERT_TRUE(aside());
  other.Beat();
  broken.Beat();
  EXPECT_TRUE(aside());
  sound.says.draining = true;
  sound.Beat();
  broken.Beat();
  EXPECT_FALSE(aside());
  // It fails again, and is not set aside.
  for (int round = 0; round < 6; ++round) {
    FailOnOne(cluster, broken, reader);
    other.Beat();
  }
  EXPECT_FALSE(aside());
  EXPECT_THAT(other.leases(), IsEmpty());
}

TEST(Aside, TheLastWorkerIsNot) {
  Cluster cluster;
  Miller& broken = cluster.AddWorker("w1", 2);
  Miller& sound = cluster.AddWorker("w2", 2);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  sound.says.draining = true;
  for (int round = 0; round < 6; ++round) {
    sound.Beat();
    FailOnOne(cluster, broken, reader);
  }
  EXPECT_THAT(cluster.TakeNotes(), Not(Contains(HasSubstr("set aside"))));
}

TEST(Draining, LeasesMoveToOthersAtOnce) {
  Cluster cluster;
  Miller& first = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  Miller& second = cluster.AddWorker("w2", 4);
  first.says.draining = true;
  first.Beat();
  EXPECT_THAT(first.leases(), IsEmpty());
  EXPECT_TRUE(first.answer->drained);
  EXPECT_EQ(reader.split(0).leases.at(0).worker, second.says.worker);
}

TEST(Draining, TheLastWorkerFinishesItsSplitsAndGetsNoNewOnes) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  worker.says.draining = true;
  worker.Beat();
  EXPECT_THAT(worker.leases(), SizeIs(2));
  EXPECT_FALSE(worker.answer->drained);
  reader.Finish(reader.split(0)).Finish(reader.split(1)).Beat();
  EXPECT_THAT(worker.leases(), IsEmpty());
  EXPECT_TRUE(worker.answer->drained);
}

TEST(Draining, AloneItHandsBackWhatStandsBehindAHeadThatItLost) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  worker.says.draining = true;
  worker.Beat();
  const Lease head = worker.leases().at(0);
  ASSERT_EQ(head.split, reader.split(0).split);
  worker.says.failures = {{head.split, head.attempt, Unavailable("disk")}};
  worker.Beat();
  EXPECT_THAT(worker.leases(), IsEmpty());
  EXPECT_TRUE(worker.answer->drained);
  Miller& next = cluster.AddWorker("w2");
  EXPECT_EQ(reader.split(0).leases.at(0).worker, next.says.worker);
}

// ---- messages at once, to the affected peers only

TEST(Telling, AHeartbeatThatFreesASlotGivesTheNextLeaseAtOnce) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  worker.Forget();
  reader.Forget();
  // The worker sends nothing in between.
  reader.answer = ClientAnswer{};
  reader.answer->run = RunInfo{RunNumber(1), 0, 0, 0, 0, PlanId()};
  const SplitId head =
      *cluster.job("j")->sessions.at(ConsumerId("solo")).splits.begin();
  reader.Report(head, {900, 0}, {900, 0}).Beat();
  EXPECT_EQ(worker.heard, 1);
  EXPECT_THAT(worker.leases(), SizeIs(2));
  EXPECT_EQ(reader.heard, 1);
}

TEST(Telling, AHeartbeatIsAnsweredToItsSenderOnly) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 16);
  Reader& one = cluster.AddReader("a", "solo", "range 1000").Hello();
  Reader& two = cluster.AddReader("b", "solo", "range 1000").Hello();
  worker.Beat();
  worker.heard = one.heard = two.heard = 0;
  one.Beat();  // without news
  EXPECT_EQ(one.heard, 1);
  EXPECT_EQ(worker.heard, 0);
  EXPECT_EQ(two.heard, 0);
  worker.Beat();
  EXPECT_EQ(worker.heard, 1);
  EXPECT_EQ(one.heard, 1);
}

TEST(Telling, ALostWorkersReadersHearAtOnce) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  reader.heard = 0;
  cluster.Pass(absl::Seconds(2));
  EXPECT_GE(reader.heard, 1);
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
}

TEST(Telling, ADefinitionIsSentOnceAndAgainIfItWasLost) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  EXPECT_THAT(worker.answer->definitions, SizeIs(1));
  worker.says.plans.clear();
  cluster.Say(worker.peer(), worker.says);
  EXPECT_THAT(worker.answer->definitions, IsEmpty());
  cluster.Pass(absl::Milliseconds(600), {&reader});
  cluster.Say(worker.peer(), worker.says);
  EXPECT_THAT(worker.answer->definitions, SizeIs(1));
}

TEST(Telling, AMessageForSomeoneElseIsRefused) {
  Cluster cluster;
  cluster.Say("stranger", Grant{});
  EXPECT_TRUE(std::holds_alternative<Refusal>(cluster.last->message));
}

// ---- restart

TEST(Restart, ReplayGivesTheStateAndHeldLeasesAreAdopted) {  // rules 9, 10
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const LeaseRef lease = reader.split(0).leases.at(0);
  cluster.Restart();
  worker.Beat();
  reader.Beat();
  ASSERT_THAT(reader.split(0).leases, SizeIs(1));
  EXPECT_EQ(reader.split(0).leases[0], lease);
}

TEST(Restart, RestoresTheRunFromTheJournal) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "cycle 100").Hello();
  EXPECT_EQ(reader.answer->run->source_round, 100);
  cluster.Restart();
  reader.Beat();
  EXPECT_EQ(reader.answer->run->positions, kInfinitePositions);
  EXPECT_EQ(reader.answer->run->source_round, 100);
  EXPECT_EQ(cluster.AddReader("k", "solo", "range 100")
                .Hello()
                .answer->run->source_round,
            0);
}

TEST(Restart, UnreportedSplitsAreLeasedAfterTheGrace) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.Restart();
  worker.answer.reset();
  worker.says.incarnation = Incarnation(1'000);
  worker.Beat();
  reader.Beat();
  EXPECT_THAT(reader.split(0).leases, IsEmpty());
  cluster.Pass(absl::Seconds(1), {&reader}, {&worker});
  EXPECT_THAT(reader.split(0).leases, SizeIs(1));
}

TEST(Restart, AJobWhoseTailWasLostBeginsAllTheSame) {
  for (const size_t kept : {1U, 2U, 3U, 4U}) {
    Cluster cluster;
    Miller& worker = cluster.AddWorker("w1");
    Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
    ASSERT_GT(cluster.journal.size(), kept);
    cluster.journal.erase(
        cluster.journal.begin() + static_cast<ptrdiff_t>(kept),
        cluster.journal.end());
    cluster.Restart();
    reader.Forget();
    reader.Hello();
    worker.Beat();
    ASSERT_TRUE(reader.answer.has_value()) << kept;
    ASSERT_TRUE(reader.answer->run.has_value()) << kept;
    EXPECT_EQ(reader.answer->run->run, RunNumber(1)) << kept;
    EXPECT_FALSE(reader.splits().empty()) << kept;
  }
}

TEST(Restart, AnEndThatWasLostIsMadeAgain) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  const SplitId split = reader.split(0).split;
  reader.Finish(reader.split(0)).Beat();
  const auto end = std::find_if(
      cluster.journal.begin(), cluster.journal.end(), [](const auto& event) {
        return std::holds_alternative<SplitsEnded>(event);
      });
  ASSERT_NE(end, cluster.journal.end());
  cluster.journal.erase(end, cluster.journal.end());
  cluster.Restart();
  ASSERT_NE(cluster.state().FindSplit(split), nullptr);
  reader.Beat();
  EXPECT_EQ(cluster.state().FindSplit(split), nullptr);
}

// ---- sizes

TEST(Sizes, GrowTowardTheTimeOfASplitAndShrinkAtOnce) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 1);
  Reader& reader = cluster.AddReader("j", "solo", "range 1000000").Hello();
  const auto size = [&] {
    const BoundSplit& last = reader.splits().back();
    return last.end.p - last.begin.p;
  };
  EXPECT_EQ(size(), 10);
  const PlanId plan = reader.answer->run->plan;
  worker.says.costs = {{plan, 10'000, 0, absl::Milliseconds(10)}};  // 1 µs each
  worker.Beat();
  worker.says.costs.clear();
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(size(), 40);
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(size(), 160);
  worker.says.costs = {{plan, 10'000, 0, absl::Seconds(10'000)}};  // 1 s each
  worker.Beat();
  reader.Finish(reader.split(0)).Beat();
  EXPECT_EQ(size(), 1);
}

TEST(Sizes, BeginWithWhatTheLastReaderOfTheGraphFound) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1", 1);
  const auto first_size = [](const Reader& reader) {
    const BoundSplit& split = reader.splits().front();
    return split.end.p - split.begin.p;
  };
  Reader& first = cluster.AddReader("j", "solo", "range 1000000").Hello();
  worker.says.costs = {
      {first.answer->run->plan, 10'000, 0, absl::Milliseconds(10)}};
  worker.Beat();
  worker.says.costs.clear();
  first.Leave();
  Reader& second = cluster.AddReader("k", "solo", "range 1000000").Hello();
  EXPECT_EQ(first_size(second), 40);
  Reader& other = cluster.AddReader("l", "solo", "range 999999").Hello();
  EXPECT_EQ(first_size(other), 10);
}

TEST(Sizes, AreForgottenForGraphsThatWereNotReadForLong) {
  PastCosts past;
  CostEstimate cost;
  past.Keep("never measured", cost);
  EXPECT_FALSE(past.Of("never measured").known());
  cost.Add(10, 1'000, absl::Microseconds(1));
  past.Keep("old", cost);
  past.Keep("read again", cost);
  for (int k = 0; k < 1'023; ++k) {
    past.Keep(std::to_string(k), cost);
    past.Keep("read again", cost);
  }
  EXPECT_FALSE(past.Of("old").known());
  EXPECT_TRUE(past.Of("read again").known());
  EXPECT_TRUE(past.Of("0").known());
}

TEST(Sizes, AreBoundedByBytes) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000}, 64);
  CostEstimate cost;
  cost.Add(10, 1'000, absl::Microseconds(1));
  EXPECT_EQ(sizer.Next(cost, 1'000'000, 4), 10);
}

TEST(Sizes, NearTheEndEveryWorkerSlotGetsWork) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000}, 64);
  CostEstimate cost;
  cost.Add(1'000, 1'000, absl::Microseconds(1));
  EXPECT_EQ(sizer.Next(cost, 80, 4), 10);
  EXPECT_EQ(sizer.Next(cost, 3, 4), 1);
}

TEST(Sizes, AreASmallPartOfTheRunBeforeACostIsKnown) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000'000}, 4'096);
  EXPECT_LE(sizer.Next(CostEstimate(), 3'000, 2), 3'000 / 32);
}

TEST(Sizes, SurviveAbsurdMeasurements) {
  SplitSizer sizer({absl::Milliseconds(100), 1'000}, 64);
  CostEstimate cost;
  for (int i = 0; i < 100; ++i) {
    cost.Add(~uint64_t{0}, ~uint64_t{0}, absl::InfiniteDuration());
  }
  cost.Add(0, 1, -absl::Seconds(1));
  EXPECT_GE(sizer.Next(cost, ~uint64_t{0}, 0), 1);
}

// ---- intervals and status

TEST(Intervals, GrowWithThePeers) {
  DispatcherSettings settings;
  settings.heartbeat_interval = absl::Milliseconds(1);
  Cluster cluster(settings);
  Reader* reader = nullptr;
  for (int i = 0; i < 50; ++i) {
    reader = &cluster.AddReader(fmt::format("@{}", i), "r", "range 0");
    reader->Hello();
  }
  EXPECT_EQ(reader->answer->heartbeat_interval, absl::Milliseconds(5));
}

TEST(Status, NamesJobsSessionsAndWorkers) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j\xff", "solo", "range 1000").Hello();
  reader.Finish(reader.split(0)).Beat();
  cluster.Say("tool", StatusRequest{});
  const auto* reply = std::get_if<StatusReply>(&cluster.last->message);
  ASSERT_NE(reply, nullptr);
  const auto status = nlohmann::json::parse(reply->json);
  EXPECT_EQ(status["totals"]["workers"], 1);
  EXPECT_EQ(status["workers"][0]["address"], "w1");
  EXPECT_EQ(status["workers"][0]["leases"], 2);
  EXPECT_EQ(status["jobs"][0]["state"], "running");
  EXPECT_EQ(status["jobs"][0]["positions"], 1000);
  EXPECT_EQ(status["jobs"][0]["taken_percent"], 1.0);
  EXPECT_EQ(status["jobs"][0]["sessions"][0]["consumer"], "solo");
  EXPECT_EQ(status["faults"]["workers_lost"], 0);
}

// A rank that continues from a token reads some positions again.
TEST(Status, HasNoMoreThanAllPositionsOfAllRanks) {
  Cluster cluster;
  cluster.AddWorker("w1", 8);
  const auto job = [&] {
    return nlohmann::json::parse(
        cluster.dispatcher().StatusJson(cluster.now()))["jobs"][0];
  };
  const auto rank = [&](uint64_t number) -> Reader& {
    Reader& reader =
        cluster.AddReader("j", fmt::format("{}/2", number), "range 100");
    reader.hello().share = {number, 2};
    return reader;
  };
  const auto finish = [](Reader& reader) {
    for (int turn = 0; turn < 100 && !reader.splits().empty(); ++turn) {
      reader.FinishAll().Beat();
    }
    reader.Leave();
  };
  Reader& other = rank(1).Hello();
  finish(rank(0).Hello());
  EXPECT_EQ(job()["taken_percent"], 50.0);
  Reader& again = rank(0);
  again.hello().run = RunNumber(1);
  finish(again.Hello());
  finish(other);
  EXPECT_EQ(job()["bound_percent"], 100.0);
  EXPECT_EQ(job()["taken_percent"], 100.0);
  EXPECT_EQ(job()["positions_taken"], 200);
}

TEST(Status, SaysIfAJobIsInfinite) {
  Cluster cluster;
  cluster.AddWorker("w1");
  cluster.AddReader("finite", "solo", "range 100").Hello();
  cluster.AddReader("infinite", "solo", "cycle 100").Hello();
  const auto status =
      nlohmann::json::parse(cluster.dispatcher().StatusJson(cluster.now()));
  EXPECT_EQ(status["jobs"][0]["infinite"], false);
  EXPECT_EQ(status["jobs"][1]["infinite"], true);
  EXPECT_TRUE(status["jobs"][1]["positions"].is_null());
}

TEST(Status, CountsFaults) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 1000").Hello();
  cluster.AddReader("j", "other", "range 1000").Hello();
  const Lease lease = worker.leases()[0];
  worker.says.failures = {{lease.split, lease.attempt, NotFound("a file")}};
  worker.Beat();
  cluster.dispatcher().NoteTransport({3, 2, 1});
  cluster.Pass(absl::Seconds(3), {&reader});
  const auto faults = nlohmann::json::parse(
      cluster.dispatcher().StatusJson(cluster.now()))["faults"];
  EXPECT_EQ(faults["leases_failed"], 1);
  EXPECT_EQ(faults["sessions_refused"], 1);
  EXPECT_EQ(faults["workers_lost"], 1);
  EXPECT_EQ(faults["sessions_released"], 0);
  EXPECT_EQ(faults["messages_refused"], 3);
  EXPECT_EQ(faults["connections_refused"], 1);
}

TEST(Stalls, NoPeerIsSilentBeforeWaitingMessagesAreRead) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Miller& dead = cluster.AddWorker("w2");
  Reader& reader =
      cluster.AddReader("j", "sharer", "range 1000", Order::kAny).Hello();
  cluster.Pass(absl::Seconds(1), {&reader}, {&worker, &dead});
  const auto before = worker.leases();
  cluster.Stall(absl::Minutes(10));
  const auto faults = [&] {
    return nlohmann::json::parse(
        cluster.dispatcher().StatusJson(cluster.now()))["faults"];
  };
  EXPECT_EQ(faults()["workers_lost"], 0);
  cluster.Pass(absl::Seconds(3), {&reader}, {&worker});
  EXPECT_EQ(faults()["workers_lost"], 1) << "only the one that is dead";
  EXPECT_EQ(faults()["sessions_released"], 0);
  EXPECT_EQ(worker.leases().front().attempt, before.front().attempt);
}

// The next hello of a consumer may be read before the leave of its former
// incarnation, which came over another connection.
TEST(Stalls, AReaderIsReplacedOnlyWhenItsOwnMessagesWereRead) {
  for (const absl::Duration stall : {absl::Seconds(5), absl::Minutes(10)}) {
    Cluster cluster;
    cluster.AddWorker("w1");
    Reader& reader = cluster.AddReader("j", "solo", "range 10").Hello();
    ASSERT_TRUE(reader.live());
    reader.FinishAll();
    cluster.Wait(stall);
    Reader& next = cluster.AddReader("j", "solo", "range 10").Hello();
    EXPECT_EQ(next.heard, 0) << "it says that again";
    reader.Leave();
    EXPECT_EQ(next.Hello().answer->run->run, RunNumber(2));
  }
}

TEST(Stalls, ASilentReaderCountsAsBeforeAfterAnotherTimeout) {
  Cluster cluster;
  cluster.AddWorker("w1");
  cluster.AddReader("j", "solo", "range 10").Hello();
  cluster.Wait(absl::Seconds(5));
  Reader& next = cluster.AddReader("j", "solo", "range 10").Hello();
  EXPECT_EQ(next.heard, 0);
  Reader& heir = cluster.AddReader("j", "solo", "range 10");
  heir.hello().take_over = true;
  EXPECT_TRUE(heir.Hello().live()) << "its user knows";
  cluster.Wait(absl::Seconds(5));
  Reader& other = cluster.AddReader("j", "solo", "range 10").Hello();
  EXPECT_EQ(other.heard, 0);
  cluster.Pass(absl::Milliseconds(1'100));
  EXPECT_EQ(other.Hello().reject->reason, RejectReason::kRefused);
}

TEST(Turns, MessagesOfOneTurnGetOneAnswer) {
  Cluster cluster;
  Miller& worker = cluster.AddWorker("w1");
  Reader& one = cluster.AddReader("j", "one", "range 1000", Order::kAny);
  Reader& two = cluster.AddReader("j", "two", "range 1000", Order::kAny);
  worker.Forget();
  const std::vector<Dispatcher::Incoming> together = {
      {PeerId(one.peer()), one.hello()},
      {PeerId(two.peer()), two.hello()},
      {PeerId(one.peer()), one.hello()}};
  cluster.Carry(cluster.dispatcher().Handle(cluster.now(), together));
  EXPECT_EQ(worker.heard, 1);
  EXPECT_EQ(one.heard, 1);
  EXPECT_EQ(two.heard, 1);
  EXPECT_THAT(worker.leases(), Not(IsEmpty()));
}

TEST(Stragglers, AHeadThatNoWorkerHoldsWaits) {
  Cluster cluster;
  cluster.AddWorker("w1");
  Reader& reader = cluster.AddReader("j", "solo", "range 100").Hello();
  ASSERT_TRUE(reader.live());
  cluster.Pass(absl::Seconds(30), {&reader}, {});  // the worker is lost
  EXPECT_TRUE(reader.live());
  EXPECT_THAT(cluster.dispatcher().StatusJson(cluster.now()),
              HasSubstr("\"second_attempts\":0"));
}

}  // namespace
}  // namespace feedmill::testing
