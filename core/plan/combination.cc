#include "core/plan/combination.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/plan/mixture_schedule.h"
#include "core/plan/plan.h"

namespace feedmill {
namespace {

constexpr uint64_t kPositionsMax = uint64_t{1} << 63;

absl::StatusOr<uint64_t> Sum(const std::vector<uint64_t>& sizes) {
  uint64_t sum = 0;
  for (const uint64_t size : sizes) {
    if (size == kEndless) return kEndless;
    if (size > kPositionsMax - sum) {
      return InvalidArgument("the inputs have more than 2^63 elements");
    }
    sum += size;
  }
  return sum;
}

// a + b and a * b; nullopt above 2^63.
std::optional<uint64_t> Plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > kPositionsMax) {
    return std::nullopt;
  }
  return sum;
}
std::optional<uint64_t> Times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kPositionsMax) {
    return std::nullopt;
  }
  return product;
}

// ---- concatenate

class Concatenation final : public Combination {
 public:
  Concatenation(std::vector<uint64_t> sizes, uint64_t size)
      : Combination(std::move(sizes)) {
    size_ = size;
    uint64_t end = 0;
    for (const uint64_t one : sizes_) {
      end = one == kEndless ? kEndless : end + one;
      ends_.push_back(end);
    }
  }

  void Find(std::span<const uint64_t> indexes,
            std::span<InputPlace> out) const override {
    size_t input = 0;
    for (size_t k = 0; k < indexes.size(); ++k) {
      const uint64_t n = indexes[k];
      if (n >= ends_[input] || n < First(input)) {  // runs are the rule
        input = static_cast<size_t>(
            std::upper_bound(ends_.begin(), ends_.end(), n) - ends_.begin());
      }
      out[k] = {static_cast<uint32_t>(input), n - First(input), 0};
    }
  }

  uint64_t Used(size_t input) const override {
    if (size_ == kEndless) return kEndless;
    const uint64_t first = std::min(First(input), size_);
    return std::min(ends_[input], size_) - first;
  }

  // The last one's, wherever what stands before it begins.
  uint64_t Round(std::span<const uint64_t> rounds) const override {
    const auto last = static_cast<size_t>(
        std::find(ends_.begin(), ends_.end(), kEndless) - ends_.begin());
    if (rounds[last] == 0) return 0;
    return Plus(First(last), rounds[last]).value_or(0);
  }

 private:
  uint64_t First(size_t input) const {
    return input == 0 ? 0 : ends_[input - 1];
  }

  std::vector<uint64_t> ends_;  // of each input; of an empty one, its begin
};

// ---- zip

class Zipping final : public Combination {
 public:
  Zipping(std::vector<uint64_t> sizes, uint64_t limit)
      : Combination(std::move(sizes)) {
    size_ = std::min(limit, *std::min_element(sizes_.begin(), sizes_.end()));
  }
  void Find(std::span<const uint64_t>, std::span<InputPlace>) const override {
    FM_CHECK(false);
  }
  uint64_t Used(size_t) const override { return size_; }

  // When all begin again together.
  uint64_t Round(std::span<const uint64_t> rounds) const override {
    uint64_t together = 1;
    for (const uint64_t round : rounds) {
      if (round == 0) return 0;
      together = Times(together / std::gcd(together, round), round).value_or(0);
      if (together == 0) return 0;
    }
    return together;
  }
};

// ---- interleave

// The order is periodic as long as no input ends: then each slot of the cycle
// gives a block in each round. Where one ends, a segment begins.
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
    if (size_ == kEndless) return kEndless;
    uint64_t used = 0;
    for (const Segment& segment : segments_) {
      const uint64_t end = std::min(segment.end, size_);
      if (end <= segment.begin) break;
      used += UsedIn(segment, end - segment.begin, input);
    }
    return used;
  }

  // Those that have no end take turns once all others have come.
  uint64_t Round(std::span<const uint64_t> rounds) const override {
    const Segment& last = segments_.back();
    uint64_t turns = 0;
    for (const Slot& slot : last.slots) {
      if (rounds[slot.input] == 0) return 0;
      turns = std::max(turns, rounds[slot.input] / block_ + 2);
    }
    const auto turn = Times(block_, last.slots.size());
    const auto all = turn ? Times(turns, *turn) : std::nullopt;
    return all ? Plus(last.begin, *all).value_or(0) : 0;
  }

 private:
  struct Slot {
    uint32_t input = 0;
    uint64_t first = 0;  // the position that it gives first
  };
  struct Segment {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::vector<Slot> slots;  // a block of each, again and again
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
    const uint64_t slots = segment.slots.size();
    const Slot& slot = segment.slots[blocks % slots];
    return {slot.input, slot.first + blocks / slots * block_ + within % block_,
            0};
  }

  // Of the first `count` elements of the segment.
  uint64_t UsedIn(const Segment& segment, uint64_t count, size_t input) const {
    const uint64_t slots = segment.slots.size();
    const uint64_t blocks = count / block_;
    uint64_t used = 0;
    for (uint64_t s = 0; s < slots; ++s) {
      if (segment.slots[s].input != input) continue;
      used += (blocks / slots + (s < blocks % slots)) * block_;
      if (s == blocks % slots) used += count % block_;
    }
    return used;
  }

  // Reads the inputs, whole rounds at once.
  void Follow(size_t cycle) {
    std::vector<std::optional<uint32_t>> slots(cycle);
    std::vector<uint64_t> taken(sizes_.size(), 0);
    uint32_t next = 0;  // the first input that was not begun
    size_t open = 0;
    size_t at = 0;
    uint64_t n = 0;
    while ((next < sizes_.size() || open > 0) && n < size_) {
      const bool full = open == cycle || next == sizes_.size();
      if (full && WholeRounds(slots, at, taken, n)) continue;
      std::optional<uint32_t>& slot = slots[at];
      if (!slot.has_value() && next < sizes_.size()) {
        slot = next++;
        ++open;
        continue;
      }
      if (slot.has_value()) {
        const uint64_t count = std::min(block_, Left(*slot, taken));
        if (count > 0) {
          segments_.push_back({n, n + count, {{*slot, taken[*slot]}}});
          taken[*slot] += count;
          n += count;
        }
        if (count < block_) {
          slot.reset();
          --open;
        }
      }
      at = (at + 1) % cycle;
    }
  }

  uint64_t Left(uint32_t input, const std::vector<uint64_t>& taken) const {
    return sizes_[input] == kEndless ? kEndless : sizes_[input] - taken[input];
  }

  // Takes as many rounds as all that are open can give, beginning with slot
  // `at`. False if one of them lacks a whole block.
  bool WholeRounds(const std::vector<std::optional<uint32_t>>& slots, size_t at,
                   std::vector<uint64_t>& taken, uint64_t& n) {
    Segment segment;
    segment.begin = n;
    uint64_t rounds = kEndless;
    for (size_t k = 0; k < slots.size(); ++k) {
      const auto& slot = slots[(at + k) % slots.size()];
      if (!slot.has_value()) continue;
      const uint64_t left = Left(*slot, taken);
      if (left != kEndless) rounds = std::min(rounds, left / block_);
      segment.slots.push_back({*slot, taken[*slot]});
    }
    if (rounds == 0) return false;
    segment.end = kEndless;
    if (rounds != kEndless) {
      for (const Slot& slot : segment.slots) {
        taken[slot.input] += rounds * block_;
      }
      // What lies beyond 2^64 is never asked for.
      uint64_t count = 0;
      if (__builtin_mul_overflow(rounds * block_, segment.slots.size(),
                                 &count) ||
          __builtin_add_overflow(n, count, &segment.end)) {
        segment.end = kEndless;
      }
    }
    n = segment.end;
    segments_.push_back(std::move(segment));
    return true;
  }

  const uint64_t block_;
  std::vector<Segment> segments_;
};

// ---- mixture

class Mixing final : public Combination {
 public:
  Mixing(std::vector<uint64_t> sizes, std::vector<uint64_t> shares)
      : Combination(std::move(sizes)), schedule_(std::move(shares)) {}

  absl::Status Stop(MixtureSource::Stop stop, uint64_t limit) {
    const bool repeats = stop != MixtureSource::Stop::kFirstExhausted;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] == 0 && repeats) {
        return InvalidArgument(
            "inputs[{}] has no elements, so it cannot be repeated", i);
      }
    }
    size_ = repeats ? 0 : kEndless;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (!repeats && sizes_[i] != kEndless) {
        size_ = std::min(size_, schedule_.IndexOf(i, sizes_[i]));
      } else if (repeats) {
        const uint64_t last =
            sizes_[i] == kEndless || stop == MixtureSource::Stop::kRepeat
                ? kEndless
                : schedule_.IndexOf(i, sizes_[i] - 1);
        size_ = std::max(size_, last == kEndless ? kEndless : last + 1);
      }
    }
    size_ = std::min(size_, limit);
    if (size_ == kEndless || size_ <= kPositionsMax) return absl::OkStatus();
    return InvalidArgument("more than 2^63 elements");
  }

  void Find(std::span<const uint64_t> indexes,
            std::span<InputPlace> out) const override {
    for (size_t k = 0; k < indexes.size(); ++k) {
      const MixtureSchedule::Place place = schedule_.At(indexes[k]);
      const uint64_t size = sizes_[place.input];
      out[k] = {place.input, place.count, 0};
      if (place.count >= size) {  // a division less where it is not needed
        out[k].position = place.count % size;
        out[k].turn = place.count / size;
      }
    }
  }

  uint64_t Used(size_t input) const override {
    return size_ == kEndless ? kEndless : schedule_.Count(input, size_);
  }

  uint64_t Round(std::span<const uint64_t> rounds) const override {
    uint64_t all = 0;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (rounds[i] == 0) return 0;
      all = std::max(all, schedule_.IndexOf(i, rounds[i] + 1));
    }
    return Plus(all, 1).value_or(0);
  }

 private:
  const MixtureSchedule schedule_;
};

using Result = std::shared_ptr<const Combination>;

absl::StatusOr<Result> MakeMixing(const MixtureSource& mixture,
                                  std::vector<uint64_t> sizes, uint64_t limit) {
  FM_ASSIGN_OR_RETURN(auto shares, MixtureShares(mixture));
  auto mixing = std::make_shared<Mixing>(std::move(sizes), std::move(shares));
  FM_RETURN_IF_ERROR(mixing->Stop(mixture.stop, limit));
  return Result(std::move(mixing));
}

}  // namespace

uint64_t Combination::Turns(size_t input) const {
  const uint64_t used = Used(input);
  const uint64_t size = sizes_[input];
  if (used == kEndless || size == kEndless || size == 0) return 1;
  return std::max<uint64_t>(1, used / size + (used % size != 0));
}

absl::StatusOr<std::shared_ptr<const Combination>> Combination::Make(
    const Source& source, std::vector<uint64_t> sizes, uint64_t limit) {
  FM_CHECK(!sizes.empty());
  if (std::holds_alternative<ZipSource>(source)) {
    return Result(std::make_shared<Zipping>(std::move(sizes), limit));
  }
  if (const auto* mixture = std::get_if<MixtureSource>(&source)) {
    return MakeMixing(*mixture, std::move(sizes), limit);
  }
  FM_ASSIGN_OR_RETURN(const uint64_t sum, Sum(sizes));
  const uint64_t size = std::min(sum, limit);
  if (const auto* interleave = std::get_if<InterleaveSource>(&source)) {
    // More slots than inputs are never filled.
    const auto cycle = static_cast<size_t>(std::min<uint64_t>(
        sizes.size(), static_cast<uint64_t>(CycleLength(*interleave))));
    return Result(std::make_shared<Interleaving>(
        std::move(sizes), size, cycle,
        static_cast<uint64_t>(interleave->block_length)));
  }
  FM_CHECK(std::holds_alternative<ConcatenateSource>(source));
  return Result(std::make_shared<Concatenation>(std::move(sizes), size));
}

}  // namespace feedmill
