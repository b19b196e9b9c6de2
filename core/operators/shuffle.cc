#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/philox.h"
#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/row_groups.h"

namespace feedmill {
namespace {

// A window shuffle of elements with unknown places. It holds as many elements
// as the window has; each new element sends out a random one of them.
class ReservoirRows final : public ClientStep {
 public:
  ReservoirRows(std::shared_ptr<const Plan> plan, size_t step, int64_t window)
      : plan_(std::move(plan)),
        step_(step),
        size_(static_cast<size_t>(window)),
        rows_(plan_->graph().InputOf(step)) {
    rows_.groups.resize(1);
  }

  absl::Status OnPush(Flow flow) override {
    if (flow.chunk.rows == 0) return absl::OkStatus();
    const uint64_t fed = flow.InputOf(0);
    const uint64_t held = rows_.Done(fed - std::min<uint64_t>(fed, 1), false);
    rows_.Begin(flow);
    std::vector<RowRef>& entries = rows_.groups[0];
    std::vector<RowRef> out;
    for (size_t row = 0; row < flow.chunk.rows; ++row) {
      if (entries.size() < size_) {
        entries.push_back(rows_.At(row));
        continue;
      }
      RowRef& entry = entries[Draw(size_)];
      out.push_back(std::exchange(entry, rows_.At(row)));
    }
    return Send(out, held, flow.InputOf(flow.chunk.rows - 1));
  }

  absl::Status OnFlush() override {
    std::vector<RowRef>& entries = rows_.groups[0];
    std::vector<RowRef> out;
    uint64_t fed = 0;
    while (!entries.empty()) {
      RowRef& entry = entries[Draw(entries.size())];
      fed = std::max(fed, rows_.InputOf(entry));
      out.push_back(std::exchange(entry, entries.back()));
      entries.pop_back();
    }
    return Send(out, 0, fed);
  }
  absl::Status OnEndPass() override {
    FM_RETURN_IF_ERROR(OnFlush());
    drawn_ = 0;
    return absl::OkStatus();
  }
  void Save(StageState::Step& state) const override {
    state.made = drawn_;
    rows_.Save(state);
  }
  bool Restore(const StageState::Step& state) override {
    drawn_ = state.made;
    return rows_.Restore(state) && rows_.groups.size() == 1 &&
           rows_.groups[0].size() <= size_;
  }

 private:
  size_t Draw(size_t below) {
    if (key_epoch_ != epoch || !have_key_) {
      key_ = plan_->KeyOf(step_, epoch, 0);
      key_epoch_ = epoch;
      have_key_ = true;
    }
    return static_cast<size_t>(
        uint64_t{Philox(key_, drawn_++, 0)[0]} * uint64_t{below} >> 32);
  }

  // `done`: input rows that were emitted before; they apply to all but the last
  // row of `out`.
  absl::Status Send(std::span<const RowRef> out, uint64_t done, uint64_t fed) {
    std::vector<Flow> flows;
    Gather(out, flows);
    for (Flow& flow : flows) flow.inputs.assign(flow.chunk.rows, done);
    if (!flows.empty()) flows.back().inputs.back() = rows_.Done(fed, false);
    rows_.Compact();
    for (Flow& flow : flows) FM_RETURN_IF_ERROR(next->Push(std::move(flow)));
    return absl::OkStatus();
  }

  // Rows that are too large together are split into several flows.
  void Gather(std::span<const RowRef> out, std::vector<Flow>& flows) const {
    if (out.empty()) return;
    try {
      flows.push_back(rows_.Gather(out));
    } catch (const MemoryRefused&) {
      if (out.size() == 1) throw;
      Gather(out.first(out.size() / 2), flows);
      Gather(out.subspan(out.size() / 2), flows);
    }
  }

  const std::shared_ptr<const Plan> plan_;
  const size_t step_;
  const size_t size_;
  RowGroups rows_;
  uint64_t drawn_ = 0;  // in this pass
  RandomKey key_;
  uint64_t key_epoch_ = 0;
  bool have_key_ = false;
};

struct ShuffleOperator : PassesComponents {
  using Options = ShuffleStep;
  static constexpr std::string_view kName = "shuffle";
  static constexpr Description kDescription = {
      .summary =
          "Gives the elements a random order, another one in each epoch and "
          "pass.",
      .yaml = R"(shuffle:
shuffle: {seed: 7}
shuffle: {window: 10000}
shuffle: {block: 128, window: 8}
shuffle: {files: true})",
      .element = "unchanged; the client may shuffle in a `window`",
      .details =
          "By default all elements change places. Behind a step that changes "
          "the number of elements, the client shuffles within a `window`.",
      .errors =
          "Reading raises InvalidArgumentError if the order cannot be had: of "
          "all elements after a step such as `pack`, or of files whose "
          "records only reading finds.",
      .example = R"(
>>> next(fm.Dataset.range(6).shuffle(seed=7).batch(6).read())
array([0, 5, 2, 3, 4, 1])
>>> next(fm.Dataset.range(6).shuffle(seed=7, window=2).batch(6).read())
array([0, 1, 3, 2, 4, 5])
)"};

  static constexpr std::string_view kShortFormHint =
      "; `shuffle: {window: N}` shuffles N elements at a time, `shuffle:` "
      "alone shuffles all of them";

  static FieldList Fields(ShuffleStep& s) {
    return {
        {"seed", &s.seed, Field::kOptional,
         "Replaces the seed of the pipeline for this step.", "the pipeline's"},
        {"window", &s.window, Field::kSparse,
         "Shuffles within runs of this many elements; with `block`, within "
         "this many blocks.",
         "all elements; 8 blocks"},
        {"block", &s.block, Field::kSparse,
         "Shuffles blocks of this many records, then within `window` "
         "blocks.",
         "none: single records"},
        {"files", &s.files, Field::kSparse,
         "Shuffles the files; the records of one keep their order."}};
  }
  static StepTraits Traits(const ShuffleStep& s) {
    return {
        .needs = s.window && !s.block ? StepNeeds::kPlace : StepNeeds::kCounts,
        .random = true,
        .holds = static_cast<uint64_t>(s.window.value_or(0)),
        .first_after = static_cast<uint64_t>(s.window.value_or(0))};
  }
  static std::optional<uint64_t> Count(const ShuffleStep&, uint64_t elements) {
    return elements;
  }
  static std::string Describe(const ShuffleStep& s) {
    std::vector<std::string> said;
    if (s.files) said.emplace_back("files");
    if (s.block) said.push_back(fmt::format("block {}", *s.block));
    if (s.window) said.push_back(fmt::format("window {}", *s.window));
    if (s.seed) said.push_back(fmt::format("seed {}", *s.seed));
    return fmt::format("{}", fmt::join(said, ", "));
  }
  static absl::StatusOr<ElementSpec> Output(const ShuffleStep& s,
                                            const StepInput& in) {
    if (s.window) FM_RETURN_IF_ERROR(CheckSize("window", *s.window));
    if (s.block) FM_RETURN_IF_ERROR(CheckSize("block", *s.block));
    if (s.files && (s.window || s.block)) {
      return InvalidArgument(
          "`files: true` shuffles whole files, without a window or block; "
          "write a second shuffle for those");
    }
    return in.spec;
  }
  static absl::Status AddToPlan(const ShuffleStep& s, PlanBuilder& plan) {
    if (s.files) return absl::OkStatus();  // the source shuffles its files
    if (s.block) return plan.ShuffleBlocks(*s.block, s.window);
    return s.window ? plan.ShuffleWindow(*s.window) : plan.ShuffleAll();
  }
  static ClientSteps MakeClientSteps(const ShuffleStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(
        std::make_unique<ReservoirRows>(plan, step, *s.window));
  }
};

}  // namespace

const StepKind& ShuffleKind() { return KindOf<ShuffleOperator>(); }

}  // namespace feedmill
