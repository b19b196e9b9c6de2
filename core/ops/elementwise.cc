#include "core/ops/elementwise.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/ops/convert_items.h"
#include "core/ops/promotion.h"

namespace feedmill {
namespace {

// Items of a tile: three operands and a result fit into the first-level cache.
constexpr size_t kTileItems = 512;
constexpr size_t kLargestItem = sizeof(std::string_view);

size_t LoopItemSize(DType dtype) {
  return dtype == DType::kBytes ? sizeof(std::string_view) : ItemSize(dtype);
}

// The source of the operand's item for an item of the result.
enum class Form {
  kDirect,  // result item k is operand item k
  kScalar,  // one item for all items
  kPerRow,  // one item for each row
  kMapped,  // row * row_items + map[index in the row]
};

// An operand of a run over rows of one shape.
struct TileOperand {
  const Column* column = nullptr;
  DType as = DType::kInt64;  // the loop's dtype
  bool weak_integer = false;
  int64_t first_item = 0;  // in the column
  Form form = Form::kDirect;
  int64_t row_items = 0;  // kMapped: 0 for a constant
  std::vector<int64_t> map;
};

struct alignas(64) Tile {
  std::byte bytes[kTileItems * kLargestItem];
};

// Loads items [from, from + n) of a column, converted for the loop.
void LoadItems(const TileOperand& operand, int64_t from, size_t n,
               void* target) {
  const Column& column = *operand.column;
  if (column.dtype == DType::kBytes) {
    auto* views = static_cast<std::string_view*>(target);
    for (size_t i = 0; i < n; ++i) {
      views[i] = column.BytesAt(from + static_cast<int64_t>(i));
    }
    return;
  }
  const size_t size = ItemSize(column.dtype);
  const std::byte* source =
      column.values.data() + static_cast<size_t>(from) * size;
  if (operand.weak_integer && IsFloat(operand.as)) {
    // Same as Python's float(n), which rounds to a double first.
    for (size_t i = 0; i < n; ++i) {
      double value = 0;
      ConvertItems(column.dtype, source + i * size, DType::kFloat64, &value, 1);
      ConvertItems(DType::kFloat64, &value, operand.as,
                   static_cast<std::byte*>(target) + i * ItemSize(operand.as),
                   1);
    }
    return;
  }
  ConvertItems(column.dtype, source, operand.as, target, n);
}

template <class T, class IndexOf>
void GatherAs(const std::byte* source, IndexOf&& index_of, size_t n,
              std::byte* target) {
  const T* from = reinterpret_cast<const T*>(source);
  T* to = reinterpret_cast<T*>(target);
  for (size_t i = 0; i < n; ++i) to[i] = from[index_of(i)];
}

// Gathers n items by index, converted for the loop.
template <class IndexOf>
void GatherItems(const TileOperand& operand, IndexOf&& index_of, size_t n,
                 Tile& scratch, Tile& target) {
  const Column& column = *operand.column;
  if (column.dtype == DType::kBytes) {
    auto* views = reinterpret_cast<std::string_view*>(target.bytes);
    for (size_t i = 0; i < n; ++i) views[i] = column.BytesAt(index_of(i));
    return;
  }
  const bool converts = column.dtype != operand.as;
  std::byte* gathered = converts ? scratch.bytes : target.bytes;
  const std::byte* source = column.values.data();
  switch (ItemSize(column.dtype)) {
    case 1:
      GatherAs<uint8_t>(source, index_of, n, gathered);
      break;
    case 2:
      GatherAs<uint16_t>(source, index_of, n, gathered);
      break;
    case 4:
      GatherAs<uint32_t>(source, index_of, n, gathered);
      break;
    default:
      GatherAs<uint64_t>(source, index_of, n, gathered);
  }
  if (converts) {
    ConvertItems(column.dtype, gathered, operand.as, target.bytes, n);
  }
}

// Tracks the row, and the index in the row, of consecutive items of the result.
class RowWalk {
 public:
  RowWalk(size_t item, size_t row_items)
      : row_items_(row_items),
        row_(static_cast<int64_t>(item / row_items)),
        place_(item % row_items) {}
  int64_t row() const { return row_; }
  size_t place() const { return place_; }
  void Advance() {
    if (++place_ == row_items_) {
      place_ = 0;
      ++row_;
    }
  }

 private:
  size_t row_items_;
  int64_t row_;
  size_t place_;
};

// Fills `target` with the operand's items for items [begin, begin + n) of the
// result.
void FillTile(const TileOperand& operand, size_t begin, size_t n,
              size_t row_items, Tile& scratch, Tile& target) {
  switch (operand.form) {
    case Form::kDirect:
      LoadItems(operand, operand.first_item + static_cast<int64_t>(begin), n,
                target.bytes);
      return;
    case Form::kScalar: {
      LoadItems(operand, operand.first_item, 1, target.bytes);
      const size_t size = LoopItemSize(operand.as);
      for (size_t i = 1; i < n; ++i) {
        std::memcpy(target.bytes + i * size, target.bytes, size);
      }
      return;
    }
    case Form::kPerRow: {
      RowWalk walk(begin, row_items);
      GatherItems(
          operand,
          [&](size_t) {
            const int64_t index = operand.first_item + walk.row();
            walk.Advance();
            return index;
          },
          n, scratch, target);
      return;
    }
    case Form::kMapped: {
      RowWalk walk(begin, row_items);
      GatherItems(
          operand,
          [&](size_t) {
            const int64_t index = operand.first_item +
                                  walk.row() * operand.row_items +
                                  operand.map[walk.place()];
            walk.Advance();
            return index;
          },
          n, scratch, target);
      return;
    }
  }
}

// Returns, for each index in the result's row, the index in the operand's row.
std::vector<int64_t> BroadcastMap(const Shape& from, const Shape& to) {
  const size_t items = static_cast<size_t>(NumItems(to));
  std::vector<int64_t> strides(to.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t axis = to.size() - 1 - i;
    const int64_t dim = from[from.size() - 1 - i];
    strides[axis] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
  std::vector<int64_t> map(items);
  std::vector<int64_t> place(to.size(), 0);
  int64_t index = 0;
  for (size_t k = 0; k < items; ++k) {
    map[k] = index;
    for (size_t axis = to.size(); axis-- > 0;) {
      index += strides[axis];
      if (++place[axis] < to[axis]) break;
      index -= strides[axis] * to[axis];
      place[axis] = 0;
    }
  }
  return map;
}

// Chooses the form of an operand whose rows have shape `from`.
void ChooseForm(TileOperand& operand, const Shape& from, const Shape& to,
                size_t rows, bool constant) {
  const int64_t items = NumItems(from);
  if (items == NumItems(to) && (!constant || rows == 1)) {
    operand.form = Form::kDirect;
  } else if (items == 1) {
    operand.form = constant ? Form::kScalar : Form::kPerRow;
  } else {
    operand.form = Form::kMapped;
    operand.row_items = constant ? 0 : items;
    operand.map = BroadcastMap(from, to);
  }
}

class Run {
 public:
  Run(const ElementwiseCall& call, std::span<const Argument> arguments,
      OutputColumn& out)
      : call_(call), arguments_(arguments), out_(out) {}

  absl::Status Execute(size_t rows, const ValueType& type);

 private:
  // Runs one pass over `rows` rows of `row_items` items with the current
  // operands. Returns the index of the first item without a result, or the
  // number of items.
  size_t Pass(size_t rows, size_t row_items);
  size_t TiledPass(size_t items, size_t row_items, LoopInputs inputs,
                   const bool* direct);
  void AppendViews(const Tile& tile, size_t n);

  absl::Status BadItem(size_t row) {
    out_.failed_row = row;
    return DataLoss("{}", call_.bad_item);
  }
  absl::Status RunUniform(size_t rows, const ValueType& type);
  // True for ragged columns with rows of the same shapes, and single constants.
  bool IsFlat(size_t rows) const;
  absl::Status RunFlat(size_t rows);
  absl::Status RunRowByRow(size_t rows, const ValueType& type);
  size_t FirstItem(size_t argument, size_t row) const {
    const Argument& a = arguments_[argument];
    return static_cast<size_t>(a.column->RowStart(a.constant ? 0 : row));
  }
  const Column& RaggedLeader() const;

  const ElementwiseCall& call_;
  std::span<const Argument> arguments_;
  OutputColumn& out_;
  std::array<TileOperand, 3> operands_;
};

absl::Status Run::Execute(size_t rows, const ValueType& type) {
  bool ragged = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    operands_[i].column = arguments_[i].column;
    operands_[i].as = call_.operands[i];
    operands_[i].weak_integer = IsWeakInteger(*arguments_[i].type);
    ragged = ragged || arguments_[i].column->ragged();
  }
  out_.Reset(call_.result, type.shape);
  if (call_.result == DType::kBytes) out_.offsets.Push(int64_t{0});
  if (!ragged) return RunUniform(rows, type);
  FM_RETURN_IF_ERROR(IsFlat(rows) ? RunFlat(rows) : RunRowByRow(rows, type));
  if (std::find(type.shape.begin(), type.shape.end(), kUnknownDim) ==
      type.shape.end()) {
    // All rows have the inferred shape.
    out_.row_starts.Truncate(0);
    out_.row_shapes.Truncate(0);
    out_.shape = type.shape;
  }
  return absl::OkStatus();
}

absl::Status Run::RunUniform(size_t rows, const ValueType& type) {
  Shape shape;
  for (const Argument& argument : arguments_) {
    absl::StatusOr<Shape> both = BroadcastShapes(shape, argument.column->shape);
    if (!both.ok()) {
      if (rows == 0) return absl::OkStatus();
      out_.failed_row = 0;
      return DataLoss("{}", ErrorText(both.status()));
    }
    shape = *std::move(both);
  }
  out_.shape = shape;
  if (rows == 0) {
    out_.shape = type.shape;
    return absl::OkStatus();
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    operands_[i].first_item = 0;
    ChooseForm(operands_[i], arguments_[i].column->shape, shape, rows,
               arguments_[i].constant);
  }
  const size_t row_items = static_cast<size_t>(NumItems(shape));
  // Broadcasting rows to each other may multiply their sizes.
  ByteBudget::Check(rows, row_items * ItemSize(call_.result));
  const size_t good = Pass(rows, row_items);
  return good == rows * row_items ? absl::OkStatus()
                                  : BadItem(good / row_items);
}

const Column& Run::RaggedLeader() const {
  for (const Argument& argument : arguments_) {
    if (argument.column->ragged()) return *argument.column;
  }
  CheckFailed(__FILE__, __LINE__, "a ragged argument");
}

bool Run::IsFlat(size_t rows) const {
  const Column& leader = RaggedLeader();
  const size_t shape_bytes = rows * leader.shape.size() * sizeof(int64_t);
  for (const Argument& argument : arguments_) {
    const Column& column = *argument.column;
    if (column.ragged()) {
      if (argument.constant) return false;
      if (column.shape.size() != leader.shape.size()) return false;
      if (&column != &leader && shape_bytes > 0 &&
          std::memcmp(column.row_shapes.data(), leader.row_shapes.data(),
                      shape_bytes) != 0) {
        return false;
      }
    } else if (!argument.constant || NumItems(column.shape) != 1 ||
               column.shape.size() > leader.shape.size()) {
      return false;
    }
  }
  return true;
}

absl::Status Run::RunFlat(size_t rows) {
  const Column& leader = RaggedLeader();
  const int64_t first = leader.RowStart(0);
  for (size_t row = 0; row <= rows; ++row) {
    out_.row_starts.Push(leader.row_starts.As<int64_t>()[row] - first);
  }
  out_.row_shapes.Append(leader.row_shapes.data(),
                         rows * leader.shape.size() * sizeof(int64_t));
  const int64_t* starts = out_.row_starts.As<int64_t>();
  const size_t items = static_cast<size_t>(starts[rows]);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    operands_[i].form = arguments_[i].constant ? Form::kScalar : Form::kDirect;
    operands_[i].first_item = static_cast<int64_t>(FirstItem(i, 0));
  }
  const size_t good = Pass(1, items);
  if (good == items) return absl::OkStatus();
  const int64_t* after =
      std::upper_bound(starts, starts + rows, static_cast<int64_t>(good));
  return BadItem(static_cast<size_t>(after - starts) - 1);
}

absl::Status Run::RunRowByRow(size_t rows, const ValueType& type) {
  int64_t total = 0;
  out_.row_starts.Push(total);
  std::array<Shape, 3> shapes;
  for (size_t row = 0; row < rows; ++row) {
    Shape shape;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      shapes[i] = argument.column->RowShape(argument.constant ? 0 : row);
      absl::StatusOr<Shape> both = BroadcastShapes(shape, shapes[i]);
      if (!both.ok()) {
        out_.failed_row = row;
        return DataLoss("{}", ErrorText(both.status()));
      }
      shape = *std::move(both);
    }
    for (size_t i = 0; i < arguments_.size(); ++i) {
      operands_[i].first_item = static_cast<int64_t>(FirstItem(i, row));
      ChooseForm(operands_[i], shapes[i], shape, 1, true);
    }
    const size_t items = static_cast<size_t>(NumItems(shape));
    if (Pass(1, items) != items) return BadItem(row);
    total += static_cast<int64_t>(items);
    out_.row_starts.Push(total);
    out_.row_shapes.Append(shape.data(), shape.size() * sizeof(int64_t));
  }
  out_.shape.assign(type.shape.size(), kUnknownDim);
  return absl::OkStatus();
}

size_t Run::Pass(size_t rows, size_t row_items) {
  const size_t items = rows * row_items;
  if (items == 0) return 0;
  LoopInputs inputs;
  bool direct[3] = {false, false, false};
  bool dense = call_.result != DType::kBytes;
  alignas(16) std::byte scalar[kLargestItem];
  const size_t last = arguments_.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    const TileOperand& operand = operands_[i];
    if (operand.form == Form::kScalar && i == last) {
      LoadItems(operand, operand.first_item, 1, scalar);
      inputs.items[i] = scalar;
      inputs.last_is_scalar = true;
      direct[i] = true;
    } else if (operand.form == Form::kDirect &&
               operand.as == operand.column->dtype &&
               operand.as != DType::kBytes) {
      inputs.items[i] =
          operand.column->values.data() +
          static_cast<size_t>(operand.first_item) * ItemSize(operand.as);
      direct[i] = true;
    } else {
      dense = false;
    }
  }
  if (!dense) return TiledPass(items, row_items, inputs, direct);
  std::byte* target = out_.values.Extend(items * ItemSize(call_.result));
  return call_.loop(inputs, target, items);
}

size_t Run::TiledPass(size_t items, size_t row_items, LoopInputs inputs,
                      const bool* direct) {
  Tile tiles[3];
  Tile scratch;
  const size_t count = arguments_.size();
  for (size_t i = 0; i < count; ++i) {
    if (direct[i]) continue;
    inputs.items[i] = tiles[i].bytes;
    if (operands_[i].form == Form::kScalar) {
      FillTile(operands_[i], 0, std::min(items, kTileItems), row_items, scratch,
               tiles[i]);
    }
  }
  for (size_t begin = 0; begin < items; begin += kTileItems) {
    const size_t n = std::min(kTileItems, items - begin);
    LoopInputs now = inputs;
    for (size_t i = 0; i < count; ++i) {
      const TileOperand& operand = operands_[i];
      if (operand.form == Form::kScalar) continue;
      if (direct[i]) {
        now.items[i] = static_cast<const std::byte*>(inputs.items[i]) +
                       begin * LoopItemSize(operand.as);
      } else {
        FillTile(operand, begin, n, row_items, scratch, tiles[i]);
      }
    }
    const bool views = call_.result == DType::kBytes;
    void* target =
        views ? scratch.bytes : out_.values.Extend(n * ItemSize(call_.result));
    const size_t good = call_.loop(now, target, n);
    if (good != n) return begin + good;
    if (views) AppendViews(scratch, n);
  }
  return items;
}

void Run::AppendViews(const Tile& tile, size_t n) {
  const auto* views = reinterpret_cast<const std::string_view*>(tile.bytes);
  for (size_t i = 0; i < n; ++i) {
    out_.values.Append(views[i].data(), views[i].size());
    out_.offsets.Push(static_cast<int64_t>(out_.values.size()));
  }
}

}  // namespace

void LoadConstant(const Argument& constant, DType as, void* item) {
  TileOperand operand;
  operand.column = constant.column;
  operand.as = as;
  operand.weak_integer = IsWeakInteger(*constant.type);
  LoadItems(operand, 0, 1, item);
}

absl::Status ElementwiseCompute::operator()(std::span<const Argument> arguments,
                                            size_t rows, const ValueType& type,
                                            OutputColumn& out) const {
  std::array<const ValueType*, 3> types{};
  for (size_t i = 0; i < arity_; ++i) types[i] = arguments[i].type;
  FM_ASSIGN_OR_RETURN(const ElementwiseCall call,
                      Resolve(std::span(types).first(arity_)));
  const Column& column = *arguments[0].column;
  if (call.converts && !arguments[0].constant && !column.ragged() && rows > 0) {
    out.Reset(type.dtype, column.shape);
    const size_t items = rows * static_cast<size_t>(NumItems(column.shape));
    ConvertItems(column.dtype, column.values.data(), type.dtype,
                 out.values.Extend(items * ItemSize(type.dtype)), items);
    return absl::OkStatus();
  }
  return RunElementwise(call, arguments.first(items_), rows, type, out);
}

absl::Status RunElementwise(const ElementwiseCall& call,
                            std::span<const Argument> arguments, size_t rows,
                            const ValueType& type, OutputColumn& out) {
  FM_CHECK(!arguments.empty() && arguments.size() <= 3);
  return Run(call, arguments, out).Execute(rows, type);
}

}  // namespace feedmill
