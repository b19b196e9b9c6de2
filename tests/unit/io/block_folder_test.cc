#include "core/io/block_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/io/block_files.h"
#include "tests/unit/io/memory_files.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kBlockFileSize = 1000;
const FileIdentity kVersion{100'000, 0, "\"v1\""};

std::vector<std::byte> Bytes(size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

// Other threads may remove files meanwhile.
uint64_t BytesBelow(const std::string& folder) {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code gone;
    const auto size = at->file_size(gone);
    if (!gone && at->path().extension() == ".block") bytes += size;
  }
  return bytes;
}

class BlockFolderTest : public ::testing::Test {
 protected:
  BlockFolder Make(uint64_t bytes_max = 1 << 20) {
    return {folder_ / "a/b", bytes_max, [this](const std::string& line) {
              const std::lock_guard lock(mutex_);
              lines_.push_back(line);
            }};
  }
  std::string PathOf(const std::string& key) const {
    return folder_ / ("a/b/" + key.substr(0, 2) + "/" + key + ".block");
  }
  static bool Has(const BlockFolder& blocks, const std::string& key,
                  int value) {
    std::vector<std::byte> out(kBlockFileSize);
    return blocks.Load(key, out) && out == Bytes(kBlockFileSize, value);
  }

  TestFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(BlockFolderTest, KeepsBlocksByFileVersionAndNumber) {
  const BlockFolder blocks = Make();
  const std::string key = BlockFolder::KeyOf("s3://b/x", kVersion, 7);
  EXPECT_FALSE(Has(blocks, key, 1));
  blocks.Store(key, Bytes(kBlockFileSize, 1));
  EXPECT_TRUE(Has(blocks, key, 1));
  EXPECT_TRUE(Has(Make(), key, 1));  // another process
  FileIdentity other = kVersion;
  other.etag = "\"v2\"";
  for (const std::string& wrong : {BlockFolder::KeyOf("s3://b/y", kVersion, 7),
                                   BlockFolder::KeyOf("s3://b/x", kVersion, 8),
                                   BlockFolder::KeyOf("s3://b/x", other, 7)}) {
    EXPECT_FALSE(Has(blocks, wrong, 1));
  }
  std::vector<std::byte> longer(kBlockFileSize + 1);
  EXPECT_FALSE(blocks.Load(key, longer));
}

TEST_F(BlockFolderTest, RemovesDamagedBlocks) {
  const std::string key = BlockFolder::KeyOf("x", kVersion, 0);
  const std::string path = PathOf(key);
  for (const size_t at : {0U, 8U, 16U, 23U, 24U, 600U, 1023U}) {
    const BlockFolder blocks = Make();
    blocks.Store(key, Bytes(kBlockFileSize, 1));
    ASSERT_TRUE(std::filesystem::exists(path));
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const char byte = static_cast<char>(file.get() ^ 1);
      file.seekp(static_cast<std::streamoff>(at));
      file.put(byte);
    }
    EXPECT_FALSE(Has(blocks, key, 1)) << at;
    EXPECT_FALSE(std::filesystem::exists(path)) << at;
    blocks.Store(key, Bytes(kBlockFileSize, 1));
    std::filesystem::resize_file(path, at);
    EXPECT_FALSE(Has(blocks, key, 1)) << at;
  }
  EXPECT_THAT(lines_.front(), HasSubstr("is damaged"));
}

TEST_F(BlockFolderTest, StaysWithinItsBytesAndKeepsWhatWasUsed) {
  constexpr uint64_t kMost = 50'000;
  const BlockFolder blocks = Make(kMost);
  const std::string used = BlockFolder::KeyOf("used", kVersion, 0);
  blocks.Store(used, Bytes(kBlockFileSize, 9));
  const auto begin =
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (uint64_t k = 0; k < 200; ++k) {
    const std::string key = BlockFolder::KeyOf("x", kVersion, k);
    blocks.Store(key, Bytes(kBlockFileSize, 1));
    // Writes of one tick of the clock cannot be distinguished.
    std::filesystem::last_write_time(PathOf(key),
                                     begin + std::chrono::seconds(k));
    ASSERT_LE(BytesBelow(folder_.path()), kMost);
    ASSERT_TRUE(Has(blocks, used, 9)) << k;
  }
  EXPECT_GT(BytesBelow(folder_.path()), kMost / 2);
  EXPECT_TRUE(Has(blocks, BlockFolder::KeyOf("x", kVersion, 199), 1));
  EXPECT_FALSE(Has(blocks, BlockFolder::KeyOf("x", kVersion, 0), 1));
}

TEST_F(BlockFolderTest, IsSharedByManyWriters) {
  static constexpr uint64_t kMost = 60'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const BlockFolder blocks = Make(kMost);
      for (uint64_t k = 0; k < 150; ++k) {
        const std::string key = BlockFolder::KeyOf("x", kVersion, k);
        std::vector<std::byte> out(kBlockFileSize);
        if (blocks.Load(key, out)) {
          EXPECT_EQ(out, Bytes(kBlockFileSize, static_cast<int>(k)));
        } else {
          blocks.Store(key, Bytes(kBlockFileSize, static_cast<int>(k)));
        }
        if (t == 0) {
          EXPECT_LE(BytesBelow(folder_.path()), kMost);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(lines_, ElementsAre());
}

TEST_F(BlockFolderTest, LeavesTheBytesThatAnotherWriterReserved) {
  static constexpr uint64_t kMost = 60'000;
  static constexpr uint64_t kReserved = 5'000;
  const BlockFolder blocks = Make(kMost);
  const auto store = [&](int k) {
    const std::string key =
        BlockFolder::KeyOf("x", kVersion, static_cast<uint64_t>(k));
    blocks.Store(key, Bytes(kBlockFileSize, k));
  };
  store(0);
  // The count of all writers: 8 bytes.
  std::fstream count(folder_ / "a/b/bytes",
                     std::ios::in | std::ios::out | std::ios::binary);
  uint64_t bytes = 0;
  count.read(reinterpret_cast<char*>(&bytes), sizeof bytes);
  bytes += kReserved;
  count.seekp(0);
  count.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  count.close();
  ASSERT_TRUE(count.good());
  for (int k = 1; k < 100; ++k) {
    store(k);
    EXPECT_LE(BytesBelow(folder_.path()), kMost - kReserved) << k;
  }
}

TEST_F(BlockFolderTest, ContinuesWithoutAFolder) {
  folder_.Write("a", "a file where the folder should be");
  const BlockFolder blocks = Make();
  const std::string key = BlockFolder::KeyOf("x", kVersion, 0);
  for (int k = 0; k < 10; ++k) blocks.Store(key, Bytes(kBlockFileSize, 1));
  EXPECT_FALSE(Has(blocks, key, 1));
  ASSERT_EQ(lines_.size(), 1u);  // then it waits
  EXPECT_THAT(lines_[0], HasSubstr("cannot keep blocks"));
}

TEST_F(BlockFolderTest, MakesADeletedFolderAgain) {
  const BlockFolder blocks = Make();
  const std::string key = BlockFolder::KeyOf("x", kVersion, 0);
  for (int k = 0; k < 3; ++k) {
    blocks.Store(key, Bytes(kBlockFileSize, k));
    EXPECT_TRUE(Has(blocks, key, k));
    std::filesystem::remove_all(folder_ / "a");
    EXPECT_FALSE(Has(blocks, key, k));
  }
  EXPECT_THAT(lines_, ElementsAre());
}

// ---- BlockFiles

std::string Content(size_t size) {
  std::string content(size, '\0');
  for (size_t k = 0; k < size; ++k) {
    content[k] = static_cast<char>(k * 31 + k / 256 * 7);
  }
  return content;
}

std::string ReadAt(const RandomAccessFile& file, uint64_t offset, size_t size) {
  std::string out(size, '\0');
  const auto got =
      file.Read(offset, std::as_writable_bytes(std::span<char>(out)));
  if (!got.ok()) return std::string(got.status().message());
  out.resize(*got);
  return out;
}

TEST_F(BlockFolderTest, FilesAreReadFromTheStoreOnce) {
  const auto store = std::make_shared<MemoryFiles>();
  const std::string content = Content(3 * BlockFiles::kBlockBytes + 1234);
  store->Write("mem://x", content);
  const auto folder = std::make_shared<const BlockFolder>(
      folder_ / "a/b", 1 << 24, [](const std::string&) {});
  for (int pass = 0; pass < 3; ++pass) {
    store->Reset();
    const BlockFiles files(store, folder);  // another process
    const auto file = files.Open("mem://x");
    ASSERT_TRUE(file.ok()) << file.status();
    for (const uint64_t offset :
         {uint64_t{0}, uint64_t{1}, uint64_t{BlockFiles::kBlockBytes - 3},
          uint64_t{2 * BlockFiles::kBlockBytes}, content.size() - 5,
          content.size(), content.size() + 7}) {
      for (const size_t size : {1ul, 7ul, 300'000ul, 2'000'000ul}) {
        const std::string want =
            offset < content.size() ? content.substr(offset, size) : "";
        ASSERT_EQ(ReadAt(**file, offset, size), want) << offset;
      }
    }
    const ByteRange all{0, content.size()};
    (*file)->Prefetch({&all, 1});
    EXPECT_EQ(store->calls().reads, pass == 0 ? 4u : 0u);
    EXPECT_EQ(store->calls().announced, 0u);  // all blocks are here
  }
}

TEST_F(BlockFolderTest, AnnouncesTheBlocksThatAreMissing) {
  const auto store = std::make_shared<MemoryFiles>();
  store->SetAhead(1 << 20);
  store->Write("mem://x", Content(5 * BlockFiles::kBlockBytes));
  const auto folder = std::make_shared<const BlockFolder>(
      folder_ / "a/b", 1 << 24, [](const std::string&) {});
  const auto file = BlockFiles(store, folder).Open("mem://x");
  ASSERT_TRUE(file.ok());
  ReadAt(**file, 2 * BlockFiles::kBlockBytes, 10);
  store->Reset();
  const std::vector<ByteRange> ranges = {{100, 10},
                                         {200, 10},
                                         {BlockFiles::kBlockBytes - 1, 2},
                                         {2 * BlockFiles::kBlockBytes, 100},
                                         {1'000'000'000, 5}};
  (*file)->Prefetch(ranges);
  EXPECT_EQ(store->calls().announced, 2u);
  ReadAt(**file, 0, 2 * BlockFiles::kBlockBytes);
  EXPECT_EQ(store->calls().unannounced, 0u);
}

TEST_F(BlockFolderTest, VersionsAreNeverMixed) {
  const auto store = std::make_shared<MemoryFiles>();
  const size_t size = 2 * BlockFiles::kBlockBytes;
  store->Write("mem://x", std::string(size, 'a'));
  const auto folder = std::make_shared<const BlockFolder>(
      folder_ / "a/b", 1 << 24, [](const std::string&) {});
  const BlockFiles files(store, folder);
  const auto old = files.Open("mem://x");
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(ReadAt(**old, 0, 10), "aaaaaaaaaa");
  store->Write("mem://x", std::string(size, 'b'));
  // The block that is here is of the old version, and so is the open file; the
  // other block is not there any more.
  EXPECT_EQ(ReadAt(**old, 0, 10), "aaaaaaaaaa");
  EXPECT_THAT(ReadAt(**old, size - 10, 10), HasSubstr("mem://x"));
  const auto now = files.Open("mem://x");
  ASSERT_TRUE(now.ok());
  EXPECT_EQ(ReadAt(**now, 0, size), std::string(size, 'b'));
}

}  // namespace
}  // namespace feedmill
