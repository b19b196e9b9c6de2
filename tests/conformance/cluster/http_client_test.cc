// The resolvers' HTTP client, and its handling of misbehaving servers.

#include "cloud/http_client.h"

#include "cloud/http_json.h"
#include "tests/conformance/cluster/local_http_server.h"
#include "tests/conformance/cluster/resolver_fixture.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(30);

HttpRequest Direct(std::string url) {
  HttpRequest request{std::move(url)};
  request.direct = true;
  return request;
}

TEST(HttpClient, SendsTheRequestAndReturnsTheAnswer) {
  LocalHttpServer server([](const ServedRequest& request) {
    return ServedAnswer{
        201,
        request.method + " " + request.headers.at("x-key") + " " + request.body,
        {{"X-Flavor", " sweet "}}};
  });
  HttpRequest request = Direct(server.url() + "/a%20b?c=d");
  request.method = "POST";
  request.headers = {{"X-Key", "value"}};
  request.body = std::string("a\0b", 3);
  const auto response = OpenHttp(kPatience)(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "POST value " + request.body);
  EXPECT_EQ(response->headers.at("x-flavor"), "sweet");
  EXPECT_THAT(server.log(), ElementsAre("POST /a%20b?c=d"));
}

TEST(HttpClient, ARedirectIsAnErrorThatNamesBothPlaces) {
  LocalHttpServer server([](const ServedRequest&) {
    return ServedAnswer{302, "", {{"Location", "http://evil.example/x"}}};
  });
  const auto response = OpenHttp(kPatience)(Direct(server.url() + "/a"));
  EXPECT_TRUE(absl::IsFailedPrecondition(response.status()));
  EXPECT_THAT(ErrorText(response.status()), HasSubstr("http://evil.example/x"));
  EXPECT_THAT(ErrorText(response.status()), HasSubstr(server.url() + "/a"));
}

TEST(HttpClient, AnAnswerIsNotReadForEver) {
  LocalHttpServer server([](const ServedRequest&) {
    return ServedAnswer{200, std::string(kHttpBodyMax + 1, 'x')};
  });
  const auto response = OpenHttp(kPatience)(Direct(server.url()));
  EXPECT_TRUE(absl::IsResourceExhausted(response.status()))
      << response.status();
}

TEST(HttpClient, AllQuestionsTogetherHaveOneDeadline) {
  LocalHttpServer server([](const ServedRequest&) {
    return ServedAnswer{200, "", {}, true};
  });
  const HttpFetch fetch = OpenHttp(absl::Milliseconds(50));
  for (int k = 0; k < 2; ++k) {
    const auto response = fetch(Direct(server.url() + "/slow?a=secret"));
    EXPECT_TRUE(absl::IsDeadlineExceeded(response.status()))
        << response.status();
    EXPECT_THAT(ErrorText(response.status()), HasSubstr("/slow did not"));
  }
  EXPECT_EQ(server.log().size(), 1u);
}

TEST(HttpClient, AFailedConnectionNamesTheAddress) {
  std::string gone;
  {
    LocalHttpServer server([](const ServedRequest&) { return ServedAnswer(); });
    gone = server.url();
  }
  const auto refused = OpenHttp(kPatience)(Direct(gone));
  EXPECT_TRUE(absl::IsUnavailable(refused.status()));
  EXPECT_THAT(ErrorText(refused.status()), HasSubstr(gone));
  LocalHttpServer plain([](const ServedRequest&) { return ServedAnswer(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(
      OpenHttp(kPatience)(Direct("https://" + plain.host())).status()));
  for (const char* url :
       {"ftp://localhost/x", "file:///etc/passwd", "", "::"}) {
    EXPECT_FALSE(OpenHttp(kPatience)(Direct(url)).ok()) << url;
  }
  HttpRequest split = Direct(plain.url());
  split.headers = {{"Authorization", "a\r\nX-Other: b"}};
  EXPECT_TRUE(absl::IsInvalidArgument(OpenHttp(kPatience)(split).status()));
}

TEST(HttpJson, ErrorsSayWhatTheApiSays) {
  const std::pair<int, absl::StatusCode> codes[] = {
      {400, absl::StatusCode::kInvalidArgument},
      {401, absl::StatusCode::kFailedPrecondition},
      {403, absl::StatusCode::kFailedPrecondition},
      {404, absl::StatusCode::kNotFound},
      {429, absl::StatusCode::kUnavailable},
      {503, absl::StatusCode::kUnavailable},
  };
  for (const auto& [status, code] : codes) {
    for (const char* body :
         {R"({"message": "the reason"})",
          R"({"error": {"code": 1, "message": "the reason"}})", "the reason"}) {
      const absl::Status error = HttpError("http://h/p?q", {status, body, {}});
      EXPECT_EQ(error.code(), code);
      EXPECT_EQ(ErrorText(error),
                fmt::format("http://h/p answers {}: the reason", status));
    }
  }
  const absl::Status wild =
      HttpError("http://h", {500, std::string(100'000, '\n'), {}});
  EXPECT_LT(ErrorText(wild).size(), 400u);
  EXPECT_EQ(ErrorText(wild).find('\n'), std::string::npos);
}

TEST(HttpJson, TokensAreSentOnlyOverHttpsOrLoopback) {
  for (const char* url : {"https://h", "http://localhost:1", "http://[::1]/",
                          "http://127.0.0.1?x", "http://127.0.0.1"}) {
    EXPECT_TRUE(IsSafeForTokens(url)) << url;
  }
  for (const char* url :
       {"http://h", "http://localhost.example", "http://127.0.0.1@evil",
        "http://localhost:x@evil", "ftp://localhost", "", "http://127.0.0.1.a",
        "http://[::1"}) {
    EXPECT_FALSE(IsSafeForTokens(url)) << url;
  }
}

}  // namespace
}  // namespace feedmill
