#include "worker/stage_runner.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/dataset/graph_text.h"
#include "core/definition/pipeline_text.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {
namespace {

// A runner whose results are taken by the test, like by a reactor.
class StageRunnerTest : public ::testing::Test {
 protected:
  StageRunnerTest() {
    const auto graph = ParseGraphYaml(
        "source: {range: {stop: 100}}\nsteps: [{map: 'x + 1'}]\n", "");
    EXPECT_TRUE(graph.ok()) << graph.status();
    runner_->Define({kPlan, CanonicalText(*graph), "", 7, 0});
    RunPosted();
  }

  void Ask(uint64_t begin, bool at_once) {
    ComputeRequest request;
    request.task = TaskId{begin + 1};
    request.plan = kPlan;
    request.begin = {begin, 0};
    request.end = {begin + 10, 0};
    request.bytes_target = 1'000;
    request.at_once = at_once;
    runner_->Compute(std::move(request), nullptr, LinkCompression::kNone);
  }
  // Waits for a posted closure and runs it.
  void RunPosted() {
    std::unique_lock lock(mu_);
    came_.wait(lock, [this] { return !posted_.empty(); });
    const std::function<void()> first = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    first();
  }
  void ExpectMade(std::vector<uint64_t> begins) {
    while (made_.size() < begins.size()) RunPosted();
    EXPECT_EQ(made_, begins);
  }

  static inline const PlanId kPlan{"plan"};
  std::mutex mu_;
  std::condition_variable came_;
  std::deque<std::function<void()>> posted_;  // guarded by mu_
  std::vector<std::thread::id> posted_by_;    // guarded by mu_
  std::function<void()> then_;  // guarded by mu_: run once by the next poster
  std::vector<uint64_t> made_;
  int cancelled_ = 0;
  std::vector<std::string> places_;
  std::unique_ptr<StageRunner> runner_ = std::make_unique<StageRunner>(
      1, std::make_shared<const FunctionRegistry>(BuiltinFunctions()),
      [this](std::function<void()> work) {
        std::function<void()> then;
        {
          const std::lock_guard lock(mu_);
          posted_.push_back(std::move(work));
          posted_by_.push_back(std::this_thread::get_id());
          then.swap(then_);
          came_.notify_one();
        }
        if (then != nullptr) then();
      },
      StageRunner::Results{[this](Computed computed) {
                             if (absl::IsCancelled(computed.piece.status())) {
                               ++cancelled_;
                               return;
                             }
                             ASSERT_TRUE(computed.piece.ok())
                                 << computed.piece.status();
                             EXPECT_EQ(computed.piece->chunk.rows, 10U);
                             made_.push_back(computed.piece->begin.p);
                           },
                           [this](Defined defined) {
                             EXPECT_TRUE(defined.status.ok()) << defined.status;
                             places_ = std::move(defined.places);
                           },
                           [](ManifestResult) {}},
      [](const Graph&) { return nullptr; }, StageRunner::Limits{});
};

TEST_F(StageRunnerTest, NamesThePlacesOfAPlan) {
  ASSERT_EQ(places_.size(), 4u);
  EXPECT_EQ(places_[0], "other work");
  EXPECT_EQ(places_[1].substr(0, 5), "range");
  EXPECT_EQ(places_[2], "making chunks");
  EXPECT_EQ(places_[3], "steps[0] map");
}

TEST_F(StageRunnerTest, UrgentPiecesAreMadeByTheCaller) {
  Ask(10, true);
  Ask(20, true);
  runner_->MakeAtOnce();
  ExpectMade({10, 20});
  EXPECT_EQ(posted_by_.back(), std::this_thread::get_id());
  Ask(30, false);
  ExpectMade({10, 20, 30});
  EXPECT_NE(posted_by_.back(), std::this_thread::get_id());
}

TEST_F(StageRunnerTest, WhileTheCallerIsBusyAnotherThreadMakesTheRest) {
  Ask(10, true);
  Ask(20, true);
  {
    const std::lock_guard lock(mu_);
    then_ = [this] { runner_->SubmitQueued(); };
  }
  runner_->MakeAtOnce();
  ExpectMade({10, 20});
  EXPECT_NE(posted_by_.back(), std::this_thread::get_id());
  runner_->SubmitQueued();  // nothing is queued
}

TEST_F(StageRunnerTest, AStoppedTaskIsCancelled) {
  Ask(10, true);
  Ask(20, true);
  runner_->StopTask(TaskId{11});
  runner_->StopTask(TaskId{999});  // unknown: it has its result
  runner_->MakeAtOnce();
  ExpectMade({20});
  EXPECT_EQ(cancelled_, 1);
}

// Computes one piece of a pipeline with a runner.
absl::StatusOr<Piece> PieceOf(const std::string& yaml,
                              FunctionRegistry functions) {
  const auto graph = ParseGraphYaml(yaml, "");
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::mutex mu;
  std::condition_variable came;
  std::deque<std::function<void()>> posted;  // guarded by mu
  std::optional<absl::StatusOr<Piece>> made;
  StageRunner runner(
      1, std::make_shared<const FunctionRegistry>(std::move(functions)),
      [&](std::function<void()> work) {
        const std::lock_guard lock(mu);
        posted.push_back(std::move(work));
        came.notify_one();
      },
      StageRunner::Results{
          [&](Computed computed) { made = std::move(computed.piece); },
          [](const Defined& defined) {
            EXPECT_TRUE(defined.status.ok()) << defined.status;
          },
          [](ManifestResult) {}},
      [](const Graph&) { return nullptr; },
      StageRunner::Limits{.element_bytes_max = uint64_t{8} << 20});
  const PlanId plan{"plan"};
  runner.Define({plan, CanonicalText(*graph), "", 7, 0});
  ComputeRequest request;
  request.task = TaskId{1};
  request.plan = plan;
  request.end = {10, 0};
  request.bytes_target = 1'000;
  bool asked = false;
  while (!made) {
    std::unique_lock lock(mu);
    came.wait(lock, [&] { return !posted.empty(); });
    const std::function<void()> first = std::move(posted.front());
    posted.pop_front();
    lock.unlock();
    first();
    if (!std::exchange(asked, true)) {
      runner.Compute(request, nullptr, LinkCompression::kNone);
    }
  }
  return *std::move(made);
}

TEST(StageRunner, AnElementThatIsTooLargeIsAnErrorOfItsPosition) {
  const auto piece = PieceOf(
      "source: {range: {stop: 100}}\nsteps: [{map: 'sum(full([2000000], x))'}]"
      "\n",
      BuiltinFunctions());
  ASSERT_TRUE(piece.ok()) << piece.status();
  EXPECT_EQ(piece->error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(piece->end, (Cursor{0, 0}));
  EXPECT_NE(piece->error.message().find("steps[0] map"), std::string::npos)
      << piece->error;
}

TEST(StageRunner, AFunctionThatThrowsIsAnErrorOfItsRequest) {
  FunctionRegistry functions = BuiltinFunctions();
  functions.Add("throws", {[](const std::vector<ValueType>& given) {
                             return absl::StatusOr<ValueType>(given[0]);
                           },
                           [](std::span<const Argument>, size_t,
                              const ValueType&, OutputColumn&) -> absl::Status {
                             throw std::runtime_error("no such luck");
                           }});
  const auto piece =
      PieceOf("source: {range: {stop: 100}}\nsteps: [{map: 'throws(x)'}]\n",
              std::move(functions));
  EXPECT_EQ(piece.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(piece.status().message().find("no such luck"), std::string::npos)
      << piece.status();
}

}  // namespace
}  // namespace feedmill
