// Files that Arrow writes, whole and with changed bytes: opening and decoding
// changed ones ends with columns or an error. FEEDMILL_CHANGES is how many
// changes a file gets.

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/io/file_systems.h"
#include "core/sources/columnar_rows.h"
#include "plugins/arrow/ipc_file.h"
#include "plugins/arrow/parquet_file.h"
#include "tests/unit/sources/test_folder.h"

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
    read_bytes_ += count;
    if (std::this_thread::get_id() != opened_by_) ++elsewhere_;
    std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }
  void Prefetch(std::span<const ByteRange> ranges) const override {
    announced_.insert(announced_.end(), ranges.begin(), ranges.end());
  }
  uint64_t ahead_bytes() const override { return bytes_.size(); }

  // Reads on other threads than the maker's.
  int elsewhere() const { return elsewhere_; }
  // Bytes read since the last call.
  uint64_t TakeReadBytes() const { return std::exchange(read_bytes_, 0); }
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
  mutable uint64_t read_bytes_ = 0;
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

absl::StatusOr<std::unique_ptr<const ColumnarFile>> Open(
    Form form, std::shared_ptr<const RandomAccessFile> file, uint64_t size,
    bool memory_map = false) {
  return form <= Form::kParquetV2
             ? OpenParquetFile(std::move(file), size)
             : OpenIpcFile(std::move(file), size, memory_map);
}

std::vector<SourceField> ReadableFields(const ColumnarFile& file) {
  std::vector<SourceField> fields;
  for (const ColumnarColumn& column : file.columns()) {
    if (column.unreadable.empty()) fields.push_back(column.field);
  }
  return fields;
}

absl::StatusOr<std::vector<DecodedColumn>> ReadFields(
    const ColumnarFile& file, size_t group,
    const std::vector<SourceField>& fields,
    std::optional<uint64_t> rows = std::nullopt) {
  std::vector<ColumnarColumn> wanted;
  for (const SourceField& field : fields) wanted.push_back({field});
  return file.ReadGroup(group, wanted, rows.value_or(file.group_rows()[group]));
}

// Decodes all groups; returns how many rows came.
uint64_t ReadAll(Form form, std::shared_ptr<const RandomAccessFile> file,
                 uint64_t size, bool memory_map = false) {
  auto opened = Open(form, std::move(file), size, memory_map);
  if (!opened.ok()) return 0;
  const std::vector<SourceField> fields = ReadableFields(**opened);
  uint64_t rows = 0;
  for (size_t g = 0; g < (*opened)->group_rows().size(); ++g) {
    (void)ReadFields(**opened, g, fields, 1);  // of the beginnings of pages
    auto decoded = ReadFields(**opened, g, fields);
    if (!decoded.ok()) continue;
    DecodedGroup group{(*opened)->group_rows()[g], *std::move(decoded), 0};
    rows += group.rows;
    const ColumnarRun all{&group, 0, group.rows};
    std::vector<EncodedColumn> columns;
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
  const auto read = [](const std::string& bytes) {
    return ReadAll(GetParam(), std::make_shared<MemoryFile>(bytes),
                   bytes.size());
  };
  EXPECT_EQ(read(whole), kRows);
  const char* const wanted = std::getenv("FEEDMILL_CHANGES");
  const int changes = wanted == nullptr ? 1000 : std::atoi(wanted);
  const char* const first = std::getenv("FEEDMILL_FIRST_SEED");
  const int seed = first == nullptr ? 1 : std::atoi(first);
  for (int k = 0; k < changes; ++k) {
    std::mt19937 draw(static_cast<unsigned>(seed + k));
    std::string bytes = whole;
    Change(bytes, draw);
    read(bytes);
  }
}

// A store waits a round trip for each range that is not announced.
TEST_P(ColumnarBytes, AreReadFromAnnouncedRangesByTheCaller) {
  const auto file = std::make_shared<MemoryFile>(Write(GetParam()));
  const uint64_t size = (*file->Identity()).size;
  const auto opened = Open(GetParam(), file, size);
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::vector<SourceField> fields;
  for (const ColumnarColumn& column : (*opened)->columns()) {
    fields.push_back(column.field);
  }
  // The first read of an Arrow file reads its dictionaries, too.
  ASSERT_TRUE(ReadFields(**opened, 0, fields).ok());
  file->TakeUnannounced();
  ASSERT_TRUE(ReadFields(**opened, 1, fields).ok());
  EXPECT_EQ(file->TakeUnannounced(), 0u);
  // Arrow's own threads would be waited for without a bound.
  EXPECT_EQ(file->elsewhere(), 0);
}

INSTANTIATE_TEST_SUITE_P(Forms, ColumnarBytes,
                         ::testing::Values(Form::kParquet, Form::kParquetV2,
                                           Form::kFile, Form::kPackedFile,
                                           Form::kStream));

class MappedColumns : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override { Put(Write(GetParam())); }

  void Put(const std::string& bytes) {
    path_ = folder_.Write("table.arrow", bytes);
    size_ = bytes.size();
  }
  std::shared_ptr<const RandomAccessFile> File() const {
    return *(*FileSystemOf(path_))->Open(path_);
  }
  std::unique_ptr<const ColumnarFile> OpenMapped() const {
    auto opened = Open(GetParam(), File(), size_, /*memory_map=*/true);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  TestFolder folder_;
  std::string path_;
  size_t size_ = 0;
};

// Returns rows as lines of JSON.
std::string LinesOf(std::vector<Column> columns,
                    const std::vector<SourceField>& fields, size_t rows) {
  ElementSpec spec;
  for (const SourceField& field : fields) {
    spec.components.push_back({field.name, field.dtype, field.shape});
  }
  const Chunk chunk{std::make_shared<const ElementSpec>(std::move(spec)), rows,
                    std::move(columns)};
  std::string lines;
  for (size_t row = 0; row < rows; ++row) AppendJson(chunk, row, lines);
  return lines;
}

TEST_P(MappedColumns, AreViewsOfTheFileWithTheSameRows) {
  const auto mapped = OpenMapped();
  const auto copied = *Open(GetParam(), File(), size_);
  const std::vector<SourceField> fields = ReadableFields(*copied);
  const std::span<const std::byte> bytes = mapped->mapping()->bytes();
  for (size_t g = 0; g < copied->group_rows().size(); ++g) {
    const size_t rows = copied->group_rows()[g];
    DecodedGroup views{rows, *ReadFields(*mapped, g, fields), 0};
    DecodedGroup copies{rows, *ReadFields(*copied, g, fields), 0};
    std::vector<std::string> names;
    for (size_t c = 0; c < fields.size(); ++c) {
      if (!views.columns[c].mapped) continue;
      names.push_back(fields[c].name);
      const Buffer& values = views.columns[c].column.values;
      EXPECT_GE(values.data(), bytes.data());
      EXPECT_LE(values.data() + values.size(), bytes.data() + bytes.size());
    }
    if (GetParam() == Form::kPackedFile) {
      EXPECT_THAT(names, ::testing::IsEmpty());
    } else {
      // Not flags (bits in the file), decimals, dictionaries, or numbers that
      // may be null.
      EXPECT_THAT(names, ::testing::ElementsAre("n", "t", "l", "p", "s.y"));
    }
    const ColumnarRun part{&views, 3, rows - 5};
    const ColumnarRun same{&copies, 3, rows - 5};
    std::vector<EncodedColumn> out;
    CopyRuns(std::span(&same, 1), fields, out);
    std::vector<Column> want;
    for (OutputColumn& column : out) want.push_back(column.Take());
    EXPECT_EQ(LinesOf(ViewRun(part, fields), fields, part.count),
              LinesOf(std::move(want), fields, part.count));
  }
}

// A stream of record batches, each with a dictionary of its own.
std::string StreamOfDictionaries(int batches) {
  const auto schema = arrow::schema(
      {arrow::field("n", arrow::int64()),
       arrow::field("d", arrow::dictionary(arrow::int32(), arrow::utf8()))});
  const auto out = *arrow::io::BufferOutputStream::Create();
  const auto writer = *arrow::ipc::MakeStreamWriter(out, schema);
  for (int k = 0; k < batches; ++k) {
    arrow::StringBuilder words;
    for (int word = 0; word < 200; ++word) {
      EXPECT_TRUE(words.Append(std::to_string(1000 * k + word)).ok());
    }
    arrow::Int64Builder numbers;
    EXPECT_TRUE(numbers.AppendValues({k, k}).ok());
    arrow::Int32Builder indexes;
    EXPECT_TRUE(indexes.AppendValues({0, 199}).ok());
    const auto coded =
        *arrow::DictionaryArray::FromArrays(*indexes.Finish(), *words.Finish());
    EXPECT_TRUE(writer
                    ->WriteRecordBatch(*arrow::RecordBatch::Make(
                        schema, 2, {*numbers.Finish(), coded}))
                    .ok());
  }
  EXPECT_TRUE(writer->Close().ok());
  return (*out->Finish())->ToString();
}

TEST(StreamsOfDictionaries, ReadForEachBatchOnlyItsOwn) {
  constexpr int kBatches = 50;
  const auto file =
      std::make_shared<MemoryFile>(StreamOfDictionaries(kBatches));
  const uint64_t size = (*file->Identity()).size;
  const auto opened = *OpenIpcFile(file, size, false);
  const std::vector<SourceField> both = {{"n", DType::kInt64, {}},
                                         {"d", DType::kBytes, {}}};
  for (const size_t group : {size_t{0}, size_t{kBatches - 1}}) {
    file->TakeReadBytes();
    const auto columns = *ReadFields(*opened, group, both);
    EXPECT_LT(file->TakeReadBytes(), 2 * size / kBatches);
    const Column& words = columns[1].column;
    const auto text = [&](size_t row) {
      const auto ends = words.offsets.As<int64_t>();
      return std::string(
          reinterpret_cast<const char*>(words.values.data()) + ends[row],
          static_cast<size_t>(ends[row + 1] - ends[row]));
    };
    EXPECT_EQ(text(0), std::to_string(1000 * group));
    EXPECT_EQ(text(1), std::to_string(1000 * group + 199));
    file->TakeReadBytes();
    const auto numbers =
        *ReadFields(*opened, group, {{"n", DType::kInt64, {}}});
    EXPECT_LT(file->TakeReadBytes(), size / kBatches / 3);
    EXPECT_EQ(numbers[0].column.values.As<int64_t>()[1],
              static_cast<int64_t>(group));
  }
}

TEST(BigEndianColumns, AreNoViews) {
  const auto big = arrow::schema({arrow::field("n", arrow::int32())},
                                 arrow::Endianness::Big);
  arrow::Int32Builder numbers;
  ASSERT_TRUE(numbers.AppendValues({1 << 24, 2 << 24}).ok());
  const auto batch = arrow::RecordBatch::Make(big, 2, {*numbers.Finish()});
  const auto out = *arrow::io::BufferOutputStream::Create();
  const auto writer = *arrow::ipc::MakeFileWriter(out, big);
  ASSERT_TRUE(writer->WriteRecordBatch(*batch).ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::string bytes = (*out->Finish())->ToString();
  const TestFolder folder;
  const std::string path = folder.Write("big.arrow", bytes);
  const auto opened =
      *OpenIpcFile(*(*FileSystemOf(path))->Open(path), bytes.size(), true);
  const auto columns = *ReadFields(*opened, 0, ReadableFields(*opened));
  EXPECT_FALSE(columns[0].mapped);
  EXPECT_THAT(columns[0].column.values.As<int32_t>(),
              ::testing::ElementsAre(1, 2));
}

TEST_P(MappedColumns, EndWithColumnsOrAnErrorIfChanged) {
  const std::string whole = Write(GetParam());
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 draw(seed);
    std::string bytes = whole;
    Change(bytes, draw);
    if (bytes.empty()) continue;
    Put(bytes);
    ReadAll(GetParam(), File(), size_, /*memory_map=*/true);
  }
}

// Decoding reads no byte twice and relies on both values.
TEST_P(MappedColumns, EndWithColumnsOrAnErrorIfWrittenMeanwhile) {
  const std::string whole = Write(GetParam());
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    std::mt19937 draw(1);
    while (!done) {
      const auto at = static_cast<off_t>(draw() % whole.size());
      const char noise = static_cast<char>(draw());
      EXPECT_EQ(pwrite(file, &noise, 1, at), 1);
      EXPECT_EQ(pwrite(file, &whole[static_cast<size_t>(at)], 1, at), 1);
    }
  });
  for (int k = 0; k < 300; ++k) {
    ReadAll(GetParam(), File(), size_, /*memory_map=*/true);
  }
  done = true;
  writer.join();
  close(file);
}

TEST_P(MappedColumns, AreZerosAndUnsoundIfTheFileWasTruncated) {
  const auto mapped = OpenMapped();
  std::vector<SourceField> fields = ReadableFields(*mapped);
  fields.resize(1);
  const std::vector<DecodedColumn> group = *ReadFields(*mapped, 0, fields);
  ASSERT_EQ(truncate(path_.c_str(), 0), 0);
  if (!group[0].mapped) return;  // packed: the values are copies
  EXPECT_EQ(group[0].column.values.As<int64_t>()[kGroupRows - 1], 0);
  EXPECT_FALSE(mapped->mapping()->Sound());
}

INSTANTIATE_TEST_SUITE_P(Forms, MappedColumns,
                         ::testing::Values(Form::kFile, Form::kPackedFile,
                                           Form::kStream));

}  // namespace
}  // namespace feedmill
