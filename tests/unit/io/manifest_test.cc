// Manifests and their text.

#include "core/io/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Manifest, ComesBackFromItsText) {
  Manifest manifest;
  manifest.files = {{"/a b\n.txt", 12, -3, 4}, {"/\xff", 0, 1, 0}};
  manifest.classes = {"cat", "dog"};
  const auto again = Manifest::Parse(manifest.Serialize());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Serialize(), manifest.Serialize());
  EXPECT_EQ(again->files[0].mtime_ns, -3);
  EXPECT_EQ(again->Hash(), manifest.Hash());
  EXPECT_EQ(again->Hash().size(), 32u);
  manifest.files[0].size = 13;
  EXPECT_NE(again->Hash(), manifest.Hash());
}

TEST(Manifest, AWeakEtagIsInItsTextAndNotInItsHash) {
  Manifest manifest;
  manifest.files = {{"http://a/b", 12, 0, 4}};
  const std::string hash = manifest.Hash();
  manifest.files[0].etag = "W/\"x\"";
  EXPECT_EQ(manifest.Hash(), hash);
  EXPECT_EQ(Manifest::Parse(manifest.Serialize())->files[0].etag, "W/\"x\"");
  Manifest outer;
  outer.inputs = {manifest};
  const std::string outer_hash = outer.Hash();
  outer.inputs[0].files[0].etag.clear();
  EXPECT_EQ(outer.Hash(), outer_hash);
  manifest.files[0].etag = "\"x\"";
  EXPECT_NE(manifest.Hash(), hash);
}

TEST(Manifest, WithInputsComesBackFromItsText) {
  Manifest manifest;
  manifest.inputs.resize(3);
  manifest.inputs[0].files = {{"/a", 12, -3, 4}};
  manifest.inputs[1].inputs.resize(2);
  manifest.inputs[1].inputs[1].files = {{"/b", 5, 1, 2}, {"/c", 5, 1, 3}};
  const std::string text = manifest.Serialize();
  const auto again = Manifest::Parse(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Serialize(), text);
  EXPECT_EQ(again->inputs[1].inputs[1].files[1].path, "/c");
  EXPECT_EQ(again->TotalRecords(), 9u);
  EXPECT_EQ(again->TotalBytes(), 22u);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Manifest::Parse(text.substr(0, size)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_FALSE(Manifest::Parse(text + "x").ok());
  for (int depth = 0; depth < 20; ++depth) {
    Manifest outer;
    outer.inputs.push_back(std::move(manifest));
    manifest = std::move(outer);
  }
  EXPECT_THAT(Manifest::Parse(manifest.Serialize()).status().message(),
              HasSubstr("too deep"));
}

TEST(Manifest, RefusesEveryTruncationAndExtension) {
  Manifest manifest;
  manifest.files = {{"/a", 12, 3, 4}};
  manifest.classes = {"cat"};
  const std::string text = manifest.Serialize();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Manifest::Parse(text.substr(0, size)).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_FALSE(Manifest::Parse(text + "x").ok());
}

TEST(Manifest, KeepsEtags) {
  Manifest manifest;
  manifest.files = {{"/a", 12, -3, 4}, {"s3://b/c", 5, 0, 1, "\"v1\""}};
  const std::string text = manifest.Serialize();
  const auto again = Manifest::Parse(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Serialize(), text);
  EXPECT_EQ(again->files[0].identity(), manifest.files[0].identity());
  EXPECT_EQ(again->files[1].identity(), (FileIdentity{5, 0, "\"v1\""}));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(Manifest::Parse(text.substr(0, size)).ok());
  }
  manifest.files[1].etag = "\"v2\"";
  EXPECT_NE(manifest.Hash(), again->Hash());
  // Without etags the text has the format used before etags existed.
  manifest.files[1].etag = "";
  EXPECT_THAT(manifest.Serialize(), StartsWith("feedmill manifest 1\n"));
  // Only that format is accepted then.
  std::string other = text;
  const size_t etag = other.find("\"v1\"");
  other.erase(etag, 4);
  other[etag - 8] = 0;
  EXPECT_FALSE(Manifest::Parse(other).ok());
}

}  // namespace
}  // namespace feedmill
