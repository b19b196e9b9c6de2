#include "worker/shared_results.h"

#include <iterator>

#include "core/base/check.h"

namespace feedmill {
namespace {

// Bounds the pieces without elements, whose memory is not counted.
constexpr size_t kKeptMax = 4'096;

uint64_t BytesOf(const Piece& piece) {
  return piece.chunk.rows == 0 ? 0 : piece.chunk.ElementBytes();
}

}  // namespace

BufferedPiece::BufferedPiece(uint64_t& used,
                             std::shared_ptr<uint64_t> used_by_job, Piece of,
                             std::shared_ptr<const PackedParts> parts,
                             StepCosts took)
    : piece(std::move(of)),
      packed(std::move(parts)),
      costs(std::move(took)),
      bytes(BytesOf(piece)),
      held_(bytes + (piece.state == nullptr ? 0 : piece.state->bytes.size())),
      used_(&used),
      used_by_job_(std::move(used_by_job)) {
  *used_ += held_;
  if (used_by_job_ != nullptr) *used_by_job_ += held_;
}

BufferedPiece::BufferedPiece(std::shared_ptr<const BufferedPiece> of,
                             Cursor from)
    : BufferedPiece(of, of->piece.From(from)) {}

BufferedPiece::BufferedPiece(std::shared_ptr<const BufferedPiece> of,
                             Piece part)
    : whole(std::move(of)),
      piece(std::move(part)),
      costs(whole->costs),
      bytes(BytesOf(piece)),
      at(whole->at),
      held_(0),
      used_(nullptr) {}

BufferedPiece::~BufferedPiece() {
  if (used_ != nullptr) *used_ -= held_;
  if (used_by_job_ != nullptr) *used_by_job_ -= held_;
}

std::optional<SharedResults::Entry> SharedResults::Find(const Key& key,
                                                        Cursor cursor) const {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return std::nullopt;
  const auto after = row->second.upper_bound(cursor);
  if (after == row->second.begin()) return std::nullopt;
  const Entry& entry = std::prev(after)->second.entry;
  if (entry.end <= cursor) return std::nullopt;
  return entry;
}

std::optional<Cursor> SharedResults::NextAfter(const Key& key,
                                               Cursor cursor) const {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return std::nullopt;
  const auto after = row->second.upper_bound(cursor);
  if (after == row->second.end()) return std::nullopt;
  return after->first;
}

void SharedResults::Begin(const Key& key, Cursor begin, Cursor end,
                          TaskId task) {
  const bool fresh =
      rows_[key]
          .try_emplace(begin, SharedResult{.entry = {begin, end, task}})
          .second;
  FM_CHECK(fresh);
}

void SharedResults::Keep(absl::Time now, const Key& key, TaskId task,
                         BufferedPiecePtr made, uint64_t ranks) {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return;
  const auto place = row->second.find(made->piece.begin);
  if (place == row->second.end() || place->second.entry.task != task) return;
  place->second.entry.end = made->piece.end;
  place->second.entry.made = std::move(made);
  place->second.wanted = ranks;
  place->second.number = ++last_number_;
  place->second.since = now;
  order_.emplace(last_number_, std::pair(key, place->first));
  if (order_.size() > kKeptMax) DropNumber(order_.begin()->first);
}

void SharedResults::Abandon(const Key& key, Cursor begin, TaskId task) {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return;
  const auto place = row->second.find(begin);
  if (place == row->second.end() || place->second.entry.task != task) return;
  Drop(row, place);
}

void SharedResults::Took(const Key& key, Cursor cursor) {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return;
  const auto after = row->second.upper_bound(cursor);
  if (after == row->second.begin()) return;
  const auto place = std::prev(after);
  if (place->second.entry.end <= cursor || place->second.wanted == 0) return;
  if (--place->second.wanted == 0) Drop(row, place);
}

bool SharedResults::DropIdle() {
  for (const auto& [number, where] : order_) {
    const SharedResult& place = rows_.at(where.first).at(where.second);
    if (place.entry.made.use_count() > 1) continue;
    DropNumber(number);
    return true;
  }
  return false;
}

void SharedResults::DropOlder(absl::Time time) {
  while (!order_.empty()) {
    const auto& [key, begin] = order_.begin()->second;
    if (rows_.at(key).at(begin).since >= time) return;
    DropNumber(order_.begin()->first);
  }
}

void SharedResults::Forget(const PlanId& plan) {
  auto row = rows_.lower_bound(Key{plan, LinkCompression{}});
  while (row != rows_.end() && row->first.plan == plan) {
    for (const auto& [begin, place] : row->second) order_.erase(place.number);
    row = rows_.erase(row);
  }
}

void SharedResults::DropNumber(uint64_t number) {
  const std::pair<Key, Cursor> where = order_.at(number);
  const auto row = rows_.find(where.first);
  Drop(row, row->second.find(where.second));
}

void SharedResults::Drop(std::map<Key, Row>::iterator row,
                         Row::iterator place) {
  order_.erase(place->second.number);
  row->second.erase(place);
  if (row->second.empty()) rows_.erase(row);
}

}  // namespace feedmill
