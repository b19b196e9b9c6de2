#include "core/chunk/cursor.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/base/check.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// Returns the first position p with {p, 0} >= `cursor`.
uint64_t FirstWhole(Cursor cursor) {
  return cursor.i > 0 ? cursor.p + 1 : cursor.p;
}

// Returns eight bytes of the bitmap from byte `at` on, zeros beyond its end.
uint64_t Word(const std::vector<uint8_t>& bits, size_t at) {
  uint64_t word = 0;
  const size_t size = std::min<size_t>(8, bits.size() - at);
  __builtin_memcpy(&word, bits.data() + at, size);
  return word;
}

size_t CountBits(const std::vector<uint8_t>& bits, uint64_t limit) {
  size_t count = 0;
  for (size_t at = 0; at < bits.size() && at * 8 < limit; at += 8) {
    uint64_t word = Word(bits, at);
    const uint64_t left = limit - at * 8;
    if (left < 64) word &= (uint64_t{1} << left) - 1;
    count += static_cast<size_t>(std::popcount(word));
  }
  return count;
}

uint64_t FindBit(const std::vector<uint8_t>& bits, size_t row) {
  for (size_t at = 0; at < bits.size(); at += 8) {
    uint64_t word = Word(bits, at);
    const auto ones = static_cast<size_t>(std::popcount(word));
    if (row >= ones) {
      row -= ones;
      continue;
    }
    for (; row > 0; --row) word &= word - 1;
    return at * 8 + static_cast<uint64_t>(std::countr_zero(word));
  }
  FM_CHECK(false && "row beyond the bitmap");
  return 0;
}

absl::Status ValidateRuns(const RunRows& form, size_t rows, Cursor begin,
                          Cursor end) {
  uint64_t counted = 0;
  Cursor next = begin;
  for (const CursorRun& run : form.runs) {
    const Cursor first{run.p, run.i};
    if (run.count == 0 || first < next) {
      return InvalidArgument(
          "a run of cursors at ({}, {}) is empty or not in "
          "order",
          run.p, run.i);
    }
    if (run.count > std::numeric_limits<uint64_t>::max() - run.i ||
        run.count > rows - counted) {
      return InvalidArgument("runs of cursors hold more than {} rows", rows);
    }
    counted += run.count;
    if (Cursor{run.p, run.i + run.count - 1} >= end) {
      return InvalidArgument(
          "cursor ({}, {}) is not below the interval's end "
          "({}, {})",
          run.p, run.i + run.count - 1, end.p, end.i);
    }
    next = {run.p, run.i + run.count};
  }
  if (counted != rows) {
    return InvalidArgument("runs of cursors hold {} rows, not {}", counted,
                           rows);
  }
  return absl::OkStatus();
}

}  // namespace

size_t RowsBelow(const RowCursors& cursors, size_t rows, Cursor begin,
                 Cursor cursor) {
  if (cursor <= begin) return 0;
  return std::visit(
      Overloaded{[&](const DenseRows&) {
                   const uint64_t first = FirstWhole(begin);
                   const uint64_t limit = FirstWhole(cursor);
                   return limit <= first
                              ? size_t{0}
                              : std::min<size_t>(rows, limit - first);
                 },
                 [&](const BitmapRows& form) {
                   return CountBits(form.bits, FirstWhole(cursor) - begin.p);
                 },
                 [&](const RunRows& form) {
                   size_t below = 0;
                   for (const CursorRun& run : form.runs) {
                     if (run.p > cursor.p) break;
                     if (run.p < cursor.p || run.i + run.count <= cursor.i) {
                       below += run.count;
                     } else if (run.i < cursor.i) {
                       below += cursor.i - run.i;
                     }
                   }
                   return below;
                 }},
      cursors);
}

Cursor CursorOfRow(const RowCursors& cursors, Cursor begin, size_t row) {
  return std::visit(
      Overloaded{[&](const DenseRows&) {
                   return Cursor{FirstWhole(begin) + row, 0};
                 },
                 [&](const BitmapRows& form) {
                   return Cursor{begin.p + FindBit(form.bits, row), 0};
                 },
                 [&](const RunRows& form) {
                   size_t left = row;
                   for (const CursorRun& run : form.runs) {
                     if (left < run.count) return Cursor{run.p, run.i + left};
                     left -= run.count;
                   }
                   FM_CHECK(false && "row beyond the runs");
                   return Cursor{};
                 }},
      cursors);
}

RowCursors CursorsFrom(const RowCursors& cursors, Cursor begin, Cursor from) {
  if (from <= begin) return cursors;
  return std::visit(
      Overloaded{[](const DenseRows&) -> RowCursors { return DenseRows{}; },
                 [&](const BitmapRows& form) -> RowCursors {
                   BitmapRows rest;
                   const uint64_t skip = from.p - begin.p;
                   const uint64_t shift = skip % 8;
                   for (uint64_t at = skip / 8; at < form.bits.size(); ++at) {
                     const unsigned high =
                         at + 1 < form.bits.size() ? form.bits[at + 1] : 0u;
                     const unsigned pair = form.bits[at] | high << 8;
                     rest.bits.push_back(static_cast<uint8_t>(pair >> shift));
                   }
                   if (from.i > 0 && !rest.bits.empty()) rest.bits[0] &= 0xfe;
                   return rest;
                 },
                 [&](const RunRows& form) -> RowCursors {
                   RunRows rest;
                   for (CursorRun run : form.runs) {
                     if (Cursor{run.p, run.i + run.count - 1} < from) continue;
                     if (run.p == from.p && run.i < from.i) {
                       run.count -= from.i - run.i;
                       run.i = from.i;
                     }
                     rest.runs.push_back(run);
                   }
                   return rest;
                 }},
      cursors);
}

RowCursors CursorsBefore(const RowCursors& cursors, Cursor begin, Cursor to) {
  RowCursors before = cursors;
  if (auto* bitmap = std::get_if<BitmapRows>(&before)) {
    const uint64_t count = FirstWhole(to) - begin.p;
    bitmap->bits.resize((count + 7) / 8);
    if (count % 8 > 0) {
      const unsigned kept = (1U << count % 8) - 1;
      bitmap->bits.back() = static_cast<uint8_t>(bitmap->bits.back() & kept);
    }
  } else if (auto* form = std::get_if<RunRows>(&before)) {
    while (!form->runs.empty()) {
      CursorRun& last = form->runs.back();
      if (Cursor{last.p, last.i} < to) {
        if (last.p == to.p) last.count = std::min(last.count, to.i - last.i);
        break;
      }
      form->runs.pop_back();
    }
  }
  return before;
}

absl::Status ValidateCursors(const RowCursors& cursors, size_t rows,
                             Cursor begin, Cursor end) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  if (end < begin || begin.p == kMax || end.p == kMax) {
    return InvalidArgument("[({}, {}), ({}, {})) is not an interval of cursors",
                           begin.p, begin.i, end.p, end.i);
  }
  if (std::holds_alternative<DenseRows>(cursors)) {
    const uint64_t first = FirstWhole(begin);
    const uint64_t limit = FirstWhole(end);
    if (rows == 0 || (limit > first && limit - first == rows)) {
      return absl::OkStatus();
    }
    return InvalidArgument("{} rows for the positions [{}, {})", rows, first,
                           limit);
  }
  if (const auto* form = std::get_if<BitmapRows>(&cursors)) {
    const uint64_t limit = FirstWhole(end) - begin.p;
    const size_t all = CountBits(form->bits, kMax);
    if (all != rows || CountBits(form->bits, limit) != all) {
      return InvalidArgument(
          "a bitmap of cursors names {} rows, {} of them below the interval's "
          "end; {} are here",
          all, CountBits(form->bits, limit), rows);
    }
    if (begin.i > 0 && CountBits(form->bits, 1) != 0) {
      return InvalidArgument("a bitmap names a cursor before ({}, {})", begin.p,
                             begin.i);
    }
    return absl::OkStatus();
  }
  return ValidateRuns(std::get<RunRows>(cursors), rows, begin, end);
}

}  // namespace feedmill
