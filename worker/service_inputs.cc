#include "worker/service_inputs.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "client/read_session.h"
#include "client/service_link.h"
#include "client/service_source.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/net/clock.h"
#include "core/net/log.h"
#include "core/operators/sequenced_graph.h"
#include "core/plan/plan_id.h"
#include "core/wire/input_job.h"

namespace feedmill {
namespace {

// Most inputs that a worker reads at a time. Each has a thread.
constexpr size_t kOpenMax = 32;
// Longest wait for the plan of an input.
constexpr absl::Duration kPlanPatience = absl::Seconds(10);
// Longest wait for a worker that does not answer, and how long none is asked
// afterwards.
constexpr absl::Duration kLinkPatience = absl::Seconds(5);
constexpr absl::Duration kUnreachableFor = absl::Minutes(1);
// Least waits after which an input is read. A shorter one is made before
// another worker has begun.
constexpr std::chrono::nanoseconds kAfter = std::chrono::milliseconds(300);
constexpr std::chrono::nanoseconds kInputAfter = std::chrono::milliseconds(10);
// Pieces of an input that wait for the merge. They count as used, and the
// dispatcher compares how much is used of each input.
constexpr size_t kQueuedPieces = 2;
// Elements that are received ahead of an input.
constexpr size_t kBudgetMin = size_t{2} << 20;
constexpr size_t kBudgetMax = size_t{16} << 20;

std::string NewName() {
  std::random_device device;
  return fmt::format("{:016x}",
                     std::uniform_int_distribution<uint64_t>()(device));
}

// An input that other workers make.
class ServiceInput final : public PieceSource {
 public:
  ServiceInput(std::unique_ptr<ServiceLink> link,
               std::shared_ptr<ServicePlace> place, std::string name,
               std::string plan)
      : place_(std::move(place)),
        name_(std::move(name)),
        plan_(std::move(plan)),
        source_(std::move(link), place_->dispatcher.ToString(),
                /*in_order=*/true, ReadOptions{}) {}
  ~ServiceInput() override { --place_->open; }

  absl::StatusOr<TakeResult> Take(absl::Time deadline, Piece& piece) override {
    absl::StatusOr<TakeResult> taken = TakeChecked(deadline, piece);
    if (!taken.ok()) {
      LogWarning("this worker makes {} itself from now on: {}", name_,
                 ErrorText(taken.status()));
    }
    return taken;
  }
  void SkipTo(uint64_t position) override { source_.SkipTo(position); }

 private:
  absl::StatusOr<TakeResult> TakeChecked(absl::Time deadline, Piece& piece) {
    FM_ASSIGN_OR_RETURN(const TakeResult taken, source_.Take(deadline, piece));
    if (taken == TakeResult::kTimedOut) FM_RETURN_IF_ERROR(Unreachable());
    if (checked_) return taken;
    if (taken == TakeResult::kTimedOut && !source_.view().run.has_value()) {
      if (SteadyNow() - source_.opened() < kPlanPatience) return taken;
      return DeadlineExceeded("no plan of the input for {}",
                              absl::FormatDuration(kPlanPatience));
    }
    FM_ASSIGN_OR_RETURN(const RunInfo run,
                        source_.AwaitRun(Cancellation(ReadHooks{})));
    if (run.plan.value() != plan_) {
      return FailedPrecondition("the files of the input have changed");
    }
    checked_ = true;
    return taken;
  }

  // Workers may be reached by readers only, or only through the dispatcher.
  absl::Status Unreachable() const {
    const WorkerLinks::Faults& faults = source_.view().faults;
    const absl::Time now = SteadyNow();
    if (faults.unreachable.empty() ||
        now - faults.unreachable_since < kLinkPatience) {
      return absl::OkStatus();
    }
    place_->not_before = absl::ToUnixNanos(now + kUnreachableFor);
    return Unavailable("this worker cannot reach {}", faults.unreachable);
  }

  const std::shared_ptr<ServicePlace> place_;
  const std::string name_;  // of the job
  const std::string plan_;
  ServiceSource source_;
  bool checked_ = false;  // the run is the requested plan's
};

class ServiceInputs final : public InputService {
 public:
  ServiceInputs(const Graph& graph, std::shared_ptr<ServicePlace> place)
      : graph_(PipelineOf(graph)), place_(std::move(place)) {
    // Order, mode and seed belong to the whole pipeline.
    graph_.options = Options{};
    Graph whole = graph_;
    whole.part.clear();
    fingerprint_ = Fingerprint(whole);
  }

  bool Helps(std::chrono::nanoseconds in_all,
             std::chrono::nanoseconds of_input) const override {
    return in_all >= kAfter && of_input >= kInputAfter && place_->workers > 1 &&
           place_->open < kOpenMax &&
           absl::ToUnixNanos(SteadyNow()) >= place_->not_before;
  }

  std::string NewReader() override { return NewName(); }

  std::unique_ptr<PieceSource> Read(const Request& request) override {
    constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
    if (request.iteration == kLast) return nullptr;  // no run has its number
    Graph part = graph_;
    part.part = request.part;
    const std::string name = NewName();
    ReadSessionSettings settings;
    settings.job =
        InputJobName(request.part, fingerprint_, request.reader, name);
    settings.graph = CanonicalText(part);
    settings.seed = request.seed;
    settings.run = RunNumber(request.iteration + 1);
    settings.start = request.begin;
    settings.session = {ConsumerId(name), Incarnation(NextIncarnation())};
    // The sum for all inputs is at most four times bytes_max.
    settings.budget_bytes = std::clamp(place_->bytes_max / (place_->open + 1),
                                       kBudgetMin, kBudgetMax);
    settings.quota_bytes =
        std::min(settings.quota_bytes, settings.budget_bytes);
    settings.queued_pieces = kQueuedPieces;
    std::string job = settings.job.value();
    auto link = ServiceLink::Connect(place_->dispatcher, place_->cluster_id,
                                     std::nullopt, std::move(settings), {});
    if (!link.ok()) return nullptr;
    ++place_->open;
    return std::make_unique<ServiceInput>(
        *std::move(link), place_, std::move(job),
        PlanIdOf(Fingerprint(part), request.manifest_hash, request.seed,
                 request.iteration));
  }

 private:
  Graph graph_;
  std::string fingerprint_;  // of the whole pipeline
  const std::shared_ptr<ServicePlace> place_;
};

}  // namespace

std::shared_ptr<InputService> MakeServiceInputs(
    Graph graph, std::shared_ptr<ServicePlace> place) {
  return std::make_shared<ServiceInputs>(graph, std::move(place));
}

}  // namespace feedmill
