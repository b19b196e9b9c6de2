#include <set>

#include "core/chunk/dtype.h"
#include "core/wire/frame_codec.h"

namespace feedmill::wire {
namespace {

constexpr size_t kMaxComponents = 4096;
constexpr size_t kMaxRank = 32;
// A row costs at least one byte of credit, so a frame has far fewer.
constexpr uint64_t kMaxRows = uint64_t{1} << 26;
constexpr size_t kPlaceAlignment = 8;

bool IsAligned(const std::byte* at) {
  return reinterpret_cast<uintptr_t>(at) % kPlaceAlignment == 0;
}

// Returns views of the parts after the header. Copies a part once if its memory
// is not aligned. The views hold in total at most the received bytes, so that a
// small message cannot cause much work.
class PartReader {
 public:
  PartReader(FieldReader& reader, const Parts& parts)
      : reader_(reader), parts_(parts), used_(parts.size(), false) {
    used_[0] = true;
    for (size_t part = 1; part < parts.size(); ++part) {
      unspent_ += parts[part].size();
    }
  }

  Buffer View(const fb::BufferPlace* place) {
    if (place == nullptr) return {};
    const size_t index = place->part();
    if (index == 0 || index >= parts_.size() ||
        place->offset() % kPlaceAlignment != 0 ||
        place->offset() > parts_[index].size() ||
        place->size() > parts_[index].size() - place->offset() ||
        place->size() > unspent_) {
      reader_.Refuse(InvalidArgument(
          "a buffer of {} bytes at {} of part {} does not lie in the {} parts",
          place->size(), place->offset(), index, parts_.size()));
      return {};
    }
    used_[index] = true;
    unspent_ -= place->size();
    if (!IsAligned(parts_[index].data())) {
      parts_[index] = Buffer::CopyOf(parts_[index].span());
    }
    return parts_[index].Slice(place->offset(), place->size());
  }

  void CheckAllUsed() {
    for (size_t part = 0; part < used_.size(); ++part) {
      if (!used_[part]) {
        reader_.Refuse(InvalidArgument("no buffer lies in part {}", part));
      }
    }
  }

 private:
  FieldReader& reader_;
  Parts parts_;
  std::vector<bool> used_;
  uint64_t unspent_ = 0;
};

DType ReadDType(FieldReader& reader, uint8_t code) {
  if (IsDTypeCode(code)) return static_cast<DType>(code);
  reader.Refuse(InvalidArgument("dtype {} is not known", code));
  return DType::kBool;
}

LogicalType ReadLogicalType(FieldReader& reader, uint8_t code, DType dtype) {
  if (IsLogicalTypeCode(code, dtype)) return static_cast<LogicalType>(code);
  reader.Refuse(InvalidArgument("logical type {} of {} is not known", code,
                                DTypeName(dtype)));
  return LogicalType::kNone;
}

Shape ReadShape(FieldReader& reader, const flatbuffers::Vector<int64_t>& dims) {
  if (dims.size() > kMaxRank) {
    reader.Refuse(InvalidArgument("a shape has {} dimensions, more than {}",
                                  dims.size(), kMaxRank));
    return {};
  }
  if (!reader.IsAligned<int64_t>(dims)) return {};
  Shape shape(dims.begin(), dims.end());
  for (int64_t dim : shape) {
    if (dim < kUnknownDim) {
      reader.Refuse(InvalidArgument("a shape has the dimension {}", dim));
    }
  }
  return shape;
}

std::shared_ptr<const ElementSpec> ReadSpec(FieldReader& reader,
                                            const fb::ElementSpec* wire) {
  if (wire == nullptr) return nullptr;
  if (wire->components()->size() > kMaxComponents) {
    reader.Refuse(InvalidArgument("an element has {} components, more than {}",
                                  wire->components()->size(), kMaxComponents));
    return nullptr;
  }
  auto spec = std::make_shared<ElementSpec>();
  std::set<std::string_view> names;
  spec->components =
      reader.All(wire->components(), [&](const fb::Component* component) {
        const auto* name = component->name();
        const bool is_new =
            names.emplace(name->data(), static_cast<size_t>(name->size()))
                .second;
        if (!is_new || (name->size() == 0 && wire->components()->size() > 1)) {
          reader.Refuse(InvalidArgument(
              "two components are named '{}', or one of several has no name",
              std::string_view(name->data(), name->size())));
        }
        const DType dtype = ReadDType(reader, component->dtype());
        return ComponentSpec{
            reader.Text(name), dtype, ReadShape(reader, *component->shape()),
            ReadLogicalType(reader, component->logical(), dtype)};
      });
  return spec;
}

RowCursors ReadCursors(FieldReader& reader, const fb::Piece& piece) {
  switch (piece.cursors_type()) {
    case fb::RowCursors::DenseRows:
      return DenseRows{};
    case fb::RowCursors::BitmapRows: {
      const auto* bits = piece.cursors_as_BitmapRows()->bits();
      return BitmapRows{{bits->begin(), bits->end()}};
    }
    case fb::RowCursors::RunRows:
      return RunRows{reader.Structs(
          piece.cursors_as_RunRows()->runs(), [](const fb::CursorRun& run) {
            return CursorRun{run.p(), run.i(), run.count()};
          })};
    case fb::RowCursors::NONE:
      break;
  }
  reader.Refuse(InvalidArgument("form {} of row cursors is not known",
                                static_cast<int>(piece.cursors_type())));
  return DenseRows{};
}

Piece ReadPiece(FieldReader& reader, const fb::Piece& wire,
                const Parts& parts) {
  Piece piece;
  piece.begin = FromWire(*wire.begin());
  piece.end = FromWire(*wire.end());
  piece.cursors = ReadCursors(reader, wire);
  piece.error = reader.Status(wire.error());
  piece.skipped = ReadSkipped(reader, wire.skipped());
  piece.state = ReadState(reader, wire.state(), piece.end);
  if (wire.rows() > kMaxRows || wire.columns()->size() > kMaxComponents) {
    reader.Refuse(InvalidArgument("{} rows of {} columns are too many",
                                  wire.rows(), wire.columns()->size()));
    return piece;
  }
  piece.chunk.spec = ReadSpec(reader, wire.spec());
  piece.chunk.rows = wire.rows();
  PartReader views(reader, parts);
  piece.chunk.columns =
      reader.All(wire.columns(), [&](const fb::Column* column) {
        Column out;
        out.dtype = ReadDType(reader, column->dtype());
        out.shape = ReadShape(reader, *column->shape());
        out.values = views.View(column->values());
        out.offsets = views.View(column->offsets());
        out.row_shapes = views.View(column->row_shapes());
        out.row_starts = views.View(column->row_starts());
        return out;
      });
  views.CheckAllUsed();
  if (reader.error().ok()) reader.Refuse(piece.Validate());
  return piece;
}

}  // namespace

Frame ReadFrame(FieldReader& reader, const fb::Frame& wire,
                const Parts& parts) {
  Frame frame;
  frame.session = reader.Session(wire.session());
  frame.split = FromWire(*wire.split());
  frame.worker = WorkerId(reader.Text(wire.worker()));
  frame.worker_incarnation = Incarnation(wire.worker_incarnation());
  frame.attempt = Attempt(wire.attempt());
  frame.opening = Opening(wire.opening());
  frame.piece = ReadPiece(reader, *wire.piece(), parts);
  if (wire.costs() != nullptr) {
    frame.costs = std::make_shared<const std::vector<StepCost>>(
        ReadCosts(reader, wire.costs()));
  }
  return frame;
}

}  // namespace feedmill::wire
