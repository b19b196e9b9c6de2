#include "stores/azure/azure_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

AzureEdit PutNew(const std::string& bytes) {
  return {.only_new = true, .body = std::make_shared<const std::string>(bytes)};
}

AzureAccess Account() { return {.account = "lab7", .key = "c2VjcmV0"}; }

TEST(AzureRequest, AKeySignsWhatIsSent) {
  const auto request = AzureRequest(
      Account(), {.bucket = "data", .key = "a b/1.jpg"}, PutNew("12345"), kNow);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->url,
            "https://lab7.blob.core.windows.net/data/a%20b/1.jpg");
  EXPECT_EQ(request->method, "PUT");
  EXPECT_EQ(*request->body, "12345");
  EXPECT_THAT(request->headers, Contains("If-None-Match: *"));
  EXPECT_THAT(request->headers,
              Contains("x-ms-date: Tue, 14 Nov 2023 22:13:20 GMT"));
  // Python's hmac made it from the text that Azure's reference describes.
  EXPECT_THAT(request->headers,
              Contains("Authorization: SharedKey lab7:"
                       "HyMjJ4XzVs3MbC0zWxNm3y++auvj4E2slofvWudebJA="));
}

TEST(AzureRequest, ATokenStandsInTheUrl) {
  const AzureAccess access{.account = "lab7", .token = "?sv=2021&sig=a%3D"};
  const auto request = AzureRequest(access, {.bucket = "data", .key = "a"},
                                    {.method = "DELETE"}, kNow);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->url,
            "https://lab7.blob.core.windows.net/data/a?sv=2021&sig=a%3D");
  EXPECT_EQ(request->method, "DELETE");
  EXPECT_EQ(request->body, nullptr);
  EXPECT_THAT(request->headers, Not(Contains(HasSubstr("Authorization"))));
}

TEST(AzureRequest, AMalformedKeyIsAnErrorWithoutIt) {
  AzureAccess access = Account();
  access.key = "not base64!";
  const absl::Status status =
      AzureRequest(access, {.bucket = "data", .key = "a"}, PutNew(""), kNow)
          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(ErrorText(status), HasSubstr("AZURE_STORAGE_KEY"));
  EXPECT_THAT(ErrorText(status), Not(HasSubstr("base64!")));
}

TEST(AzureAccess, AnAccountIsPartOfTheHostOrOfThePath) {
  AzureAccess access{.account = "lab7"};
  for (const auto& [endpoint, address] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "https://lab7.blob.core.windows.net"},
           {"http://127.0.0.1:10000/lab7", "http://127.0.0.1:10000/lab7"},
           {"http://127.0.0.1:10000", "http://127.0.0.1:10000/lab7"},
           {"https://lab7.blob.core.cloudapi.de/",
            "https://lab7.blob.core.cloudapi.de"}}) {
    access.endpoint = endpoint;
    const auto found = access.Address();
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, address);
  }
  access.endpoint = "ftp://host";
  EXPECT_TRUE(absl::IsFailedPrecondition(access.Address().status()));
}

TEST(AzureAccess, IsTheEnvironmentsAsAUrlChangesIt) {
  const auto variable = [](const std::string& name) -> std::string {
    if (name == "AZURE_STORAGE_CONNECTION_STRING") {
      return "AccountName=lab7;AccountKey=a2V5==;BlobEndpoint=http://h/lab7;";
    }
    return name == "AZURE_STORAGE_KEY_OTHER" ? "b3RoZXI=" : "";
  };
  auto access = AzureAccessOf({}, variable);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->account, "lab7");
  EXPECT_EQ(access->key, "a2V5==");
  EXPECT_EQ(access->endpoint, "http://h/lab7");
  EXPECT_FALSE(access->anonymous);
  access = AzureAccessOf({.account = "other", .anonymous = true}, variable);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->key, "b3RoZXI=");
  EXPECT_EQ(access->endpoint, "");
  EXPECT_TRUE(access->anonymous);
  const auto china = [](const std::string& name) -> std::string {
    return name == "AZURE_STORAGE_CONNECTION_STRING"
               ? "AccountName=lab7;AccountKey=a2V5;EndpointSuffix=core.cn"
               : "";
  };
  access = AzureAccessOf({}, china);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(*access->Address(), "https://lab7.blob.core.cn");
  const auto none = [](const std::string&) { return std::string(); };
  EXPECT_THAT(ErrorText(AzureAccessOf({}, none).status()),
              HasSubstr("AZURE_STORAGE_ACCOUNT"));
}

}  // namespace
}  // namespace feedmill
