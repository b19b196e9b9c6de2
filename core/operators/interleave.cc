#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/operators/combining_source_of.h"
#include "core/operators/input_checks.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

using Look = SelectableInputs::Next;

// The order is periodic until an input ends: each entry of the cycle gives a
// block in each round. A new segment begins where an input ends.
class Interleaving final : public Combination {
 public:
  Interleaving(std::vector<uint64_t> sizes, uint64_t size, size_t cycle,
               uint64_t block)
      : Combination(std::move(sizes)), block_(block) {
    size_ = size;
    Follow(cycle);
  }

  void Find(std::span<const uint64_t> indexes,
            std::span<InputPlace> out) const override {
    const Segment* segment = nullptr;
    for (size_t k = 0; k < indexes.size(); ++k) {
      const uint64_t n = indexes[k];
      if (segment == nullptr || n < segment->begin || n >= segment->end) {
        segment = &SegmentOf(n);
      }
      out[k] = PlaceIn(*segment, n);
    }
  }

  uint64_t Used(size_t input) const override {
    if (size_ == kInfinite) return kInfinite;
    uint64_t used = 0;
    for (const Segment& segment : segments_) {
      const uint64_t end = std::min(segment.end, size_);
      if (end <= segment.begin) break;
      used += UsedIn(segment, end - segment.begin, input);
    }
    return used;
  }

  // Infinite inputs take turns once all other inputs have ended.
  uint64_t Round(std::span<const uint64_t> rounds) const override {
    const Segment& last = segments_.back();
    uint64_t turns = 0;
    for (const Entry& entry : last.entries) {
      if (rounds[entry.input] == 0) return 0;
      turns = std::max(turns, rounds[entry.input] / block_ + 2);
    }
    const auto turn = Times(block_, last.entries.size());
    const auto all = turn ? Times(turns, *turn) : std::nullopt;
    return all ? Plus(last.begin, *all).value_or(0) : 0;
  }

 private:
  struct Entry {
    uint32_t input = 0;
    uint64_t first = 0;  // position of its first element in the segment
  };
  struct Segment {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::vector<Entry> entries;  // each gives a block in each round
  };

  const Segment& SegmentOf(uint64_t n) const {
    const auto after = std::upper_bound(
        segments_.begin(), segments_.end(), n,
        [](uint64_t at, const Segment& one) { return at < one.begin; });
    return *std::prev(after);
  }

  InputPlace PlaceIn(const Segment& segment, uint64_t n) const {
    const uint64_t within = n - segment.begin;
    const uint64_t blocks = within / block_;
    const uint64_t entries = segment.entries.size();
    const Entry& entry = segment.entries[blocks % entries];
    return {entry.input,
            entry.first + blocks / entries * block_ + within % block_, 0};
  }

  // Returns how many of the first `count` elements of the segment come from the
  // input.
  uint64_t UsedIn(const Segment& segment, uint64_t count, size_t input) const {
    const uint64_t entries = segment.entries.size();
    const uint64_t blocks = count / block_;
    uint64_t used = 0;
    for (uint64_t s = 0; s < entries; ++s) {
      if (segment.entries[s].input != input) continue;
      used += (blocks / entries + (s < blocks % entries)) * block_;
      if (s == blocks % entries) used += count % block_;
    }
    return used;
  }

  // Simulates reading the inputs, many rounds at once.
  void Follow(size_t cycle) {
    std::vector<std::optional<uint32_t>> entries(cycle);
    std::vector<uint64_t> taken(sizes_.size(), 0);
    uint32_t next = 0;  // the first input that was not begun
    size_t open = 0;
    size_t at = 0;
    uint64_t n = 0;
    while ((next < sizes_.size() || open > 0) && n < size_) {
      const bool full = open == cycle || next == sizes_.size();
      if (full && WholeRounds(entries, at, taken, n)) continue;
      std::optional<uint32_t>& entry = entries[at];
      if (!entry.has_value() && next < sizes_.size()) {
        entry = next++;
        ++open;
        continue;
      }
      if (entry.has_value()) {
        const uint64_t count = std::min(block_, Left(*entry, taken));
        if (count > 0) {
          segments_.push_back({n, n + count, {{*entry, taken[*entry]}}});
          taken[*entry] += count;
          n += count;
        }
        if (count < block_) {
          entry.reset();
          --open;
        }
      }
      at = (at + 1) % cycle;
    }
  }

  uint64_t Left(uint32_t input, const std::vector<uint64_t>& taken) const {
    return sizes_[input] == kInfinite ? kInfinite
                                      : sizes_[input] - taken[input];
  }

  // Takes as many rounds as all open inputs can give, beginning with entry
  // `at`. Returns false if an open input lacks a whole block.
  bool WholeRounds(const std::vector<std::optional<uint32_t>>& entries,
                   size_t at, std::vector<uint64_t>& taken, uint64_t& n) {
    Segment segment;
    segment.begin = n;
    uint64_t rounds = kInfinite;
    for (size_t k = 0; k < entries.size(); ++k) {
      const auto& entry = entries[(at + k) % entries.size()];
      if (!entry.has_value()) continue;
      const uint64_t left = Left(*entry, taken);
      if (left != kInfinite) rounds = std::min(rounds, left / block_);
      segment.entries.push_back({*entry, taken[*entry]});
    }
    if (rounds == 0) return false;
    segment.end = kInfinite;
    if (rounds != kInfinite) {
      for (const Entry& entry : segment.entries) {
        taken[entry.input] += rounds * block_;
      }
      // Elements beyond 2^64 are never requested.
      uint64_t count = 0;
      if (__builtin_mul_overflow(rounds * block_, segment.entries.size(),
                                 &count) ||
          __builtin_add_overflow(n, count, &segment.end)) {
        segment.end = kInfinite;
      }
    }
    n = segment.end;
    segments_.push_back(std::move(segment));
    return true;
  }

  const uint64_t block_;
  std::vector<Segment> segments_;
};

size_t CycleLength(const InterleaveSource& source) {
  const auto inputs = static_cast<int64_t>(source.inputs.size());
  // More entries than inputs would never be filled.
  return static_cast<size_t>(source.cycle_length == 0
                                 ? inputs
                                 : std::min(source.cycle_length, inputs));
}

class InterleaveSelector final : public InputSelector {
 public:
  explicit InterleaveSelector(const InterleaveSource& source)
      : block_(source.block_length), entries_(CycleLength(source)) {}

  absl::StatusOr<Selection> Next(SelectableInputs& streams) override {
    while (true) {
      std::optional<size_t>& entry = entries_[at_];
      if (!entry && next_ < streams.count()) entry = next_++;
      if (!entry) {
        const bool any = std::any_of(entries_.begin(), entries_.end(),
                                     [](const auto& s) { return !!s; });
        if (!any) return Selection{};
        NextEntry();
        continue;
      }
      const size_t input = *entry;
      FM_ASSIGN_OR_RETURN(const Look look, streams.Look(input));
      if (const auto turn = Selection::Without(look, input)) return *turn;
      if (look == Look::kEnd) {
        entry.reset();
        NextEntry();
        continue;
      }
      if (++in_block_ == block_) NextEntry();
      return Selection{Selection::Kind::kTake, input};
    }
  }
  // Numbers: next_, at_, in_block_, and for each entry 1 + its input, or 0.
  std::vector<uint64_t> Save() const override {
    std::vector<uint64_t> numbers{next_, at_, static_cast<uint64_t>(in_block_)};
    for (const auto& entry : entries_)
      numbers.push_back(entry ? 1 + *entry : 0);
    return numbers;
  }
  bool Restore(std::span<const uint64_t> numbers, size_t inputs) override {
    if (numbers.size() != 3 + entries_.size() || numbers[0] > inputs ||
        numbers[1] >= entries_.size() ||
        numbers[2] >= static_cast<uint64_t>(block_)) {
      return false;
    }
    next_ = static_cast<size_t>(numbers[0]);
    at_ = static_cast<size_t>(numbers[1]);
    in_block_ = static_cast<int64_t>(numbers[2]);
    for (size_t k = 0; k < entries_.size(); ++k) {
      const uint64_t input = numbers[3 + k];
      if (input > next_) return false;
      entries_[k].reset();
      if (input > 0) entries_[k] = static_cast<size_t>(input - 1);
    }
    return true;
  }

 private:
  void NextEntry() {
    at_ = (at_ + 1) % entries_.size();
    in_block_ = 0;
  }

  const int64_t block_;
  std::vector<std::optional<size_t>> entries_;  // the input of each entry
  size_t next_ = 0;                             // the first input not begun
  size_t at_ = 0;
  int64_t in_block_ = 0;
};

struct InterleaveOperator {
  using Options = InterleaveSource;
  static constexpr std::string_view kName = "interleave";
  static constexpr Description kDescription = {
      .summary =
          "Reads block_length elements of each of cycle_length inputs in "
          "turn.",
      .yaml =
          R"(interleave: {inputs: [{source: {range: 3}}, {source: {range: 9}}], cycle_length: 2, block_length: 1})",
      .element =
          "`block_length` elements of each of `cycle_length` inputs in turn, "
          "as tf.data's",
      .details =
          "If an input ends, the next input that was not begun takes its "
          "turns.",
      .errors = "Reading raises InvalidArgumentError if the components differ.",
      .example = R"(
>>> turns = fm.Dataset.interleave([fm.Dataset.range(3), fm.Dataset.range(10, 12)])
>>> [int(x) for x in turns.read()]
[0, 10, 1, 11, 2]
)"};

  static FieldList Fields(InterleaveSource& s) {
    return {{"inputs", InputPipelines{&s.inputs},
             Field::kRequired | Field::kShort, "The pipelines to read."},
            {.name = "cycle_length",
             .value = &s.cycle_length,
             .flags = Field::kPositive,
             .help = "Number of inputs that take turns.",
             .unset = "all inputs",
             .if_unset =
                 std::max<int64_t>(1, static_cast<int64_t>(s.inputs.size()))},
            {"block_length", &s.block_length, Field::kOptional,
             "Elements a turn."}};
  }
  static SourceProperties Properties(const InterleaveSource& s) {
    return {.infinite = AnyIsInfinite(s.inputs)};
  }
  static absl::StatusOr<ElementSpec> Output(
      const InterleaveSource& s, std::span<const ElementSpec> inputs) {
    FM_RETURN_IF_ERROR(CheckInputs(s.inputs, inputs));
    if (s.cycle_length < 0 || s.block_length < 1) {
      return InvalidArgument(
          "cycle_length and block_length must be at least 1, they are {} and "
          "{}",
          s.cycle_length, s.block_length);
    }
    return CommonSpec(inputs);
  }
  static absl::StatusOr<std::shared_ptr<const Combination>> Combine(
      const InterleaveSource& s, std::vector<uint64_t> sizes, uint64_t limit) {
    FM_ASSIGN_OR_RETURN(const uint64_t sum, TotalSize(sizes));
    return std::make_shared<const Interleaving>(
        std::move(sizes), std::min(sum, limit), CycleLength(s),
        static_cast<uint64_t>(s.block_length));
  }
  static std::unique_ptr<InputSelector> MakeSelector(
      const InterleaveSource& s) {
    return std::make_unique<InterleaveSelector>(s);
  }
};

}  // namespace

const SourceKind& InterleaveKind() {
  return CombiningKindOf<InterleaveOperator>();
}

}  // namespace feedmill
