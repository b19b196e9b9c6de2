// Records read in another order than their files'.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/io/local_files.h"
#include "core/io/manifest.h"
#include "core/io/range_gatherer.h"
#include "core/operators/registry.h"
#include "core/sources/index_order.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/record_source.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// Files are mapped after this number of reads.
constexpr int kUntilMapped = 100;

std::string Noise(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::unique_ptr<RandomAccessFile> OpenMapped(const std::string& path) {
  auto file = LocalFileSystem().Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  for (int k = 0; k < kUntilMapped; ++k) (*file)->Mapping();
  return *std::move(file);
}

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool Add(RangeGatherer& gatherer, const RandomAccessFile& file, uint64_t offset,
         uint64_t size) {
  const GuardedMapping* const mapping = file.Mapping();
  if (mapping == nullptr) return false;
  const auto range = RangeGatherer::Range(*mapping, offset, size);
  if (range.data() == nullptr) return false;
  gatherer.Add(range);
  return true;
}

// Returns all gathered bytes, concatenated.
std::string Gathered(RangeGatherer& gatherer) {
  std::string text;
  for (const auto& range : gatherer.Gather()) text += Text(range);
  if (!gatherer.Sound()) text = "(not sound)";
  gatherer.Begin();
  return text;
}

// While it exists, this process does not read mappings itself: the kernel
// copies.
class OthersHandler {
 public:
  OthersHandler() {
    struct sigaction others {};
    others.sa_handler = [](int) { std::abort(); };
    EXPECT_EQ(sigaction(SIGBUS, &others, &before_), 0);
  }
  OthersHandler(const OthersHandler&) = delete;
  OthersHandler& operator=(const OthersHandler&) = delete;
  ~OthersHandler() { EXPECT_EQ(sigaction(SIGBUS, &before_, nullptr), 0); }

 private:
  struct sigaction before_;
};

// With and without a foreign SIGBUS handler.
class RangeGathererTest : public ::testing::TestWithParam<bool> {
 protected:
  // Installs the foreign handler after the first file was mapped, which
  // installs the library's.
  void SetUp() override {
    TestFolder folder;
    OpenMapped(folder.Write("a", "text"));
    if (GetParam()) others_.emplace();
    ASSERT_EQ(GuardedMapping::Guarded(), !GetParam());
  }

 private:
  std::optional<OthersHandler> others_;
};

class RandomReadsTest : public RangeGathererTest {};

std::string WhoReads(const ::testing::TestParamInfo<bool>& info) {
  return info.param ? "TheKernel" : "ThisProcess";
}
INSTANTIATE_TEST_SUITE_P(ReadBy, RangeGathererTest, ::testing::Bool(),
                         WhoReads);
INSTANTIATE_TEST_SUITE_P(ReadBy, RandomReadsTest, ::testing::Bool(), WhoReads);

// ---- the order

TEST(IndexOrder, EqualsTheOrderOfComparing) {
  std::mt19937_64 random(1);
  for (const size_t count :
       std::initializer_list<size_t>{1, 2, 255, 256, 257, 4096}) {
    for (const uint64_t most :
         {uint64_t{0}, uint64_t{1}, uint64_t{2047}, uint64_t{2048},
          uint64_t{1'000'000}, ~uint64_t{0}}) {
      std::vector<uint64_t> indexes(count);
      for (uint64_t& index : indexes) {
        index = most == ~uint64_t{0} ? random() : random() % (most + 1);
      }
      std::vector<IndexedRow> expected;
      for (size_t row = 0; row < count; ++row) {
        expected.push_back({indexes[row], row});
      }
      std::sort(expected.begin(), expected.end());
      std::vector<IndexedRow> ordered, spare;
      OrderByIndex(indexes, ordered, spare);
      EXPECT_EQ(ordered, expected) << count << " below " << most;
    }
  }
}

// ---- gathering

TEST_P(RangeGathererTest, GivesWhatIsInTheRanges) {
  TestFolder folder;
  const std::string a = Noise(100'000, 1);
  const std::string b = Noise(5'000, 2);
  const auto first = OpenMapped(folder.Write("a", a));
  const auto second = OpenMapped(folder.Write("b", b));
  RangeGatherer gatherer;
  std::mt19937 random(3);
  for (int turn = 0; turn < 20; ++turn) {
    std::string expected;
    while (!gatherer.full()) {
      const bool of_first = random() % 2 == 0;
      const std::string& text = of_first ? a : b;
      const size_t offset = random() % (text.size() + 1);
      const size_t size = random() % std::min<size_t>(text.size() - offset + 1,
                                                      turn % 2 ? 8192 : 100);
      ASSERT_TRUE(Add(gatherer, of_first ? *first : *second, offset, size));
      expected += text.substr(offset, size);
    }
    ASSERT_EQ(Gathered(gatherer), expected);
  }
}

TEST_P(RangeGathererTest, RefusesWhatIsLongOrNotThere) {
  TestFolder folder;
  const auto file = OpenMapped(folder.Write("a", Noise(100'000, 1)));
  RangeGatherer gatherer;
  EXPECT_FALSE(Add(gatherer, *file, 0, RangeGatherer::kRangeBytesMax + 1));
  EXPECT_FALSE(Add(gatherer, *file, 99'999, 2));
  EXPECT_FALSE(Add(gatherer, *file, ~uint64_t{0}, 2));
  EXPECT_TRUE(Add(gatherer, *file, 99'999, 1));
  const auto empty = OpenMapped(folder.Write("empty", ""));
  EXPECT_FALSE(Add(gatherer, *empty, 0, 1));
}

TEST_P(RangeGathererTest, TellsThatAFileWasCutOff) {
  TestFolder folder;
  const std::string path = folder.Write("a", Noise(100'000, 1));
  const auto file = OpenMapped(path);
  const auto whole = OpenMapped(folder.Write("b", "whole"));
  RangeGatherer gatherer;
  ASSERT_TRUE(Add(gatherer, *file, 50'000, 1000));
  EXPECT_EQ(Gathered(gatherer).size(), 1000u);
  std::filesystem::resize_file(path, 10);
  ASSERT_TRUE(Add(gatherer, *whole, 0, 5));
  ASSERT_TRUE(Add(gatherer, *file, 50'000, 1000));
  EXPECT_EQ(Gathered(gatherer), GetParam() ? "" : "(not sound)");
  // Other files are still readable.
  ASSERT_TRUE(Add(gatherer, *whole, 0, 5));
  EXPECT_EQ(Gathered(gatherer), "whole");
}

TEST_P(RangeGathererTest, ReadsFilesInMemory) {
  const int fd = memfd_create("test", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "0123456789", 10), 10);
  const auto file = OpenMapped("/proc/self/fd/" + std::to_string(fd));
  RangeGatherer gatherer;
  ASSERT_TRUE(Add(gatherer, *file, 3, 4));
  EXPECT_EQ(Gathered(gatherer), "3456");
  ASSERT_EQ(ftruncate(fd, 0), 0);
  ASSERT_TRUE(Add(gatherer, *file, 3, 4));
  EXPECT_EQ(Gathered(gatherer), GetParam() ? "" : "(not sound)");
  close(fd);
}

TEST_P(RangeGathererTest, NeedsNoLargerFilesThanThisProcessMayWrite) {
  TestFolder folder;
  const auto file = OpenMapped(folder.Write("a", "text"));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  RangeGatherer gatherer;
  ASSERT_TRUE(Add(gatherer, *file, 0, 4));
  const std::string text = Gathered(gatherer);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(text, GetParam() ? "" : "text");
}

// ---- records

struct Records {
  explicit Records(std::vector<std::string> paths) {
    const Source source = MakeSource(TfRecordSource{std::move(paths)});
    AnalyzedGraph graph;
    graph.graph.source = source;
    auto resolved = ResolveManifest(graph);
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    count = resolved->TotalRecords();
    records =
        RecordSource::Make(source, true, std::make_shared<Manifest>(*resolved))
            .value();
    scratch = records->NewScratch();
  }

  // Reads all of `indexes`. Returns the records up to the first error, followed
  // by the error's text.
  std::vector<std::string> Read(std::span<const uint64_t> indexes) {
    std::vector<std::string> out;
    status = absl::OkStatus();
    while (!indexes.empty()) {
      const auto read =
          records->Read(indexes, size_t{1} << 20, *scratch, block);
      status = read.status();
      if (!read.ok()) return out;
      const Column& column = block.columns[0].View();
      for (size_t row = 0; row < block.rows; ++row) {
        out.emplace_back(column.BytesAt(static_cast<int64_t>(row)));
      }
      status = block.error;
      if (!status.ok()) return out;
      indexes = indexes.subspan(*read);
    }
    return out;
  }

  uint64_t count = 0;
  std::unique_ptr<const RecordSource> records;
  std::unique_ptr<RecordSource::Scratch> scratch;
  RecordBlock block;
  absl::Status status;
};

// Returns `count` records of up to `size_max` bytes; equal seeds give equal
// records.
std::vector<std::string> NoiseRecords(int count, size_t size_max,
                                      unsigned seed) {
  std::vector<std::string> records;
  for (int k = 0; k < count; ++k) {
    const unsigned own = seed * 1'000'003 + static_cast<unsigned>(k);
    records.push_back(Noise(size_t{own * 2654435761u} % (size_max + 1), own));
  }
  return records;
}

TEST_P(RandomReadsTest, GiveTheRecordsThatWereAskedFor) {
  TestFolder folder;
  std::vector<std::string> all;
  std::vector<std::string> paths;
  // Records that are gathered, records too long for that, and empty ones.
  for (const size_t size_max :
       std::initializer_list<size_t>{0, 10, 300, 20'000, 2'000}) {
    const auto some =
        NoiseRecords(500, size_max, static_cast<unsigned>(size_max));
    all.insert(all.end(), some.begin(), some.end());
    paths.push_back(
        folder.Write(std::to_string(paths.size()), TfRecordFile(some)));
  }
  Records reader(paths);
  ASSERT_EQ(reader.count, all.size());
  std::mt19937 random(5);
  for (const size_t count : std::initializer_list<size_t>{1, 7, 300, 3000}) {
    for (int turn = 0; turn < 5; ++turn) {
      std::vector<uint64_t> indexes;
      for (size_t k = 0; k < count; ++k) {
        // Some records twice, some in runs.
        indexes.push_back(k % 3 == 2 ? (indexes.back() + 1) % all.size()
                                     : random() % all.size());
      }
      std::vector<std::string> expected;
      expected.reserve(indexes.size());
      for (const uint64_t index : indexes) expected.push_back(all[index]);
      ASSERT_EQ(reader.Read(indexes), expected);
      std::sort(indexes.begin(), indexes.end());
      expected.clear();
      for (const uint64_t index : indexes) expected.push_back(all[index]);
      ASSERT_EQ(reader.Read(indexes), expected);
    }
  }
}

TEST_P(RandomReadsTest, ReadsMoreFilesThanStayOpen) {
  TestFolder folder;
  std::vector<std::string> all, paths;
  for (unsigned k = 0; k < 300; ++k) {
    const auto some = NoiseRecords(3, 100, k);
    all.insert(all.end(), some.begin(), some.end());
    std::string name = std::to_string(1000 + k);
    paths.push_back(folder.Write(name, TfRecordFile(some)));
  }
  Records reader(paths);
  std::vector<uint64_t> indexes(all.size());
  for (size_t k = 0; k < all.size(); ++k) indexes[k] = k * 7 % all.size();
  for (int turn = 0; turn < 3; ++turn) {
    const auto read = reader.Read(indexes);
    ASSERT_EQ(read.size(), all.size()) << reader.status;
    for (size_t k = 0; k < read.size(); ++k) {
      ASSERT_EQ(read[k], all[indexes[k]]);
    }
  }
}

TEST_P(RandomReadsTest, NoticeEveryDamagedByte) {
  TestFolder folder;
  const auto all = NoiseRecords(300, 40, 6);
  std::string whole = TfRecordFile(all);
  const std::string path = folder.Write("a", whole);
  Records reader({path});
  std::vector<uint64_t> indexes(all.size());
  for (size_t k = 0; k < all.size(); ++k) indexes[k] = k * 7 % all.size();
  ASSERT_EQ(reader.Read(indexes).size(), all.size());
  const auto time = std::filesystem::last_write_time(path);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  for (size_t at = 0; at < whole.size(); at += 11) {
    const char broken = static_cast<char>(whole[at] ^ 0x10);
    ASSERT_EQ(pwrite(fd, &broken, 1, static_cast<off_t>(at)), 1);
    std::filesystem::last_write_time(path, time);  // like a disk error
    const auto read = reader.Read(indexes);
    EXPECT_LT(read.size(), all.size());
    EXPECT_FALSE(reader.status.ok()) << at;
    for (size_t k = 0; k < read.size(); ++k) {
      ASSERT_EQ(read[k], all[indexes[k]]);
    }
    ASSERT_EQ(pwrite(fd, &whole[at], 1, static_cast<off_t>(at)), 1);
    std::filesystem::last_write_time(path, time);
  }
  close(fd);
  EXPECT_EQ(reader.Read(indexes).size(), all.size());
}

// A file is truncated or rewritten while it is read: there is no signal, and no
// record that never existed.
TEST_P(RandomReadsTest, ReadsAFileThatIsTruncatedMeanwhile) {
  TestFolder folder;
  const auto all = NoiseRecords(2'000, 1'000, 7);
  const std::string whole = TfRecordFile(all);
  const std::string path = folder.Write("a", whole);
  Records reader({path});
  std::vector<uint64_t> indexes(all.size());
  for (size_t k = 0; k < all.size(); ++k) indexes[k] = k * 7 % all.size();
  ASSERT_EQ(reader.Read(indexes).size(), all.size());
  std::atomic<bool> done = false;
  std::atomic<int> cuts = 0;
  std::thread cutter([&] {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    for (size_t turn = 0; !done; ++turn) {
      if (ftruncate(fd, static_cast<off_t>(turn * 4099 % whole.size())) != 0) {
        break;
      }
      ++cuts;
      if (pwrite(fd, whole.data(), whole.size(), 0) < 0) break;
    }
    close(fd);
  });
  while (cuts == 0) std::this_thread::yield();
  for (int turn = 0; turn < 200; ++turn) {
    const auto read = reader.Read(indexes);
    for (size_t k = 0; k < read.size(); ++k) {
      ASSERT_EQ(read[k], all[indexes[k]]);
    }
    if (read.size() < all.size()) {
      EXPECT_FALSE(reader.status.ok());
    }
  }
  done = true;
  cutter.join();
  std::filesystem::resize_file(path, 100);
  EXPECT_TRUE(reader.Read(indexes).empty());
  EXPECT_EQ(reader.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(reader.status.message()),
              HasSubstr(path + ": changed since the job began"));
}

}  // namespace
}  // namespace feedmill
