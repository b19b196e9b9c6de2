#include "core/io/file_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/io/glob.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

class FileListTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::vector<FoundFile>> Read(const std::string& text) {
    std::ofstream(list_) << text;
    return ReadFileList(list_);
  }

  const std::string folder_ =
      ::testing::TempDir() + "file_list_" + std::to_string(getpid());
  const std::string list_ = folder_ + "/list.jsonl";
};

TEST_F(FileListTest, KeepsTheOrderAndWhatIsKnown) {
  const auto files = Read(
      "{\"url\": \"s3://b/2\", \"size\": 7, \"etag\": \"x\"}\n\n"
      "{\"url\": \"https://h/1?sig=2\", \"size\": 0}\r\n"
      "{\"url\": \"s3://b/2\"}\n"
      "{\"url\": \"d/*.csv\", \"size\": 5}");
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 4u);
  EXPECT_EQ((*files)[0].name, "s3://b/2");
  EXPECT_EQ((*files)[0].identity, (FileIdentity{7, 0, "\"x\""}));
  EXPECT_EQ((*files)[1].name, "https://h/1?sig=2");
  EXPECT_EQ((*files)[1].identity, FileIdentity{});
  EXPECT_EQ((*files)[2].identity, std::nullopt);
  // A path is relative to the list and looked up when it is read.
  EXPECT_EQ((*files)[3].name, folder_ + "/d/*.csv");
  EXPECT_EQ((*files)[3].identity, std::nullopt);
}

TEST_F(FileListTest, TakesPlainNames) {
  const auto files = Read(
      "a.tar\r\n\n  /data/b c.tar\nhttps://host/d.tar\n"
      "{\"url\": \"e.tar\"}");
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> names;
  for (const FoundFile& file : *files) names.push_back(file.name);
  EXPECT_THAT(names,
              ::testing::ElementsAre(folder_ + "/a.tar", "/data/b c.tar",
                                     "https://host/d.tar", folder_ + "/e.tar"));
}

TEST_F(FileListTest, ErrorsNameListAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]\n", "line 1: it is no JSON object"},
      {"{\"url\": \"a\"}\n{\"url\": \"b\"\n", "line 2: it is no JSON object"},
      {"{\"url\": 1}\n", "line 1: 'url'"},
      {"{\"size\": 1}\n", "'url' is missing"},
      {"{\"url\": \"\"}\n", "'url' is empty"},
      {"{\"url\": \"a\\u0000b\"}\n", "zero byte"},
      {"{\"url\": \"a\", \"size\": -1}\n", "'size'"},
      {"{\"url\": \"a\", \"size\": 1.5}\n", "'size'"},
      {"{\"url\": \"a\", \"colour\": 1}\n", "'colour' is unknown"},
  };
  for (const auto& [text, part] : cases) {
    const auto files = Read(text);
    EXPECT_TRUE(absl::IsInvalidArgument(files.status())) << text;
    EXPECT_THAT(std::string(files.status().message()),
                ::testing::AllOf(HasSubstr(list_), HasSubstr(part)));
  }
  EXPECT_TRUE(absl::IsNotFound(Read("\n").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadFileList(folder_ + "/none").status()));
}

TEST_F(FileListTest, FindsTheFirstFile) {
  const std::string first =
      "{\"url\": \"s3://b/2\", \"size\": 7}\n{\"url\": \"s3://b/1\"}\n";
  for (const std::string& text : std::vector<std::string>{
           first, "\n \r\n" + first, std::string(20'000, '\n') + first,
           "{\"url\": \"s3://b/2\", \"size\": 7}",
           "{\"url\": \"s3://b/2\", " + std::string(20'000, ' ') +
               "\"size\": 7}\n"}) {
    std::ofstream(list_) << text;
    const auto found = FirstOfFileList(list_);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->name, "s3://b/2");
    EXPECT_EQ(found->identity, FileIdentity{7});
    const auto one = FindOneFile("manifest:" + list_);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->name, "s3://b/2");
  }
  std::ofstream(list_) << "\n";
  EXPECT_TRUE(absl::IsNotFound(FirstOfFileList(list_).status()));
  std::ofstream(list_) << "[]\n";
  EXPECT_TRUE(absl::IsInvalidArgument(FirstOfFileList(list_).status()));
}

TEST_F(FileListTest, StandsWhereAPatternMay) {
  EXPECT_EQ(FileListOf("manifest:/a/b"), "/a/b");
  EXPECT_EQ(FileListOf("/manifest:/a"), "");
  std::ofstream(folder_ + "/z") << "z";
  std::ofstream(folder_ + "/a") << "a";
  std::ofstream(list_) << "{\"url\": \"z\"}\n{\"url\": \"a\"}\n";
  const auto all = FindAllFiles(
      std::vector<std::string>{"manifest:" + list_, folder_ + "/[az]"});
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0][0].name, folder_ + "/z");
  EXPECT_EQ((*all)[1][0].name, folder_ + "/a");
}

}  // namespace
}  // namespace feedmill
