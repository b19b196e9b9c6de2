#include "stores/s3/s3_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/ascii_text.h"
#include "core/io/url_options.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

const S3Access kDefaults{.region = "eu-west-1"};

EnvironmentLookup Variables(std::map<std::string, std::string> set) {
  return
      [set = std::move(set)](const char* name) -> std::optional<std::string> {
        const auto found = set.find(name);
        if (found == set.end()) return std::nullopt;
        return found->second;
      };
}

TEST(S3Url, HasBucketKeyAndOptions) {
  const auto url = ParseS3Url(
      "s3://data/a b/1?.csv?endpoint_override=localhost:9000&scheme=http"
      "&anonymous=true",
      kDefaults);
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->bucket, "data");
  EXPECT_EQ(url->key, "a b/1?.csv");
  EXPECT_EQ(url->access.endpoint, "http://localhost:9000");
  EXPECT_EQ(url->access.region, "eu-west-1");
  EXPECT_TRUE(url->access.anonymous);
}

TEST(S3Url, AQuestionMarkOfAPatternIsPartOfTheKey) {
  for (const char* key : {"202?/x.csv", "a?=b", "x?y=1/z", "x?Region=y", "?"}) {
    const auto url = ParseS3Url(std::string("s3://data/") + key, kDefaults);
    ASSERT_TRUE(url.ok()) << url.status();
    EXPECT_EQ(url->key, key);
    EXPECT_EQ(url->options, "");
  }
}

TEST(S3Url, AKeyThatEndsLikeOptionsHasAnEscapedName) {
  for (const char* const key :
       {"q/a.jpg?w=640", "a?b=1?c=2", "a?", "a[?]b", "a?b", "x?y=1/z", "?a="}) {
    for (const char* const options : {"", "?region=us-east-1"}) {
      const std::string name =
          JoinUrlOptions(std::string("s3://data/") + key, options);
      const auto url = ParseS3Url(name, kDefaults);
      ASSERT_TRUE(url.ok()) << url.status();
      EXPECT_EQ(url->options, options);
      EXPECT_EQ(*options == '\0' ? NameWithoutEscape(url->key) : url->key, key)
          << name;
    }
  }
  EXPECT_EQ(JoinUrlOptions("s3://data/a?w=6", ""), "s3://data/a[?]w=6");
  EXPECT_EQ(JoinUrlOptions("s3://data/a?b", ""), "s3://data/a?b");
}

TEST(S3Url, RefusesInvalidNamesAndOptions) {
  const std::pair<const char*, const char*> cases[] = {
      {"s3://", "name of a bucket"},
      {"s3:///key", "name of a bucket"},
      {"s3://a b/c", "name of a bucket"},
      {"s3://me:key@data/c", "keys are not part"},
      {"s3://data/c?colour=red", "unknown option 'colour'"},
      {"s3://data/c?region=", "'region' has no value"},
      {"s3://data/c?region=%zz", "'region' has no value"},
      {"s3://data/c?region=a%0Ab", "is a region"},
      {"s3://data/c?anonymous=2", "true or false"},
      {"s3://data/c?scheme=http", "endpoint_override"},
      {"s3://data/c?endpoint_override=a%20b", "address of a server"},
  };
  for (const auto& [name, part] : cases) {
    const auto url = ParseS3Url(name, kDefaults);
    EXPECT_TRUE(absl::IsInvalidArgument(url.status())) << name;
    EXPECT_THAT(std::string(url.status().message()), HasSubstr(part)) << name;
    EXPECT_THAT(std::string(url.status().message()),
                ::testing::Not(HasSubstr("me:key")));
  }
  EXPECT_FALSE(
      ParseS3Url("s3://data/" + std::string(2000, 'x'), kDefaults).ok());
}

TEST(S3Url, ABucketOfAwsIsAHost) {
  EXPECT_EQ(BucketUrl("data", {.region = "eu-west-1"}),
            "https://data.s3.eu-west-1.amazonaws.com/");
  EXPECT_EQ(BucketUrl("my.data", {.region = "eu-west-1"}),
            "https://s3.eu-west-1.amazonaws.com/my.data/");
  EXPECT_EQ(BucketUrl("data", {.region = "cn-north-1"}),
            "https://data.s3.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(BucketUrl("data", {.region = "x", .endpoint = "http://h:1"}),
            "http://h:1/data/");
  EXPECT_EQ(BucketUrl("data", {.region = "x",
                               .endpoint = "http://h:1",
                               .virtual_hosted = true}),
            "http://data.h:1/");
}

TEST(S3Url, AnAccessOfTheEnvironment) {
  const auto access =
      S3AccessOfEnvironment(Variables({{"AWS_DEFAULT_REGION", "us-west-2"},
                                       {"AWS_ENDPOINT_URL", "http://a:1/"},
                                       {"AWS_ENDPOINT_URL_S3", "https://b:2"},
                                       {"AWS_NO_SIGN_REQUEST", "YES"},
                                       {"AWS_REQUEST_PAYER", "requester"}}));
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(*access, (S3Access{.region = "us-west-2",
                               .endpoint = "https://b:2",
                               .anonymous = true,
                               .requester_pays = true}));
  for (const auto& [name, value] : {std::pair{"AWS_REGION", "a b"},
                                    std::pair{"AWS_ENDPOINT_URL", "ftp://x"},
                                    std::pair{"AWS_NO_SIGN_REQUEST", "perhaps"},
                                    std::pair{"AWS_REQUEST_PAYER", "me"}}) {
    const auto bad = S3AccessOfEnvironment(Variables({{name, value}}));
    EXPECT_THAT(std::string(bad.status().message()), HasSubstr(name));
  }
}

TEST(S3Url, PercentEncodesAsAwsSigns) {
  EXPECT_EQ(PercentEncoded("a/b c+ü~", "/"), "a/b%20c%2B%C3%BC~");
  EXPECT_EQ(PercentEncoded("a/b"), "a%2Fb");
  EXPECT_EQ(PercentDecoded("a%2Fb+%c3%bc"), "a/b+ü");
  EXPECT_EQ(PercentDecoded("a%2"), std::nullopt);
}

}  // namespace
}  // namespace feedmill
