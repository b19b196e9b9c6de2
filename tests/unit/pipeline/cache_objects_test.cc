// The cache in a store.
#include "core/pipeline/cache_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "core/io/file_systems.h"
#include "core/pipeline/element_cache.h"
#include "tests/unit/io/memory_files.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Lookup = ElementCache::Lookup;

constexpr char kStoreKey[] = "0123456789abcdef0123456789abcdef";
constexpr char kStoreFolder[] = "cachemem://b/kept";

// MemoryFiles that can be written.
class WrittenFiles final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    FM_RETURN_IF_ERROR(away());
    return files_.Open(name);
  }
  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return files_.Stat(name);
  }
  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override {
    FM_RETURN_IF_ERROR(away());
    return files_.List(folder);
  }
  absl::StatusOr<bool> WriteNew(const std::string& name,
                                std::string_view bytes) const override {
    FM_RETURN_IF_ERROR(away());
    const std::lock_guard lock(mutex_);
    if (!names_.insert(name).second) return false;
    files_.Write(name, std::string(bytes));
    return true;
  }
  absl::Status Remove(const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    names_.erase(name);
    files_.Remove(name);
    return absl::OkStatus();
  }

  // Replaces an object by other bytes.
  void Change(const std::string& name, std::string bytes) {
    files_.Write(name, std::move(bytes));
  }
  void SetAway(bool away) { away_ = away; }
  MemoryFiles& files() { return files_; }
  std::vector<std::string> Names(std::string_view extension) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const std::string& name : names_) {
      if (name.ends_with(extension)) names.push_back(name);
    }
    return names;
  }
  void Clear() {
    for (const std::string& name : Names("")) Remove(name).IgnoreError();
  }

 private:
  absl::Status away() const {
    return away_ ? Unavailable("the store is away") : absl::OkStatus();
  }

  mutable MemoryFiles files_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> names_;
  std::atomic<bool> away_ = false;
};

std::shared_ptr<const ElementSpec> StoreSpec() {
  auto spec = std::make_shared<ElementSpec>();
  spec->components.push_back({"n", DType::kInt64, {}});
  spec->components.push_back({"text", DType::kBytes, {}});
  return spec;
}

std::string NumberText(uint64_t number) {
  return fmt::format("text {}", number);
}

// Makes rows first, first + 1, …, with their texts.
Chunk NumberedRows(uint64_t first, size_t count) {
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  for (size_t k = 0; k < count; ++k) {
    numbers.push_back(static_cast<int64_t>(first + k));
    texts.push_back(NumberText(first + k));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return {StoreSpec(), count, {MakeColumn(numbers), MakeBytesColumn(views)}};
}

std::vector<uint64_t> PositionsAt(uint64_t first, size_t count) {
  std::vector<uint64_t> positions(count);
  for (size_t k = 0; k < count; ++k) positions[k] = first + k;
  return positions;
}

class CacheInStore : public ::testing::Test {
 protected:
  CacheInStore() { store().Clear(); }

  static WrittenFiles& store() {
    static const auto files = [] {
      auto made = std::make_shared<WrittenFiles>();
      ProcessFileSystems().Add("cachemem", made).IgnoreError();
      return made;
    }();
    return *files;
  }

  static std::unique_ptr<CacheObjects> Objects() {
    return std::make_unique<CacheObjects>(store(), kStoreFolder, kStoreKey,
                                          StoreSpec());
  }
  // Opens the cache like another process.
  static std::unique_ptr<ElementCache> Open() {
    auto cache = std::make_unique<ElementCache>(0, Objects());
    cache->ReadNew();
    return cache;
  }
  static void Add(ElementCache& cache, uint64_t first, size_t count) {
    cache.Add(PositionsAt(first, count), {}, false, NumberedRows(first, count));
  }

  // Returns the number of positions present, each with its own content.
  static size_t There(ElementCache& cache, uint64_t first, size_t count) {
    Lookup found;
    cache.Find(PositionsAt(first, count), found);
    size_t there = 0;
    StoredReader reader;
    for (size_t k = 0; k < count; ++k) {
      const auto [number, row] = found.rows[k];
      if (row == Lookup::kMissing) continue;
      const KeptRows& rows = found.chunks[number];
      Chunk one;
      if (rows.chunk != nullptr) {
        one = rows.chunk->Slice(row, row + 1);
      } else {
        const StoredReader::RowRange wanted{rows.stored.get(), row, row + 1};
        reader.Prefetch({&wanted, 1});
        auto read = reader.Read(*rows.stored, row, row + 1, nullptr);
        if (!read.ok()) {
          cache.ReadFailed(*rows.stored, read.status());
          return There(cache, first, count);
        }
        one = *std::move(read);
      }
      EXPECT_EQ(one.columns[0].Items<int64_t>(0)[0],
                static_cast<int64_t>(first + k));
      EXPECT_EQ(one.columns[1].BytesAt(0), NumberText(first + k));
      ++there;
    }
    return there;
  }
};

TEST_F(CacheInStore, IsThereForTheNextProcess) {
  const auto cache = Open();
  Add(*cache, 100, 50);
  cache->AddRows(7,
                 {{std::make_shared<const Chunk>(NumberedRows(3, 2)), nullptr},
                  3,
                  4,
                  true,
                  {0, 2},
                  false});
  cache->Flush();
  EXPECT_THAT(store().Names(".rows"), SizeIs(1));
  EXPECT_THAT(store().Names(".manifest"), SizeIs(1));
  for (const auto& again : {Open().release(), cache.get()}) {
    EXPECT_EQ(There(*again, 90, 100), 50u);
    const auto rows = again->FindRows(7, 5);
    ASSERT_TRUE(rows.has_value());
    EXPECT_EQ(rows->origins, (std::vector<uint32_t>{0, 2}));
    if (again != cache.get()) delete again;
  }
}

TEST_F(CacheInStore, ReadsRowsThatWereAnnounced) {
  const auto cache = Open();
  Add(*cache, 0, 500);
  cache->Flush();
  store().files().SetAhead(1 << 20);
  store().files().Reset();
  EXPECT_EQ(There(*cache, 0, 500), 500u);
  const MemoryFiles::Calls calls = store().files().calls();
  store().files().SetAhead(0);
  EXPECT_GT(calls.announced, 0u);
  EXPECT_EQ(calls.unannounced, 0u);
}

TEST_F(CacheInStore, ShowsRowsOnlyWhenTheirManifestIsPut) {
  const auto one = Objects();
  CacheSegment segment;
  segment.positions = PositionsAt(0, 10);
  segment.rows.chunk = std::make_shared<const Chunk>(NumberedRows(0, 10));
  ASSERT_TRUE(one->Write({segment}).ok());
  EXPECT_THAT(store().Names(".rows"), SizeIs(1));
  const auto two = Objects();
  EXPECT_THAT(two->ReadNew(), IsEmpty());
  ASSERT_TRUE(one->Commit().ok());
  EXPECT_THAT(two->ReadNew(), SizeIs(1));
  EXPECT_THAT(two->ReadNew(), IsEmpty());  // nothing new
  EXPECT_THAT(one->ReadNew(), IsEmpty());  // its own rows
}

TEST_F(CacheInStore, IsWholeAfterWritersThatWorkAtTheSameTime) {
  constexpr size_t kWriters = 4;
  constexpr size_t kRows = 400;
  std::vector<std::thread> writers;
  for (size_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([w] {
      const auto cache = Open();
      // Half of the rows are of all writers.
      for (size_t k = 0; k < kRows; k += 10) {
        if (k < kRows / 2 || k / 10 % kWriters == w) Add(*cache, k, 10);
        if (k % 100 == 0) cache->Flush();
      }
      cache->Flush();
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(There(*Open(), 0, kRows), kRows);
}

TEST_F(CacheInStore, StoresEqualElementsOfTwoWritersOnce) {
  const auto one = Open();
  const auto two = Open();
  for (ElementCache* const cache : {one.get(), two.get()}) {
    Add(*cache, 0, 100);
    cache->Flush();
  }
  EXPECT_THAT(store().Names(""), SizeIs(2));
  EXPECT_EQ(There(*Open(), 0, 100), 100u);
}

TEST_F(CacheInStore, RemovesAnObjectThatIsDamaged) {
  for (const size_t size : {size_t{0}, size_t{100}, SIZE_MAX}) {
    store().Clear();
    const auto cache = Open();
    Add(*cache, 0, 200);
    cache->Flush();
    const std::string name = store().Names(".rows").at(0);
    std::string bytes = *ReadFile(name, SIZE_MAX);
    bytes[bytes.size() - 300] ^= 1;
    bytes.resize(std::min(size, bytes.size()));
    store().Change(name, bytes);
    ::testing::internal::CaptureStderr();
    EXPECT_LT(There(*Open(), 0, 200), 200u);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(name));
    EXPECT_THAT(store().Names(".rows"), IsEmpty());
    const auto again = Open();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(There(*again, 0, 200), 0u);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    Add(*again, 0, 200);
    again->Flush();
    EXPECT_EQ(There(*Open(), 0, 200), 200u);
  }
}

TEST_F(CacheInStore, ReportsADamagedManifestAndMakesItsRowsAgain) {
  const auto cache = Open();
  Add(*cache, 0, 20);
  cache->Flush();
  const std::string name = store().Names(".manifest").at(0);
  const std::string whole = *ReadFile(name, SIZE_MAX);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    const bool cut = at > 0 && at % 5 == 0;
    store().Change(name, cut ? whole.substr(0, at) : damaged);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(There(*Open(), 0, 20), 0u) << at;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(name));
  }
}

TEST_F(CacheInStore, IgnoresAnEmptyManifestWhichItsWriterMayStillFill) {
  const auto cache = Open();
  Add(*cache, 0, 20);
  cache->Flush();
  store().Change(store().Names(".manifest").at(0), "");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(There(*Open(), 0, 20), 0u);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(CacheInStore, ContinuesWithoutAStoreThatIsAway) {
  const auto cache = Open();
  Add(*cache, 0, 20);
  cache->Flush();
  store().SetAway(true);
  ::testing::internal::CaptureStderr();
  Lookup found;
  cache->Find(PositionsAt(0, 20), found);
  ASSERT_NE(found.rows[0].row, Lookup::kMissing);
  cache->ReadFailed(*found.chunks[0].stored, Unavailable("the store is away"));
  EXPECT_EQ(There(*cache, 0, 20), 0u);  // without another read
  Add(*cache, 20, 20);
  cache->Flush();
  EXPECT_EQ(There(*cache, 20, 20), 20u);  // in memory
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("away"));
  store().SetAway(false);
  cache->ReadNew();
  EXPECT_EQ(There(*cache, 0, 40), 40u);
}

}  // namespace
}  // namespace feedmill
