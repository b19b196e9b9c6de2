#include "cloud/google_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "core/base/status.h"
#include "core/plugins/libcrypto.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

std::string Bytes(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Answers each request with a token, and notes it.
class GoogleTokensTest : public ::testing::Test {
 protected:
  GoogleTokens Tokens(std::map<std::string, std::string> variables) {
    return {
        Environment(std::move(variables)),
        {.read_file =
             [this](const std::string& path) -> absl::StatusOr<std::string> {
           const auto found = files_.find(path);
           if (found == files_.end()) return NotFound("no file");
           return found->second;
         },
         .sign = [](std::string_view key,
                    std::string_view text) -> absl::StatusOr<std::string> {
           signed_ = std::string(text);
           return "signed with " + std::string(key);
         }}};
  }

  HttpFetch fetch_ =
      [this](const HttpRequest& request) -> absl::StatusOr<HttpResponse> {
    requests_.push_back(request);
    HttpResponse response{status_};
    response.headers = {{"metadata-flavor", "Google"}};
    const nlohmann::json answer = {
        {"access_token", fmt::format("token{}", requests_.size())},
        {"expires_in", 3'600}};
    response.body = status_ == 200 ? answer.dump() : "{\"error\": \"no\"}";
    return response;
  };

  std::map<std::string, std::string> files_;
  std::vector<HttpRequest> requests_;
  int status_ = 200;
  static inline std::string signed_;
  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
};

TEST_F(GoogleTokensTest, AGivenTokenComesFirst) {
  files_["/login.json"] = "{}";
  GoogleTokens tokens =
      Tokens({{"CLOUDSDK_AUTH_ACCESS_TOKEN", "given"},
              {"GOOGLE_APPLICATION_CREDENTIALS", "/login.json"}});
  EXPECT_EQ(tokens.Get(fetch_, now_).value(), "given");
  EXPECT_FALSE(tokens.renewable());
  EXPECT_TRUE(requests_.empty());
}

TEST_F(GoogleTokensTest, AreKeptUntilTheyEndSoon) {
  GoogleTokens tokens = Tokens({});
  EXPECT_EQ(tokens.Get(fetch_, now_).value(), "token1");
  EXPECT_EQ(tokens.Get(fetch_, now_ + absl::Minutes(55)).value(), "token1");
  EXPECT_EQ(tokens.Get(fetch_, now_ + absl::Minutes(57)).value(), "token2");
  tokens.Forget();
  EXPECT_EQ(tokens.Get(fetch_, now_ + absl::Minutes(57)).value(), "token3");
  EXPECT_THAT(requests_[0].url, HasSubstr("metadata.google.internal"));
}

TEST_F(GoogleTokensTest, AUsersLoginIsRefreshed) {
  files_["/home/me/.config/gcloud/application_default_credentials.json"] =
      R"({"type": "authorized_user", "client_id": "id", "client_secret": "a&b",
          "refresh_token": "again"})";
  GoogleTokens tokens = Tokens({{"HOME", "/home/me"}});
  EXPECT_EQ(tokens.Get(fetch_, now_).value(), "token1");
  EXPECT_EQ(requests_[0].url, "https://oauth2.googleapis.com/token");
  EXPECT_EQ(requests_[0].body,
            "grant_type=refresh_token&client_id=id&client_secret=a%26b&"
            "refresh_token=again");
}

TEST_F(GoogleTokensTest, AServiceAccountSignsAnAssertion) {
  files_["/key.json"] =
      R"({"type": "service_account", "client_email": "me@x", "private_key": "K",
          "private_key_id": "7", "token_uri": "https://example.com/token"})";
  GoogleTokens tokens =
      Tokens({{"GOOGLE_APPLICATION_CREDENTIALS", "/key.json"}});
  EXPECT_EQ(tokens.Get(fetch_, now_).value(), "token1");
  EXPECT_EQ(requests_[0].url, "https://example.com/token");
  const size_t dot = signed_.find('.');
  std::string head;
  std::string claims;
  ASSERT_TRUE(absl::WebSafeBase64Unescape(signed_.substr(0, dot), &head));
  ASSERT_TRUE(absl::WebSafeBase64Unescape(signed_.substr(dot + 1), &claims));
  EXPECT_EQ(
      nlohmann::json::parse(head),
      nlohmann::json::parse(R"({"alg": "RS256", "typ": "JWT", "kid": "7"})"));
  EXPECT_EQ(nlohmann::json::parse(claims),
            nlohmann::json::parse(R"({"iss": "me@x",
                "scope": "https://www.googleapis.com/auth/cloud-platform",
                "aud": "https://example.com/token", "iat": 1800000000,
                "exp": 1800003600})"));
  std::string signature;
  absl::WebSafeBase64Escape("signed with K", &signature);
  EXPECT_THAT(requests_[0].body,
              HasSubstr("&assertion=" + signed_ + "." + signature));
}

TEST_F(GoogleTokensTest, ErrorsNameTheFile) {
  const auto error = [&](const std::string& text) {
    files_["/key.json"] = text;
    const auto token = Tokens({{"GOOGLE_APPLICATION_CREDENTIALS", "/key.json"}})
                           .Get(fetch_, now_);
    return std::string(token.status().ToString());
  };
  EXPECT_THAT(error("{}"), HasSubstr("Google's login in /key.json"));
  EXPECT_THAT(error(R"({"type": "external_account"})"),
              HasSubstr("its type is 'external_account'"));
  EXPECT_THAT(
      error(R"({"type": "authorized_user", "token_uri": "http://evil"})"),
      HasSubstr("its token_uri is not https"));
  status_ = 400;
  EXPECT_THAT(error(R"({"type": "authorized_user"})"),
              HasSubstr("FAILED_PRECONDITION"));
  EXPECT_TRUE(absl::IsNotFound(
      Tokens({{"GOOGLE_APPLICATION_CREDENTIALS", "/gone.json"}})
          .Get(fetch_, now_)
          .status()));
}

// The command openssl makes the key, and checks the signature.
TEST(Rs256, OpensslVerifiesASignature) {
  const TestFolder folder;
  const std::string key = folder / "key.pem";
  const auto run = [&](const std::string& command) {
    return std::system(("openssl " + command + " > /dev/null 2>&1").c_str());
  };
  ASSERT_EQ(run("genrsa -out " + key + " 2048"), 0);
  ASSERT_EQ(run("rsa -in " + key + " -pubout -out " + folder / "public.pem"),
            0);
  const auto signature = SignRs256(Bytes(key), "a text");
  ASSERT_TRUE(signature.ok()) << signature.status();
  folder.Write("signature", *signature);
  folder.Write("text", "a text");
  folder.Write("other", "another text");
  const std::string verify = "dgst -sha256 -verify " + (folder / "public.pem") +
                             " -signature " + (folder / "signature") + " ";
  EXPECT_EQ(run(verify + (folder / "text")), 0);
  EXPECT_NE(run(verify + (folder / "other")), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(SignRs256("no key", "a").status()));
}

// Test case 2 of RFC 4231.
TEST(Hmac, IsEqualToTheRfcs) {
  const auto code = HmacSha256("Jefe", "what do ya want for nothing?");
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(absl::BytesToHexString(*code),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace feedmill
