#include "core/io/index_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

constexpr std::string_view kLines = "lines";
const FileIdentity kIdentity{IndexFolder::kFileBytesMin, 17};
const RecordIndex kIndex{{0, 5, IndexFolder::kFileBytesMin}};

std::string OnlyFileIn(const std::string& folder) {
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(path, "");
    path = entry.path().string();
  }
  return path;
}

TEST(IndexFolder, KeepsTheIndexOfOneFileAsItWas) {
  TestFolder folder;
  const IndexFolder indexes(folder / "a/b");
  EXPECT_FALSE(indexes.Load(kLines, "/data/x", kIdentity));
  ASSERT_TRUE(indexes.Store(kLines, "/data/x", kIdentity, kIndex).ok());
  const auto found = indexes.Load(kLines, "/data/x", kIdentity);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offsets, kIndex.offsets);
  EXPECT_FALSE(indexes.Load(kLines, "/data/y", kIdentity));
  EXPECT_FALSE(indexes.Load("records", "/data/x", kIdentity));
  EXPECT_FALSE(indexes.Load(kLines, "/data/x", {kIdentity.size, 18}));
  EXPECT_FALSE(indexes.Load(kLines, "/data/x", {kIdentity.size + 1, 17}));
  EXPECT_FALSE(indexes.Load(kLines, "/data/x", {kIdentity.size, 17, "\"v1\""}));
}

TEST(IndexFolder, BelievesNoDamagedIndex) {
  TestFolder folder;
  const IndexFolder indexes(folder.path());
  ASSERT_TRUE(indexes.Store(kLines, "/data/x", kIdentity, kIndex).ok());
  const std::string path = OnlyFileIn(folder.path());
  std::string text(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary)
      .read(text.data(), static_cast<std::streamsize>(text.size()));
  const std::string name = std::filesystem::path(path).filename().string();
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    folder.Write(name, damaged);
    ASSERT_FALSE(indexes.Load(kLines, "/data/x", kIdentity)) << at;
    folder.Write(name, text.substr(0, at));
    ASSERT_FALSE(indexes.Load(kLines, "/data/x", kIdentity)) << at;
  }
  folder.Write(name, text);
  EXPECT_TRUE(indexes.Load(kLines, "/data/x", kIdentity));
}

TEST(IndexFolder, RemovesWhatAKilledWriterLeft) {
  TestFolder folder;
  folder.Write("old.new", "a part");
  ASSERT_TRUE(IndexFolder(folder.path())
                  .Store(kLines, "/data/x", kIdentity, kIndex)
                  .ok());
  EXPECT_TRUE(OnlyFileIn(folder.path()).ends_with(".index"));
}

TEST(IndexFolder, KeepsNothingOfSmallFilesNorNowhere) {
  TestFolder folder;
  const FileIdentity small{100, 17};
  EXPECT_TRUE(IndexFolder(folder.path())
                  .Store(kLines, "/data/x", small, RecordIndex{{0, 100}})
                  .ok());
  EXPECT_EQ(OnlyFileIn(folder.path()), "");
  EXPECT_TRUE(IndexFolder("").Store(kLines, "/data/x", kIdentity, kIndex).ok());
  EXPECT_FALSE(IndexFolder("").Load(kLines, "/data/x", kIdentity));
  const absl::Status status =
      IndexFolder("/proc/none").Store(kLines, "/data/x", kIdentity, kIndex);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace feedmill
