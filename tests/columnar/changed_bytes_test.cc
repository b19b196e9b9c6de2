// Files that Arrow writes, whole and with changed bytes: opening and decoding
// changed ones ends with columns or an error. FEEDMILL_CHANGES is how many
// changes a file gets.

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/sources/columnar_rows.h"
#include "plugins/arrow/ipc_file.h"
#include "plugins/arrow/parquet_file.h"

namespace feedmill {
namespace {

constexpr int kRows = 300;
constexpr int kGroupRows = 100;

class MemoryFile final : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string bytes)
      : RandomAccessFile("memory"), bytes_(std::move(bytes)) {}

  absl::StatusOr<FileIdentity> Identity() const override {
    return FileIdentity{bytes_.size(), 0, {}};
  }
  absl::StatusOr<size_t> Read(uint64_t offset,
                              std::span<std::byte> out) const override {
    if (offset >= bytes_.size()) return 0;
    const size_t count = std::min<size_t>(out.size(), bytes_.size() - offset);
    Count(offset, count);
    if (std::this_thread::get_id() != opened_by_) ++elsewhere_;
    std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }
  void Prefetch(std::span<const ByteRange> ranges) const override {
    announced_.insert(announced_.end(), ranges.begin(), ranges.end());
  }
  uint64_t ahead_bytes() const override { return bytes_.size(); }

  // Reads on other threads than the one that made this.
  int elsewhere() const { return elsewhere_; }
  // Bytes read since the last call outside of what was announced.
  uint64_t TakeUnannounced() const {
    announced_.clear();
    return std::exchange(unannounced_, 0);
  }

 private:
  void Count(uint64_t offset, uint64_t size) const {
    const bool announced =
        std::ranges::any_of(announced_, [&](const ByteRange& range) {
          return offset >= range.offset &&
                 offset + size <= range.offset + range.size;
        });
    if (!announced) unannounced_ += size;
  }

  const std::string bytes_;
  const std::thread::id opened_by_ = std::this_thread::get_id();
  mutable std::atomic<int> elsewhere_ = 0;
  mutable std::vector<ByteRange> announced_;
  mutable uint64_t unannounced_ = 0;
};

template <class Builder, class Append>
std::shared_ptr<arrow::Array> ArrayOf(Builder&& builder, Append append) {
  for (int k = 0; k < kRows; ++k) EXPECT_TRUE(append(builder, k).ok());
  return *builder.Finish();
}

std::shared_ptr<arrow::Table> MakeTable() {
  const auto numbers = ArrayOf(arrow::Int64Builder(),
                               [](auto& b, int k) { return b.Append(k); });
  const auto floats = ArrayOf(arrow::DoubleBuilder(), [](auto& b, int k) {
    return k % 7 == 0 ? b.AppendNull() : b.Append(k / 2.0);
  });
  const auto flags = ArrayOf(arrow::BooleanBuilder(), [](auto& b, int k) {
    return b.Append(k % 3 == 0);
  });
  const auto texts = ArrayOf(arrow::StringBuilder(), [](auto& b, int k) {
    return k % 5 == 0 ? b.AppendNull()
                      : b.Append(std::string(static_cast<size_t>(k % 40), 'x'));
  });
  const auto words =
      ArrayOf(arrow::StringDictionaryBuilder(),
              [](auto& b, int k) { return b.Append(std::to_string(k % 9)); });
  const auto decimals =
      ArrayOf(arrow::Decimal128Builder(arrow::decimal128(12, 2)),
              [](auto& b, int k) { return b.Append(arrow::Decimal128(k)); });
  const auto items = std::make_shared<arrow::Int32Builder>();
  const auto lists =
      ArrayOf(arrow::ListBuilder(arrow::default_memory_pool(), items),
              [&](auto& b, int k) {
                return k % 11 == 0 ? b.AppendNull() : [&] {
                  ARROW_RETURN_NOT_OK(b.Append());
                  return items->AppendValues(
                      std::vector<int32_t>(static_cast<size_t>(k % 4), k));
                }();
              });
  const auto pairs = *arrow::FixedSizeListArray::FromArrays(
      *arrow::Concatenate({numbers, numbers}), 2);
  const auto structs = *arrow::StructArray::Make(
      {floats, texts}, std::vector<std::string>{"x", "y"});
  // Lists of one or no item of the columns above.
  arrow::Int32Builder ends;
  for (int k = 0; k <= kRows; ++k) EXPECT_TRUE(ends.Append(k / 2).ok());
  const auto offsets = *ends.Finish();
  const auto names = ArrayOf(arrow::StringBuilder(), [](auto& b, int k) {
    return b.Append(std::string(static_cast<size_t>(k % 9), 'n'));
  });
  const auto boxes = *arrow::ListArray::FromArrays(*offsets, *structs);
  const auto deeper = *arrow::ListArray::FromArrays(*offsets, *lists);
  const auto maps = *arrow::MapArray::FromArrays(offsets, names, lists);
  return arrow::Table::Make(
      arrow::schema(
          {arrow::field("n", numbers->type()),
           arrow::field("f", floats->type()), arrow::field("b", flags->type()),
           arrow::field("t", texts->type()), arrow::field("w", words->type()),
           arrow::field("d", decimals->type()),
           arrow::field("l", lists->type()), arrow::field("p", pairs->type()),
           arrow::field("s", structs->type()), arrow::field("o", boxes->type()),
           arrow::field("j", deeper->type()), arrow::field("m", maps->type())}),
      {numbers, floats, flags, texts, words, decimals, lists, pairs, structs,
       boxes, deeper, maps});
}

enum class Form { kParquet, kParquetV2, kFile, kPackedFile, kStream };

std::string Write(Form form) {
  const auto table = MakeTable();
  const auto out = *arrow::io::BufferOutputStream::Create();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (form == Form::kParquet || form == Form::kParquetV2) {
    parquet::WriterProperties::Builder properties;
    if (form == Form::kParquetV2) {
      properties.data_page_version(parquet::ParquetDataPageVersion::V2)
          ->compression(parquet::Compression::ZSTD);
    }
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(),
                                           out, kGroupRows, properties.build())
                    .ok());
  } else {
    if (form == Form::kPackedFile) {
      options.codec = *arrow::util::Codec::Create(arrow::Compression::ZSTD);
    }
    const auto writer =
        form == Form::kStream
            ? *arrow::ipc::MakeStreamWriter(out, table->schema(), options)
            : *arrow::ipc::MakeFileWriter(out, table->schema(), options);
    EXPECT_TRUE(writer->WriteTable(*table, kGroupRows).ok());
    EXPECT_TRUE(writer->Close().ok());
  }
  return (*out->Finish())->ToString();
}

// Decodes all groups; returns how many rows came.
uint64_t ReadAll(Form form, const std::string& bytes) {
  const auto file = std::make_shared<MemoryFile>(bytes);
  auto opened = form <= Form::kParquetV2 ? OpenParquetFile(file, bytes.size())
                                         : OpenIpcFile(file, bytes.size());
  if (!opened.ok()) return 0;
  std::vector<SourceField> fields;
  for (const ColumnarColumn& column : (*opened)->columns()) {
    if (column.unreadable.empty()) fields.push_back(column.field);
  }
  uint64_t rows = 0;
  for (size_t g = 0; g < (*opened)->group_rows().size(); ++g) {
    auto decoded = (*opened)->ReadGroup(g, fields);
    if (!decoded.ok()) continue;
    DecodedGroup group{(*opened)->group_rows()[g], *std::move(decoded), 0};
    rows += group.rows;
    const ColumnarRun all{&group, 0, group.rows};
    std::vector<OutputColumn> columns;
    CopyRuns(std::span(&all, 1), fields, columns);
  }
  return rows;
}

void Change(std::string& bytes, std::mt19937& draw) {
  const size_t tail = std::min<size_t>(bytes.size(), 4000);
  for (unsigned changes = 1 + draw() % 4; changes > 0; --changes) {
    const size_t at = draw() % 2 == 0 ? draw() % bytes.size()
                                      : bytes.size() - 1 - draw() % tail;
    const uint32_t kind = draw() % 4;
    bytes[at] = kind == 0   ? '\0'
                : kind == 1 ? '\xff'
                : kind == 2 ? static_cast<char>(draw())
                            : static_cast<char>(bytes[at] ^ (1 << draw() % 8));
  }
  if (draw() % 10 == 0) bytes.resize(draw() % bytes.size());
}

class ColumnarBytes : public ::testing::TestWithParam<Form> {};

TEST_P(ColumnarBytes, EndWithColumnsOrAnErrorIfChanged) {
  const std::string whole = Write(GetParam());
  EXPECT_EQ(ReadAll(GetParam(), whole), kRows);
  const char* const wanted = std::getenv("FEEDMILL_CHANGES");
  const int changes = wanted == nullptr ? 1000 : std::atoi(wanted);
  const char* const first = std::getenv("FEEDMILL_FIRST_SEED");
  const int seed = first == nullptr ? 1 : std::atoi(first);
  for (int k = 0; k < changes; ++k) {
    std::mt19937 draw(static_cast<unsigned>(seed + k));
    std::string bytes = whole;
    Change(bytes, draw);
    ReadAll(GetParam(), bytes);
  }
}

// A store waits a round trip for each range that is not announced.
TEST_P(ColumnarBytes, AreReadFromAnnouncedRangesByTheCaller) {
  const auto file = std::make_shared<MemoryFile>(Write(GetParam()));
  const uint64_t size = (*file->Identity()).size;
  const auto opened = GetParam() <= Form::kParquetV2
                          ? OpenParquetFile(file, size)
                          : OpenIpcFile(file, size);
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::vector<SourceField> fields;
  for (const ColumnarColumn& column : (*opened)->columns()) {
    fields.push_back(column.field);
  }
  // The first read of an Arrow file reads its dictionaries, too.
  ASSERT_TRUE((*opened)->ReadGroup(0, fields).ok());
  file->TakeUnannounced();
  ASSERT_TRUE((*opened)->ReadGroup(1, fields).ok());
  EXPECT_EQ(file->TakeUnannounced(), 0u);
  // Arrow's own threads would be waited for without a bound.
  EXPECT_EQ(file->elsewhere(), 0);
}

INSTANTIATE_TEST_SUITE_P(Forms, ColumnarBytes,
                         ::testing::Values(Form::kParquet, Form::kParquetV2,
                                           Form::kFile, Form::kPackedFile,
                                           Form::kStream));

}  // namespace
}  // namespace feedmill
