#include "core/plan/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/step_kind.h"
#include "core/plan/positions.h"
#include "core/plan/weighted_choice.h"

namespace feedmill {

absl::StatusOr<std::shared_ptr<const Plan>> Plan::Make(
    std::shared_ptr<const AnalyzedGraph> graph, uint64_t source_size,
    uint64_t seed, uint64_t iteration, uint64_t limit) {
  if (source_size > kPositionsMax && source_size != kInfinite) {
    return InvalidArgument("a source of {} records is too large (at most {})",
                           source_size, kPositionsMax);
  }
  std::shared_ptr<Plan> plan(new Plan());
  plan->graph_ = std::move(graph);
  plan->source_size_ = source_size;
  plan->source_needed_ = source_size;
  plan->seed_ = seed;
  plan->iteration_ = iteration;
  plan->size_ = source_size;
  FM_RETURN_IF_ERROR(plan->AddSteps());
  limit = std::min(limit, plan->size_);
  if (limit != kInfinite) plan->Cut(limit);
  return std::shared_ptr<const Plan>(std::move(plan));
}

// Makes an infinite plan end after `limit` positions.
void Plan::Cut(uint64_t limit) {
  if (size_ == kInfinite) size_ = limit;
  for (size_t i = levels_.size(); i > 0; --i) {
    Level& level = levels_[i - 1];
    if (level.input != kInfinite && level.output != kInfinite) {
      limit = level.input;
      continue;
    }
    level.output = std::min(level.output, limit);
    if (level.kind == Level::Kind::kSkip) {
      limit += level.count;
    } else if (level.kind == Level::Kind::kBatch) {
      limit = Product(limit, level.count).value_or(kPositionsMax);
    } else if (level.kind == Level::Kind::kShard) {
      limit = Product(limit, level.count).value_or(kPositionsMax);
    } else if (level.kind == Level::Kind::kSubset) {
      limit = limit == 0 ? 0 : Unsigned(IndicesOf(level)[limit - 1]) + 1;
    } else if (level.kind == Level::Kind::kWindow) {
      limit += std::min(level.count, kPositionsMax - limit);  // a whole run
    } else if (level.kind == Level::Kind::kRepeat) {
      // At most one repeat is infinite, and here it is this one.
      level.count = std::max<uint64_t>(
          1, limit / level.input + (limit % level.input != 0));
      for (size_t s = level.step + 1; s < passes_before_.size(); ++s) {
        passes_before_[s] = passes_before_[level.step] * level.count;
      }
      return;
    }
    if (level.input == kInfinite) level.input = limit;
  }
  if (source_needed_ == kInfinite) source_needed_ = limit;
}

std::shared_ptr<const Plan> Plan::ForShare(Share share) const {
  FM_CHECK(share.sound() && share_.whole());
  std::shared_ptr<Plan> plan(new Plan(*this));
  plan->share_ = share;
  if (size_ != kInfinite) plan->size_ = share.Below(size_);
  return plan;
}

Permutation Plan::PermutationOf(const Level& level, uint64_t epoch) const {
  return Permutation(KeyOf(level.step, epoch, 0), level.input);
}

const std::vector<int64_t>& Plan::IndicesOf(const Level& level) const {
  return graph_->graph.steps[level.step].Get<SubsetStep>().indices;
}

uint64_t Plan::ChosenAt(const Level& level, uint64_t epoch, uint64_t p) const {
  // The shuffle of the chosen elements has ordinal 0.
  return level.choice->At(p,
                          level.choice->BeginOf(KeyOf(level.step, epoch, 1)));
}

Plan::Run Plan::RunOf(const Level& level, uint64_t epoch, uint64_t p) const {
  // In odd epochs, runs begin half a run earlier, so that elements meet new
  // neighbours.
  const bool mixed = level.kind == Level::Kind::kMixed;
  const uint64_t shift = mixed || epoch % 2 == 0 ? 0 : level.count / 2;
  const uint64_t run = (p + shift) / level.count;
  const uint64_t begin = run == 0 ? 0 : run * level.count - shift;
  const uint64_t end = std::min(level.input, (run + 1) * level.count - shift);
  // The blocks' own permutation has ordinal 0.
  const RandomKey key = KeyOf(level.step, epoch, run + (mixed ? 1 : 0));
  return {begin, Permutation(key, end - begin)};
}

Permutation Plan::BlocksOf(const Level& level, uint64_t epoch) const {
  return Permutation(KeyOf(level.step, epoch, 0), level.input / level.count);
}

uint64_t Plan::InBlocks(const Level& level, const Permutation& blocks,
                        uint64_t p) {
  const uint64_t block = p / level.count;
  if (block >= blocks.size()) return p;  // the last, shorter block
  return blocks.At(block) * level.count + p % level.count;
}

uint64_t Plan::PlaceAt(size_t step, uint64_t counter) const {
  size_t levels = 0;
  while (levels < levels_.size() && levels_[levels].step < step) ++levels;
  const uint64_t k = batch_level_ == 0 ? 0 : counter % batch_size_;
  return Place(counter / batch_size_, k, levels).index;
}

RecordRef Plan::Place(uint64_t p, uint64_t k, size_t levels) const {
  uint64_t pass = 0;
  p = share_.At(p);
  for (size_t i = levels_.size(); i > levels; --i) {
    const Level& level = levels_[i - 1];
    switch (level.kind) {
      case Level::Kind::kShuffle:
        p = PermutationOf(level, pass).At(p);
        break;
      case Level::Kind::kBlocks:
        p = InBlocks(level, BlocksOf(level, pass), p);
        break;
      case Level::Kind::kMixed:
      case Level::Kind::kWindow: {
        const Run run = RunOf(level, pass, p);
        p = run.begin + run.permutation.At(p - run.begin);
        break;
      }
      case Level::Kind::kShard:
        p = p * level.count + level.first;
        break;
      case Level::Kind::kSubset:
        p = Unsigned(IndicesOf(level)[p]);
        break;
      case Level::Kind::kWeighted:
        p = ChosenAt(level, pass, p);
        break;
      case Level::Kind::kRepeat:
        pass = (level.count == kInfinite ? 0 : pass * level.count) +
               p / level.input;
        p %= level.input;
        break;
      case Level::Kind::kSkip:
        p += level.count;
        break;
      case Level::Kind::kTake:
        break;
      case Level::Kind::kBatch:
        p = p * level.count + k;
        FM_CHECK(k < level.count && p < level.input);
        break;
    }
  }
  return {p, pass};
}

uint64_t Plan::RecordsAt(uint64_t p) const {
  FM_CHECK(p < size_);
  if (batch_level_ == 0) return 1;
  const Level& batch = levels_[batch_level_ - 1];
  if (batch.input == kInfinite || batch.input % batch.count == 0) {
    return batch.count;
  }
  return std::min(batch.count,
                  batch.input - Place(p, 0, batch_level_).index * batch.count);
}

RecordRef Plan::Record(uint64_t p, uint64_t k) const {
  FM_CHECK(p < size_);
  const RecordRef record = Place(p, k, 0);
  FM_CHECK(record.index < source_size_ && (k == 0 || batch_level_ > 0));
  return record;
}

void Plan::Records(uint64_t begin, uint64_t end, std::vector<RecordRef>& out,
                   uint64_t pass) const {
  FM_CHECK(begin <= end && end <= size_);
  if (share_.whole()) return Expand(levels_.size(), {begin, end, pass}, out);
  for (uint64_t p = begin; p < end; ++p) {
    const uint64_t whole = share_.At(p);
    Expand(levels_.size(), {whole, whole + 1, pass}, out);
  }
}

// Returns the input positions of `span` for a step that keeps the order. For a
// repeat, the result ends with the pass in which the span begins.
Plan::Span Plan::InputOf(const Level& level, Span span) {
  switch (level.kind) {
    case Level::Kind::kSkip:
      return {span.begin + level.count, span.end + level.count, span.pass};
    case Level::Kind::kBatch: {
      uint64_t last = 0;
      if (__builtin_mul_overflow(span.end, level.count, &last)) {
        last = level.input;
      }
      return {span.begin * level.count, std::min(last, level.input), span.pass};
    }
    case Level::Kind::kRepeat: {
      const uint64_t base =
          level.count == kInfinite ? 0 : span.pass * level.count;
      const uint64_t within = span.begin % level.input;
      const uint64_t size =
          std::min(level.input - within, span.end - span.begin);
      return {within, within + size, base + span.begin / level.input};
    }
    default:  // a take
      return span;
  }
}

// Appends the records of `span`, positions in the output of the first `levels`
// levels. Runs stay runs down to a shuffle or the source.
void Plan::Expand(size_t levels, Span span, std::vector<RecordRef>& out) const {
  for (; levels > 0 && span.begin < span.end; --levels) {
    const Level& level = levels_[levels - 1];
    switch (level.kind) {
      case Level::Kind::kShuffle:
      case Level::Kind::kWindow:
        return ExpandShuffle(levels, span, out);
      case Level::Kind::kMixed:
        return ExpandMixed(levels, span, out);
      case Level::Kind::kBlocks:
        FM_CHECK(false && "blocks are always mixed");
        return;
      case Level::Kind::kShard:
        for (; span.begin < span.end; ++span.begin) {
          const uint64_t from = span.begin * level.count + level.first;
          ExpandEach(levels, {&from, 1}, span.pass, out);
        }
        return;
      case Level::Kind::kSubset:
        for (; span.begin < span.end; ++span.begin) {
          const uint64_t from = Unsigned(IndicesOf(level)[span.begin]);
          ExpandEach(levels, {&from, 1}, span.pass, out);
        }
        return;
      case Level::Kind::kWeighted:
        for (; span.begin < span.end; ++span.begin) {
          const uint64_t from = ChosenAt(level, span.pass, span.begin);
          ExpandEach(levels, {&from, 1}, span.pass, out);
        }
        return;
      case Level::Kind::kTake:
      case Level::Kind::kSkip:
      case Level::Kind::kBatch:
        span = InputOf(level, span);
        break;
      case Level::Kind::kRepeat:
        while (span.begin < span.end) {
          const Span pass = InputOf(level, span);
          Expand(levels - 1, pass, out);
          span.begin += pass.end - pass.begin;
        }
        return;
    }
  }
  for (uint64_t p = span.begin; p < span.end; ++p)
    out.push_back({p, span.pass});
}

uint64_t Plan::read_together() const {
  if (levels_.empty() || !share_.whole()) return 0;
  const Level& last = levels_.back();
  if (last.kind == Level::Kind::kMixed) return last.count;
  const bool shuffled =
      last.kind == Level::Kind::kShuffle || last.kind == Level::Kind::kWindow;
  return shuffled ? kInfinite : 0;
}

RecordRun Plan::RunAt(uint64_t begin, uint64_t end) const {
  FM_CHECK(begin < end && end <= size_);
  if (!share_.whole()) return {};
  Span span{begin, end, 0};
  for (size_t i = levels_.size(); i > 0; --i) {
    const Level& level = levels_[i - 1];
    switch (level.kind) {
      case Level::Kind::kShuffle:
      case Level::Kind::kWindow:
      case Level::Kind::kBlocks:
      case Level::Kind::kMixed:
      case Level::Kind::kShard:
      case Level::Kind::kSubset:
      case Level::Kind::kWeighted:
        return {};
      case Level::Kind::kTake:
      case Level::Kind::kSkip:
      case Level::Kind::kBatch:
      case Level::Kind::kRepeat:
        span = InputOf(level, span);
        break;
    }
  }
  return {{span.begin, span.pass}, span.end - span.begin};
}

void Plan::ExpandShuffle(size_t levels, Span span,
                         std::vector<RecordRef>& out) const {
  const Level& level = levels_[levels - 1];
  std::array<uint64_t, 512>
      places;  // small, because shuffles may nest on the stack
  while (span.begin < span.end) {
    const Run run = level.kind == Level::Kind::kShuffle
                        ? Run{0, PermutationOf(level, span.pass)}
                        : RunOf(level, span.pass, span.begin);
    const uint64_t end = std::min(span.end, run.begin + run.permutation.size());
    while (span.begin < end) {
      const size_t size = static_cast<size_t>(
          std::min<uint64_t>(places.size(), end - span.begin));
      run.permutation.AtRange(span.begin - run.begin, {places.data(), size});
      if (run.begin > 0) {
        for (size_t j = 0; j < size; ++j) places[j] += run.begin;
      }
      ExpandEach(levels, {places.data(), size}, span.pass, out);
      span.begin += size;
    }
  }
}

// Expands a level of mixed blocks together with the level of blocks below it.
void Plan::ExpandMixed(size_t levels, Span span,
                       std::vector<RecordRef>& out) const {
  const Level& mixed = levels_[levels - 1];
  const Level& level = levels_[levels - 2];
  const Permutation blocks = BlocksOf(level, span.pass);
  std::array<uint64_t, 64> places;
  std::array<uint64_t, 64> sources;
  while (span.begin < span.end) {
    const Run run = RunOf(mixed, span.pass, span.begin);
    const uint64_t end = std::min(span.end, run.begin + run.permutation.size());
    // Input positions of the run's blocks, if there are few blocks.
    const uint64_t count = (run.permutation.size() - 1) / level.count + 1;
    const bool few = count <= sources.size();
    for (uint64_t k = 0; few && k < count; ++k) {
      sources[k] = InBlocks(level, blocks, run.begin + k * level.count);
    }
    while (span.begin < end) {
      const size_t size = static_cast<size_t>(
          std::min<uint64_t>(places.size(), end - span.begin));
      run.permutation.AtRange(span.begin - run.begin, {places.data(), size});
      for (size_t j = 0; j < size; ++j) {
        const uint64_t place = places[j];
        places[j] = few ? sources[place / level.count] + place % level.count
                        : InBlocks(level, blocks, run.begin + place);
      }
      ExpandEach(levels - 1, {places.data(), size}, span.pass, out);
      span.begin += size;
    }
  }
}

void Plan::ExpandEach(size_t levels, std::span<const uint64_t> from,
                      uint64_t pass, std::vector<RecordRef>& out) const {
  if (levels > 1) {
    for (const uint64_t place : from) {
      Expand(levels - 1, {place, place + 1, pass}, out);
    }
    return;
  }
  const size_t before = out.size();
  out.resize(before + from.size());
  RecordRef* const refs = out.data() + before;
  for (size_t k = 0; k < from.size(); ++k) refs[k] = {from[k], pass};
}

uint64_t Plan::EpochOf(size_t step, uint64_t pass) const {
  FM_CHECK(step < passes_before_.size());
  const uint64_t before = passes_before_[step];
  return before == 0 ? 0 : pass / before;
}

uint64_t Plan::PassAt(uint64_t p) const { return Record(p, 0).pass; }

uint64_t Plan::ReachedPass(uint64_t p) const {
  uint64_t pass = 0;
  p = share_.At(p);
  for (size_t i = levels_.size(); i > 0; --i) {
    const Level& level = levels_[i - 1];
    if (level.step < counted_from_) break;
    if (level.kind == Level::Kind::kRepeat) {
      pass =
          (level.count == kInfinite ? 0 : pass * level.count) + p / level.input;
      p %= level.input;
    } else if (level.kind == Level::Kind::kSkip) {
      p += level.count;
    } else if (level.kind == Level::Kind::kShard) {
      p = p * level.count + level.first;
    } else if (level.kind == Level::Kind::kSubset) {
      p = Unsigned(IndicesOf(level)[p]);
    } else if (level.kind == Level::Kind::kBatch) {
      p = std::min((p + 1) * level.count, level.input) - 1;
    } else {
      FM_CHECK(level.kind == Level::Kind::kTake);  // no shuffle
    }
  }
  return pass;
}

bool Plan::has_passes() const {
  return std::any_of(levels_.begin(), levels_.end(), [&](const Level& level) {
    return level.kind == Level::Kind::kRepeat && level.count > 1 &&
           level.step >= counted_from_;
  });
}

uint64_t Plan::ReachedPassEnd(uint64_t p) const {
  if (!has_passes()) return size_;
  const uint64_t pass = ReachedPass(p);
  uint64_t within = p;
  uint64_t step = 1;
  for (; step < size_ - within && ReachedPass(within + step) == pass;
       step *= 2) {
    within += step;
  }
  uint64_t beyond = size_;
  if (step < size_ - within) {
    beyond = within + step;
  } else if (ReachedPass(size_ - 1) == pass) {
    return size_;
  }
  while (within + 1 < beyond) {
    const uint64_t middle = within + (beyond - within) / 2;
    (ReachedPass(middle) == pass ? within : beyond) = middle;
  }
  return beyond;
}

RandomKey Plan::KeyOf(size_t step, uint64_t epoch, uint64_t ordinal) const {
  uint64_t seed = seed_;
  const Step& own = graph_->graph.steps[step];
  if (const auto* shuffle = own.As<ShuffleStep>()) {
    seed = shuffle->seed.value_or(seed);
  } else if (const auto* sample = own.As<WeightedSampleStep>()) {
    seed = sample->seed.value_or(seed);
  }
  return MakeRandomKey(seed, iteration_, epoch, graph_->first_step + step,
                       ordinal);
}

uint64_t Plan::CounterOf(uint64_t p, uint64_t k) const {
  return share_.At(p) * batch_size_ + k;
}

uint64_t Plan::PassLength(size_t step) const {
  for (const Level& level : levels_) {
    if (level.kind == Level::Kind::kRepeat && level.step > step) {
      return level.input;
    }
  }
  return 0;
}

bool Plan::NumbersOn() const {
  bool infinite = source_size_ == kInfinite;
  const std::vector<Step>& steps = graph_->graph.steps;
  for (size_t s = graph_->cached_steps; s < steps.size(); ++s) {
    const auto* repeat = steps[s].As<RepeatStep>();
    infinite = infinite || (repeat != nullptr && !repeat->count.has_value());
    if (infinite && steps[s].Is<EnumerateStep>()) return true;
  }
  return false;
}

uint64_t Plan::Round(uint64_t source_round) const {
  if (size_ != kInfinite || NumbersOn()) return 0;
  bool apart = false;
  for (const Level& level : levels_) {
    using enum Level::Kind;
    if (level.kind == kRepeat && level.count == kInfinite) return level.input;
    apart = apart || level.kind == kBatch || level.kind == kShard;
  }
  // Batches and shards join or drop different elements in each round.
  return apart ? 0 : source_round;
}

}  // namespace feedmill
