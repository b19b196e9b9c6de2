#include "core/io/key_glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

// A store that records listings.
class KeyGlobTest : public ::testing::Test {
 protected:
  ListKeys Lister() {
    return [this](std::span<const ListTask> tasks, const TakePage& take) {
      for (size_t k = 0; k < tasks.size(); ++k) {
        listed_.push_back(tasks[k].prefix + (tasks[k].deep ? "**" : ""));
        const absl::Status status = take(k, PageOf(tasks[k]));
        if (!status.ok()) return status;
      }
      ++rounds_;
      return absl::OkStatus();
    };
  }

  std::vector<std::string> Glob(const std::string& pattern) {
    listed_.clear();
    rounds_ = 0;
    auto found = GlobKeys(pattern, Lister());
    EXPECT_TRUE(found.ok()) << found.status();
    std::vector<std::string> keys;
    for (const ListedObject& object : *found) keys.push_back(object.key);
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  std::vector<std::string> keys_ = {
      "a/1.csv", "a/2.csv",   "a/b/3.csv", "c/1.csv", "c/.h/4",
      "d",       "d/e/f/5.x", "folder/",   ".hid/6",  "a*/7"};
  std::set<std::string> empty_;  // keys of objects that are known to be empty
  std::vector<std::string> listed_;
  int rounds_ = 0;

 private:
  ListPage PageOf(const ListTask& task) const {
    ListPage page;
    std::set<std::string> folders;
    for (const std::string& key : keys_) {
      if (!key.starts_with(task.prefix)) continue;
      const size_t slash = key.find('/', task.prefix.size());
      if (task.deep || slash == std::string::npos) {
        page.objects.push_back({key, {empty_.contains(key) ? 0u : 5u, 1}});
      } else {
        folders.insert(key.substr(0, slash + 1));
      }
    }
    page.prefixes.assign(folders.begin(), folders.end());
    return page;
  }
};

TEST_F(KeyGlobTest, ListsOnlyTheFoldersThatAWildcardMatches) {
  EXPECT_THAT(Glob("a/*.csv"), ElementsAre("a/1.csv", "a/2.csv"));
  EXPECT_THAT(listed_, ElementsAre("a/"));
  EXPECT_THAT(Glob("a/1*"), ElementsAre("a/1.csv"));
  EXPECT_THAT(listed_, ElementsAre("a/1"));
  EXPECT_THAT(Glob("[ac]/1.csv"), ElementsAre("a/1.csv", "c/1.csv"));
  EXPECT_THAT(listed_, ElementsAre("", "a/1.csv", "c/1.csv"));
}

TEST_F(KeyGlobTest, FindsOneKeyWithoutFurtherListings) {
  EXPECT_EQ(FindOneKey("[ac]/1.csv", Lister()).value(), "a/1.csv");
  EXPECT_THAT(listed_, ElementsAre("", "a/1.csv"));
  EXPECT_TRUE(absl::IsNotFound(FindOneKey("x*", Lister()).status()));
}

TEST_F(KeyGlobTest, FoldersOfOneDepthAreListedTogether) {
  EXPECT_THAT(Glob("*/*/*"), ElementsAre("a/b/3.csv", "d/e/f/5.x"));
  EXPECT_EQ(rounds_, 4);
}

TEST_F(KeyGlobTest, AMatchingFolderStandsForTheObjectsBelow) {
  EXPECT_THAT(Glob("[d]"), ElementsAre("d", "d/e/f/5.x"));
  EXPECT_THAT(Glob("c*"), ElementsAre("c/1.csv"));
}

TEST_F(KeyGlobTest, TwoStarsAreAnyNumberOfFolders) {
  EXPECT_THAT(Glob("a/**"), ElementsAre("a/1.csv", "a/2.csv", "a/b/3.csv"));
  EXPECT_THAT(Glob("**/*.x"), ElementsAre("d/e/f/5.x"));
  EXPECT_THAT(Glob("**/e/**"), ElementsAre("d/e/f/5.x"));
  EXPECT_THAT(Glob("d/**/f/*"), ElementsAre("d/e/f/5.x"));
}

TEST_F(KeyGlobTest, ManyStarPartsTakeEachPlaceOnce) {
  // Fourteen of 28 folders can be chosen in 40 million ways.
  std::string key, pattern;
  for (int depth = 0; depth < 28; ++depth) key += "a/";
  for (int k = 0; k < 14; ++k) pattern += "**/a/";
  keys_ = {key + "f", key + "g"};
  EXPECT_THAT(Glob(pattern + "f"), ElementsAre(key + "f"));
  EXPECT_THAT(Glob(pattern + "h"), IsEmpty());
}

TEST_F(KeyGlobTest, ABackslashIsPartOfAName) {
  keys_ = {"a\\1", "a*"};
  EXPECT_THAT(Glob("a\\*"), ElementsAre("a\\1"));
}

TEST_F(KeyGlobTest, AdjacentStarPartsAreOne) {
  std::string stars;
  for (int k = 0; k < 10'000; ++k) stars += "**/";
  EXPECT_THAT(Glob(stars + "*.x"), ElementsAre("d/e/f/5.x"));
}

TEST_F(KeyGlobTest, HiddenNamesMatchNoWildcard) {
  EXPECT_THAT(Glob("*/6"), IsEmpty());
  EXPECT_THAT(Glob(".hid/*"), ElementsAre(".hid/6"));
  EXPECT_THAT(Glob("c/.h/*"), ElementsAre("c/.h/4"));
}

TEST_F(KeyGlobTest, AKeyThatEndsWithASlashIsNoObject) {
  EXPECT_THAT(Glob("fol*"), IsEmpty());
}

TEST_F(KeyGlobTest, AnEmptyObjectBesideItsFolderIsAMark) {
  keys_ = {"e/d",           "e/d/1.csv",   "e/d/2.csv", "e/k=1",
           "e/k=1/a/3.csv", "e/empty.csv", "e/full",    "e/full/4.csv"};
  empty_ = {"e/d", "e/k=1", "e/empty.csv"};
  const std::vector<std::string> files = {"e/d/1.csv",    "e/d/2.csv",
                                          "e/empty.csv",  "e/full",
                                          "e/full/4.csv", "e/k=1/a/3.csv"};
  for (const char* const pattern : {"e", "e/**", "e/*", "*", "e*/*"}) {
    EXPECT_THAT(Glob(pattern), ElementsAreArray(files)) << pattern;
  }
  EXPECT_THAT(Glob("*/d"), ElementsAre("e/d/1.csv", "e/d/2.csv"));
  EXPECT_THAT(Glob("*/*.csv"), ElementsAre("e/empty.csv"));
  const std::string folder = "e/";
  EXPECT_EQ(KeysBelow(folder, Lister())->size(), files.size());
}

TEST_F(KeyGlobTest, NamesThatHadoopsToolsLeaveAreHidden) {
  keys_ = {"d/a.csv", "d/a.csv._COPYING_", "d/k=1_$folder$", "d/k=1/b.csv",
           "d_$folder$"};
  EXPECT_THAT(Glob("**"), ElementsAre("d/a.csv", "d/k=1/b.csv"));
  EXPECT_THAT(Glob("d"), ElementsAre("d/a.csv", "d/k=1/b.csv"));
  EXPECT_THAT(Glob("d/*"), ElementsAre("d/a.csv", "d/k=1/b.csv"));
  EXPECT_THAT(Glob("d/*._COPYING_"), ElementsAre("d/a.csv._COPYING_"));
}

TEST_F(KeyGlobTest, AnEscapedWildcardIsLiteral) {
  EXPECT_THAT(Glob("a[*]/*"), ElementsAre("a*/7"));
  EXPECT_THAT(listed_, ElementsAre("a*/"));
}

TEST_F(KeyGlobTest, APatternStandsForFilesWithoutAListing) {
  EXPECT_TRUE(StandsForFile("/a/*.txt", "/a/1.txt"));
  EXPECT_FALSE(StandsForFile("/a/*.txt", "/a/b/1.txt"));
  EXPECT_TRUE(StandsForFile("/a/**/*.txt", "/a/b/1.txt"));
  EXPECT_TRUE(StandsForFile("/a/", "/a/b/1.txt"));
  EXPECT_TRUE(StandsForFile("s3://b/*", "s3://b/x/1.txt"));
  EXPECT_TRUE(StandsForFile("/a/{08..11}.txt", "/a/09.txt"));
  EXPECT_FALSE(StandsForFile("/a/{08..11}.txt", "/a/12.txt"));
  EXPECT_FALSE(StandsForFile("/a/{1..20000}.txt", "/a/1.txt"));
}

TEST_F(KeyGlobTest, AnErrorOfTheListingEndsTheWalk) {
  const ListKeys fails = [](std::span<const ListTask>, const TakePage&) {
    return Unavailable("away");
  };
  EXPECT_TRUE(absl::IsUnavailable(GlobKeys("*", fails).status()));
  const std::string folder;
  EXPECT_TRUE(absl::IsUnavailable(KeysBelow(folder, fails).status()));
}

}  // namespace
}  // namespace feedmill
