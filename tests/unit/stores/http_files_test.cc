#include "stores/http/http_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/status.h"
#include "stores/http/http_store.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

absl::Status AddFiles(FileSystems& systems) {
  return AddHttpFiles(std::make_shared<HttpStore>(HttpOptions{}), systems);
}

TEST(HttpFiles, AreAddedForBothSchemesOnce) {
  FileSystems systems;
  EXPECT_FALSE(systems.Find("http://h/a").ok());
  ASSERT_TRUE(AddFiles(systems).ok());
  EXPECT_TRUE(systems.Find("http://h/a").ok());
  EXPECT_TRUE(systems.Find("https://h/a").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(AddFiles(systems)));
}

TEST(HttpFiles, AKnownFileIsOpenedWithoutARequest) {
  FileSystems systems;
  ASSERT_TRUE(AddFiles(systems).ok());
  const auto files = systems.Find("http://h/a");
  ASSERT_TRUE(files.ok());
  const FileIdentity known{100, 0, "\"v\""};
  const auto file = (*files)->OpenKnown("http://nowhere.invalid/a", known);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->Identity(), known);
  EXPECT_GT((*file)->ahead_bytes(), 0u);
  std::byte byte;
  EXPECT_EQ(*(*file)->Read(100, {&byte, 1}), 0u);  // beyond the end
}

TEST(HttpFiles, NamesThatAreNoFileCostNoRequest) {
  FileSystems systems;
  ASSERT_TRUE(AddFiles(systems).ok());
  const FileSystem& files = **systems.Find("http://h/a");
  for (const absl::Status& status :
       {files.Glob("http://nowhere.invalid/*").status(),
        files.List("http://nowhere.invalid/a").status(),
        files.Open("http://nowhere.invalid/a/").status(),
        files.OpenKnown("http:///a", {}).status(),
        files.Stat("http://nowhere.invalid").status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

TEST(HttpFiles, TheEnvironmentSetsPatience) {
  EXPECT_EQ(HttpOptionsOfEnvironment()->patience, absl::Seconds(60));
  setenv("FEEDMILL_HTTP_PATIENCE", "2m", 1);
  EXPECT_EQ(HttpOptionsOfEnvironment()->patience, absl::Minutes(2));
  for (const char* bad : {"", "x", "0s", "-1s", "inf", "10"}) {
    setenv("FEEDMILL_HTTP_PATIENCE", bad, 1);
    const auto options = HttpOptionsOfEnvironment();
    EXPECT_TRUE(absl::IsInvalidArgument(options.status())) << bad;
    EXPECT_THAT(ErrorText(options.status()), HasSubstr("such as 90s"));
  }
  unsetenv("FEEDMILL_HTTP_PATIENCE");
}

}  // namespace
}  // namespace feedmill
