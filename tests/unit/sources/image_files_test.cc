// Which files of a folder are images, for files of a store.

#include "core/formats/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/file_systems.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

constexpr size_t kTogether = 8;
constexpr char kPng[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

// A store whose first kTogether reads wait for each other. Names with "png"
// hold PNG files, names with "bad" cannot be read, and others hold text.
class WaitingStore final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    return std::make_unique<File>(name, *this);
  }
  absl::StatusOr<FileStat> Stat(const std::string& name) const override {
    return NotFound("{}: no such object", name);
  }
  absl::StatusOr<std::vector<Entry>> List(const std::string&) const override {
    return std::vector<Entry>();
  }

  size_t reads() const { return reads_; }

 private:
  class File final : public RandomAccessFile {
   public:
    File(const std::string& name, const WaitingStore& store)
        : RandomAccessFile(name), store_(store) {}
    absl::StatusOr<FileIdentity> Identity() const override {
      return FileIdentity{sizeof(kPng), 0, {}};
    }
    absl::StatusOr<size_t> Read(uint64_t offset,
                                std::span<std::byte> out) const override {
      if (store_.reads_++ < kTogether) store_.latch_.arrive_and_wait();
      if (name().find("bad") != std::string::npos) {
        return Unavailable("{}: the server answers 503", name());
      }
      const std::string content =
          name().find("png") != std::string::npos
              ? std::string(kPng, sizeof(kPng))
              : std::string("some text, which is no image");
      const size_t got = std::min(out.size(), content.size() - offset);
      std::memcpy(out.data(), content.data() + offset, got);
      return got;
    }
    void Prefetch(std::span<const ByteRange>) const override {}

   private:
    const WaitingStore& store_;
  };

  mutable std::atomic<size_t> reads_ = 0;
  mutable std::latch latch_{kTogether};
};

std::shared_ptr<WaitingStore> AddStore(const std::string& scheme) {
  auto store = std::make_shared<WaitingStore>();
  EXPECT_TRUE(ProcessFileSystems().Add(scheme, store).ok());
  return store;
}

std::vector<std::string> NamesOf(const std::vector<FoundFile>& files) {
  std::vector<std::string> names;
  for (const FoundFile& file : files) names.push_back(file.name);
  return names;
}

TEST(ImageFiles, ReadsFirstBytesSideBySideAndKeepsTheOrder) {
  const auto store = AddStore("imagesone");
  std::vector<FoundFile> found;
  std::vector<std::string> want;
  for (int k = 0; k < 20; ++k) {
    const char* const kind = k % 3 == 0   ? "png"
                             : k % 3 == 1 ? "text"
                                          : "known.jpg";
    found.push_back({fmt::format("imagesone://b/{:02}-{}", k, kind)});
    if (k % 3 != 1) want.push_back(found.back().name);
  }
  const auto images = ImagesAmong("imagesone://b", found);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(NamesOf(*images), want);
  EXPECT_EQ(store->reads(), 14u);  // none of the .jpg
}

TEST(ImageFiles, NamesTheObjectThatCannotBeRead) {
  AddStore("imagestwo");
  std::vector<FoundFile> found;
  for (int k = 0; k < 8; ++k) {
    found.push_back({fmt::format("imagestwo://b/{}{}", k, k < 2 ? "" : "bad")});
  }
  const auto images = ImagesAmong("imagestwo://b", found);
  EXPECT_TRUE(absl::IsUnavailable(images.status())) << images.status();
  EXPECT_THAT(ErrorText(images.status()), HasSubstr("imagestwo://b/2bad"));
}

}  // namespace
}  // namespace feedmill
