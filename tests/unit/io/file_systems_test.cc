// File systems by scheme, and finding files in them.

#include "core/io/file_systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/io/glob.h"
#include "core/io/local_files.h"
#include "core/io/manifest.h"
#include "core/io/manifest_files.h"
#include "core/io/read_ahead.h"
#include "tests/unit/io/memory_files.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// The file system "memory://" of this process.
MemoryFiles& Memory() {
  static const auto files = [] {
    auto made = std::make_shared<MemoryFiles>();
    EXPECT_TRUE(ProcessFileSystems().Add("memory", made).ok());
    return made;
  }();
  return *files;
}

TEST(FileSystems, GoByTheSchemeOfAName) {
  EXPECT_EQ(SchemeOf("s3://bucket/a"), "s3");
  EXPECT_EQ(SchemeOf("a+b-c.d1://"), "a+b-c.d1");
  EXPECT_EQ(SchemeOf("S3://bucket/a"), "S3");  // no path: Find refuses it
  for (const char* path : {"", "/a", "a", "./s3://a", "s3:/a", "3s://a", "://a",
                           "s3", "a b://c"}) {
    EXPECT_EQ(SchemeOf(path), "") << path;
  }
  FileSystems all;
  EXPECT_EQ(*all.Find("/a"), &LocalFileSystem());
  EXPECT_EQ(*all.Find("a/b"), &LocalFileSystem());
  EXPECT_EQ(*all.Find("file:///a"), &LocalFileSystem());
  const auto files = std::make_shared<MemoryFiles>();
  ASSERT_TRUE(all.Add("s3", files).ok());
  EXPECT_EQ(*all.Find("s3://bucket/a"), files.get());
  const absl::Status unknown = all.Find("gs://bucket/a").status();
  EXPECT_TRUE(absl::IsInvalidArgument(unknown));
  EXPECT_EQ(ErrorText(unknown),
            "gs://bucket/a: this program has no file system for gs://; it has "
            "paths and file://, s3://");
  for (const char* scheme : {"", "s3", "file", "S3", "a b", "1a", "a:"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(all.Add(scheme, files))) << scheme;
  }
}

TEST(Glob, FindsWhatAFileSystemLists) {
  MemoryFiles& files = Memory();
  for (const char* name : {"a/1.csv", "a/2.csv", "a/b/3.csv", "a/.hidden.csv",
                           "a/c/4.txt", "a/[x].csv"}) {
    files.Write(std::string("memory://bucket/") + name, "x");
  }
  files.Reset();
  const auto in = [](std::initializer_list<const char*> names) {
    std::vector<std::string> out;
    for (const char* name : names) {
      out.push_back(std::string("memory://bucket/a/") + name);
    }
    return out;
  };
  EXPECT_EQ(ResolveGlob("memory://bucket/a/*.csv").value(),
            in({"1.csv", "2.csv", "[x].csv"}));
  EXPECT_EQ(ResolveGlob("memory://bucket/**/?.csv").value(),
            in({"1.csv", "2.csv", "b/3.csv"}));
  EXPECT_EQ(ResolveGlob("memory://bucket/a").value(),
            in({"1.csv", "2.csv", "[x].csv", "b/3.csv", "c/4.txt"}));
  EXPECT_EQ(ResolveGlob("memory://bucket/a/[x].csv").value(), in({"[x].csv"}));
  EXPECT_TRUE(absl::IsNotFound(ResolveGlob("memory://bucket/z*").status()));
  EXPECT_TRUE(absl::IsNotFound(ResolveGlob("memory://*").status()));
  // Listings have identities: objects are not looked up one by one.
  files.Reset();
  const auto found = FindFiles("memory://bucket/a/?.csv").value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].identity->etag, HasSubstr("\"v"));
  EXPECT_NE(found[0].identity->etag, found[1].identity->etag);
  EXPECT_LE(files.calls().stats, 2u);  // the pattern and its folder
  EXPECT_EQ(files.calls().lists, 1u);
}

TEST(ManifestFiles, TellObjectsThatChangedFromThoseThatAreGone) {
  MemoryFiles& files = Memory();
  const std::string name = "memory://changing/a";
  files.Write(name, "before");
  Manifest manifest;
  manifest.files.push_back({name, 0, 0, 1});
  manifest.files[0].Set(files.Stat(name)->identity);
  files.Reset();
  const ManifestFiles opened(std::make_shared<const Manifest>(manifest));
  std::byte out[6];
  const auto read = [&] {
    const auto file = opened.Open(0);
    return file.ok() ? opened.Read(0, **file, 0, out) : file.status();
  };
  EXPECT_TRUE(read().ok());
  EXPECT_EQ(files.calls().opens + files.calls().stats, 0u);
  EXPECT_EQ(files.calls().known_opens, 1u);
  files.SetMissing(name, 1);
  EXPECT_THAT(ErrorText(read()), HasSubstr("changed since the job began"));
  files.SetMissing(name, 0);
  files.SetFault([](const std::string& of, uint64_t) {
    return Unavailable("{}: the server answers 503", of);
  });
  EXPECT_EQ(read(), Unavailable("{}: the server answers 503", name));
  files.SetFault(nullptr);
  files.Write(name, "after.");
  EXPECT_TRUE(absl::IsFailedPrecondition(read()));
  EXPECT_THAT(ErrorText(read()), HasSubstr("changed since"));
  files.Remove(name);
  EXPECT_TRUE(absl::IsFailedPrecondition(read()));
  EXPECT_THAT(ErrorText(read()), HasSubstr("does not have it"));
  manifest.files[0].path = "nowhere://a";
  const ManifestFiles unknown(std::make_shared<const Manifest>(manifest));
  EXPECT_THAT(ErrorText(unknown.Open(0).status()),
              HasSubstr("no file system for nowhere://"));
}

// A file that records announced ranges.
class AnnouncedFile final : public RandomAccessFile {
 public:
  explicit AnnouncedFile(uint64_t ahead)
      : RandomAccessFile("announced"), ahead_(ahead) {}

  absl::StatusOr<FileIdentity> Identity() const override {
    return FileIdentity();
  }
  absl::StatusOr<size_t> Read(uint64_t, std::span<std::byte>) const override {
    return size_t{0};
  }
  void Prefetch(std::span<const ByteRange> ranges) const override {
    for (const ByteRange& range : ranges) {
      if (at_ == 0) at_ = range.offset;
      EXPECT_EQ(range.offset, at_);  // in order, no range twice
      EXPECT_GT(range.size, 0u);
      at_ += range.size;
    }
  }
  uint64_t ahead_bytes() const override { return ahead_; }
  uint64_t at() const { return at_; }

 private:
  const uint64_t ahead_;
  mutable uint64_t at_ = 0;
};

TEST(ReadAhead, AnnouncesEachByteOnceAndNotTooEarly) {
  constexpr uint64_t kBegin = 1000;
  for (const uint64_t ahead : {1U, 3U, 100U, 4096U, 100'000U}) {
    for (const uint64_t size : {1U, 99U, 100U, 101U, 4096U, 20'000U}) {
      for (const uint64_t step : {1U, 70U, 5000U}) {
        if (step > ahead) continue;  // beyond the announced ranges
        const AnnouncedFile file(ahead);
        ReadAhead reader(file, kBegin, kBegin + size);
        for (uint64_t at = 0; at < size; at += step) {
          reader.Reach(kBegin + at);
          EXPECT_GT(file.at(), kBegin + at);
          EXPECT_LE(file.at(), kBegin + std::min(size, at + ahead));
        }
        EXPECT_EQ(file.at(), kBegin + size)
            << ahead << " " << size << " " << step;
        reader.Reach(kBegin + size + 5000);
        EXPECT_EQ(file.at(), kBegin + size);
      }
    }
  }
}

TEST(ReadAhead, AnnouncesNothingWhereReadsAreQuick) {
  const AnnouncedFile file(0);
  ReadAhead(file, 0, 1000).Reach(0);
  EXPECT_EQ(file.at(), 0u);
  const AnnouncedFile slow(100);
  ReadAhead(slow, 0, 0).Reach(0);
  EXPECT_EQ(slow.at(), 0u);
}

}  // namespace
}  // namespace feedmill
