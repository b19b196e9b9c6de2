#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"
#include "core/pipeline/batch_stacker.h"
#include "core/pipeline/combining_step.h"
#include "core/pipeline/row_parts.h"

namespace feedmill {
namespace {

constexpr int64_t kPackLengthMax = int64_t{1} << 31;
constexpr int64_t kPackBinsMax = int64_t{1} << 20;
constexpr int64_t kPackWindowMax = int64_t{1} << 16;

// The rows after a cut differ in length.
ElementSpec OfAnyLength(ElementSpec spec) {
  for (ComponentSpec& c : spec.components) c.shape[0] = kUnknownDim;
  return spec;
}

// The sequences that best_fit may choose from, by their arrival.
class SequenceWindow {
 public:
  size_t size() const { return numbers_.size(); }
  uint64_t LengthAt(size_t place) const { return lengths_[place]; }

  void Add(uint64_t length) {
    lengths_.push_back(length);
    numbers_.push_back(next_);
    by_length_.emplace(length, next_++);
  }
  // Returns the place of the longest sequence of at most `length`; of several,
  // of the oldest.
  std::optional<size_t> Longest(uint64_t length) const {
    auto after = by_length_.upper_bound({length, UINT64_MAX});
    if (after == by_length_.begin()) return std::nullopt;
    const auto found = by_length_.lower_bound({std::prev(after)->first, 0});
    const auto place =
        std::lower_bound(numbers_.begin(), numbers_.end(), found->second);
    return static_cast<size_t>(place - numbers_.begin());
  }
  void Remove(size_t place) {
    const auto at = static_cast<ptrdiff_t>(place);
    by_length_.erase({lengths_[place], numbers_[place]});
    lengths_.erase(lengths_.begin() + at);
    numbers_.erase(numbers_.begin() + at);
  }

 private:
  std::vector<uint64_t> lengths_;
  std::vector<uint64_t> numbers_;                      // ascending
  std::set<std::pair<uint64_t, uint64_t>> by_length_;  // and by number
  uint64_t next_ = 0;
};

// Cuts sequences that are too long, and joins the sequences of a row. The
// methods choose them.
class PackedRows : public CombiningStep {
 public:
  PackedRows(const Plan& plan, size_t s, const PackStep& step)
      : CombiningStep(plan, s, OfAnyLength(plan.graph().InputOf(s))),
        length_(static_cast<uint64_t>(step.length)),
        most_(std::min(length_, static_cast<uint64_t>(
                                    step.sequences.value_or(step.length)))),
        longer_(step.longer),
        align_(static_cast<uint64_t>(step.align)) {
    for (const ComponentSpec& c : plan.graph().InputOf(s).components) {
      double& fill = fills_.emplace_back(0);
      for (const Padding& p : step.padding) {
        if (p.component == c.name || c.name.empty()) fill = p.value;
      }
    }
  }

 protected:
  // Cuts sequences that are longer than a row.
  absl::Status Prepare(Flow& flow) override {
    parts_.clear();
    dropped_.clear();
    if (longer_ == PackStep::Longer::kError) return absl::OkStatus();
    bool cuts = false;
    for (size_t row = 0; row < flow.chunk.rows; ++row) {
      FM_ASSIGN_OR_RETURN(int64_t left, LengthOf(flow.chunk, row));
      bool first = true;
      do {
        const int64_t part = std::min(left, static_cast<int64_t>(length_));
        parts_.push_back({row, part});
        dropped_.push_back(!first && longer_ == PackStep::Longer::kTruncate);
        left -= part;
        cuts = cuts || left > 0;
        first = false;
      } while (left > 0);
    }
    if (cuts) {
      CutRows(parts_, flow);
    } else {
      parts_.clear();
    }
    return absl::OkStatus();
  }
  bool Continues(size_t row) const override {
    return row + 1 < parts_.size() && parts_[row + 1].row == parts_[row].row;
  }
  // True if the row is the rest of a truncated sequence.
  bool Dropped(RowRef row) const {
    return !parts_.empty() && dropped_[row.row];
  }

  absl::Status Length(RowRef row, uint64_t& length) const {
    for (size_t c = 0; c < fills_.size(); ++c) {
      const auto dim =
          static_cast<uint64_t>(rows_.ColumnOf(row, c).RowDims(row.row)[0]);
      if (c > 0 && dim != length) return Unequal(length, dim);
      length = dim;
    }
    if (length <= length_) return absl::OkStatus();
    return DataLoss(
        "pack: a sequence of {} does not fit {}; say longer: truncate or "
        "longer: split, or filter it before",
        length, length_);
  }
  absl::StatusOr<int64_t> LengthOf(const Chunk& chunk, size_t row) const {
    const int64_t length = chunk.columns[0].RowDims(row)[0];
    for (const Column& column : chunk.columns) {
      const int64_t other = column.RowDims(row)[0];
      if (other != length) return Unequal(length, other);
    }
    return length;
  }
  // Returns where a sequence begins after `used` items of its row.
  uint64_t BeginAfter(uint64_t used) const {
    return (used + align_ - 1) / align_ * align_;
  }
  uint64_t length() const { return length_; }
  uint64_t most() const { return most_; }  // sequences of a row
  std::vector<RowPart> parts_;             // of the flow; empty: none is cut
  std::vector<bool> dropped_;              // by part

 private:
  template <class A, class B>
  static absl::Status Unequal(A length, B other) {
    return DataLoss("pack: the components of an element have lengths {} and {}",
                    length, other);
  }

  absl::Status Combine(const Chunk& rows, std::span<const size_t> groups,
                       std::shared_ptr<const ElementSpec> spec, Chunk& out,
                       size_t& count) const override {
    absl::Status error;
    count = groups.size();
    while (count > 0) {
      out = Chunk{spec, count, {}};
      size_t failed = 0;
      const absl::Status status =
          PackColumns(rows, groups.first(count), out, failed);
      if (status.ok()) return error;
      error = status;
      count = failed;
    }
    return error;
  }
  uint64_t CountsAs(size_t) const override { return 1; }

  absl::Status PackColumns(const Chunk& rows, std::span<const size_t> groups,
                           Chunk& out, size_t& failed) const {
    const auto length = static_cast<int64_t>(length_);
    size_t used = 0;
    for (const size_t group : groups) used += group;
    const Chunk part = rows.Slice(0, used);
    for (size_t c = 0; c < fills_.size(); ++c) {
      FM_RETURN_IF_ERROR(PackRows(part.columns[c], groups, length,
                                  static_cast<int64_t>(align_), fills_[c],
                                  out.columns.emplace_back(), failed));
    }
    ByteBudget::Check(groups.size(), length_ * sizeof(int32_t));
    std::vector<int32_t> segments(groups.size() * length_);
    std::vector<int32_t> positions(segments.size());
    size_t row = 0;
    for (size_t k = 0; k < groups.size(); ++k) {
      uint64_t at = 0;
      for (size_t segment = 1; segment <= groups[k]; ++segment, ++row) {
        at = BeginAfter(at);
        const int64_t items = part.columns[0].RowDims(row)[0];
        for (int64_t item = 0; item < items; ++item, ++at) {
          segments[k * length_ + at] = static_cast<int32_t>(segment);
          positions[k * length_ + at] = static_cast<int32_t>(item);
        }
      }
    }
    out.columns.push_back(MakeColumn(segments, {length}));
    out.columns.push_back(MakeColumn(positions, {length}));
    return absl::OkStatus();
  }

  const uint64_t length_;
  const uint64_t most_;
  const PackStep::Longer longer_;
  const uint64_t align_;
  std::vector<double> fills_;  // by component
};

// A row begins with the oldest sequence of the window. The longest one that
// still fits is added, until none does.
class BestFitRows final : public PackedRows {
 public:
  BestFitRows(const Plan& plan, size_t s, const PackStep& step)
      : PackedRows(plan, s, step),
        most_held_(static_cast<size_t>(step.window)) {
    rows_.groups.resize(1);
  }

  // The only group is the window, in order of arrival.
  bool Restore(const StageState::Step& state) override {
    if (!CombiningStep::Restore(state) || rows_.groups.size() > 1) return false;
    rows_.groups.resize(1);
    for (const RowRef row : rows_.groups[0]) {
      uint64_t length = 0;
      if (!Length(row, length).ok()) return false;
      window_.Add(length);
    }
    return window_.size() <= most_held_;
  }

 protected:
  absl::Status Take(RowRef row) override {
    if (Dropped(row)) return absl::OkStatus();
    uint64_t length = 0;
    FM_RETURN_IF_ERROR(Length(row, length));
    rows_.groups[0].push_back(row);
    window_.Add(length);
    if (window_.size() > most_held_) QueueRow();
    return absl::OkStatus();
  }
  void QueueIncomplete() override {
    while (window_.size() > 0) QueueRow();
  }

 private:
  void QueueRow() {
    chosen_.clear();
    uint64_t used = 0;
    for (std::optional<size_t> at = 0; at;) {
      used = BeginAfter(used) + window_.LengthAt(*at);
      chosen_.push_back(rows_.groups[0][*at]);
      rows_.groups[0].erase(rows_.groups[0].begin() +
                            static_cast<ptrdiff_t>(*at));
      window_.Remove(*at);
      const bool full =
          chosen_.size() == most() || BeginAfter(used) >= length();
      at = full ? std::nullopt : window_.Longest(length() - BeginAfter(used));
    }
    Queue(chosen_);
  }

  const size_t most_held_;
  SequenceWindow window_;
  std::vector<RowRef> chosen_;
};

// A sequence goes to the first of several open rows where it fits. With one
// open row and sequences that are cut where it ends, they are concatenated.
class FirstFitRows final : public PackedRows {
 public:
  FirstFitRows(const Plan& plan, size_t s, const PackStep& step)
      : PackedRows(plan, s, step),
        bins_(static_cast<size_t>(step.bins)),
        concatenates_(step.method == PackStep::Method::kConcatenate) {}

  // Each group is an open row; the oldest row comes first.
  bool Restore(const StageState::Step& state) override {
    if (!CombiningStep::Restore(state) || rows_.groups.size() > bins_) {
      return false;
    }
    for (const auto& group : rows_.groups) {
      uint64_t& used = used_.emplace_back(0);
      for (const RowRef row : group) {
        uint64_t sequence = 0;
        if (!Length(row, sequence).ok()) return false;
        used = BeginAfter(used) + sequence;
      }
      if (group.empty() || group.size() > most() || used > length()) {
        return false;
      }
    }
    return true;
  }

 protected:
  absl::Status Prepare(Flow& flow) override {
    if (!concatenates_) return PackedRows::Prepare(flow);
    parts_.clear();
    uint64_t used = used_.empty() ? 0 : used_[0];
    for (size_t row = 0; row < flow.chunk.rows; ++row) {
      FM_ASSIGN_OR_RETURN(int64_t left, LengthOf(flow.chunk, row));
      do {
        if (used == length()) used = 0;
        const int64_t part =
            std::min(left, static_cast<int64_t>(length() - used));
        parts_.push_back({row, part});
        used += static_cast<uint64_t>(part);
        left -= part;
      } while (left > 0);
    }
    // An empty sequence adds nothing.
    dropped_.clear();
    for (const RowPart& part : parts_) dropped_.push_back(part.length == 0);
    CutRows(parts_, flow);
    return absl::OkStatus();
  }
  absl::Status Take(RowRef row) override {
    if (Dropped(row)) return absl::OkStatus();
    uint64_t sequence = 0;
    FM_RETURN_IF_ERROR(Length(row, sequence));
    size_t bin = 0;
    while (bin < used_.size() &&
           (BeginAfter(used_[bin]) + sequence > length() ||
            rows_.groups[bin].size() >= most())) {
      ++bin;
    }
    if (bin == used_.size()) {
      rows_.groups.push_back({row});
      used_.push_back(sequence);
      if (used_.size() > bins_) QueueOldest();
      return absl::OkStatus();
    }
    rows_.groups[bin].push_back(row);
    used_[bin] = BeginAfter(used_[bin]) + sequence;
    return absl::OkStatus();
  }
  void QueueIncomplete() override {
    while (!used_.empty()) QueueOldest();
  }

 private:
  void QueueOldest() {
    const std::vector<RowRef> oldest = std::move(rows_.groups.front());
    rows_.groups.erase(rows_.groups.begin());
    used_.erase(used_.begin());
    Queue(oldest);
  }

  const size_t bins_;
  const bool concatenates_;
  std::vector<uint64_t> used_;  // by group
};

struct PackOperator : NeedsAllComponents {
  using Options = PackStep;
  static constexpr std::string_view kName = "pack";
  static constexpr Description kDescription = {
      .summary = "Puts sequences one after another in rows of one length.",
      .yaml = R"(pack: 2048
pack: {length: 2048, window: 1000, longer: split}
pack: {length: 2048, method: concatenate})",
      .element = "sequences joined to rows of one length",
      .details = "Adds `segment_ids` and `positions`, both int32.",
      .errors =
          "Reading raises DataLossError for a sequence whose components differ "
          "in length, or, unless `longer` is truncate or split, that is longer "
          "than `length`.",
      .example = R"-(
>>> import numpy as np
>>> ds = fm.Dataset.text("notes.txt").map(ids="sentencepiece(x, 'pieces.model')")
>>> row = next(ds.pack(32).read())
>>> np.bincount(row["segment_ids"])
array([ 6,  8, 10,  8])
)-"};

  static FieldList Fields(PackStep& s) {
    return {
        {"length", &s.length, Field::kRequired | Field::kShort,
         "Items of a row."},
        {"method", Word(s.method, {"best_fit", "first_fit", "concatenate"}),
         Field::kOptional,
         "best_fit: the oldest sequence of a window, then the longest that "
         "fits; first_fit: the first open row with room; concatenate: one "
         "after another, cut where a row ends."},
        {"window", &s.window, Field::kOptional,
         "Sequences that best_fit chooses from."},
        {"bins", &s.bins, Field::kOptional,
         "Rows that first_fit has open at once."},
        {"longer", Word(s.longer, {"error", "truncate", "split"}),
         Field::kOptional,
         "What becomes of a sequence that is longer than a row; concatenate "
         "always splits."},
        {"sequences", &s.sequences, Field::kSparse, "Most sequences in a row.",
         "any number"},
        {"align", &s.align, Field::kOptional,
         "Sequences begin at multiples of this number."},
        {"padding", PaddingList{&s.padding, false}, Field::kOptional,
         "Values to pad with."}};
  }
  static StepTraits Traits(const PackStep& s) {
    const bool chooses = s.method == PackStep::Method::kBestFit;
    uint64_t open = 0;
    if (__builtin_mul_overflow(
            static_cast<uint64_t>(s.length),
            static_cast<uint64_t>(chooses ? s.window : s.bins), &open)) {
      open = UINT64_MAX;
    }
    return {.needs = StepNeeds::kSequence,
            .joins_records = true,
            .first_after = open,
            .next_after = static_cast<uint64_t>(s.length)};
  }
  static std::string Describe(const PackStep& s) {
    switch (s.method) {
      case PackStep::Method::kBestFit:
        return fmt::format("to {}, from {} sequences", s.length, s.window);
      case PackStep::Method::kFirstFit:
        return fmt::format("to {}, {} open", s.length, s.bins);
      case PackStep::Method::kConcatenate:
        break;
    }
    return fmt::format("to {}, concatenated", s.length);
  }
  static absl::StatusOr<ElementSpec> Output(const PackStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckSize("length", s.length));
    if (s.length > kPackLengthMax) {
      return InvalidArgument("length must be at most {}, not {}",
                             kPackLengthMax, s.length);
    }
    FM_RETURN_IF_ERROR(CheckMethod(s));
    FM_RETURN_IF_ERROR(CheckPadding(s.padding, in.spec));
    ElementSpec out = in.spec;
    for (ComponentSpec& c : out.components) {
      if (c.shape.empty()) {
        return InvalidArgument(
            "it joins sequences along their first axis; {} is {}, which has no "
            "axis",
            NameOrX(c), TypeText(c));
      }
      c.name = NameOrX(c);
      c.shape[0] = s.length;
    }
    for (const Padding& p : s.padding) {
      if (p.shape) {
        return InvalidArgument("it pads to `length`; leave out shapes");
      }
    }
    out.components.push_back({"segment_ids", DType::kInt32, {s.length}});
    out.components.push_back({"positions", DType::kInt32, {s.length}});
    FM_RETURN_IF_ERROR(CheckComponentNames(out));
    return out;
  }
  // An option of another method has no effect, and is refused.
  static absl::Status CheckMethod(const PackStep& s) {
    const PackStep defaults;
    FM_RETURN_IF_ERROR(CheckAtMost("window", s.window, kPackWindowMax));
    FM_RETURN_IF_ERROR(CheckAtMost("bins", s.bins, kPackBinsMax));
    FM_RETURN_IF_ERROR(CheckAtMost("align", s.align, s.length));
    if (s.sequences) FM_RETURN_IF_ERROR(CheckSize("sequences", *s.sequences));
    if (s.bins != defaults.bins && s.method != PackStep::Method::kFirstFit) {
      return InvalidArgument(
          "bins is an option of method: first_fit; best_fit has `window`");
    }
    if (s.window != defaults.window && s.method != PackStep::Method::kBestFit) {
      return InvalidArgument("window is an option of method: best_fit");
    }
    if (s.method != PackStep::Method::kConcatenate) return absl::OkStatus();
    if (s.longer == PackStep::Longer::kTruncate || s.sequences ||
        s.align != defaults.align) {
      return InvalidArgument(
          "concatenate cuts sequences where a row ends: leave out `longer`, "
          "`sequences` and `align`");
    }
    return absl::OkStatus();
  }
  static absl::Status CheckAtMost(std::string_view name, int64_t value,
                                  int64_t most) {
    FM_RETURN_IF_ERROR(CheckSize(name, value));
    if (value <= most) return absl::OkStatus();
    return InvalidArgument("{} must be at most {}, not {}", name, most, value);
  }
  static ComponentMask Made(const PackStep&, const ElementSpec&,
                            const ComponentMask& made, const ComponentMask&) {
    ComponentMask out = made;
    out.resize(out.size() + 2, true);
    return out;
  }
  static ClientSteps MakeClientSteps(const PackStep& s,
                                     const std::shared_ptr<const Plan>& plan,
                                     size_t step) {
    if (s.method == PackStep::Method::kBestFit) {
      return ClientStepsOf(std::make_unique<BestFitRows>(*plan, step, s));
    }
    return ClientStepsOf(std::make_unique<FirstFitRows>(*plan, step, s));
  }
};

}  // namespace

const StepKind& PackKind() { return KindOf<PackOperator>(); }

}  // namespace feedmill
