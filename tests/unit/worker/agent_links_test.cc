// Clients' requests to a worker, and several jobs.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/wire/packing.h"
#include "tests/unit/worker/agent_vocabulary.h"

namespace feedmill::testing {
namespace {

using ::testing::SizeIs;

TEST_F(WorkerAgentTest, PackedPartsAreSentOnlyOnRequest) {
  for (const bool wishes : {true, false}) {
    const Lease lease = LeaseOf(wishes ? 1 : 2, 0, 2);
    GivenLeases({lease});
    Grant grant = GrantOf(lease, 10'000, true);
    grant.compression = LinkCompression::kZstd;
    grant.checksums = true;
    Give(grant);
    const ComputeRequest task = TakeTask(0);
    EXPECT_EQ(task.to, kClient);
    EXPECT_EQ(task.compression, LinkCompression::kZstd);
    if (!wishes) {  // no longer
      grant.compression = LinkCompression::kNone;
      Give(grant);
    }
    const Piece piece = MakePiece(task.begin, task.end, testing::OneRow);
    const auto packed = std::make_shared<PackedParts>();
    Keep(agent_.OnComputed(now_, task.task, piece,
                           TaskCost{absl::Microseconds(1)}, packed));
    ASSERT_THAT(frames_, SizeIs(1));
    EXPECT_EQ(frames_[0].packed, wishes ? packed : nullptr);
    EXPECT_TRUE(frames_[0].checksums);
    frames_.clear();
    tasks_.clear();
  }
}

TEST_F(WorkerAgentTest, TheReportedLinkRateCountsOnlyIfPiecesWaitForCredit) {
  const Lease lease = LeaseOf(1, 0, 1'000);
  GivenLeases({lease});
  const auto told = [&](uint64_t total) {
    Grant grant = GrantOf(lease, total);
    grant.arriving = 1'000;
    Give(grant);
  };
  told(8);
  EXPECT_EQ(tasks_.at(0).link_rate, 0u);
  ComputeAll();  // until the memory is full
  frames_.clear();
  told(400);
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(tasks_.at(0).link_rate, 1'000u);
  told(100'000);  // everything is sent
  told(100'000);
  Compute();
  EXPECT_EQ(tasks_.back().link_rate, 0u);
}

// The packed parts belong to the whole piece.
TEST_F(WorkerAgentTest, APieceThatIsCutIsNotPackedAnyMore) {
  const Lease lease = LeaseOf(1, 0, 100);
  GivenLeases({lease});
  Grant grant = GrantOf(lease, 10'000, true);
  grant.compression = LinkCompression::kLz4;
  Give(grant);
  Compute();
  Compute();  // tasks of four positions now
  const ComputeRequest task = TakeTask(0);
  ASSERT_GT(task.end.p, task.begin.p + 1);
  grant.opening = Opening(grant.opening.value() + 1);
  grant.start = {task.begin.p + 1, 0};
  Give(grant);
  frames_.clear();
  const Piece piece = MakePiece(task.begin, task.end, testing::OneRow);
  Keep(agent_.OnComputed(now_, task.task, piece,
                         TaskCost{absl::Microseconds(1)},
                         std::make_shared<PackedParts>()));
  ASSERT_FALSE(frames_.empty());
  EXPECT_EQ(frames_[0].piece.begin, grant.start);
  EXPECT_EQ(frames_[0].packed, nullptr);
}

TEST_F(WorkerAgentTest, CostsAreSentOnlyOnRequest) {
  for (const bool asks : {true, false}) {
    const Lease lease = LeaseOf(asks ? 1 : 2, 0, 2);
    GivenLeases({lease});
    Grant grant = GrantOf(lease, 10'000, true);
    grant.profile = true;
    Give(grant);
    const ComputeRequest task = TakeTask(0);
    EXPECT_TRUE(task.profile);
    if (!asks) {  // no longer
      grant.profile = false;
      Give(grant);
    }
    const auto costs = std::make_shared<const std::vector<StepCost>>();
    Keep(agent_.OnComputed(now_, task.task,
                           MakePiece(task.begin, task.end, testing::OneRow),
                           TaskCost{absl::Microseconds(1)}, nullptr, costs));
    ASSERT_THAT(frames_, SizeIs(1));
    EXPECT_EQ(frames_[0].costs, asks ? costs : nullptr);
    frames_.clear();
    tasks_.clear();
  }
}

// ---- several jobs

class JobsOfWorker : public WorkerAgentTest {
 protected:
  // Returns the thread times of a job of cheap positions and of a job of dear
  // ones.
  std::pair<absl::Duration, absl::Duration> TimesOf(uint32_t cheap_weight,
                                                    uint32_t dear_weight);
  // Gives the worker a lease of each of the plans "0" and "1", which are ready.
  std::vector<Lease> LeasesOfTwoPlans(uint64_t end,
                                      const PlanTraits& traits = {});
};

std::vector<Lease> JobsOfWorker::LeasesOfTwoPlans(uint64_t end,
                                                  const PlanTraits& traits) {
  WorkerAnswer answer;
  answer.incarnation = Incarnation{7};
  answer.park_after = absl::Seconds(1);
  for (uint64_t k = 0; k < 2; ++k) {
    Lease lease = LeaseOf(k + 1, 0, end);
    lease.plan = PlanId{std::to_string(k)};
    answer.leases.push_back(lease);
    answer.definitions.push_back(PlanDefinition{lease.plan, "graph", "", 0, k});
  }
  Keep(agent_.Handle(now_, kDispatcherPeer, answer));
  for (const Lease& lease : answer.leases) {
    Keep(agent_.OnDefined(now_, lease.plan, absl::OkStatus(), traits));
  }
  return answer.leases;
}

std::pair<absl::Duration, absl::Duration> JobsOfWorker::TimesOf(
    uint32_t cheap_weight, uint32_t dear_weight) {
  const std::vector<PlanId> plans = {PlanId{"quick"}, PlanId{"slow"}};
  WorkerAnswer answer;
  answer.incarnation = Incarnation{7};
  answer.park_after = absl::Seconds(1);
  for (uint64_t k = 0; k < 2; ++k) {
    Lease lease = LeaseOf(k + 1, 0, 100'000);
    lease.plan = plans[k];
    answer.leases.push_back(lease);
    answer.definitions.push_back(PlanDefinition{plans[k], "graph", "", 0, k});
  }
  Keep(agent_.Handle(now_, kDispatcherPeer, answer));
  for (const PlanId& plan : plans) {
    Keep(agent_.OnDefined(now_, plan, absl::OkStatus()));
  }
  for (uint64_t k = 0; k < 2; ++k) {
    Grant grant = GrantOf(answer.leases[k], 10'000'000, true);
    grant.weight = k == 0 ? cheap_weight : dear_weight;
    Give(grant);
  }
  std::map<PlanId, absl::Duration> busy;
  for (int i = 0; i < 2'000; ++i) {
    const ComputeRequest task = TakeTask(0);
    // A position of the slow job takes five times as long.
    const absl::Duration took =
        static_cast<double>(task.end.p - task.begin.p) *
        absl::Milliseconds(task.plan == plans[0] ? 1 : 5);
    busy[task.plan] += took;
    Keep(agent_.OnComputed(now_, task.task,
                           MakePiece(task.begin, task.end, OneRow),
                           TaskCost{took}));
    frames_.clear();
  }
  return {busy[plans[0]], busy[plans[1]]};
}

TEST_F(JobsOfWorker, ShareItEvenly) {
  const auto [cheap, dear] = TimesOf(100, 100);
  EXPECT_NEAR(absl::FDivDuration(cheap, dear), 1, 0.1);
}

TEST_F(JobsOfWorker, ShareItByWeight) {
  const auto [cheap, dear] = TimesOf(300, 100);
  EXPECT_NEAR(absl::FDivDuration(cheap, dear), 3, 0.3);
}

TEST_F(JobsOfWorker, OneKeepsToItsPartOfTheMemory) {
  const std::vector<Lease> leases = LeasesOfTwoPlans(1'000);
  for (uint64_t k = 0; k < 2; ++k) {
    Grant grant = GrantOf(leases[k], 8);  // credit for one row
    grant.weight = k == 0 ? 300 : 100;
    Give(grant);
  }
  std::map<PlanId, uint64_t> rows;
  for (int i = 0; i < 1'000 && !tasks_.empty(); ++i) {
    const ComputeRequest task = TakeTask(0);
    rows[task.plan] += task.end.p - task.begin.p;
    Keep(agent_.OnComputed(now_, task.task,
                           MakePiece(task.begin, task.end, OneRow),
                           TaskCost{absl::Microseconds(1)}));
  }
  // The memory has 400 bytes; one row of each job was sent.
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_LE(8 * (rows[PlanId{"0"}] - 1), 300);
  EXPECT_GT(8 * (rows[PlanId{"0"}] - 1), 120);
  EXPECT_LE(8 * (rows[PlanId{"1"}] - 1), 100);
  EXPECT_GT(8 * (rows[PlanId{"1"}] - 1), 24);
}

TEST(CompiledPlansTest, AFamilyIsServedAsOneJob) {
  CompiledPlans plans;
  for (const char* name : {"first", "second", "other"}) {
    const PlanId id{name};
    ASSERT_TRUE(plans.Define(id));
    PlanTraits traits;
    if (id != PlanId{"other"}) traits.family = "a mixture";
    plans.SetTraits(*plans.Find(id), traits);
  }
  *plans.Find(PlanId{"first"})->served += 5;
  *plans.Find(PlanId{"second"})->served += 2;
  EXPECT_EQ(*plans.Find(PlanId{"first"})->served, 7);
  EXPECT_EQ(*plans.Find(PlanId{"other"})->served, 0);
}

// The other input of a read is computed while the first one may send nothing.
TEST_F(JobsOfWorker, AnInputThatMaySendNothingYields) {
  PlanTraits traits;
  traits.family = "a mixture";
  const std::vector<Lease> leases = LeasesOfTwoPlans(100'000, traits);
  Give(GrantOf(leases[0], 8, true));  // credit for one row
  Give(GrantOf(leases[1], 10'000'000, true));
  std::map<PlanId, uint64_t> rows;
  for (int i = 0; i < 500 && !tasks_.empty(); ++i) {
    const ComputeRequest task = TakeTask(0);
    rows[task.plan] += task.end.p - task.begin.p;
    Keep(agent_.OnComputed(
        now_, task.task, MakePiece(task.begin, task.end, OneRow),
        TaskCost{static_cast<int64_t>(task.end.p - task.begin.p) *
                 absl::Milliseconds(1)}));
    frames_.clear();
  }
  // It computes ahead only while no cost is known.
  EXPECT_LE(rows[PlanId{"0"}], 16U);
  EXPECT_GE(rows[PlanId{"1"}], 4'000U);
}

// Two inputs of one pipeline.
class InputsOfWorker : public JobsOfWorker {
 protected:
  InputsOfWorker() { traits_.family = "a mixture"; }
  // Ends the oldest task with all its positions, each of which took 50 ms.
  void ComputeSlowly() {
    const ComputeRequest task = TakeTask(0);
    Keep(agent_.OnComputed(
        now_, task.task, MakePiece(task.begin, task.end, OneRow),
        TaskCost{static_cast<int64_t>(task.end.p - task.begin.p) *
                 absl::Milliseconds(50)}));
    frames_.clear();
  }
};

TEST_F(InputsOfWorker, AreMadeByWhatIsNeededSoon) {
  std::vector<Lease> leases = LeasesOfTwoPlans(100, traits_);
  Give(GrantOf(leases[0], 10'000, true));
  Give(GrantOf(leases[1], 10'000, false));
  for (int i = 0; i < 4; ++i) ComputeSlowly();  // until the costs are known
  leases[0].depth = 8;  // the reader has much of it ahead
  leases[1].depth = 2;
  Answer(leases);
  for (int i = 0; i < 4; ++i) ComputeSlowly();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(tasks_.at(0).plan, PlanId{"1"}) << i;
    ComputeSlowly();
  }
}

TEST_F(InputsOfWorker, TakeAThreadByOneLongTask) {
  const std::vector<Lease> leases = LeasesOfTwoPlans(100, traits_);
  Give(GrantOf(leases[0], 10'000, true));
  Give(GrantOf(leases[1], 10'000, false));
  EXPECT_THAT(tasks_, SizeIs(2));
  for (int i = 0; i < 4; ++i) ComputeSlowly();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(tasks_, SizeIs(1)) << i;
    EXPECT_EQ(tasks_.at(0).plan, PlanId{"0"}) << i;
    ComputeSlowly();
  }
}

TEST_F(InputsOfWorker, AreReportedOnceTheyAreComputed) {
  const std::vector<Lease> leases = LeasesOfTwoPlans(20, traits_);
  Give(GrantOf(leases[0], 0, true));  // nothing may be sent
  Give(GrantOf(leases[1], 0, false));
  EXPECT_EQ(Beat().complete, 0U);
  ComputeAll();
  EXPECT_EQ(Beat().complete, 2U);
}

TEST_F(JobsOfWorker, ReportNoCompleteLeasesOfOtherPipelines) {
  const std::vector<Lease> leases = LeasesOfTwoPlans(20);
  Give(GrantOf(leases[0], 0, true));
  ComputeAll();
  EXPECT_EQ(Beat().complete, 0U);
}

}  // namespace
}  // namespace feedmill::testing
