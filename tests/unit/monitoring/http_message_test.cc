#include "monitoring/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "monitoring/http_routes.h"

namespace feedmill {
namespace {

using State = HttpRequestReader::State;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ServedRequest Parsed(const std::string& text) {
  HttpRequestReader reader;
  EXPECT_EQ(reader.Take(text), State::kComplete) << text;
  return std::move(reader.request());
}

// Status of the answer that refuses the request; 0 if it is taken, 1 if more
// bytes must come.
int Refused(const std::string& text) {
  HttpRequestReader reader;
  switch (reader.Take(text)) {
    case State::kIncomplete:
      return 1;
    case State::kComplete:
      return 0;
    case State::kRefused:
      break;
  }
  EXPECT_THAT(
      ReplyBytes(reader.refusal()),
      StartsWith("HTTP/1.1 " + std::to_string(reader.refusal().status) + " "));
  return reader.refusal().status;
}

int RefusedHeader(const std::string& line) {
  return Refused("POST / HTTP/1.1\r\n" + line + "\r\n\r\n");
}

TEST(HttpRequestReader, ReadsARequestByteByByte) {
  const std::string text =
      "POST /a%20b%2f?c=%zz HTTP/1.1\r\nHost: h\r\nX-A:\t b \r\n"
      "content-length: 3\r\n\r\n{1}";
  HttpRequestReader reader;
  for (size_t k = 0; k + 1 < text.size(); ++k) {
    ASSERT_EQ(reader.Take(text.substr(k, 1)), State::kIncomplete) << k;
  }
  ASSERT_EQ(reader.Take("}ignored"), State::kComplete);
  const ServedRequest& request = reader.request();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b/");
  EXPECT_EQ(request.header("x-a"), "b");
  EXPECT_EQ(request.header("other"), "");
  EXPECT_EQ(request.body, "{1}");
}

TEST(HttpRequestReader, TakesBodiesUpToItsBoundOnly) {
  const size_t max = HttpRequestReader::kBodyBytesMax;
  const std::string body(max, 'x');
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(max) +
                   "\r\n\r\n" + body)
                .body,
            body);
  EXPECT_EQ(RefusedHeader("Content-Length: " + std::to_string(max + 1)), 413);
  EXPECT_EQ(RefusedHeader("Content-Length: 99999999999999999999999"), 413);
  for (const char* length : {"-1", "+1", "0x10", "1 2", "1,1", ""}) {
    EXPECT_EQ(RefusedHeader(std::string("Content-Length: ") + length), 400)
        << length;
  }
  EXPECT_EQ(RefusedHeader("Content-Length: 0\r\nContent-Length: 0"), 400);
}

TEST(HttpRequestReader, DecodesNoBody) {
  for (const char* encoding : {"br", "gzip", "deflate", "zstd", "gzip, br"}) {
    EXPECT_EQ(RefusedHeader(std::string("Content-Encoding: ") + encoding +
                            "\r\nContent-Length: 3"),
              415)
        << encoding;
  }
  EXPECT_EQ(RefusedHeader("Content-Encoding: identity"), 0);
  EXPECT_EQ(RefusedHeader("Transfer-Encoding: chunked"), 411);
  EXPECT_EQ(RefusedHeader("Transfer-Encoding: chunked\r\nContent-Length: 3"),
            411);
  EXPECT_EQ(RefusedHeader("Expect: 100-continue\r\nContent-Length: 3"), 417);
}

TEST(HttpRequestReader, RefusesHeadsThatAreLongOrNeverEnd) {
  const std::string line = "GET / HTTP/1.1\r\n";
  const std::string fits =
      line + "X: " +
      std::string(HttpRequestReader::kHeadBytesMax - line.size() - 3, 'x');
  EXPECT_EQ(Refused(fits + "\r\n\r\n"), 0);
  EXPECT_EQ(Refused(fits), 1);
  EXPECT_EQ(Refused(fits + "xx"), 431);
  EXPECT_EQ(Refused(fits + "x\r\n\r\n"), 431);
  std::string many = line;
  for (size_t k = 0; k <= HttpRequestReader::kHeadersMax; ++k)
    many += "a:b\r\n";
  EXPECT_EQ(Refused(many + "\r\n"), 400);
}

TEST(HttpRequestReader, RefusesDamagedHeads) {
  for (const char* line :
       {"", "GET", "GET /", "GET / HTTP/2.0", "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ", "G\tT / HTTP/1.1", " / HTTP/1.1",
        "GET http://h/ HTTP/1.1", "GET a HTTP/1.1", "GET * HTTP/1.1",
        "GET /\x01 HTTP/1.1", "GET /\xc3 HTTP/1.1", "GET /%2 HTTP/1.1",
        "GET /%g0 HTTP/1.1", "GET /% HTTP/1.1", "GET / HTTP/1.1\nX: y"}) {
    EXPECT_EQ(Refused(std::string(line) + "\r\n\r\n"), 400) << line;
  }
  for (const char* line :
       {"novalue", ": x", "a b: x", " a: x", "a : x", "Host: a\r\nhost: a",
        "a: x\r\n folded", "a: x\ny", "a: x\ry", "a: \x7f"}) {
    EXPECT_EQ(RefusedHeader(line), 400) << line;
  }
  EXPECT_EQ(RefusedHeader(std::string("a: x\0y", 6)), 400);
}

TEST(ServedRequest, AcceptsGzipOnlyIfTheClientSaysSo) {
  const auto accepts = [](const std::string& value) {
    ServedRequest request;
    request.headers = {{"accept-encoding", value}};
    return request.accepts_gzip();
  };
  EXPECT_FALSE(ServedRequest().accepts_gzip());
  for (const char* value : {"gzip", "br, GZIP", "gzip;q=0.1", "*", "a;q=1,*",
                            "gzip ; a=b ; q=1", "*;q=0, gzip"}) {
    EXPECT_TRUE(accepts(value)) << value;
  }
  for (const char* value : {"", "br", "identity", "gzip;q=0", "gzip; q=0.000",
                            "gzip;q=0,*", "*;q=0", "gzipped", ",", ";"}) {
    EXPECT_FALSE(accepts(value)) << value;
  }
}

TEST(HttpReply, HasItsSizeAndNoBodyForHead) {
  const HttpReply reply{
      .status = 404, .body = "none\n", .headers = {{"A", "b"}}};
  const std::string bytes = ReplyBytes(reply);
  EXPECT_THAT(bytes, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(bytes, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(bytes, HasSubstr("\r\nA: b\r\n"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\nnone\n"));
  EXPECT_EQ(ReplyBytes(reply, false) + "none\n", bytes);
}

// ---- routes

class HttpRoutesTest : public ::testing::Test {
 protected:
  HttpRoutesTest() {
    const HttpHandler argument = [](const ServedRequest& request) {
      return HttpReply{.body = request.argument};
    };
    routes_.Add({"GET", "/", HttpRoute::Kind::kAnswer, argument});
    routes_.Add({"GET", "/a/*/b", HttpRoute::Kind::kAnswer, argument});
    routes_.Add({"GET", "/api/x", HttpRoute::Kind::kAnswer, argument});
    routes_.Add({"POST", "/api/x", HttpRoute::Kind::kAnswer, argument});
    routes_.Add({"GET", "/api/s", HttpRoute::Kind::kStream, nullptr});
  }
  HttpReply Answer(const std::string& method, const std::string& path,
                   HttpHeaders headers = {}) const {
    ServedRequest request;
    request.method = method;
    request.path = path;
    request.headers = std::move(headers);
    const auto found = routes_.Find(request);
    if (const auto* refusal = std::get_if<HttpReply>(&found)) return *refusal;
    const HttpRoute& route = *std::get<const HttpRoute*>(found);
    return route.handler ? route.handler(request) : HttpReply{};
  }
  int StatusWithHost(const std::string& host) const {
    return Answer("GET", "/", {{"Host", host}}).status;
  }

  HttpRoutes routes_;
};

TEST_F(HttpRoutesTest, MatchWholePaths) {
  EXPECT_EQ(Answer("GET", "/").status, 200);
  EXPECT_EQ(Answer("GET", "/a/x/y/b").body, "x/y");
  EXPECT_EQ(Answer("GET", std::string("/a/x\0\n/b", 8)).body,
            std::string("x\0\n", 3));
  for (const char* path : {"", "//", "/a//b", "/a/b", "/a/x/b/", "/api/x/"}) {
    EXPECT_EQ(Answer("GET", path).status, 404) << path;
  }
}

TEST_F(HttpRoutesTest, TakeTheMethodsOfThePathOnly) {
  EXPECT_EQ(Answer("HEAD", "/").status, 200);
  EXPECT_EQ(Answer("POST", "/api/x").status, 200);
  const HttpReply refused = Answer("DELETE", "/api/x");
  EXPECT_EQ(refused.status, 405);
  EXPECT_THAT(refused.headers,
              ::testing::Contains(
                  std::pair<std::string, std::string>("Allow", "GET, POST")));
  EXPECT_EQ(Answer("GET", "/api/s").status, 200);
  EXPECT_EQ(Answer("HEAD", "/api/s").status, 405);
  EXPECT_EQ(Answer("get", "/").status, 405);
}

TEST_F(HttpRoutesTest, TakeNamesOfOtherMachinesIfTheyMayConnect) {
  EXPECT_EQ(StatusWithHost("d0.example:9090"), 200);
}

TEST_F(HttpRoutesTest, RefuseNamesThatAreNotOfThisMachineAtLoopback) {
  routes_.RequireLoopbackHost();
  for (const char* host :
       {"", "localhost", "LOCALHOST:9090", "127.0.0.1", "127.0.0.1:9090",
        "127.1.2.3:1", "[::1]", "[::1]:9090", "[::ffff:127.0.0.1]"}) {
    EXPECT_EQ(StatusWithHost(host), 200) << host;
  }
  for (const char* host : {"evil.example",
                           "127.0.0.1.nip.io",
                           "127.0.0.1.nip.io:80",
                           "127.evil",
                           "127.",
                           "127.0.0.1.",
                           "127.0.0.256",
                           "127.1",
                           "localhost.evil",
                           "evil.localhost",
                           "xlocalhost",
                           "localhost@evil",
                           "localhost:80:80",
                           "localhost:",
                           "localhost:x",
                           "[::1].evil",
                           "[::1]evil:80",
                           "[::1",
                           "::1]",
                           "[::2]",
                           "[::1%lo]",
                           "1.127.0.0.1",
                           "tcp://localhost:80",
                           "http://localhost",
                           "localhost, evil",
                           "localhost evil",
                           "0.0.0.0",
                           "2130706433",
                           "0x7f.0.0.1"}) {
    EXPECT_EQ(StatusWithHost(host), 403) << host;
  }
}

TEST_F(HttpRoutesTest, RefusePagesOfOtherOriginsUnderApi) {
  const auto with_site = [&](const char* path, const char* site) {
    return Answer("GET", path, {{"Sec-Fetch-Site", site}}).status;
  };
  EXPECT_EQ(with_site("/api/x", "same-origin"), 200);
  EXPECT_EQ(with_site("/api/x", "none"), 200);
  EXPECT_EQ(with_site("/api/x", "same-site"), 403);
  EXPECT_EQ(with_site("/api/s", "cross-site"), 403);
  EXPECT_EQ(with_site("/", "cross-site"), 200);
}

}  // namespace
}  // namespace feedmill
