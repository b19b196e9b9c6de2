// Steps from outside, from C++ and in this process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/reader.h"
#include "core/dataset/graph_text.h"
#include "core/operators/registry.h"
#include "tests/extension/extensions.h"

namespace feedmill::extension {
namespace {

using ::testing::HasSubstr;

class Extension : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { RegisterStep(ScaleBytesKind()); }

  static Dataset Bytes() {
    return Dataset::Range(100).Map(
        [](const Expr& x) { return Cast(x, DType::kUInt8); });
  }
};

TEST_F(Extension, IsAppliedByItsName) {
  const auto dataset = Bytes().Apply("scale_bytes", {{"factor", int64_t{3}}});
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
  const auto one = Bytes().Apply("scale_bytes", {{"factor", int64_t{3}}});
  const auto same = Bytes().Apply("scale_bytes", {{"factor", int64_t{3}}});
  const auto other = Bytes().Apply("scale_bytes", {{"factor", int64_t{4}}});
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(Fingerprint(one->graph()), Fingerprint(same->graph()));
  EXPECT_NE(Fingerprint(one->graph()), Fingerprint(other->graph()));
}

TEST_F(Extension, SaysWhatIsWrongWithItsOptions) {
  const auto dataset = Bytes().Apply("scale_bytes", {{"factor", int64_t{999}}});
  ASSERT_TRUE(dataset.ok());
  EXPECT_THAT(Read(*dataset, {}).status().message(),
              HasSubstr("steps[1] scale_bytes: factor must be 0 to 255"));
}

}  // namespace
}  // namespace feedmill::extension
