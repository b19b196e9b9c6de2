#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>
#include <thread>

#include "core/base/status.h"
#include "core/base/vector_target.h"
#include "core/dataset/analysis.h"
#include "core/formats/image_files.h"
#include "core/io/local_files.h"
#include "core/io/manifest.h"
#include "core/io/record_index.h"
#include "core/operators/registry.h"
#include "core/sources/crc32c.h"
#include "core/sources/line_framing.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/record_format.h"
#include "core/sources/record_source.h"
#include "core/sources/source_plan.h"
#include "core/sources/tfrecord.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

AnalyzedGraph GraphOf(Source source, bool needs_index = false) {
  AnalyzedGraph graph;
  graph.graph.source = std::move(source);
  graph.needs_index = needs_index;
  return graph;
}

// Reads records like a pipeline, as strings.
struct Reader {
  Reader(const Source& source, const Manifest& manifest, bool is_counted = true)
      : counted(is_counted) {
    auto made = RecordSource::Make(source, is_counted,
                                   std::make_shared<Manifest>(manifest));
    EXPECT_TRUE(made.ok()) << made.status();
    records = *std::move(made);
    scratch = records->NewScratch();
  }

  // Reads all of `indexes` with at most `bytes_max` per read; stops at an
  // error.
  std::vector<std::string> Read(std::vector<uint64_t> indexes,
                                size_t bytes_max = size_t{1} << 20) {
    std::vector<std::string> out;
    std::span<const uint64_t> left(indexes);
    while (!left.empty()) {
      const auto read = ReadSome(left, bytes_max);
      status = read.status();
      if (!read.ok()) break;
      const Column& column = block.columns[0].View();
      for (size_t row = 0; row < block.rows; ++row) {
        out.emplace_back(column.BytesAt(static_cast<int64_t>(row)));
      }
      status = block.error;
      if (!status.ok()) break;
      left = left.subspan(*read);
    }
    return out;
  }

  // Reads records, or rows of a block. Returns the number of completed entries
  // of `left`.
  absl::StatusOr<size_t> ReadSome(std::span<const uint64_t> left,
                                  size_t bytes_max) {
    if (counted) return records->Read(left, bytes_max, *scratch, block);
    const auto more =
        records->ReadBlock(left.front(), block_row, bytes_max, block);
    if (!more.ok()) return more.status();
    block_row = *more ? block_row + block.rows : 0;
    return *more ? 0 : 1;
  }

  std::unique_ptr<const RecordSource> records;
  std::unique_ptr<RecordSource::Scratch> scratch;
  RecordBlock block;
  bool counted;
  uint64_t block_row = 0;
  absl::Status status;
};

std::vector<uint64_t> UpTo(uint64_t count) {
  std::vector<uint64_t> indexes(count);
  std::iota(indexes.begin(), indexes.end(), uint64_t{0});
  return indexes;
}

// ---- checksums

TEST(Crc32c, HasTheValuesOfTheStandard) {
  EXPECT_EQ(Crc32c(Bytes("")), 0u);
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c(Bytes(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(Crc32c(Bytes(std::string(32, '\xff'))), 0x62a8ab43u);
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstruction) {
  std::mt19937 random(1);
  std::string text(10'000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  for (size_t size : {0U, 1U, 7U, 8U, 9U, 383U, 384U, 1023U, 3071U, 3072U,
                      3073U, 6200U, 10'000U}) {
    for (size_t at = 0; at < 9 && at + size <= text.size(); ++at) {
      const auto part = Bytes(text).subspan(at, size);
      EXPECT_EQ(Crc32c(part), Crc32cPortable(part)) << size << " at " << at;
    }
  }
  for (size_t size = 0; size < 1200; ++size) {
    const auto part = Bytes(text).subspan(size % 5, size);
    EXPECT_EQ(Crc32c(part), Crc32cPortable(part)) << size;
  }
}

// ---- manifests

TEST(Manifest, CountsTheSourceOfAnyRange) {
  const auto size = [](int64_t start, int64_t stop, int64_t step) {
    AnalyzedGraph graph;
    graph.graph.source = MakeSource(RangeSource{start, stop, step});
    graph.source.needs_files = false;
    return SourceSize(graph, Manifest()).value();
  };
  EXPECT_EQ(size(0, 10, 1), 10u);
  EXPECT_EQ(size(0, 10, 3), 4u);
  EXPECT_EQ(size(10, 0, -3), 4u);
  EXPECT_EQ(size(5, 5, 1), 0u);
  EXPECT_EQ(size(5, 0, 1), 0u);
  EXPECT_EQ(size(INT64_MIN, INT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(size(INT64_MAX, INT64_MIN, INT64_MIN), 2u);
}

TEST(Manifest, CountsRecordsLinesAndBlocks) {
  TestFolder folder;
  folder.Write("a.tfrecord", TfRecordFile({"x", "", "yz"}));
  folder.Write("b.tfrecord", "");
  const auto records = ResolveManifest(
      GraphOf(MakeSource(TfRecordSource{{folder / "*.tfrecord"}})));
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ(records->files[0].records, 3u);
  EXPECT_EQ(records->files[1].records, 0u);
  EXPECT_EQ(records->TotalRecords(), 3u);

  const std::string text = folder.Write("t.txt", "a\n\nb");
  EXPECT_EQ(
      ResolveManifest(GraphOf(MakeSource(TextSource{{text}})))->TotalRecords(),
      1u);
  EXPECT_EQ(ResolveManifest(GraphOf(MakeSource(TextSource{{text}}), true))
                ->TotalRecords(),
            3u);
}

TEST(Manifest, LabelsImagesByFolderOrName) {
  const auto folder_label = ImagesSource::Label::kFolder;
  const auto file_label = ImagesSource::Label::kFilename;
  EXPECT_EQ(ImageLabelName("/x/cats/1.jpg", folder_label), "cats");
  EXPECT_EQ(ImageLabelName("/1.jpg", folder_label), "");
  EXPECT_EQ(ImageLabelName("/x/0_a_12.tar.jpg", file_label), "12.tar");
  EXPECT_EQ(ImageLabelName("/x/0_a_12.jpg", file_label), "12");
  EXPECT_EQ(ImageLabelName("/x/plain", file_label), "plain");
}

TEST(Manifest, LabelsAreIntegersOnlyIfAllAre) {
  TestFolder folder;
  for (const char* name : {"7/a.jpg", "12/b.jpg"}) folder.Write(name, "");
  auto manifest =
      ResolveManifest(GraphOf(MakeSource(ImagesSource{{folder.path()}})));
  ASSERT_TRUE(manifest.ok());
  EXPECT_THAT(manifest->classes, IsEmpty());
  EXPECT_EQ(ImageLabel("12", manifest->classes), 12);

  folder.Write("007/c.jpg", "");
  manifest =
      ResolveManifest(GraphOf(MakeSource(ImagesSource{{folder.path()}})));
  EXPECT_THAT(manifest->classes, ElementsAre("007", "12", "7"));
  EXPECT_EQ(ImageLabel("7", manifest->classes), 2);
}

TEST(Manifest, HasTheGivenClassesOfImages) {
  TestFolder folder;
  for (const char* name : {"dog/a.jpg", "fox/b.jpg"}) folder.Write(name, "");
  const Source source = MakeSource(
      ImagesSource{.files = {folder.path()}, .classes = {"dog", "cat"}});
  const auto manifest = ResolveManifest(GraphOf(source));
  ASSERT_TRUE(manifest.ok());
  EXPECT_THAT(manifest->classes, ElementsAre("dog", "cat"));
  const auto records =
      RecordSource::Make(source, true, std::make_shared<Manifest>(*manifest));
  ASSERT_TRUE(records.ok());
  const auto scratch = (*records)->NewScratch();
  RecordBlock block;
  EXPECT_EQ(
      *(*records)->Read(std::vector<uint64_t>{0, 1}, 1000, *scratch, block),
      1u);
  EXPECT_THAT(block.columns[1].View().Items<int64_t>(0), ElementsAre(0));
  EXPECT_TRUE(absl::IsDataLoss(block.error));
  EXPECT_THAT(block.error.message(),
              HasSubstr("its label \"fox\" is none of the 2 `classes`"));
}

TEST(Manifest, TakesNamesOfClassesFromAFile) {
  TestFolder folder;
  folder.Write("dog/a.jpg", "");
  const std::string list = folder.Write("classes.txt", "cat\r\n\ndog\n");
  Graph graph;
  graph.source = MakeSource(
      ImagesSource{.files = {folder.path() + "/*/*"}, .classes_file = list});
  ASSERT_TRUE(InferFields(graph).ok());
  EXPECT_THAT(graph.source.Get<ImagesSource>().classes,
              ElementsAre("cat", "dog"));
  EXPECT_EQ(graph.source.Get<ImagesSource>().classes_file, "");
  const auto names = ClassNamesOf(*Analyze(graph, BuiltinFunctions()).value());
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names, ElementsAre("cat", "dog"));
}

// ---- TFRecord

TEST(TfRecord, IsReadInAnyOrderAndBySmallReads) {
  TestFolder folder;
  std::vector<std::string> records;
  std::mt19937 random(2);
  for (int k = 0; k < 500; ++k) {
    records.push_back(std::string(random() % 3000, static_cast<char>(k)));
  }
  folder.Write("a", TfRecordFile({records.begin(), records.begin() + 200}));
  folder.Write("b", TfRecordFile({records.begin() + 200, records.end()}));
  const Source source = MakeSource(TfRecordSource{{folder / "*"}});
  const auto manifest = ResolveManifest(GraphOf(source));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  Reader reader(source, *manifest);
  EXPECT_EQ(reader.Read(UpTo(500)), records);
  EXPECT_EQ(reader.Read(UpTo(500), 100), records);

  std::vector<uint64_t> shuffled = UpTo(500);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::vector<std::string> expected;
  for (const uint64_t k : shuffled) expected.push_back(records[k]);
  EXPECT_EQ(reader.Read(shuffled), expected);
  EXPECT_THAT(reader.records->Describe(201, 0),
              HasSubstr("b: record 1 at offset "));
}

TEST(TfRecord, EveryTruncationIsReportedWithItsPlace) {
  TestFolder folder;
  const std::string whole = TfRecordFile({"first", "second"});
  const size_t second = TfRecordFile({"first"}).size();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == second) continue;  // a whole file of one record
    const std::string path = folder.Write("a", whole.substr(0, size));
    const Source source = MakeSource(TfRecordSource{{path}});
    const auto manifest = ResolveManifest(GraphOf(source));
    if (size < second) {  // no record: not a TFRecord file
      ASSERT_EQ(manifest.status().code(), absl::StatusCode::kDataLoss) << size;
      EXPECT_THAT(ErrorText(manifest.status()),
                  HasSubstr(path + ": record 0 at offset 0"));
      continue;
    }
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    EXPECT_EQ(manifest->TotalRecords(), 2u);
    Reader reader(source, *manifest);
    EXPECT_THAT(reader.Read(UpTo(2)), ElementsAre("first"));
    EXPECT_EQ(reader.status.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(
        ErrorText(reader.status),
        HasSubstr(fmt::format("{}: record 1 at offset {}", path, second)));
  }
}

TEST(TfRecord, EveryFlippedByteIsNoticed) {
  TestFolder folder;
  const std::string whole = TfRecordFile({"first", "second", "third"});
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x10);
    const Source source =
        MakeSource(TfRecordSource{{folder.Write("a", broken)}});
    const auto manifest = ResolveManifest(GraphOf(source));
    if (!manifest.ok()) {
      EXPECT_EQ(manifest.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    // The records before the damaged one are intact.
    Reader reader(source, *manifest);
    std::vector<uint64_t> all = UpTo(manifest->TotalRecords());
    const std::vector<std::string> read = reader.Read(all);
    EXPECT_EQ(reader.status.code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_LT(read.size(), all.size());
    EXPECT_THAT(ErrorText(reader.status),
                HasSubstr(fmt::format("a: record {} at offset", read.size())));
    // Also if it is read first.
    std::reverse(all.begin(), all.end());
    EXPECT_LT(reader.Read(all).size(), all.size());
  }
}

TEST(TfRecord, RecordsAreCountedUpToTheFirstBrokenByte) {
  const std::vector<std::string> data = {"first", "", std::string(200, 'x'),
                                         "last"};
  const std::string whole = TfRecordFile(data);
  std::vector<uint64_t> offsets = {0};
  for (const std::string& one : data) {
    offsets.push_back(offsets.back() + one.size() + kTfRecordOverheadBytes);
  }
  const auto count = [&](const std::string& bytes, size_t from) {
    return CountTfRecords(Bytes(bytes).subspan(offsets[from]),
                          std::span(offsets).subspan(from));
  };
  // The same for copied records.
  const auto copy = [&](const std::string& bytes,
                        std::vector<std::string>& to) {
    to.clear();
    for (const std::string& one : data) to.emplace_back(one.size(), '?');
    std::vector<TfRecordCopy> copies;
    for (size_t k = 0; k < data.size(); ++k) {
      copies.push_back(
          {Bytes(bytes).subspan(offsets[k], offsets[k + 1] - offsets[k]),
           reinterpret_cast<std::byte*>(to[k].data())});
    }
    return CopyTfRecords(copies);
  };
  std::vector<std::string> copied;
  EXPECT_EQ(copy(whole, copied), 4U);
  EXPECT_EQ(copied, data);
  EXPECT_EQ(count(whole, 0), 4U);
  EXPECT_EQ(count(whole, 1), 3U);
  EXPECT_EQ(count(whole, 4), 0U);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x10);
    size_t sound = 0;
    while (offsets[sound + 1] <= at) ++sound;
    EXPECT_EQ(count(broken, 0), sound) << at;
    EXPECT_EQ(copy(broken, copied), sound) << at;
    for (size_t k = 0; k < sound; ++k) EXPECT_EQ(copied[k], data[k]) << at;
  }
  EXPECT_EQ(CopyTfRecords({}), 0U);
  const std::array<TfRecordCopy, 1> too_short = {
      TfRecordCopy{Bytes(whole).first(kTfRecordOverheadBytes - 1), nullptr}};
  EXPECT_EQ(CopyTfRecords(too_short), 0U);
}

TEST(TfRecord, AHugeLengthIsNotBelieved) {
  std::string header;
  AppendLittleEndian(UINT64_MAX - 7, 8, header);
  AppendLittleEndian(MaskCrc32c(Crc32c(Bytes(header))), 4, header);
  AppendLittleEndian(0, 4, header);
  TestFolder folder;
  const std::string path = folder.Write("a", header);
  EXPECT_EQ(ResolveManifest(GraphOf(MakeSource(TfRecordSource{{path}})))
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
}

TEST(RecordIndexCache, KeepsWhatWasUsedLast) {
  TestFolder folder;
  RecordIndexCache cache(1);  // room for one
  const LineFraming lines(LineFraming::Lines::kAll);
  const std::string a = folder.Write("a", "1\n2\n");
  const auto file = LocalFileSystem().Open(a);
  const auto first = cache.Get(lines, **file, {4, 1}).value();
  EXPECT_THAT(first->offsets, ElementsAre(0, 2, 4));
  EXPECT_EQ(cache.Get(lines, **file, {4, 1}).value(), first);
  ASSERT_TRUE(cache.Get(lines, **file, {4, 2}).ok());
  EXPECT_NE(cache.Get(lines, **file, {4, 1}).value(), first);
}

// These bytes are the names of indexes on disk, so that indexes of earlier
// versions are found.
TEST(Framing, KeepsItsName) {
  const auto name_of = [](std::array<uint64_t, 5> numbers) {
    std::string name;
    for (const uint64_t number : numbers) AppendLittleEndian(number, 8, name);
    return name;
  };
  const Source fixed = MakeSource(FixedLengthSource{
      {"f"}, Compression::kNone, /*record_bytes=*/0x0102, 5, 3});
  EXPECT_EQ(FramingOf(fixed)->name(), name_of({4, 0x0102, 3, 5, 0}));
  EXPECT_EQ(FramingOf(MakeSource(TfRecordSource{{"f"}}))->name(), name_of({}));
  EXPECT_EQ(FramingOf(MakeSource(TextSource{{"f"}}))->name(),
            name_of({1}) + "m");
  CsvSource csv;
  csv.files = {"f"};
  EXPECT_EQ(FramingOf(MakeSource(csv))->name(), name_of({2, 0, 0, 0, 1}) + "m");
  csv.multiline = true;
  EXPECT_EQ(FramingOf(MakeSource(csv))->name(), name_of({3, 0, 0, 0, 1}) + "m");
  EXPECT_EQ(FramingOf(MakeSource(WebDatasetSource{}))->name(), name_of({5}));
}

// ---- text

TEST(Framing, FindsLinesAsOneByteAfterTheOtherDoes) {
  const LineFraming lines_only(LineFraming::Lines::kAll);
  std::mt19937 random(5);
  for (const unsigned one_in : {1U, 2U, 20U, 3000U}) {
    for (const size_t size :
         {0U, 1U, 63U, 64U, 65U, 4095U, 4096U, 4097U, 20'000U}) {
      std::string text(size, 'x');
      for (char& c : text) {
        if (random() % one_in == 0) c = '\n';
      }
      std::vector<std::string> lines = {""};
      for (const char c : text) {
        if (c == '\n') {
          lines.emplace_back();
        } else {
          lines.back() += c;
        }
      }
      if (lines.back().empty()) lines.pop_back();
      for (const VectorTarget target :
           {VectorTarget::kBaseline,
            std::min(VectorTarget::kAvx2, BestVectorTarget()),
            BestVectorTarget()}) {
        SetLoopTarget(target);
        std::vector<Extent> found;
        const std::string path = "t";
        lines_only.FindRecords(text, true, {path, 0, 0}, found);
        ASSERT_EQ(found.size(), lines.size());
        for (size_t k = 0; k < lines.size(); ++k) {
          ASSERT_EQ(text.substr(found[k].begin, found[k].size), lines[k]);
        }
      }
      SetLoopTarget(BestVectorTarget());
    }
  }
}

TEST(Text, LinesThatCrossBlocksAreRead) {
  TestFolder folder;
  std::string text;
  std::vector<std::string> lines;
  std::mt19937 random(3);
  // Some lines cross the end of a block; one is longer than a block.
  while (text.size() < 3 * kBlockBytes) {
    const size_t size =
        lines.size() == 100 ? kBlockBytes + 5'000'000 : random() % 100'000;
    lines.push_back(std::string(size, 'x'));
    text += lines.back() + "\n";
  }
  lines.push_back("no newline\r");
  text += lines.back();
  const Source source = MakeSource(TextSource{{folder.Write("t.txt", text)}});
  for (const bool counted : {false, true}) {
    const auto manifest = ResolveManifest(GraphOf(source, counted));
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    Reader reader(source, *manifest, counted);
    EXPECT_EQ(reader.Read(UpTo(manifest->TotalRecords())), lines);
  }
}

TEST(Text, ALineThatBeginsAtABlockBelongsToIt) {
  TestFolder folder;
  std::string text(kBlockBytes - 1, 'a');
  text += "\nb\n";
  const Source source = MakeSource(TextSource{{folder.Write("t.txt", text)}});
  const auto manifest = ResolveManifest(GraphOf(source));
  Reader reader(source, *manifest, false);
  EXPECT_EQ(reader.Read({0}).size(), 1u);
  EXPECT_THAT(reader.Read({1}), ElementsAre("b"));
}

// ---- changed files

TEST(ChangedFiles, AreNamed) {
  TestFolder folder;
  const std::string path = folder.Write("a", TfRecordFile({"x", "y"}));
  const Source source = MakeSource(TfRecordSource{{path}});
  const auto manifest = ResolveManifest(GraphOf(source));
  const auto expect_changed = [&] {
    Reader reader(source, *manifest);
    EXPECT_THAT(reader.Read({0}), IsEmpty());
    EXPECT_EQ(reader.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(ErrorText(reader.status),
                HasSubstr(path + ": changed since the job began"));
  };
  folder.Write("a", TfRecordFile({"x", "yz"}));
  expect_changed();
  folder.Write("a", TfRecordFile({"x", "z"}));
  std::filesystem::last_write_time(
      path,
      std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  expect_changed();
  std::filesystem::remove(path);
  expect_changed();
}

TEST(ChangedFiles, AreNoticedWhileOpen) {
  TestFolder folder;
  const std::string path = folder.Write("a", TfRecordFile({"x", "y"}));
  const Source source = MakeSource(TfRecordSource{{path}});
  const auto manifest = ResolveManifest(GraphOf(source));
  Reader reader(source, *manifest);
  EXPECT_THAT(reader.Read({0}), ElementsAre("x"));
  std::filesystem::resize_file(path, 5);
  EXPECT_THAT(reader.Read({1}), IsEmpty());
  EXPECT_EQ(reader.status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Images, AreFilesWithLabelAndPath) {
  TestFolder folder;
  folder.Write("dog/1.jpg", "DOG");
  folder.Write("cat/2.jpg", "");
  const Source source = MakeSource(ImagesSource{{folder.path()}});
  const auto manifest = ResolveManifest(GraphOf(source));
  Reader reader(source, *manifest);
  EXPECT_THAT(reader.Read({1, 0}), ElementsAre("DOG", ""));
  EXPECT_EQ(reader.block.columns[1].View().Items<int64_t>(0)[0], 1);
  EXPECT_EQ(reader.block.columns[2].View().BytesAt(1), folder / "cat/2.jpg");
}

}  // namespace
}  // namespace feedmill
