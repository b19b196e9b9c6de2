#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/chunk/chunk_builder.h"
#include "core/chunk/cursor.h"
#include "core/chunk/dtype.h"
#include "core/chunk/piece.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const ElementSpec> Spec(std::vector<ComponentSpec> components) {
  return std::make_shared<ElementSpec>(ElementSpec{std::move(components)});
}

// A grey picture of unknown size and its tags.
std::shared_ptr<const ElementSpec> PictureSpec() {
  return Spec({{"image", DType::kUInt8, {kUnknownDim, kUnknownDim}},
               {"tags", DType::kBytes, {kUnknownDim}}});
}

void AddPicture(ChunkBuilder& builder, int64_t height, int64_t width,
                uint8_t pixel, const std::vector<std::string_view>& tags) {
  std::memset(builder.AppendRow(0, {height, width}), pixel,
              static_cast<size_t>(height * width));
  builder.AppendBytesRow(1, {static_cast<int64_t>(tags.size())}, tags);
  builder.FinishRows(1);
}

Chunk Pictures() {
  ChunkBuilder builder(PictureSpec());
  AddPicture(builder, 1, 2, 7, {"a", "bc"});
  AddPicture(builder, 2, 2, 8, {"", "d"});
  AddPicture(builder, 0, 3, 9, {});
  AddPicture(builder, 1, 1, 10, {"efg"});
  return std::move(builder).Finish();
}

Chunk Numbers(const std::vector<int64_t>& values) {
  return {Spec({{"", DType::kInt64, {}}}), values.size(), {MakeColumn(values)}};
}

// Returns every row as text, so that the layout does not affect comparisons.
std::vector<std::string> Rows(const Chunk& chunk) {
  std::vector<std::string> rows(chunk.rows);
  for (size_t row = 0; row < chunk.rows; ++row) {
    for (const Column& column : chunk.columns) {
      rows[row] += ShapeToString(column.RowShape(row)) + "=";
      for (int64_t k = 0; k < column.RowItems(row); ++k) {
        const int64_t item = column.RowStart(row) + k;
        if (column.dtype == DType::kBytes) {
          rows[row] += std::string(column.BytesAt(item)) + ",";
        } else if (column.dtype == DType::kUInt8) {
          rows[row] += std::to_string(
                           column.Items<uint8_t>(row)[static_cast<size_t>(k)]) +
                       ",";
        } else {
          rows[row] += std::to_string(
                           column.Items<int64_t>(row)[static_cast<size_t>(k)]) +
                       ",";
        }
      }
      rows[row] += ";";
    }
  }
  return rows;
}

TEST(DType, NamesAndCodesGoTogether) {
  for (uint8_t code = 0; code < 20; ++code) {
    if (!IsDTypeCode(code)) continue;
    const auto dtype = static_cast<DType>(code);
    EXPECT_EQ(DTypeFromName(DTypeName(dtype)), dtype);
  }
  EXPECT_EQ(DTypeFromName("float128"), std::nullopt);
  EXPECT_FALSE(IsDTypeCode(0));
  EXPECT_FALSE(IsDTypeCode(15));
  EXPECT_EQ(ItemSize(DType::kFloat64), 8u);
  EXPECT_EQ(ItemSize(DType::kBytes), 0u);
  EXPECT_FALSE(IsInteger(DType::kBool));
  EXPECT_FALSE(IsSigned(DType::kUInt8));
  EXPECT_TRUE(IsFloat(DType::kFloat32));
}

TEST(ElementSpec, PrintsAsItsUserWroteIt) {
  EXPECT_EQ(Spec({{"", DType::kInt64, {}}})->ToString(), "int64");
  EXPECT_EQ(PictureSpec()->ToString(), "{image: uint8[?, ?], tags: bytes[?]}");
  EXPECT_EQ(PictureSpec()->Find("tags"), 1);
  EXPECT_EQ(PictureSpec()->Find("label"), -1);
}

TEST(Buffer, BuildersAreAlignedAndGrow) {
  BufferBuilder builder;
  for (int64_t k = 0; k < 1000; ++k) builder.Push(k);
  builder.Truncate(999 * sizeof(int64_t));
  const Buffer buffer = std::move(builder).Freeze();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
  EXPECT_EQ(buffer.As<int64_t>().size(), 999u);
  EXPECT_EQ(buffer.As<int64_t>().back(), 998);
  const Buffer slice = buffer.Slice(8, 16);
  EXPECT_THAT(slice.As<int64_t>(), ElementsAre(1, 2));
  EXPECT_EQ(slice.owner(), buffer.owner());
}

TEST(Buffer, EmptyOnesNeedNoMemory) {
  EXPECT_EQ(BufferBuilder().data(), nullptr);
  EXPECT_EQ(Buffer::CopyOf({}).size(), 0u);
  EXPECT_EQ(Buffer().Slice(0, 0).size(), 0u);
}

TEST(Buffer, MovedFromBuilderIsEmpty) {
  BufferBuilder from;
  from.Push(int64_t{5});
  BufferBuilder to = std::move(from);
  EXPECT_EQ(to.As<int64_t>()[0], 5);
  from = BufferBuilder();
  EXPECT_EQ(from.size(), 0u);
}

TEST(Cursor, DenseRowsAreNumberedFromTheFirstWholePosition) {
  const RowCursors dense = DenseRows{};
  EXPECT_EQ(CursorOfRow(dense, {10, 0}, 2), (Cursor{12, 0}));
  EXPECT_EQ(CursorOfRow(dense, {10, 1}, 0), (Cursor{11, 0}));
  EXPECT_EQ(RowsBelow(dense, 5, {10, 0}, {12, 0}), 2u);
  EXPECT_EQ(RowsBelow(dense, 5, {10, 0}, {12, 3}), 3u);
  EXPECT_EQ(RowsBelow(dense, 5, {10, 0}, {90, 0}), 5u);
  EXPECT_EQ(RowsBelow(dense, 5, {10, 0}, {3, 0}), 0u);
}

TEST(Cursor, BitmapRowsAreItsSetBits) {
  BitmapRows bitmap{std::vector<uint8_t>(20, 0)};
  for (const size_t bit : std::vector<size_t>{0, 3, 9, 64, 70, 159}) {
    bitmap.bits[bit / 8] |= static_cast<uint8_t>(1 << bit % 8);
  }
  EXPECT_EQ(CursorOfRow(bitmap, {100, 0}, 0), (Cursor{100, 0}));
  EXPECT_EQ(CursorOfRow(bitmap, {100, 0}, 3), (Cursor{164, 0}));
  EXPECT_EQ(CursorOfRow(bitmap, {100, 0}, 5), (Cursor{259, 0}));
  EXPECT_EQ(RowsBelow(bitmap, 6, {100, 0}, {109, 0}), 2u);
  EXPECT_EQ(RowsBelow(bitmap, 6, {100, 0}, {109, 1}), 3u);
  EXPECT_EQ(RowsBelow(bitmap, 6, {100, 0}, {900, 0}), 6u);
}

// Cuts all forms at every cursor: the rows below and above must together be the
// same rows.
TEST(Cursor, CuttingAnywhereKeepsTheNames) {
  BitmapRows bitmap{{0b10101101, 0b00000011}};
  const std::vector<std::pair<RowCursors, size_t>> forms = {
      {DenseRows{}, 10},
      {bitmap, 7},
      {RunRows{{{20, 0, 3}, {21, 2, 1}, {25, 0, 2}}}, 6}};
  const Cursor begin{20, 0};
  const Cursor end{30, 0};
  for (const auto& [form, rows] : forms) {
    ASSERT_TRUE(ValidateCursors(form, rows, begin, end).ok());
    for (Cursor from = begin; from < end;
         from = from.i < 4 ? Cursor{from.p, from.i + 1}
                           : Cursor{from.p + 1, 0}) {
      const size_t below = RowsBelow(form, rows, begin, from);
      const RowCursors rest = CursorsFrom(form, begin, from);
      EXPECT_TRUE(ValidateCursors(rest, rows - below, from, end).ok());
      for (size_t row = 0; row < rows; ++row) {
        const Cursor cursor = CursorOfRow(form, begin, row);
        EXPECT_EQ(cursor < from, row < below);
        if (row >= below) {
          EXPECT_EQ(CursorOfRow(rest, from, row - below), cursor);
        }
      }
      const RowCursors before = CursorsBefore(form, begin, from);
      EXPECT_TRUE(ValidateCursors(before, below, begin, from).ok());
      for (size_t row = 0; row < below; ++row) {
        EXPECT_EQ(CursorOfRow(before, begin, row),
                  CursorOfRow(form, begin, row));
      }
    }
  }
}

TEST(Cursor, WrongNamesAreRefused) {
  const Cursor begin{20, 0};
  const Cursor end{30, 0};
  EXPECT_FALSE(ValidateCursors(DenseRows{}, 9, begin, end).ok());
  EXPECT_TRUE(ValidateCursors(DenseRows{}, 0, begin, end).ok());
  EXPECT_FALSE(ValidateCursors(DenseRows{}, 0, end, begin).ok());
  EXPECT_FALSE(ValidateCursors(BitmapRows{{7}}, 2, begin, end).ok());
  EXPECT_FALSE(ValidateCursors(BitmapRows{{0, 4}}, 1, begin, end).ok());
  EXPECT_FALSE(ValidateCursors(BitmapRows{{1}}, 1, {20, 1}, end).ok());
  auto runs = [&](std::vector<CursorRun> form, size_t rows) {
    return ValidateCursors(RunRows{std::move(form)}, rows, begin, end).ok();
  };
  EXPECT_TRUE(runs({{20, 0, 1}, {20, 1, 1}}, 2));
  EXPECT_FALSE(runs({{20, 0, 2}, {20, 1, 1}}, 3));
  EXPECT_FALSE(runs({{19, 0, 1}}, 1));
  EXPECT_FALSE(runs({{30, 0, 1}}, 1));
  EXPECT_FALSE(runs({{20, 0, 0}}, 0));
  EXPECT_FALSE(runs({{20, 5, ~uint64_t{0}}}, 1));
  EXPECT_FALSE(runs({{20, 0, 2}}, 3));
}

TEST(ChunkBuilder, RowsOfOneShapeStayUniform) {
  ChunkBuilder builder(Spec({{"", DType::kInt64, {kUnknownDim}}}));
  const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6};
  builder.AppendDense(0, {2}, values.data(), 2);
  builder.AppendDense(0, {2}, values.data() + 4, 1);
  builder.FinishRows(3);
  EXPECT_EQ(builder.bytes(), 48u);
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_FALSE(chunk.columns[0].ragged());
  EXPECT_EQ(chunk.columns[0].shape, Shape{2});
  EXPECT_THAT(Rows(chunk), ElementsAre("[2]=1,2,;", "[2]=3,4,;", "[2]=5,6,;"));
  EXPECT_TRUE(chunk.Validate().ok());
}

TEST(ChunkBuilder, RowsOfSeveralShapesTurnRagged) {
  const Chunk chunk = Pictures();
  EXPECT_TRUE(chunk.columns[0].ragged());
  EXPECT_EQ(chunk.columns[0].shape, (Shape{kUnknownDim, kUnknownDim}));
  EXPECT_THAT(Rows(chunk),
              ElementsAre("[1, 2]=7,7,;[2]=a,bc,;", "[2, 2]=8,8,8,8,;[2]=,d,;",
                          "[0, 3]=;[0]=;", "[1, 1]=10,;[1]=efg,;"));
  EXPECT_TRUE(chunk.Validate().ok()) << chunk.Validate();
}

TEST(ChunkBuilder, WithoutRowsUnknownDimensionsStayUnknown) {
  const Chunk chunk = ChunkBuilder(PictureSpec()).Finish();
  EXPECT_EQ(chunk.rows, 0u);
  EXPECT_TRUE(chunk.columns[0].ragged());
  EXPECT_TRUE(chunk.Validate().ok()) << chunk.Validate();
  EXPECT_EQ(chunk.Slice(0, 0).rows, 0u);
}

TEST(ChunkBuilder, AFailedRowIsDropped) {
  ChunkBuilder builder(PictureSpec());
  AddPicture(builder, 1, 2, 7, {"a"});
  builder.AppendRow(0, {3, 3});
  builder.DropUnfinished();
  AddPicture(builder, 1, 1, 8, {"b", "c"});
  builder.AppendBytesRow(1, {1}, {"z"});
  builder.DropUnfinished();
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_THAT(Rows(chunk),
              ElementsAre("[1, 2]=7,7,;[1]=a,;", "[1, 1]=8,;[2]=b,c,;"));
  EXPECT_TRUE(chunk.Validate().ok());
}

TEST(Chunk, SlicesShareBuffersAndCanBeSlicedAgain) {
  const Chunk all = Pictures();
  const Chunk tail = all.Slice(1, 4);
  EXPECT_EQ(tail.columns[0].values.data(), all.columns[0].values.data());
  EXPECT_THAT(Rows(tail.Slice(0, 2)),
              ElementsAre("[2, 2]=8,8,8,8,;[2]=,d,;", "[0, 3]=;[0]=;"));
  EXPECT_TRUE(tail.Slice(1, 3).Validate().ok());
  EXPECT_THAT(Rows(Numbers({5, 6, 7, 8}).Slice(1, 4).Slice(1, 2)),
              ElementsAre("=7,;"));
}

TEST(Chunk, SlicesOfUniformStringsKeepTheirOffsets) {
  const std::vector<std::string_view> words = {"a", "bb", "", "dddd"};
  const Chunk chunk{
      Spec({{"", DType::kBytes, {}}}), 4, {MakeBytesColumn(words)}};
  const Chunk slice = chunk.Slice(1, 4);
  EXPECT_THAT(Rows(slice), ElementsAre("=bb,;", "=,;", "=dddd,;"));
  EXPECT_TRUE(slice.Validate().ok());
}

TEST(Chunk, ConcatenatingTheSlicesGivesTheWhole) {
  const Chunk all = Pictures();
  for (size_t cut = 0; cut <= all.rows; ++cut) {
    const Chunk joined =
        Concatenate({all.Slice(0, cut), all.Slice(cut, all.rows)});
    EXPECT_EQ(Rows(joined), Rows(all));
    EXPECT_TRUE(joined.Validate().ok());
  }
  EXPECT_EQ(Concatenate({all}).columns[0].values.data(),
            all.columns[0].values.data());
}

TEST(Chunk, ElementBytesDoNotDependOnTheCut) {
  const Chunk pictures = Pictures();
  EXPECT_EQ(pictures.ElementBytes(0, 1), 2u + 3 + 16);
  EXPECT_EQ(pictures.ElementBytes(2, 3), 1u);  // never free of charge
  for (size_t cut = 0; cut <= 4; ++cut) {
    EXPECT_EQ(pictures.Slice(0, cut).ElementBytes() +
                  pictures.Slice(cut, 4).ElementBytes(),
              pictures.ElementBytes());
  }
  EXPECT_EQ(Numbers({1, 2, 3}).ElementBytes(1, 3), 16u);
}

TEST(Piece, FromKeepsNamesAndError) {
  Piece piece;
  piece.begin = {4, 0};
  piece.end = {8, 0};
  piece.cursors = BitmapRows{{0b1011}};
  piece.chunk = Numbers({40, 50, 70});
  piece.error = DataLoss("bad record");
  ASSERT_TRUE(piece.Validate().ok());
  const Piece rest = piece.From({5, 1});
  EXPECT_EQ(rest.begin, (Cursor{5, 1}));
  EXPECT_THAT(Rows(rest.chunk), ElementsAre("=70,;"));
  EXPECT_EQ(rest.CursorOf(0), (Cursor{7, 0}));
  EXPECT_EQ(rest.error, piece.error);
  EXPECT_TRUE(rest.Validate().ok());
  EXPECT_EQ(piece.From(piece.end).chunk.rows, 0u);
}

TEST(Piece, FirstIsWhatFromLeaves) {
  Piece piece;
  piece.begin = {4, 0};
  piece.end = {8, 0};
  piece.cursors = BitmapRows{{0b1011}};
  piece.chunk = Numbers({40, 50, 70});
  piece.error = DataLoss("bad record");
  const Piece first = piece.First(2);
  EXPECT_TRUE(first.Validate().ok()) << first.Validate();
  EXPECT_EQ(first.begin, piece.begin);
  EXPECT_EQ(first.end, (Cursor{7, 0}));
  EXPECT_THAT(Rows(first.chunk), ElementsAre("=40,;", "=50,;"));
  EXPECT_TRUE(first.error.ok());
  EXPECT_THAT(Rows(piece.From(first.end).chunk), ElementsAre("=70,;"));
}

// Each corruption of a valid chunk, as a wire could bring it, must be detected.
class ValidateTest : public ::testing::Test {
 protected:
  using Change = std::function<void(Chunk&)>;

  static absl::Status After(const Change& change) {
    Chunk chunk = Pictures();
    change(chunk);
    return chunk.Validate();
  }
  static Buffer Bytes(size_t size) {
    return Buffer::CopyOf(std::vector<std::byte>(size));
  }
  static Buffer With(const Buffer& buffer, size_t index, int64_t value) {
    Buffer copy = Buffer::CopyOf(buffer.span());
    auto* items = const_cast<std::byte*>(copy.data());
    std::memcpy(items + index * 8, &value, 8);
    return copy;
  }
};

TEST_F(ValidateTest, AcceptsValidChunks) {
  EXPECT_TRUE(After([](Chunk&) {}).ok());
}

TEST_F(ValidateTest, RefusesColumnsThatAreNotTheSpecs) {
  EXPECT_FALSE(After([](Chunk& c) { c.columns.pop_back(); }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.spec = nullptr; }).ok());
  EXPECT_FALSE(
      After([](Chunk& c) { std::swap(c.columns[0], c.columns[1]); }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.columns[0].shape = {1}; }).ok());
  EXPECT_FALSE(After([](Chunk& c) {
                 c.spec = Spec({{"image", DType::kUInt8, {kUnknownDim, 2}},
                                c.spec->components[1]});
               }).ok());
}

TEST_F(ValidateTest, RefusesBuffersOfTheWrongSize) {
  EXPECT_FALSE(After([](Chunk& c) { c.rows = 5; }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.rows = ~size_t{0}; }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.columns[0].values = Bytes(6); }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.columns[0].offsets = Bytes(8); }).ok());
  EXPECT_FALSE(
      After([](Chunk& c) { c.columns[0].row_shapes = Bytes(8); }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.columns[1].offsets = Bytes(8); }).ok());
  EXPECT_FALSE(After([](Chunk& c) { c.columns[1].values = Bytes(2); }).ok());
  EXPECT_FALSE(After([](Chunk& c) {
                 c.columns[1].row_starts = c.columns[1].row_starts.Slice(0, 39);
               }).ok());
}

TEST_F(ValidateTest, RefusesNumbersThatLeadOutside) {
  const int64_t huge = int64_t{1} << 62;
  for (const int64_t value : {int64_t{-1}, int64_t{50}, huge, -huge}) {
    for (size_t index = 0; index < 5; ++index) {
      EXPECT_FALSE(After([&](Chunk& c) {
                     c.columns[0].row_starts =
                         With(c.columns[0].row_starts, index, value);
                   }).ok());
      EXPECT_FALSE(After([&](Chunk& c) {
                     c.columns[0].row_shapes =
                         With(c.columns[0].row_shapes, index, value);
                   }).ok());
      EXPECT_FALSE(After([&](Chunk& c) {
                     c.columns[1].offsets =
                         With(c.columns[1].offsets, index, value);
                   }).ok());
    }
  }
}

TEST_F(ValidateTest, RefusesUniformColumnsThatAreTooLarge) {
  Chunk chunk = Numbers({1, 2, 3});
  chunk.rows = 4;
  EXPECT_FALSE(chunk.Validate().ok());
  chunk.spec = Spec({{"", DType::kInt64, {kUnknownDim, kUnknownDim}}});
  for (const int64_t dim : {int64_t{-1}, int64_t{1} << 32, int64_t{1} << 62}) {
    chunk.columns[0].shape = {dim, dim};
    EXPECT_FALSE(chunk.Validate().ok());
  }
  chunk.columns[0].shape = {int64_t{1} << 40, 0};
  EXPECT_FALSE(chunk.Validate().ok());
}

TEST_F(ValidateTest, RefusesBoolsThatAreNeither) {
  Chunk chunk{Spec({{"", DType::kBool, {}}}), 2, {}};
  chunk.columns.push_back(MakeColumn(std::vector<uint8_t>{0, 2}));
  chunk.columns[0].dtype = DType::kBool;
  EXPECT_THAT(ErrorText(chunk.Validate()), HasSubstr("bool"));
}

}  // namespace
}  // namespace feedmill
