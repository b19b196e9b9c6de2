#include "broker/steady_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace feedmill {
namespace {

Verdict Measured(BoundBy bound, std::string where = "") {
  Verdict verdict;
  verdict.bound_by = bound;
  verdict.where = std::move(where);
  verdict.measured = true;
  return verdict;
}

const Verdict kStep = Measured(BoundBy::kStep, "steps[0] map");
const Verdict kLink = Measured(BoundBy::kLink, "solo");

// A job that has been bound by its step for some seconds.
SteadyVerdict BoundByStep() {
  SteadyVerdict steady;
  for (size_t k = 0; k < SteadyVerdict::kKept; ++k) steady.Add(kStep);
  return steady;
}

TEST(SteadyVerdict, DoesNotFollowJudgementsThatAlternate) {
  SteadyVerdict steady = BoundByStep();
  for (int k = 0; k < 100; ++k) {
    const Verdict& judgement = k % 2 == 0 ? kLink : kStep;
    steady.Add(judgement);
    EXPECT_EQ(steady.Report(judgement).bound_by, BoundBy::kStep) << k;
  }
}

TEST(SteadyVerdict, DoesNotFollowAFewOtherJudgements) {
  SteadyVerdict steady = BoundByStep();
  for (int k = 0; k < 100; ++k) {
    steady.Add(k % 5 < 3 ? kLink : kStep);  // 3 of 5
    EXPECT_EQ(steady.Report(kLink).bound_by, BoundBy::kStep) << k;
  }
}

TEST(SteadyVerdict, ChangesWhenFourOfFiveJudgementsAgree) {
  SteadyVerdict steady = BoundByStep();
  for (int k = 0; k < 3; ++k) steady.Add(kLink);
  EXPECT_EQ(steady.Report(kLink).bound_by, BoundBy::kStep);
  steady.Add(kLink);
  EXPECT_EQ(steady.Report(kStep).bound_by, BoundBy::kLink);
  EXPECT_EQ(steady.Report(kStep).where, "solo");
}

TEST(SteadyVerdict, ReportsTheNewestFiguresOfItsBound) {
  const SteadyVerdict steady = BoundByStep();
  Verdict fresh = kStep;
  fresh.gain = 3;
  EXPECT_EQ(steady.Report(fresh).gain, 3);
}

TEST(SteadyVerdict, NamesThePlaceThatMostJudgementsName) {
  SteadyVerdict steady;
  const Verdict w0 = Measured(BoundBy::kWorkers, "w0");
  const Verdict w1 = Measured(BoundBy::kWorkers, "w1");
  for (size_t k = 0; k < SteadyVerdict::kKept; ++k) steady.Add(w0);
  steady.Add(w1);
  steady.Add(w0);
  steady.Add(w1);
  EXPECT_EQ(steady.Report(w1).where, "w0");
  steady.Add(w1);
  EXPECT_EQ(steady.Report(w0).where, "w1");
}

TEST(SteadyVerdict, FollowsEachJudgementOfAJobThatBegins) {
  SteadyVerdict steady;
  steady.Add(kLink);
  EXPECT_EQ(steady.Report(kLink).bound_by, BoundBy::kLink);
  steady.Add(kStep);
  EXPECT_EQ(steady.Report(kLink).bound_by, BoundBy::kStep);
}

TEST(SteadyVerdict, ReportsFactsAtOnce) {
  SteadyVerdict steady = BoundByStep();
  Verdict over;
  over.sentence = "the job is over";
  EXPECT_EQ(steady.Report(over).bound_by, BoundBy::kNone);
  steady.Add(over);  // another run of the job begins
  steady.Add(kLink);
  EXPECT_EQ(steady.Report(kLink).bound_by, BoundBy::kLink);
}

TEST(SteadyVerdict, IsTheJudgementWhereThereIsNone) {
  EXPECT_EQ(SteadyVerdict().Report(kStep).bound_by, BoundBy::kStep);
}

}  // namespace
}  // namespace feedmill
