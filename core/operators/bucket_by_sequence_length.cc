#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/length_batches.h"

namespace feedmill {
namespace {

size_t RanksOf(const BucketBySequenceLengthStep& step) {
  return static_cast<size_t>(std::max<int64_t>(step.ranks, 1));
}

class BucketRows final : public LengthBatches {
 public:
  BucketRows(const Plan& plan, size_t s, const BucketBySequenceLengthStep& step)
      : LengthBatches(plan, s, step.component, BatchLayout::kPadded,
                      step.padding, step.drop_remainder),
        step_(step) {
    rows_.groups.resize(step.batch_sizes.size());
  }

  bool Restore(const StageState::Step& state) override {
    if (!CombiningStep::Restore(state) ||
        rows_.groups.size() != step_.batch_sizes.size()) {
      return false;
    }
    for (size_t k = 0; k < rows_.groups.size(); ++k) {
      if (rows_.groups[k].size() >= RoundOf(k)) return false;
    }
    return true;
  }

 protected:
  absl::Status Take(RowRef row) override {
    uint64_t length = 0;
    FM_RETURN_IF_ERROR(Length(row, length));
    const auto bound =
        std::upper_bound(step_.boundaries.begin(), step_.boundaries.end(),
                         static_cast<int64_t>(length));
    const auto k = static_cast<size_t>(bound - step_.boundaries.begin());
    rows_.groups[k].push_back(row);
    if (rows_.groups[k].size() == RoundOf(k)) QueueBatches(k);
    return absl::OkStatus();
  }
  void QueueIncomplete() override {
    for (size_t k = 0; k < rows_.groups.size(); ++k) QueueLast(k);
  }

 private:
  // Queues the rows of a bucket as batches. Returns their number.
  size_t QueueBatches(size_t k) {
    const std::vector<RowRef> rows = std::exchange(rows_.groups[k], {});
    const size_t size = SizeOf(k);
    size_t batches = 0;
    for (size_t at = 0; at < rows.size(); at += size, ++batches) {
      Queue(std::span(rows).subspan(at, std::min(size, rows.size() - at)));
    }
    return batches;
  }
  // Queues the batches of a bucket that is not full.
  void QueueLast(size_t k) {
    using LastRound = BucketBySequenceLengthStep::LastRound;
    std::vector<RowRef>& rows = rows_.groups[k];
    const size_t size = SizeOf(k);
    if (step_.drop_remainder) rows.resize(rows.size() / size * size);
    const size_t ranks = RanksOf(step_);
    if (rows.empty() || (ranks > 1 && step_.last_round == LastRound::kDrop &&
                         rows.size() <= (ranks - 1) * size)) {
      rows.clear();
      return;
    }
    const std::vector<RowRef> last(
        rows.begin() + static_cast<ptrdiff_t>((rows.size() - 1) / size * size),
        rows.end());
    for (size_t made = QueueBatches(k); made < ranks; ++made) Queue(last);
  }

  size_t SizeOf(size_t k) const {
    return static_cast<size_t>(step_.batch_sizes[k]);
  }

  size_t RoundOf(size_t k) const { return SizeOf(k) * RanksOf(step_); }

  const BucketBySequenceLengthStep step_;
};

struct BucketBySequenceLengthOperator : PassesComponents {
  using Options = BucketBySequenceLengthStep;
  static constexpr std::string_view kName = "bucket_by_sequence_length";
  static constexpr Description kDescription = {
      .summary = "Makes padded batches of elements of similar length.",
      .yaml =
          R"(bucket_by_sequence_length: {boundaries: [64, 256], batch_sizes: [64, 16, 4]})",
      .element = "padded batches of similar length",
      .errors =
          "Raises InvalidArgumentError if the boundaries do not increase, or "
          "for another number of sizes. Reading raises DataLossError for a "
          "row that is longer than its shape.",
      .example = R"-(
>>> ds = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)")
>>> ds = ds.bucket_by_sequence_length(boundaries=[11], batch_sizes=[2, 2])
>>> [x.shape for x in ds.read()]
[(2, 10), (1, 11)]
)-"};

  static FieldList Fields(BucketBySequenceLengthStep& s) {
    return {
        {"component", ComponentName{&s.component}, Field::kOptional,
         "The component that defines the length."},
        {"boundaries", &s.boundaries, Field::kOptional,
         "Increasing lengths; bucket k has lengths below boundaries[k]."},
        {"batch_sizes", &s.batch_sizes, Field::kRequired,
         "The size of a batch of each bucket, one more than boundaries."},
        {"drop_remainder", &s.drop_remainder, Field::kOptional,
         "Drops last batches that are not full."},
        {"padding", PaddingList{&s.padding}, Field::kOptional,
         "Shapes to pad to, and values to pad with."},
        {"ranks", &s.ranks, Field::kSparse | Field::kPositive,
         "The batches of a bucket come this many in a row, so that all "
         "ranks get batches of one bucket at the same time.",
         "1"},
        {"last_round", Word(s.last_round, {"drop", "repeat"}), Field::kSparse,
         "The last batches of a bucket, if they are fewer than `ranks`: "
         "left out, or the last one repeated."}};
  }
  static StepTraits Traits(const BucketBySequenceLengthStep& s) {
    uint64_t held = 0;
    uint64_t sum = 0;
    for (const int64_t size : s.batch_sizes) {
      uint64_t round = 0;
      if (__builtin_mul_overflow(static_cast<uint64_t>(size),
                                 uint64_t{RanksOf(s)}, &round) ||
          __builtin_add_overflow(sum, round, &sum)) {
        sum = UINT64_MAX;
      }
    }
    held = sum - std::min<uint64_t>(sum, s.batch_sizes.size());
    return {.needs = StepNeeds::kSequence,
            .batch_dims = BatchDims::kAdded,
            .holds = held,
            .next_after = sum};
  }
  static std::string Describe(const BucketBySequenceLengthStep& s) {
    return fmt::format("{} buckets by {}", s.batch_sizes.size(), s.component);
  }
  static absl::StatusOr<ElementSpec> Output(const BucketBySequenceLengthStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckLengthComponent(s.component, in.spec));
    for (size_t k = 0; k < s.boundaries.size(); ++k) {
      if (s.boundaries[k] <= (k == 0 ? 0 : s.boundaries[k - 1])) {
        return InvalidArgument(
            "boundaries must be above 0 and increase; {} breaks this",
            s.boundaries[k]);
      }
    }
    if (s.batch_sizes.size() != s.boundaries.size() + 1) {
      return InvalidArgument(
          "{} boundaries make {} buckets, which need as many batch_sizes, not "
          "{}",
          s.boundaries.size(), s.boundaries.size() + 1, s.batch_sizes.size());
    }
    if (s.ranks != 0) FM_RETURN_IF_ERROR(CheckSize("ranks", s.ranks));
    bool same = true;
    for (const int64_t size : s.batch_sizes) {
      FM_RETURN_IF_ERROR(CheckSize("each of batch_sizes", size));
      same = same && size == s.batch_sizes[0];
    }
    return BatchedSpec(
        in.spec, s.drop_remainder && same ? s.batch_sizes[0] : kUnknownDim,
        BatchLayout::kPadded, s.padding);
  }
  static ComponentMask Needed(const BucketBySequenceLengthStep& s,
                              const ElementSpec& in,
                              const ComponentMask& needed) {
    ComponentMask out = needed;
    AddNeeded(s.component, in, out);
    return out;
  }
  static ClientSteps MakeClientSteps(const BucketBySequenceLengthStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    return ClientStepsOf(std::make_unique<BucketRows>(*plan, step, s));
  }
};

}  // namespace

const StepKind& BucketBySequenceLengthKind() {
  return KindOf<BucketBySequenceLengthOperator>();
}

}  // namespace feedmill
