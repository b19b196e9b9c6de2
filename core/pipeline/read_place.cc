#include "core/pipeline/read_place.h"

#include <algorithm>

#include "core/chunk/chunk_builder.h"

namespace feedmill {

uint64_t ElementsFrom(const ReadRules& rules, uint64_t from, uint64_t size) {
  if (from >= size) return 0;
  uint64_t count = rules.share.Below(size) - rules.share.Below(from);
  for (const auto& [first, last] : rules.skips) {
    count -= rules.share.Below(std::clamp(last, from, size)) -
             rules.share.Below(std::clamp(first, from, size));
  }
  return count;
}

void PlaceTracker::ContinueFrom(ReadPlace place) {
  from_ = place.elements;
  next_ = place.number();
  kept_ = 0;
  yielded_ = true;
  place_ = earlier_ = std::move(place);
  if (rules_.numbered) next_ = rules_.share.From(place_.cursor.p);
  if (rules_.sequenced) next_ = rules_.share.From(place_.cursor.i);
}

void PlaceTracker::Feed(Cursor begin, StageState before, uint64_t skipped,
                        GeneratorStatePtr state) {
  if (rules_.numbered) {
    next_ = rules_.share.From(begin.p + (begin.i > 0 ? 1 : 0));
    return;  // in a numbered sequence, the number is the place
  }
  if (rules_.sequenced) next_ = rules_.share.From(begin.i);
  if (std::exchange(yielded_, false)) earlier_ = std::move(place_);
  place_.cursor = begin;
  place_.skip = 0;
  place_.elements = next_;
  place_.stage = std::move(before);
  place_.skipped = skipped;
  place_.state = std::move(state);
}

bool PlaceTracker::Skipped(uint64_t number) const {
  return std::any_of(rules_.skips.begin(), rules_.skips.end(),
                     [number](const NumberRange& range) {
                       return range.first <= number && number < range.second;
                     });
}

Chunk PlaceTracker::Keep(Chunk chunk) {
  if (chunk.rows == 0) return chunk;
  const bool own = rules_.numbered || rules_.sequenced;
  const uint64_t stride = own ? rules_.share.ranks : 1;
  const uint64_t first = std::exchange(next_, next_ + chunk.rows * stride);
  std::vector<std::pair<size_t, size_t>> runs;  // of rows to keep
  if (rules_.skips.empty() && stride == rules_.share.ranks) {
    const uint64_t before =
        first < from_ ? (from_ - first + stride - 1) / stride : 0;
    if (before < chunk.rows) {
      runs.emplace_back(static_cast<size_t>(before), chunk.rows);
    }
  } else {
    for (size_t row = 0; row < chunk.rows; ++row) {
      const uint64_t number = first + row * stride;
      if (number < from_ || !rules_.share.Has(number) || Skipped(number)) {
        continue;
      }
      if (!runs.empty() && runs.back().second == row) {
        runs.back().second = row + 1;
      } else {
        runs.emplace_back(row, row + 1);
      }
    }
  }
  if (runs.empty()) return chunk.Slice(0, 0);
  for (const auto& [begin, end] : runs) kept_ += end - begin;
  last_ = first + (runs.back().second - 1) * stride;
  yielded_ = true;
  if (runs.size() == 1) {
    const auto [begin, end] = runs.front();
    return begin == 0 && end == chunk.rows ? chunk : chunk.Slice(begin, end);
  }
  ChunkBuilder builder(chunk.spec);
  for (const auto& [begin, end] : runs) {
    for (size_t c = 0; c < chunk.columns.size(); ++c) {
      builder.AppendRows(c, chunk.columns[c], begin, end);
    }
    builder.FinishRows(end - begin);
  }
  return std::move(builder).Finish();
}

uint64_t PlaceTracker::NeededFrom(uint64_t p) const {
  for (const auto& [begin, end] : rules_.skips) {
    if (begin <= p && p < end) p = end;
  }
  return p;
}

// Returns the number of the last selected element before `number`, which is
// selected itself.
uint64_t PlaceTracker::KeptBefore(uint64_t number) const {
  const Share& share = rules_.share;
  number -= share.ranks;
  for (auto skip = rules_.skips.rbegin(); skip != rules_.skips.rend(); ++skip) {
    if (skip->first <= number && number < skip->second) {
      number = share.At(share.Below(skip->first) - 1);
    }
  }
  return number;
}

std::optional<ReadPlace> PlaceTracker::Before(uint64_t unread) const {
  if (unread > kept_) return std::nullopt;
  uint64_t number = from_;
  if (unread < kept_) {
    number = last_;
    for (; unread > 0; --unread) number = KeptBefore(number);
    ++number;
  }
  ReadPlace place;
  if (rules_.numbered) {
    place.cursor = {number, 0};
  } else if (rules_.sequenced) {
    const Cursor cursor{0, number};
    const bool present = place_.cursor <= cursor;
    if (!present && earlier_.cursor > cursor) return std::nullopt;
    place.cursor = cursor;
    place.state = present ? place_.state : earlier_.state;
  } else {
    const bool present = place_.number() <= number;
    if (!present && earlier_.number() > number) return std::nullopt;
    place = present ? place_ : earlier_;
    place.skip = number - place.number();
  }
  place.elements = number;
  return place;
}

}  // namespace feedmill
