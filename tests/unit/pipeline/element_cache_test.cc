// The cache on disk, and damaged files.
#include "core/pipeline/element_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "core/pipeline/cache_folder.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::SizeIs;
using Lookup = ElementCache::Lookup;

constexpr size_t kDamagedRows = 2000;
constexpr char kKey[] = "0123456789abcdef0123456789abcdef";

std::shared_ptr<const ElementSpec> Spec() {
  auto spec = std::make_shared<ElementSpec>();
  spec->components.push_back({"n", DType::kInt64, {}});
  spec->components.push_back({"text", DType::kBytes, {}});
  return spec;
}

// Makes rows first, first + 1, …, with their texts.
Chunk Rows(int64_t first, size_t count) {
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  for (size_t k = 0; k < count; ++k) {
    numbers.push_back(first + static_cast<int64_t>(k));
    texts.push_back("text " + std::to_string(numbers.back()));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return {Spec(), count, {MakeColumn(numbers), MakeBytesColumn(views)}};
}

std::vector<uint64_t> PositionsFrom(uint64_t first, size_t count) {
  std::vector<uint64_t> positions(count);
  for (size_t k = 0; k < count; ++k) positions[k] = first + k;
  return positions;
}

class CacheOnDisk : public ::testing::Test {
 protected:
  // Opens the cache like another process.
  std::unique_ptr<ElementCache> Open(const char* key = kKey) const {
    auto cache = std::make_unique<ElementCache>(
        0, std::make_unique<CacheFolder>(folder_ / "kept", key, Spec()));
    cache->ReadNew();
    return cache;
  }

  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::string(folder_ / "kept"))) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }

  const TestFolder folder_;
};

// Returns found rows like a reader of the cache.
absl::StatusOr<Chunk> Get(const KeptRows& rows, size_t begin, size_t end) {
  if (rows.chunk != nullptr) return rows.chunk->Slice(begin, end);
  thread_local StoredReader reader;
  reader.Begin();
  return reader.Read(*rows.stored, begin, end, nullptr);
}

// Returns the number of positions present with the content of Rows(0, …).
size_t There(ElementCache& cache, uint64_t first, size_t count) {
  const std::vector<uint64_t> positions = PositionsFrom(first, count);
  Lookup found;
  cache.Find(positions, found);
  size_t there = 0;
  for (size_t k = 0; k < count;) {
    const auto [chunk, row] = found.rows[k];
    if (row == Lookup::kMissing || row == Lookup::kDropped) {
      ++k;
      continue;
    }
    // Reads consecutive rows together.
    size_t end = k + 1;
    while (end < count && found.rows[end].chunk == chunk &&
           found.rows[end].row == row + (end - k)) {
      ++end;
    }
    const auto rows = Get(found.chunks[chunk], row, row + (end - k));
    if (!rows.ok()) {
      cache.ReadFailed(*found.chunks[chunk].stored, rows.status());
      return There(cache, first, count);
    }
    for (size_t at = 0; at < end - k; ++at) {
      const auto number = static_cast<int64_t>(positions[k + at]);
      EXPECT_EQ(rows->columns[0].Items<int64_t>(at)[0], number);
      EXPECT_EQ(rows->columns[1].BytesAt(static_cast<int64_t>(at)),
                "text " + std::to_string(number));
    }
    there += end - k;
    k = end;
  }
  return there;
}

TEST_F(CacheOnDisk, IsThereForTheNextProcess) {
  auto cache = Open();
  cache->Add(PositionsFrom(100, 50), {}, false, Rows(100, 50));
  const std::vector<uint32_t> origins = {1};
  cache->Add(PositionsFrom(500, 3), origins, true, Rows(501, 1));
  cache->AddRows(7, {{std::make_shared<const Chunk>(Rows(3, 2)), nullptr},
                     3,
                     4,
                     true,
                     {0, 2},
                     false});
  cache->Flush();
  EXPECT_EQ(There(*cache, 90, 100), 50u);
  EXPECT_THAT(Files(), SizeIs(1));
  for (const auto& again : {Open().release(), cache.get()}) {
    EXPECT_EQ(There(*again, 90, 100), 50u);
    EXPECT_EQ(There(*again, 500, 3), 1u);
    Lookup found;
    again->Find(PositionsFrom(500, 3), found);
    EXPECT_EQ(found.rows[0].row, Lookup::kDropped);
    EXPECT_EQ(found.rows[2].row, Lookup::kDropped);
    EXPECT_FALSE(again->FindRows(7, 2).has_value());
    const auto rows = again->FindRows(7, 5);
    ASSERT_TRUE(rows.has_value());
    EXPECT_EQ(rows->first, 3u);
    EXPECT_EQ(rows->count, 4u);
    EXPECT_EQ(rows->origins, (std::vector<uint32_t>{0, 2}));
    EXPECT_TRUE(again->FindRows(7, 99).has_value());  // the end is known
    if (again != cache.get()) delete again;
  }
  EXPECT_EQ(There(*Open("another key, which finds nothing"), 90, 100), 0u);
}

TEST_F(CacheOnDisk, SeesWhatOthersWriteMeanwhile) {
  const auto one = Open();
  const auto two = Open();
  one->Add(PositionsFrom(0, 10), {}, false, Rows(0, 10));
  one->Flush();
  two->Add(PositionsFrom(5, 10), {}, false, Rows(5, 10));
  two->Flush();
  one->ReadNew();
  EXPECT_EQ(There(*one, 0, 15), 15u);
}

TEST_F(CacheOnDisk, AnyDamagedByteIsFoundOut) {
  auto cache = Open();
  cache->Add(PositionsFrom(0, 20), {}, false, Rows(0, 20));
  cache->Flush();
  const std::vector<std::filesystem::path> files = Files();
  ASSERT_THAT(files, SizeIs(1));
  const auto size = std::filesystem::file_size(files[0]);
  std::string whole(size, '\0');
  std::ifstream(files[0], std::ios::binary)
      .read(whole.data(), static_cast<std::streamsize>(size));
  ::testing::internal::CaptureStderr();
  size_t padding = 0;
  for (size_t at = 0; at < size; at += 1 + at % 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(files[0], std::ios::binary) << damaged;
    const auto again = Open();
    const size_t there = There(*again, 0, 20);
    padding += there == 20 ? 1 : 0;
    EXPECT_TRUE(there == 0 || there == 20) << at;
    if (there == 20) continue;
    again->Add(PositionsFrom(0, 20), {}, false, Rows(0, 20));
    EXPECT_EQ(There(*again, 0, 20), 20u);
  }
  // The padding between the head and the columns is never read.
  EXPECT_LT(padding, 128u);
  for (const size_t left : {size_t{0}, size_t{10}, size_t{100}, size - 1}) {
    std::ofstream(files[0], std::ios::binary) << whole.substr(0, left);
    EXPECT_EQ(There(*Open(), 0, 20), 0u) << left;
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("made again"));
}

// Damages a file that was read before; `seed` selects the damage.
void Damage(const std::string& path, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = std::filesystem::file_size(path);
  if (seed % 2 == 0) {
    std::filesystem::resize_file(path, random() % (size - 600));
    return;
  }
  // Changes the values of the numbers, which are the first column.
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::string whole(size, '\0');
  file.read(whole.data(), static_cast<std::streamsize>(size));
  uint64_t head = 0;
  std::memcpy(&head, whole.data() + 48, sizeof head);
  const uint64_t values = (64 + head + 63) / 64 * 64;
  const uint64_t at = values + random() % (kDamagedRows * 8);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(whole[at] ^ (1 << random() % 8)));
}

TEST_F(CacheOnDisk, DamageAfterItWasReadIsFoundOut) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto cache = Open();
    cache->Add(PositionsFrom(0, kDamagedRows), {}, false,
               Rows(0, kDamagedRows));
    cache->Flush();
    // Reads also through a mapping, which is made after some reads.
    for (size_t k = 0; k < kDamagedRows; k += 10) {
      ASSERT_EQ(There(*cache, k, 10), 10u);
    }
    const auto another = Open();
    ASSERT_EQ(There(*another, 0, kDamagedRows), kDamagedRows);
    const std::vector<std::filesystem::path> files = Files();
    ASSERT_THAT(files, SizeIs(1));
    Lookup found;
    cache->Find(PositionsFrom(0, kDamagedRows), found);
    const auto held = Get(found.chunks[0], 0, kDamagedRows);
    ASSERT_TRUE(held.ok()) << held.status();
    Damage(files[0], seed);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(There(*cache, 0, kDamagedRows), 0u) << seed;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr(files[0].filename().string()));
    // Rows handed out earlier do not change.
    for (size_t k = 0; k < kDamagedRows; ++k) {
      ASSERT_EQ(held->columns[0].Items<int64_t>(k)[0], static_cast<int64_t>(k));
    }
    EXPECT_THAT(Files(), SizeIs(0));
    cache->Add(PositionsFrom(0, kDamagedRows), {}, false,
               Rows(0, kDamagedRows));
    cache->Flush();
    EXPECT_EQ(There(*cache, 0, kDamagedRows), kDamagedRows);
    // It still has the old file open, and does not delete the new one.
    EXPECT_EQ(There(*another, 0, kDamagedRows), 0u);
    EXPECT_THAT(Files(), SizeIs(1));
    EXPECT_EQ(There(*Open(), 0, kDamagedRows), kDamagedRows);
    std::filesystem::remove_all(std::string(folder_ / "kept"));
  }
}

TEST_F(CacheOnDisk, ALaterReadOpensTheFileThatReplacedADamagedOne) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto cache = Open();
    cache->Add(PositionsFrom(0, kDamagedRows), {}, false,
               Rows(0, kDamagedRows));
    cache->Flush();
    const auto another = Open();
    ASSERT_EQ(There(*another, 0, kDamagedRows), kDamagedRows);
    Damage(Files().at(0), seed);
    ::testing::internal::CaptureStderr();
    ASSERT_EQ(There(*cache, 0, kDamagedRows), 0u);
    cache->Add(PositionsFrom(0, kDamagedRows), {}, false,
               Rows(0, kDamagedRows));
    cache->Flush();
    ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    another->ReadNew();
    EXPECT_EQ(There(*another, 0, kDamagedRows), kDamagedRows);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    std::filesystem::remove_all(std::string(folder_ / "kept"));
  }
}

TEST_F(CacheOnDisk, ADeletedFileIsMissingWithoutAWord) {
  const auto cache = Open();
  cache->Add(PositionsFrom(0, 20), {}, false, Rows(0, 20));
  cache->AddRows(7, {{std::make_shared<const Chunk>(Rows(3, 2)), nullptr},
                     3,
                     2,
                     false,
                     {},
                     false});
  cache->Flush();
  std::filesystem::remove(Files().at(0));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(There(*cache, 0, 20), 0u);
  EXPECT_FALSE(cache->FindRows(7, 3).has_value());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(CacheOnDisk, AFileThatCannotBeOpenedNowIsThereLater) {
  auto cache = Open();
  cache->Add(PositionsFrom(0, 20), {}, false, Rows(0, 20));
  cache->Flush();
  Lookup found;
  cache->Find(PositionsFrom(0, 20), found);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  StoredReader reader;
  const auto rows = reader.Read(*found.chunks[0].stored, 0, 20, nullptr);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(rows.status())) << rows.status();
  cache->ReadFailed(*found.chunks[0].stored, rows.status());
  EXPECT_EQ(There(*cache, 0, 20), 20u);
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(CacheOnDisk, ReadsMoreFilesThanAProcessMayOpen) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto cache = Open();
  constexpr uint64_t kFiles = CacheFile::kOpenMax + 100;
  for (uint64_t k = 0; k < kFiles; ++k) {
    cache->Add(PositionsFrom(k * 10, 10), {}, false,
               Rows(static_cast<int64_t>(k) * 10, 10));
    cache->Flush();
  }
  const rlimit few = {CacheFile::kOpenMax + 60, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(There(*cache, 0, kFiles * 10), kFiles * 10);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(CacheOnDisk, WritesWhileOthersRead) {
  const auto cache = Open();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      // 4 × 100 × 2,000 rows: several files, while other threads read.
      for (uint64_t k = 0; k < 100; ++k) {
        const uint64_t first = (t * 100 + k) * 2000;
        cache->Add(PositionsFrom(first, 2000), {}, false,
                   Rows(static_cast<int64_t>(first), 2000));
        EXPECT_EQ(There(*cache, first, 2000), 2000u);
        EXPECT_LE(There(*cache, (first + 77'000) % 800'000, 100), 100u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cache->Flush();
  EXPECT_EQ(There(*Open(), 0, 800'000), 800'000u);
  EXPECT_GT(Files().size(), 2u);
}

}  // namespace
}  // namespace feedmill
