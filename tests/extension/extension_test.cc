// A step and a source from outside, from C++ and in this process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/dataset/graph_text.h"
#include "core/operators/registry.h"
#include "feedmill/reader.h"
#include "tests/extension/extensions.h"

namespace feedmill::extension {
namespace {

using ::testing::HasSubstr;

class Extension : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterStep(ScaleBytesKind());
    RegisterSource(SizedKind());
  }

  // Writes records of the lengths 0, 1, 2, … to a file.
  static std::string WriteSized(int records) {
    const std::string path = ::testing::TempDir() + "/records.sized";
    std::ofstream file(path, std::ios::binary);
    file << "SIZE";
    for (int n = 0; n < records; ++n) {
      file << static_cast<char>(n) << std::string(static_cast<size_t>(n), 'r');
    }
    return path;
  }

  static Dataset Bytes() {
    return Dataset::Range(100).Map(
        [](const Expr& x) { return Cast(x, DType::kUInt8); });
  }
};

TEST_F(Extension, IsAppliedByItsName) {
  const auto dataset = Bytes().Apply("scale_bytes", {{"factor", 3}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto reader = Read(*dataset, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  uint64_t n = 0;
  for (const Element& element : **reader) {
    EXPECT_EQ(element.Get<uint8_t>(), static_cast<uint8_t>(3 * n));
    ++n;
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(n, 100u);
}

TEST_F(Extension, HasAFingerprintThatDependsOnItsOptions) {
  const auto one = Bytes().Apply("scale_bytes", {{"factor", 3}});
  const auto same = Bytes().Apply("scale_bytes", {{"factor", 3}});
  const auto other = Bytes().Apply("scale_bytes", {{"factor", 4}});
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(Fingerprint(one->graph()), Fingerprint(same->graph()));
  EXPECT_NE(Fingerprint(one->graph()), Fingerprint(other->graph()));
}

TEST_F(Extension, SaysWhatIsWrongWithItsOptions) {
  const auto dataset = Bytes().Apply("scale_bytes", {{"factor", 999}});
  ASSERT_TRUE(dataset.ok());
  EXPECT_THAT(Read(*dataset, {}).status().message(),
              HasSubstr("steps[1] scale_bytes: factor must be 0 to 255"));
}

TEST_F(Extension, ReadsASourceByItsName) {
  const std::vector<std::string> files = {WriteSized(200)};
  const auto dataset =
      Dataset::From("sized", {{"files", files}, {"magic", "SIZE"}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto reader = Read(*dataset, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  size_t n = 0;
  for (const Element& element : **reader) {
    EXPECT_EQ(element.Bytes("data"), std::string(n, 'r'));
    ++n;
  }
  EXPECT_TRUE((*reader)->status().ok()) << (*reader)->status();
  EXPECT_EQ(n, 200u);
  const auto other = Dataset::From("sized", {{"files", files}});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(Fingerprint(dataset->graph()), Fingerprint(other->graph()));
}

TEST_F(Extension, SaysWhatIsWrongWithTheOptionsOfASource) {
  EXPECT_THAT(Dataset::From("sized", {{"magic", "SIZE"}}).status().message(),
              HasSubstr("sized needs the option \"files\""));
  EXPECT_THAT(Dataset::From("size", {}).status().message(),
              HasSubstr("there is no source \"size\""));
}

}  // namespace
}  // namespace feedmill::extension
