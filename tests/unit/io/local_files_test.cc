// Files of this machine, and patterns of their names.

#include "core/io/local_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "core/base/status.h"
#include "core/io/file_systems.h"
#include "core/io/glob.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- globs

TEST(Glob, FindsFilesSortedBytewise) {
  TestFolder folder;
  for (const char* name : {"b.txt", "a.txt", "B.txt", ".hidden.txt", "c.dat",
                           "sub/d.txt", "sub/.git/e.txt"}) {
    folder.Write(name, "");
  }
  EXPECT_THAT(
      ResolveGlob(folder / "*.txt").value(),
      ElementsAre(folder / "B.txt", folder / "a.txt", folder / "b.txt"));
  EXPECT_THAT(ResolveGlob(folder / "[ab].txt").value(),
              ElementsAre(folder / "a.txt", folder / "b.txt"));
  EXPECT_THAT(ResolveGlob(folder / "?.dat").value(),
              ElementsAre(folder / "c.dat"));
  EXPECT_THAT(ResolveGlob(folder / "*/*.txt").value(),
              ElementsAre(folder / "sub/d.txt"));
  EXPECT_THAT(ResolveGlob(folder / "**/*.txt").value(),
              ElementsAre(folder / "B.txt", folder / "a.txt", folder / "b.txt",
                          folder / "sub/d.txt"));
}

TEST(Glob, AFolderStandsForTheFilesBelowIt) {
  TestFolder folder;
  folder.Write("x/2/b", "");
  folder.Write("x/1/a", "");
  folder.Write("x/.c", "");
  EXPECT_THAT(ResolveGlob(folder / "x").value(),
              ElementsAre(folder / "x/1/a", folder / "x/2/b"));
  EXPECT_THAT(ResolveGlob(folder / "x/*").value(),
              ElementsAre(folder / "x/1/a", folder / "x/2/b"));
}

TEST(Glob, ManyStarPartsTakeEachFolderOnce) {
  // Fourteen of 28 folders can be chosen in 40 million ways.
  const TestFolder folder;
  std::string below, pattern;
  for (int depth = 1; depth <= 28; ++depth) {
    below += "a/";
    folder.Write(below + "f", "");
    if (depth <= 14) pattern += "**/a/";
  }
  const auto found = ResolveGlob(folder / pattern + "f");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->size(), 15);
  EXPECT_EQ(found->front(), folder / below + "f");
}

TEST(Glob, ABackslashIsPartOfAName) {
  const TestFolder folder;
  folder.Write("a\\1", "");
  folder.Write("a*", "");
  EXPECT_THAT(ResolveGlob(folder / "a\\*").value(),
              ElementsAre(folder / "a\\1"));
}

TEST(Glob, AdjacentStarPartsAreOne) {
  const TestFolder folder;
  folder.Write("x/1/a", "");
  folder.Write("b", "");
  std::string stars;
  for (int k = 0; k < 10'000; ++k) stars += "**/";
  EXPECT_THAT(ResolveGlob(folder / stars + "*").value(),
              ElementsAre(folder / "b", folder / "x/1/a"));
}

TEST(Glob, TakesANameThatExistsLiterally) {
  TestFolder folder;
  folder.Write("a[1].txt", "");
  folder.Write("a1.txt", "");
  EXPECT_THAT(ResolveGlob(folder / "a[1].txt").value(),
              ElementsAre(folder / "a[1].txt"));
}

TEST(Glob, AnEscapedNameIsThatNameEvenIfAFileIsNamedLikeThePattern) {
  const TestFolder folder;
  folder.Write("*", "");
  folder.Write("[*]", "");
  EXPECT_THAT(ResolveGlob(folder / "[*]").value(), ElementsAre(folder / "*"));
  EXPECT_THAT(ResolveGlob(folder / "[[][*]]").value(),
              ElementsAre(folder / "[*]"));
  folder.Write("[?]", "");
  EXPECT_THAT(ResolveGlob(folder / "[?]").value(), ElementsAre(folder / "[?]"));
}

TEST(Glob, SaysWhatIsNotThere) {
  TestFolder folder;
  for (const std::string name : {"nothing.txt", "*.txt", "no/such/folder"}) {
    const absl::Status status = ResolveGlob(folder / name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(ErrorText(status), HasSubstr(folder / name));
  }
  EXPECT_EQ(ResolveGlob("").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Glob, EndsInACircleOfLinks) {
  TestFolder folder;
  folder.Write("x/a", "");
  std::filesystem::create_directory_symlink(folder / "x", folder / "x/again");
  EXPECT_EQ(ResolveGlob(folder / "x").status().code(),
            absl::StatusCode::kResourceExhausted);
}

// ---- files

TEST(LocalFileSystem, TellsFoldersPipesAndMissingFilesApart) {
  TestFolder folder;
  const FileSystem& files = LocalFileSystem();
  EXPECT_EQ(files.Open(folder / "none").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(files.Open(folder.path()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(files.Open("/dev/null").status().code(),
            absl::StatusCode::kFailedPrecondition);
  const auto file = files.Open(folder.Write("a", "hello"));
  ASSERT_TRUE(file.ok());
  std::string text(10, '.');
  EXPECT_EQ(
      (*file)
          ->Read(1, std::as_writable_bytes(std::span(text.data(), text.size())))
          .value(),
      4u);
  EXPECT_EQ(text, "ello......");
}

TEST(LocalFileSystem, PipesDevicesAndFilesOfProcHaveNoSize) {
  TestFolder folder;
  const std::string pipe = folder / "d/pipe";
  folder.Write("d/empty", "");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& name :
       {pipe, std::string("/dev/null"), std::string("/dev/zero")}) {
    EXPECT_THAT(ErrorText(LocalFileSystem().Stat(name).status()),
                HasSubstr(name + ": not a regular file"));
    EXPECT_THAT(ErrorText(ResolveGlob(name).status()),
                HasSubstr(name + ": not a regular file"));
  }
  // Nothing opens a file of a listing to learn what it is.
  EXPECT_THAT(ResolveGlob(folder / "d").value(),
              ElementsAre(folder / "d/empty", pipe));
  EXPECT_THAT(ErrorText(ResolveGlob(folder / "*/pipe").status()),
              HasSubstr("not a regular file"));
  EXPECT_THAT(ErrorText(LocalFileSystem().Stat("/proc/self/status").status()),
              HasSubstr("says that its size is 0"));
  EXPECT_EQ(LocalFileSystem().Stat(folder / "d/empty")->identity.size, 0u);
}

// A folder "a" that can be listed, and "b" that cannot.
class HalfListed final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    return NotFound("{}", name);
  }
  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    if (name.starts_with("/b/")) return FailedPrecondition("{}: refused", name);
    if (name == "/a" || name == "/b") return FileStat{{}, true};
    if (name == "/a/x") return FileStat{{5}, false};
    return NotFound("{}", name);
  }
  absl::StatusOr<std::vector<Entry>> List(
      const std::string& folder) const override {
    if (folder == "/") return std::vector<Entry>{{"a", true}, {"b", true}};
    if (folder == "/a") return std::vector<Entry>{{"x", false}};
    return FailedPrecondition("{}: refused", folder);
  }
};

TEST(Glob, AFolderThatCannotBeListedIsNotLeftOut) {
  const HalfListed files;
  EXPECT_EQ(GlobByListing(files, "/a/*")->size(), 1u);
  for (const char* const pattern : {"/*/x", "/*/*", "/**/x", "/**", "/*"}) {
    EXPECT_THAT(ErrorText(GlobByListing(files, pattern).status()),
                HasSubstr("/b"))
        << pattern;
  }
}

TEST(LocalFileSystem, TakesUrlsOfFiles) {
  TestFolder folder;
  const std::string path = folder.Write("a b%20.txt", "hello");
  folder.Write("c.txt", "");
  EXPECT_THAT(ResolveGlob("file://" + path).value(), ElementsAre(path));
  EXPECT_THAT(ResolveGlob("file://" + folder.path() + "/*.txt").value(),
              ElementsAre(path, folder / "c.txt"));
  const auto file = OpenFile("file://" + path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Identity()->size, 5u);
  EXPECT_EQ((*file)->Identity()->etag, "");
  EXPECT_EQ((*file)->name(), "file://" + path);
  EXPECT_THAT(ErrorText(OpenFile("file:///none").status()),
              HasSubstr("file:///none: cannot open"));
  for (const char* name : {"file://host/a", "file://a", "file://"}) {
    EXPECT_THAT(ErrorText(OpenFile(name).status()), HasSubstr("file:///PATH"));
    EXPECT_TRUE(absl::IsInvalidArgument(ResolveGlob(name).status())) << name;
  }
}

}  // namespace
}  // namespace feedmill
