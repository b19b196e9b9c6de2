#include <optional>

#include "core/chunk/buffer_builder.h"
#include "core/wire/frame_codec.h"

namespace feedmill::wire {
namespace {

constexpr size_t kOffsetSize = sizeof(int64_t);

Buffer Rebased(const Buffer& numbers, int64_t base) {
  if (base == 0) return numbers;
  BufferBuilder builder(numbers.size());
  for (int64_t number : numbers.As<int64_t>()) builder.Push(number - base);
  return std::move(builder).Freeze();
}

// Returns the column without buffer content outside its rows.
Column Trimmed(const Column& column, size_t rows) {
  Column trimmed = column;
  const int64_t first = column.RowStart(0);
  const auto start = static_cast<size_t>(first);
  const auto items = static_cast<size_t>(column.RowStart(rows) - first);
  trimmed.row_starts = Rebased(column.row_starts, first);
  if (column.dtype != DType::kBytes) {
    const size_t size = ItemSize(column.dtype);
    trimmed.values = column.values.Slice(start * size, items * size);
    return trimmed;
  }
  const Buffer offsets =
      column.offsets.Slice(start * kOffsetSize, (items + 1) * kOffsetSize);
  const int64_t base = offsets.As<int64_t>().front();
  const int64_t end = offsets.As<int64_t>().back();
  trimmed.values = column.values.Slice(static_cast<size_t>(base),
                                       static_cast<size_t>(end - base));
  trimmed.offsets = Rebased(offsets, base);
  return trimmed;
}

// Assigns each buffer its place in the parts after the header.
class PartWriter {
 public:
  PartWriter(const std::vector<Column>& columns, Parts& parts) : parts_(parts) {
    size_t small = 0;
    for (const Column& column : columns) {
      for (const Buffer* buffer : BuffersOf(column)) {
        if (buffer->size() < kOwnPartFrom) {
          small += buffer->size() + kBufferAlignment;
        }
        if (buffer->size() > 0 && buffer->size() < kOwnPartFrom) {
          has_shared_ = true;
        }
      }
    }
    if (!has_shared_) return;
    shared_.Reserve(small);
    shared_part_ = parts_.size();
    parts_.emplace_back();
  }

  std::optional<fb::BufferPlace> Place(const Buffer& buffer) {
    if (buffer.size() == 0) return std::nullopt;
    if (buffer.size() >= kOwnPartFrom) {
      parts_.push_back(buffer);
      return fb::BufferPlace(static_cast<uint32_t>(parts_.size() - 1), 0,
                             buffer.size());
    }
    while (shared_.size() % kBufferAlignment != 0) shared_.Push(uint8_t{0});
    const size_t offset = shared_.size();
    shared_.Append(buffer.data(), buffer.size());
    return fb::BufferPlace(static_cast<uint32_t>(shared_part_), offset,
                           buffer.size());
  }

  void Finish() {
    if (has_shared_) parts_[shared_part_] = std::move(shared_).Freeze();
  }

 private:
  static std::vector<const Buffer*> BuffersOf(const Column& column) {
    return {&column.values, &column.offsets, &column.row_shapes,
            &column.row_starts};
  }

  Parts& parts_;
  BufferBuilder shared_;
  bool has_shared_ = false;
  size_t shared_part_ = 0;
};

template <class T>
const T* PointerTo(const std::optional<T>& value) {
  return value.has_value() ? &*value : nullptr;
}

Offset<fb::Column> PutColumn(Builder& builder, const Column& column,
                             PartWriter& parts) {
  const auto shape = builder.CreateVector(column.shape);
  const auto values = parts.Place(column.values);
  const auto offsets = parts.Place(column.offsets);
  const auto row_shapes = parts.Place(column.row_shapes);
  const auto row_starts = parts.Place(column.row_starts);
  return fb::CreateColumn(builder, static_cast<uint8_t>(column.dtype), shape,
                          PointerTo(values), PointerTo(offsets),
                          PointerTo(row_shapes), PointerTo(row_starts));
}

Offset<fb::ElementSpec> PutSpec(Builder& builder, const ElementSpec& spec) {
  return fb::CreateElementSpec(
      builder,
      PutAll(builder, spec.components, [&](const ComponentSpec& component) {
        const auto name = Put(builder, component.name);
        const auto shape = builder.CreateVector(component.shape);
        return fb::CreateComponent(builder, name,
                                   static_cast<uint8_t>(component.dtype), shape,
                                   static_cast<uint8_t>(component.logical));
      }));
}

struct PutCursors {
  Builder& builder;
  using Written = std::pair<fb::RowCursors, Offset<void>>;

  Written operator()(const DenseRows&) const {
    return {fb::RowCursors::DenseRows, fb::CreateDenseRows(builder).Union()};
  }
  Written operator()(const BitmapRows& rows) const {
    return {
        fb::RowCursors::BitmapRows,
        fb::CreateBitmapRows(builder, builder.CreateVector(rows.bits)).Union()};
  }
  Written operator()(const RunRows& rows) const {
    const auto runs = PutStructs(builder, rows.runs, [](const CursorRun& run) {
      return fb::CursorRun(run.p, run.i, run.count);
    });
    return {fb::RowCursors::RunRows, fb::CreateRunRows(builder, runs).Union()};
  }
};

Offset<fb::Piece> PutPiece(Builder& builder, const Piece& piece, Parts& parts) {
  std::vector<Column> columns;
  columns.reserve(piece.chunk.columns.size());
  for (const Column& column : piece.chunk.columns) {
    columns.push_back(Trimmed(column, piece.chunk.rows));
  }
  PartWriter writer(columns, parts);
  const auto written = PutAll(builder, columns, [&](const Column& column) {
    return PutColumn(builder, column, writer);
  });
  writer.Finish();
  Offset<fb::ElementSpec> spec = 0;
  if (piece.chunk.spec != nullptr) spec = PutSpec(builder, *piece.chunk.spec);
  const auto [form, cursors] = std::visit(PutCursors{builder}, piece.cursors);
  const auto error = Put(builder, piece.error);
  const auto skipped = Put(builder, piece.skipped);
  const auto state = Put(builder, piece.state);
  const fb::Cursor begin = ToWire(piece.begin);
  const fb::Cursor end = ToWire(piece.end);
  return fb::CreatePiece(builder, &begin, &end, form, cursors, piece.chunk.rows,
                         spec, written, error, skipped, state);
}

}  // namespace

Body PutFrame(Builder& builder, const Frame& frame, Parts& parts) {
  const auto session = Put(builder, frame.session);
  const auto worker = Put(builder, frame.worker.value());
  const auto piece = PutPiece(builder, frame.piece, parts);
  const fb::SplitId split = ToWire(frame.split);
  Offset<flatbuffers::Vector<const fb::StepCost*>> costs = 0;
  if (frame.costs != nullptr) {
    costs = PutStructs(builder, *frame.costs, [](const StepCost& cost) {
      return fb::StepCost(cost.place, cost.wall_ns, cost.cpu_ns, cost.rows_in,
                          cost.rows_out, cost.bytes_out);
    });
  }
  return {fb::Body::Frame, fb::CreateFrame(builder, session, &split, worker,
                                           frame.worker_incarnation.value(),
                                           frame.attempt.value(),
                                           frame.opening.value(), piece, costs)
                               .Union()};
}

}  // namespace feedmill::wire
