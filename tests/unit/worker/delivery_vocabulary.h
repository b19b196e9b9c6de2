#ifndef FEEDMILL_TESTS_UNIT_WORKER_DELIVERY_VOCABULARY_H_
#define FEEDMILL_TESTS_UNIT_WORKER_DELIVERY_VOCABULARY_H_

#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/chunk/chunk_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "core/wire/message.h"
#include "feedmill/element.h"

// A vocabulary for tests of the delivery cores: positions whose elements are
// int64 scalars (8 bytes of credit each), and messages selected from effects.

namespace feedmill::testing {

using RowsAt = std::function<uint64_t(uint64_t position)>;

inline uint64_t OneRow(uint64_t) { return 1; }
inline uint64_t NoRow(uint64_t) { return 0; }

inline int64_t ValueAt(Cursor cursor) {
  return static_cast<int64_t>(cursor.p * 1000 + cursor.i);
}

// The elements of [begin, end) of a plan whose position p has rows_at(p).
inline Piece MakePiece(Cursor begin, Cursor end,
                       const RowsAt& rows_at = OneRow) {
  static const auto spec = std::make_shared<const ElementSpec>(
      ElementSpec{{{.name = "", .dtype = DType::kInt64, .shape = {}}}});
  RunRows runs;
  std::vector<int64_t> values;
  for (uint64_t p = begin.p; p <= end.p; ++p) {
    CursorRun run{p, 0, 0};
    for (uint64_t i = 0; i < rows_at(p); ++i) {
      const Cursor at{p, i};
      if (at < begin || !(at < end)) continue;
      if (run.count == 0) run.i = i;
      ++run.count;
      values.push_back(ValueAt(at));
    }
    if (run.count > 0) runs.runs.push_back(run);
  }
  ChunkBuilder builder(spec);
  if (!values.empty()) {
    builder.AppendDense(0, {}, values.data(), values.size());
    builder.FinishRows(values.size());
  }
  Piece piece;
  piece.begin = begin;
  piece.end = end;
  piece.cursors = std::move(runs);
  piece.chunk = std::move(builder).Finish();
  return piece;
}

inline Piece MakePiece(uint64_t begin, uint64_t end,
                       const RowsAt& rows_at = OneRow) {
  return MakePiece(Cursor{begin, 0}, Cursor{end, 0}, rows_at);
}

inline std::vector<int64_t> ValuesOf(const Piece& piece) {
  std::vector<int64_t> values(piece.chunk.rows);
  for (size_t row = 0; row < values.size(); ++row) {
    std::memcpy(&values[row], piece.chunk.columns[0].values.data() + 8 * row,
                8);
  }
  return values;
}

// All messages of type T among `sends`, in order.
template <class T>
std::vector<T> Sent(const std::vector<Outgoing>& sends) {
  std::vector<T> found;
  for (const Outgoing& outgoing : sends) {
    if (const T* message = std::get_if<T>(&outgoing.message)) {
      found.push_back(*message);
    }
  }
  return found;
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_WORKER_DELIVERY_VOCABULARY_H_
