#include "core/pipeline/piece_draft.h"

#include <cmath>
#include <cstring>

#include "core/base/byte_budget.h"

namespace feedmill {
namespace {

// Sets bit base + r for each kept input row r.
void SetBits(const BlockProgram::Output& rows, size_t base,
             std::vector<uint8_t>& bits) {
  const size_t words = rows.dropped ? rows.kept.size() : (rows.rows + 63) / 64;
  const size_t size = base / 8 + words * 8 + 1;
  if (bits.size() < size) bits.resize(size);
  uint8_t* to = bits.data() + base / 8;
  const unsigned shift = base % 8;
  for (size_t w = 0; w < words; ++w, to += 8) {
    const size_t left = rows.rows - w * 64;
    const uint64_t word = rows.dropped ? rows.kept[w]
                          : left < 64  ? (uint64_t{1} << left) - 1
                                       : ~uint64_t{0};
    uint64_t now;
    std::memcpy(&now, to, sizeof now);
    now |= word << shift;
    std::memcpy(to, &now, sizeof now);
    if (shift > 0) to[8] = static_cast<uint8_t>(to[8] | word >> (64 - shift));
  }
}

// True if the column holds exactly `rows` rows. `ragged`: they may differ in
// shape.
bool HoldsRows(const Column& column, size_t rows, bool ragged) {
  size_t items = 0;
  if (column.ragged()) {
    const auto starts = column.row_starts.As<int64_t>();
    if (!ragged || starts.size() != rows + 1 || starts.front() != 0) {
      return false;
    }
    items = static_cast<size_t>(starts.back());
  } else {
    items = rows * static_cast<size_t>(NumItems(column.shape));
  }
  if (column.dtype != DType::kBytes) {
    return column.values.size() == items * ItemSize(column.dtype);
  }
  const auto offsets = column.offsets.As<int64_t>();
  return offsets.size() == items + 1 && offsets.front() == 0 &&
         static_cast<size_t>(offsets.back()) == column.values.size();
}

// For rows of one number, the fixed cost of a block matters, so blocks are
// larger.
constexpr size_t kNarrowBytes = sizeof(int64_t);
constexpr size_t kNarrowRows = 2 * kBlockRows;
constexpr size_t kViewRows = 16 * kBlockRows;

// After a filter, a block yields fewer bytes than requested, and blocks for the
// rest would get ever smaller. So a piece may exceed its target by this much.
size_t BytesBeyond(const BlockProgram& program, size_t bytes_target) {
  return program.filters() ? bytes_target / 16 : 0;
}

}  // namespace

size_t PieceDraft::RowsAhead(uint64_t left) const {
  const double row_bytes =
      scratch_.row_bytes > 0
          ? scratch_.row_bytes
          : static_cast<double>(std::max<size_t>(program_.estimated_bytes, 1));
  const double wanted =
      static_cast<double>(std::max(BytesBeyond(*program_.records, bytes_target),
                                   bytes_target - bytes())) /
      row_bytes;
  const bool narrow =
      program_.estimated_bytes > 0 && program_.estimated_bytes <= kNarrowBytes;
  const size_t most = std::min(program_.heavy    ? kHeavyRows
                               : has_free_rows() ? kViewRows
                               : narrow          ? kNarrowRows
                                                 : kBlockRows,
                               RowsTogether::Max());
  const size_t rows =
      wanted >= static_cast<double>(most)
          ? most
          : std::max<size_t>(1,
                             static_cast<size_t>(appends ? std::ceil(wanted)
                                                         : std::round(wanted)));
  return static_cast<size_t>(std::min<uint64_t>(rows, left));
}

void PieceDraft::Reserve() {
  if (program_.places) {
    for (size_t c = 0; c < program_.output->components.size(); ++c) {
      placed.emplace_back(scratch_.blocks);
    }
  }
  // Strings need about as much as in the last piece.
  for (size_t c = 0; c < scratch_.appended.size() && appends; ++c) {
    if (InPlace(program_.output->components[c])) continue;
    builder.ReserveValues(c, scratch_.appended[c] + scratch_.appended[c] / 16);
  }
  if (program_.batches != nullptr || program_.estimated_bytes == 0) return;
  const size_t row_bytes = program_.estimated_bytes + sizeof(int64_t);
  const uint64_t rows = std::min<uint64_t>(
      end.p - begin.p, bytes_target / row_bytes + kBlockRows);
  for (size_t c = 0; c < program_.output->components.size(); ++c) {
    const ComponentSpec& component = program_.output->components[c];
    if (!InPlace(component)) continue;
    const size_t bytes = StaticBytes(component) * static_cast<size_t>(rows);
    const size_t room = std::min(
        bytes, bytes_target + BytesBeyond(*program_.records, bytes_target));
    if (program_.places) {
      // Runs of records are taken a block at a time, even if little is left.
      const size_t more =
          program_.naming == StageProgram::Naming::kRuns ? kBlockRows : 1;
      placed[c].Reserve(static_cast<size_t>(std::min<uint64_t>(
          {room + more * StaticBytes(component),
           2 * bytes_target + StaticBytes(component), ByteBudget::Limit()})));
      continue;
    }
    builder.ReserveValues(c, room);
  }
}

void PieceDraft::ReserveDirect(size_t rows) {
  scratch_.records_in.appended = program_.appends ? &builder : nullptr;
  std::vector<std::byte*>& direct = scratch_.records_in.direct;
  direct.clear();
  for (size_t c = 0; c < placed.size(); ++c) {
    direct.push_back(
        placed[c].Extend(rows * StaticBytes(program_.output->components[c])));
  }
  if (!program_.records->heavy()) return;
  for (size_t c = 0; c < program_.records->direct().size(); ++c) {
    direct.push_back(
        program_.records->direct()[c]
            ? builder.AppendRow(c, program_.output->components[c].shape)
            : nullptr);
  }
}

// Makes the block's columns the piece, without a copy. The columns must have an
// owner. The block must fill most of the piece, be the `last` one of it, or be
// a large run of cached rows or of views. Without steps, any views will do: the
// source gives only few that are short.
bool PieceDraft::TakeRecords(bool last) {
  const BlockProgram::Output& out = scratch_.records_out;
  const std::vector<const Column*>& read = scratch_.block.columns;
  const bool views = scratch_.block.views;
  if (rows() > 0 || program_.places ||
      (!views && scratch_.blocks != scratch_.block.blocks)) {
    return false;
  }
  size_t bytes = out.rows * sizeof(int64_t);
  bool from_source = false;
  for (const Column* const column : out.columns) {
    bytes += column->values.size();
    const bool is_read =
        std::find(read.begin(), read.end(), column) != read.end();
    if (!HoldsRows(*column, out.rows, views) ||
        (!is_read && column->values.owner() == nullptr)) {
      return false;
    }
    from_source = from_source || is_read;
  }
  const bool fills =
      bytes >= bytes_target / 4 * 3 ||
      bytes + bytes / out.rows > bytes_target ||
      (from_source && scratch_.block.kept && bytes >= kKeptBytes) ||
      (from_source && views && (bytes >= kViewBytes || has_free_rows()));
  if (!last && !fills) return false;
  std::vector<Column> source;
  if (from_source) source = program_.source->Take(*scratch_.source);
  if (from_source && source.empty()) return false;
  for (const Column* const column : out.columns) {
    const auto at = std::find(read.begin(), read.end(), column) - read.begin();
    taken.columns.push_back(static_cast<size_t>(at) < read.size()
                                ? source[static_cast<size_t>(at)]
                                : *column);
  }
  taken.spec = program_.output;
  taken.rows = out.rows;
  return true;
}

bool PieceDraft::TakeBatches(const BlockProgram::Output& batches) {
  if (!scratch_.block.views || rows() > 0) return false;
  size_t bytes = 0;
  for (const Column* const column : batches.columns) {
    bytes += column->values.size();
    if (column->values.owner() == nullptr ||
        !HoldsRows(*column, batches.rows, /*ragged=*/true)) {
      return false;
    }
  }
  if (bytes < kViewBytes) return false;
  for (const Column* const column : batches.columns) {
    taken.columns.push_back(*column);
  }
  taken.spec = program_.output;
  taken.rows = batches.rows;
  return true;
}

// Keeps the rows that were made of the memory extended for all rows.
void PieceDraft::KeepPlaced() {
  const BlockProgram::Output& out = scratch_.records_out;
  for (size_t c = 0; c < placed.size(); ++c) {
    const size_t size = StaticBytes(program_.output->components[c]);
    std::byte* const to = scratch_.records_in.direct[c];
    if (out.rows > 0 && size > 0 && out.columns[c]->values.data() != to) {
      std::memcpy(to, out.columns[c]->values.data(), out.rows * size);
    }
    placed[c].Truncate((placed_rows + out.rows) * size);
  }
  placed_rows += out.rows;
}

void PieceDraft::AppendRecords(uint64_t p, bool last) {
  const BlockProgram::Output& out = scratch_.records_out;
  if (program_.places) KeepPlaced();
  if (out.rows == 0) return;
  if (program_.appends) {
    builder.FinishRows(out.rows);
  } else if (!program_.places && !TakeRecords(last)) {
    if (program_.records->empty() && rows() == 0) {
      Reserve();
    }
    const auto& direct = scratch_.records_in.direct;
    for (size_t c = 0; c < out.columns.size(); ++c) {
      if (!direct.empty() && direct[c] != nullptr) continue;
      builder.AppendRows(c, *out.columns[c], 0, out.rows);
    }
    builder.FinishRows(out.rows);
  }
  NameRows(out, p);
}

Chunk PieceDraft::Finish() && {
  if (taken.rows > 0) return std::move(taken);
  if (placed_rows == 0) return std::move(builder).Finish();
  Chunk chunk{program_.output, placed_rows, {}};
  for (size_t c = 0; c < placed.size(); ++c) {
    const ComponentSpec& component = program_.output->components[c];
    chunk.columns.push_back({component.dtype,
                             component.shape,
                             std::move(placed[c]).Freeze(),
                             {},
                             {},
                             {}});
  }
  return chunk;
}

void PieceDraft::NameRows(const BlockProgram::Output& rows, uint64_t p) {
  if (program_.naming == StageProgram::Naming::kBitmap) {
    SetBits(rows, p - begin.p, bits);
  }
}

}  // namespace feedmill
