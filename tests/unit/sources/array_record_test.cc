#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/formats/array_record_index.h"
#include "core/formats/riegeli_chunk.h"
#include "core/io/file_systems.h"
#include "core/operators/registry.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/record_source.h"
#include "tests/reference/riegeli_writer.h"
#include "tests/unit/io/memory_files.h"

namespace feedmill {
namespace {

using reference::ArrayRecordFile;
using reference::RiegeliWriter;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kBlock = RiegeliWriter::kBlock;

std::string Counted(size_t size) {
  std::string text(size, '\0');
  for (size_t k = 0; k < size; ++k)
    text[k] = static_cast<char>(k * 7 + k / 251);
  return text;
}

absl::StatusOr<RiegeliChunk> Parse(std::string_view bytes, uint64_t begin,
                                   std::vector<std::byte>& memory) {
  return ParseRiegeliChunk(std::as_bytes(std::span(bytes)), begin, memory);
}

// ---- chunks

TEST(RiegeliChunk, IsReadIfBlockHeadersInterruptItAtAnyPlace) {
  for (const size_t begin :
       {size_t{0}, size_t{25}, size_t{64}, kBlock - 41, kBlock - 40,
        kBlock - 39, kBlock - 1, kBlock, 3 * kBlock + 25}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{40}, kBlock - 64,
                              kBlock - 24, 3 * kBlock}) {
      RiegeliWriter writer(begin);
      const std::string data = Counted(size);
      writer.Chunk('r', 3, 5, data);
      std::vector<std::byte> memory;
      const auto chunk = Parse(writer.bytes(), begin, memory);
      ASSERT_TRUE(chunk.ok()) << begin << " " << size << chunk.status();
      EXPECT_EQ(chunk->records, 3u);
      EXPECT_EQ(chunk->decoded_bytes, 5u);
      EXPECT_EQ(chunk->data, data) << begin << " " << size;
      EXPECT_EQ(RiegeliChunkEnd(begin, 40 + size, 3), writer.position());
    }
  }
}

TEST(RiegeliChunk, EndsWhereItsPaddingEnds) {
  for (const uint64_t records : {uint64_t{0}, uint64_t{100}, kBlock - 100,
                                 uint64_t{kBlock}, uint64_t{kBlock + 10}}) {
    RiegeliWriter writer(64);
    writer.Chunk('r', records, 0, "");
    EXPECT_EQ(RiegeliChunkEnd(64, 40, records), writer.position()) << records;
  }
}

TEST(RiegeliChunk, RefusesEachDamagedByteOfHeadersAndData) {
  constexpr size_t kBegin = kBlock - 60;
  RiegeliWriter writer(kBegin);
  writer.Chunk('r', 1, 1, Counted(70));
  for (size_t at = 0; at < writer.bytes().size(); ++at) {
    std::string bytes = writer.bytes();
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    std::vector<std::byte> memory;
    EXPECT_TRUE(absl::IsDataLoss(Parse(bytes, kBegin, memory).status())) << at;
  }
}

TEST(RiegeliChunk, RefusesAChunkThatIsCutShort) {
  RiegeliWriter writer(64);
  writer.Chunk('r', 60, 1, "text");
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    std::vector<std::byte> memory;
    const auto chunk = Parse(writer.bytes().substr(0, size), 64, memory);
    EXPECT_TRUE(absl::IsDataLoss(chunk.status())) << size;
  }
}

absl::Status DecodeStatus(char type, uint64_t records, uint64_t decoded,
                          const std::string& data) {
  RiegeliWriter writer(64);
  writer.Chunk(type, records, decoded, data);
  std::vector<std::byte> memory;
  const auto chunk = Parse(writer.bytes(), 64, memory);
  if (!chunk.ok()) return chunk.status();
  std::vector<uint64_t> ends;
  BufferBuilder values;
  return RiegeliDecoder().Decode(*chunk, ends, values);
}

std::string DecodeError(char type, uint64_t records, uint64_t decoded,
                        const std::string& data) {
  const absl::Status status = DecodeStatus(type, records, decoded, data);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  return ErrorText(status);
}

TEST(RiegeliDecoder, RefusesSizesThatDoNotFit) {
  using namespace std::string_literals;
  EXPECT_TRUE(DecodeStatus('r', 2, 3, "\0\2\1\2abc"s).ok());
  EXPECT_THAT(DecodeError('r', 2, 3, "\0\2\1\3abc"s), HasSubstr("sizes"));
  EXPECT_THAT(DecodeError('r', 2, 3, "\0\2\1\1abc"s), HasSubstr("2 bytes"));
  EXPECT_THAT(DecodeError('r', 2, 3, "\0\1\3abc"s), HasSubstr("sizes"));
  EXPECT_THAT(DecodeError('r', 2, 3, "\0\3\1\1\1abc"s), HasSubstr("bytes"));
  EXPECT_THAT(DecodeError('r', 2, 3, "\0\x7f\1\2abc"s), HasSubstr("sizes"));
  EXPECT_THAT(DecodeError('r', 1, 4, "\0\1\3abc"s), HasSubstr("3 bytes"));
  EXPECT_THAT(DecodeError('r', 1, 3, ""), HasSubstr("no data"));
  EXPECT_THAT(DecodeError('r', 1, 3, "x\1\3\3abc"s), HasSubstr("compression"));
  EXPECT_THAT(DecodeError('q', 1, 3, "abc"), HasSubstr("type 113"));
}

TEST(RiegeliDecoder, RefusesMoreThanAGigabyteBeforeItTakesMemory) {
  std::string data("z\1\1", 3);
  PutLeb128(data, uint64_t{1} << 40);
  EXPECT_THAT(DecodeError('r', 1, uint64_t{1} << 40, data),
              HasSubstr("more than 1 GiB"));
}

// ---- files

// A store of one ArrayRecord file, and a source that reads it.
class ArrayRecordFiles : public ::testing::Test {
 protected:
  static MemoryFiles& Store() {
    static const auto& store = *new std::shared_ptr<MemoryFiles>([] {
      auto made = std::make_shared<MemoryFiles>();
      EXPECT_TRUE(ProcessFileSystems().Add("arrays", made).ok());
      return made;
    }());
    return *store;
  }
  static constexpr const char* kName = "arrays://a/b";

  void SetUp() override { Store().Reset(); }

  static std::vector<std::string> Records(size_t count) {
    std::vector<std::string> records;
    for (size_t k = 0; k < count; ++k) {
      records.push_back(std::to_string(k) + std::string(k % 50 * 40, 'r'));
    }
    return records;
  }

  absl::Status Open(const std::string& file) {
    Store().Write(kName, file);
    AnalyzedGraph graph;
    graph.graph.source = MakeSource(ArrayRecordSource{{kName}});
    auto manifest = ResolveManifest(graph);
    if (!manifest.ok()) return manifest.status();
    FM_ASSIGN_OR_RETURN(
        source_, RecordSource::Make(graph.graph.source, true,
                                    std::make_shared<Manifest>(*manifest)));
    Store().Reset();
    return absl::OkStatus();
  }

  // Reads these records, and stops at an error.
  std::vector<std::string> Read(const std::vector<uint64_t>& indexes,
                                size_t bytes_max = size_t{1} << 20) {
    const auto scratch = source_->NewScratch();
    std::vector<std::string> out;
    while (out.size() < indexes.size()) {
      RecordBlock block;
      const auto read = source_->Read(std::span(indexes).subspan(out.size()),
                                      bytes_max, *scratch, block);
      EXPECT_TRUE(read.ok()) << read.status();
      if (!read.ok()) return out;
      const Column& column = block.columns[0].View();
      for (size_t row = 0; row < block.rows; ++row) {
        out.emplace_back(column.BytesAt(static_cast<int64_t>(row)));
      }
      error_ = block.error;
      if (!error_.ok()) break;
    }
    return out;
  }

  std::unique_ptr<const RecordSource> source_;
  absl::Status error_;
};

TEST_F(ArrayRecordFiles, AreReadInAnyOrderAndInParts) {
  const auto records = Records(200);
  for (const size_t group : {size_t{1}, size_t{7}, size_t{1000}}) {
    ASSERT_TRUE(Open(ArrayRecordFile(records, group)).ok());
    std::vector<uint64_t> order(records.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (const size_t bytes_max : {size_t{1}, size_t{5000}, size_t{1} << 20}) {
      EXPECT_EQ(Read(order, bytes_max), records);
    }
    std::vector<std::string> want;
    for (uint64_t& index : order) {
      index = index * 77 % records.size();
      want.push_back(records[index]);
    }
    EXPECT_EQ(Read(order, 5000), want);
  }
}

TEST_F(ArrayRecordFiles, OnlyChunksThatAreNeededAreReadAndAnnounced) {
  ASSERT_TRUE(Open(ArrayRecordFile(Records(200), 1)).ok());
  Store().SetAhead(1 << 20);
  EXPECT_EQ(Read({150, 3, 151}).size(), 3u);
  const auto calls = Store().calls();
  EXPECT_EQ(calls.reads, 1u + 3u);  // the end of the file, and three chunks
  EXPECT_EQ(calls.unannounced, 0u);
}

TEST_F(ArrayRecordFiles, AdjacentChunksAreReadTogether) {
  ASSERT_TRUE(Open(ArrayRecordFile(Records(200), 1)).ok());
  Read({0});
  Store().Reset();
  EXPECT_EQ(Read({10, 11, 12, 13, 14}).size(), 5u);
  EXPECT_EQ(Store().calls().reads, 1u);
}

TEST_F(ArrayRecordFiles, ChunksOfSeveralRecordsAreKept) {
  ASSERT_TRUE(Open(ArrayRecordFile(Records(200), 10)).ok());
  Read({0});
  Store().Reset();
  for (const uint64_t record : std::vector<uint64_t>{15, 12, 19, 11}) {
    Read({record});
  }
  EXPECT_EQ(Store().calls().reads, 1u);
}

TEST_F(ArrayRecordFiles, ADamagedChunkIsAnErrorOfItsRecords) {
  const auto records = Records(30);
  std::string file = ArrayRecordFile(records, 10);
  const size_t at = file.find(records[15]);
  file[at] = static_cast<char>(file[at] ^ 1);
  ASSERT_TRUE(Open(file).ok());
  EXPECT_EQ(Read({8, 9, 10}).size(), 2u);
  EXPECT_THAT(ErrorText(error_),
              AllOf(HasSubstr("arrays://a/b: record 10: chunk 1 at offset"),
                    HasSubstr("its data is damaged")));
  EXPECT_THAT(Read({19}), IsEmpty());
  EXPECT_THAT(ErrorText(error_), HasSubstr("record 19"));
  EXPECT_THAT(Read({20, 2}), ElementsAre(records[20], records[2]));
  EXPECT_TRUE(error_.ok());
}

// A file whose footer lists other chunks than there are.
std::string FileWithFooter(const std::vector<std::string>& footer) {
  RiegeliWriter writer;
  writer.Chunk('s', 0, 0, "");
  writer.Records({"first", "second"});
  const size_t at = writer.Records(footer);
  writer.Pad();
  PutPostscript(at, writer);
  return writer.bytes();
}

TEST_F(ArrayRecordFiles, FootersThatDoNotFitAreRefused) {
  using reference::ArrayRecordFooter;
  EXPECT_TRUE(Open(FileWithFooter(ArrayRecordFooter({{64, 11, 2}}))).ok());
  const auto refused = [&](const std::vector<std::string>& footer) {
    const absl::Status status = Open(FileWithFooter(footer));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    return ErrorText(status);
  };
  EXPECT_THAT(refused(ArrayRecordFooter({{63, 11, 2}})), HasSubstr("chunk 0"));
  EXPECT_THAT(refused(ArrayRecordFooter({{1 << 20, 11, 2}})),
              HasSubstr("chunk 0"));
  EXPECT_THAT(refused(ArrayRecordFooter({{64, 11, 2}, {64, 11, 2}})),
              HasSubstr("chunk 1"));
  EXPECT_THAT(refused(ArrayRecordFooter({{64, 11, 0}})), HasSubstr("chunk 0"));
  EXPECT_THAT(refused(ArrayRecordFooter({{64, 11, uint64_t{1} << 60}})),
              HasSubstr("chunk 0"));
  auto footer = ArrayRecordFooter({{64, 11, 2}});
  footer.pop_back();
  EXPECT_THAT(refused(footer), HasSubstr("0 chunks, where 1 are stated"));
  footer = ArrayRecordFooter({{64, 11, 2}});
  footer[0][3] = 9;  // the version
  EXPECT_THAT(refused(footer), HasSubstr("version 9"));
  EXPECT_THAT(refused({"\xff"}), HasSubstr("its footer is damaged"));
}

TEST_F(ArrayRecordFiles, AChunkWithOtherRecordsThanListedIsDamaged) {
  const auto footer = reference::ArrayRecordFooter({{64, 11, 3}});
  ASSERT_TRUE(Open(FileWithFooter(footer)).ok());
  EXPECT_THAT(Read({0}), IsEmpty());
  EXPECT_THAT(ErrorText(error_), HasSubstr("2 records, where the footer says"));
}

TEST_F(ArrayRecordFiles, WithoutAnIndexAreRefused) {
  const std::string file = ArrayRecordFile(Records(30), 10);
  for (const size_t size : {size_t{0}, size_t{64}, kBlock, file.size() - 1}) {
    const absl::Status status = Open(file.substr(0, size));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr(kName));
  }
}

}  // namespace
}  // namespace feedmill
