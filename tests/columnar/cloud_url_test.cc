#include "core/io/cloud_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CloudUrl, HasBucketKeyAndOptions) {
  const auto url = ParseCloudUrl(
      "az",
      "az://data/a?b/c.csv?account=lab7&endpoint_override=h:1&scheme=http&"
      "anonymous=1");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->bucket, "data");
  EXPECT_EQ(url->key, "a?b/c.csv");
  EXPECT_EQ(url->access.account, "lab7");
  EXPECT_EQ(url->access.endpoint, "http://h:1");
  EXPECT_EQ(url->access.anonymous, true);
  EXPECT_TRUE(url->options.starts_with("?account="));
  const auto plain = ParseCloudUrl("gs", "gs://data/a?b");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->key, "a?b");
  EXPECT_EQ(plain->access.anonymous, std::nullopt);
}

TEST(CloudUrl, RefusesInvalidNamesAndOptions) {
  for (const auto& [scheme, name, part] :
       {std::tuple{"gs", "gs:///a", "names no bucket"},
        std::tuple{"gs", "gs://b/a?account=x", "unknown option 'account'"},
        std::tuple{"az", "az://b/a?account=Lab", "name of a storage account"},
        std::tuple{"gs", "gs://b/a?anonymous=2", "true or false"},
        std::tuple{"gs", "gs://b/a?scheme=http&endpoint_override=%2F",
                   "address of a server"}}) {
    const auto url = ParseCloudUrl(scheme, name);
    ASSERT_FALSE(url.ok()) << name;
    EXPECT_THAT(std::string(url.status().message()), HasSubstr(part));
  }
  const auto login = ParseCloudUrl("gs", "gs://me:s3cr3t@data/x");
  EXPECT_THAT(
      std::string(login.status().message()),
      AllOf(HasSubstr("are not part of the URL"), Not(HasSubstr("s3cr3t"))));
}

}  // namespace
}  // namespace feedmill
