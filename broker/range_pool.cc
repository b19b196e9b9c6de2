#include "broker/range_pool.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/base/leb128.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kBlockRunsMax = 256;  // of a block
constexpr size_t kRunsMin = 64;        // a smaller block absorbs its neighbour

}  // namespace

// ---- blocks

std::vector<RangePool::Run> RangePool::Decode(const Block& block) {
  std::vector<Run> runs;
  runs.reserve(kBlockRunsMax + 1);
  std::string_view rest = block.bytes;
  for (uint64_t begin = block.begin; !rest.empty();) {
    const uint64_t end = begin + (*TakeLeb128(rest) << block.shift);
    runs.emplace_back(begin, end);
    if (rest.empty()) break;
    begin = end + (*TakeLeb128(rest) << block.shift);
  }
  return runs;
}

RangePool::Block RangePool::Encode(const Run* first, const Run* last) {
  Block block{first->first, (last - 1)->second, 0, {}};
  uint64_t bits = 0;
  for (const Run* run = first; run != last; ++run) {
    bits |= run->second - run->first;
    if (run + 1 != last) bits |= run[1].first - run->second;
  }
  block.shift = static_cast<uint32_t>(std::countr_zero(bits));
  for (const Run* run = first; run != last; ++run) {
    PutLeb128(block.bytes, (run->second - run->first) >> block.shift);
    if (run + 1 == last) break;
    PutLeb128(block.bytes, (run[1].first - run->second) >> block.shift);
  }
  block.bytes.shrink_to_fit();
  return block;
}

void RangePool::Replace(size_t first, size_t last,
                        const std::vector<Run>& runs) {
  std::vector<Block> blocks;
  const size_t parts = (runs.size() + kBlockRunsMax - 1) / kBlockRunsMax;
  for (size_t k = 0; k < parts; ++k) {
    blocks.push_back(Encode(runs.data() + runs.size() * k / parts,
                            runs.data() + runs.size() * (k + 1) / parts));
  }
  const auto at = blocks_.begin() + static_cast<ptrdiff_t>(first);
  const size_t same = std::min(blocks.size(), last - first);
  std::move(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(same), at);
  const auto next = at + static_cast<ptrdiff_t>(same);
  if (same < last - first) {
    blocks_.erase(next, blocks_.begin() + static_cast<ptrdiff_t>(last));
  } else {
    blocks_.insert(
        next,
        std::make_move_iterator(blocks.begin() + static_cast<ptrdiff_t>(same)),
        std::make_move_iterator(blocks.end()));
  }
}

// ---- ranges

RangePool::Range RangePool::First() const {
  FM_CHECK(!empty());
  Run whole{0, 0};
  if (!blocks_.empty()) {
    const Block& block = blocks_.front();
    std::string_view rest = block.bytes;
    whole = {block.begin, block.begin + (*TakeLeb128(rest) << block.shift)};
  }
  if (cut_.empty() || (!blocks_.empty() && whole.first < cut_.begin()->first)) {
    return {{whole.first, 0}, {whole.second, 0}};
  }
  const auto [p, i] = *cut_.begin();
  const bool goes_on = !blocks_.empty() && whole.first == p + 1;
  return {{p, i}, {goes_on ? whole.second : p + 1, 0}};
}

void RangePool::Add(Cursor begin, Cursor end) {
  if (begin.i > 0) {
    cut_.emplace(begin.p, begin.i);
    begin = {begin.p + 1, 0};
  }
  if (begin.p == end.p) return;
  positions_ += end.p - begin.p;
  const auto after = std::upper_bound(
      blocks_.begin(), blocks_.end(), begin.p,
      [](uint64_t p, const Block& block) { return p < block.begin; });
  auto last = static_cast<size_t>(after - blocks_.begin());
  const size_t first = last > 0 ? last - 1 : 0;
  last = std::min(first + 1, blocks_.size());
  std::vector<Run> runs;
  if (first < last) runs = Decode(blocks_[first]);
  // The range may touch the first run of the next block.
  if (last < blocks_.size() &&
      (blocks_[last].begin == end.p || runs.size() < kRunsMin)) {
    const std::vector<Run> more = Decode(blocks_[last++]);
    runs.insert(runs.end(), more.begin(), more.end());
  }
  Run run{begin.p, end.p};
  auto next = std::lower_bound(runs.begin(), runs.end(), run);
  if (next != runs.end() && next->first == run.second) {
    run.second = next->second;
    next = runs.erase(next);
  }
  if (next != runs.begin() && std::prev(next)->second == run.first) {
    std::prev(next)->second = run.second;
  } else {
    runs.insert(next, run);
  }
  Replace(first, last, runs);
}

void RangePool::TakeFirst(Cursor end) {
  const Range first = First();
  FM_CHECK(end.i == 0 && end <= first.end && first.begin < end);
  uint64_t begin = first.begin.p;
  if (first.begin.i > 0) {
    cut_.erase(cut_.begin());
    ++begin;
  }
  if (begin == end.p) return;
  positions_ -= end.p - begin;
  std::vector<Run> runs = Decode(blocks_.front());
  runs.front().first = end.p;
  if (runs.front().first == runs.front().second) runs.erase(runs.begin());
  Replace(0, 1, runs);
}

size_t RangePool::memory_bytes() const {
  constexpr size_t kMapNode = 64;
  size_t bytes = blocks_.capacity() * sizeof(Block) + cut_.size() * kMapNode;
  for (const Block& block : blocks_) bytes += block.bytes.capacity();
  return bytes;
}

// ---- bytes

std::string RangePool::Serialize() const {
  std::string bytes;
  PutLeb128(bytes, cut_.size());
  uint64_t before = 0;
  for (const auto& [p, i] : cut_) {
    PutLeb128(bytes, p - std::exchange(before, p));
    PutLeb128(bytes, i);
  }
  before = 0;
  for (const Block& block : blocks_) {
    for (const auto& [begin, end] : Decode(block)) {
      PutLeb128(bytes, begin - before);
      PutLeb128(bytes, end - begin);
      before = end;
    }
  }
  return bytes;
}

absl::StatusOr<RangePool> RangePool::Parse(std::string_view bytes) {
  const absl::Status bad = DataLoss("a pool of ranges is damaged");
  RangePool pool;
  const auto cuts = TakeLeb128(bytes);
  if (!cuts || *cuts > bytes.size()) return bad;
  uint64_t before = 0;
  for (uint64_t k = 0; k < *cuts; ++k) {
    const auto step = TakeLeb128(bytes);
    const auto i = TakeLeb128(bytes);
    if (!step || !i || *i == 0 || (k > 0 && *step == 0) ||
        *step > ~uint64_t{0} - 1 - before) {
      return bad;
    }
    before += *step;
    pool.cut_.emplace_hint(pool.cut_.end(), before, *i);
  }
  std::vector<Run> runs;
  for (uint64_t at = 0; !bytes.empty();) {
    const auto gap = TakeLeb128(bytes);
    const auto size = TakeLeb128(bytes);
    const bool touches = at > 0 && gap == uint64_t{0};
    if (!gap || !size || *size == 0 || touches || *gap > ~at ||
        *size > ~(at + *gap)) {
      return bad;
    }
    runs.emplace_back(at + *gap, at + *gap + *size);
    at = runs.back().second;
    const auto cut = pool.cut_.lower_bound(runs.back().first);
    if (cut != pool.cut_.end() && cut->first < at) return bad;
    pool.positions_ += *size;
    if (runs.size() < kBlockRunsMax && !bytes.empty()) continue;
    pool.blocks_.push_back(Encode(runs.data(), runs.data() + runs.size()));
    runs.clear();
  }
  return pool;
}

}  // namespace feedmill
