#include "monitoring/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "monitoring/handler_pool.h"
#include "monitoring/monitor.h"
#include "monitoring/page_bytes.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

uint16_t PortOf(const std::string& url) {
  return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

constexpr std::string_view kAlive = "GET /alive HTTP/1.1\r\n\r\n";

class Caller {
 public:
  explicit Caller(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  Caller(Caller&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  void Say(const std::string& text) const {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // Reads until the server closes the connection.
  std::string Hear() const {
    std::string heard;
    char bytes[4096];
    for (ssize_t got = 0; (got = recv(fd_, bytes, sizeof(bytes), 0)) > 0;) {
      heard.append(bytes, static_cast<size_t>(got));
    }
    return heard;
  }
  // Returns the text received until `part` came `times` times, or until the
  // server closes the connection.
  std::string HearUntil(int times, const std::string& part) const {
    std::string heard;
    size_t from = 0;
    char bytes[4096];
    while (times > 0) {
      const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
      if (got <= 0) break;
      heard.append(bytes, static_cast<size_t>(got));
      for (size_t at = 0; (at = heard.find(part, from)) != heard.npos;) {
        from = at + part.size();
        --times;
      }
    }
    return heard;
  }

 private:
  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    server_.Get("/hello/*", [](const ServedRequest& request) {
      return HttpReply{.body = "hello " + request.argument};
    });
    server_.Get("/large", [this](const ServedRequest&) {
      return HttpReply{.body = body_};
    });
    server_.Get("/held", [this](const ServedRequest&) {
      held_.release();
      released_.WaitForNotification();
      return HttpReply{.body = "released"};
    });
    server_.Probe("/probe", [](const ServedRequest&) {
      return HttpReply{.body = "probed"};
    });
    server_.Constant("/alive", {.body = "alive"});
    EXPECT_TRUE(server_.Start("127.0.0.1", 0).ok());
  }
  ~HttpServerTest() override {
    if (!released_.HasBeenNotified()) released_.Notify();
  }
  std::string Get(const std::string& path,
                  const std::string& host = "localhost") const {
    const Caller caller(port());
    caller.Say("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return caller.Hear();
  }
  uint16_t port() const { return PortOf(server_.address()); }

  std::string body_;
  std::counting_semaphore<> held_{0};  // handlers of /held that have begun
  absl::Notification released_;
  HttpServer server_;
};

TEST_F(HttpServerTest, AnswersOnceAConnection) {
  const std::string answer = Get("/hello/a%20b");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(answer, HasSubstr("hello a b"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(Get("/other"), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, RefusesOtherNamesOfThisMachineAtLoopback) {
  EXPECT_THAT(Get("/hello/x", "rebound.example:80"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Get("/hello/x", "127.0.0.1:80"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Get("/hello/x", "[::1]:80"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, RefusesAPortThatIsTaken) {
  HttpServer second;
  EXPECT_EQ(second.Start("127.0.0.1", port()).code(),
            absl::StatusCode::kUnavailable);
}

// More clients than may be connected send parts of requests.
TEST_F(HttpServerTest, AnswersBesideManyClientsThatDoNotEnd) {
  std::vector<Caller> slow;
  for (size_t k = 0; k < 2 * HttpServer::kConnectionsMax; ++k) {
    slow.emplace_back(port());
    send(slow.back().fd(), "GET /he", 7, MSG_NOSIGNAL);
  }
  EXPECT_THAT(Get("/hello/x"), HasSubstr("hello x"));
  EXPECT_THAT(Get("/alive"), HasSubstr("alive"));
  EXPECT_THAT(Get("/probe"), HasSubstr("probed"));
  // The connection of the oldest one was dropped, the newest's was not.
  EXPECT_EQ(slow.front().Hear(), "");
  slow.back().Say("llo/x HTTP/1.1\r\n\r\n");
  EXPECT_THAT(slow.back().Hear(), HasSubstr("hello x"));
}

// Its request comes a little later than its connection, as on a busy machine.
TEST_F(HttpServerTest, KeepsAClientThatABurstFollows) {
  absl::Duration took;
  std::string answer;
  do {  // until the burst was shorter than the grace
    const absl::Time begun = SteadyNow();
    const Caller early(port());
    std::vector<Caller> burst;
    for (size_t k = 0; k < 2 * HttpServer::kConnectionsMax; ++k) {
      burst.emplace_back(port());
    }
    send(early.fd(), kAlive.data(), kAlive.size(), MSG_NOSIGNAL);
    took = SteadyNow() - begun;
    answer = early.Hear();
  } while (took > absl::Milliseconds(50));
  EXPECT_THAT(answer, HasSubstr("alive"));
}

TEST_F(HttpServerTest, DropsClientsThatReadNoAnswers) {
  body_.assign(HttpServer::kUnreadBytesMax / 4, 'x');
  std::vector<Caller> slow;
  for (int k = 0; k < 8; ++k) {
    slow.emplace_back(port()).Say("GET /large HTTP/1.1\r\n\r\n");
    slow.back().HearUntil(1, "\r\n\r\n");
  }
  EXPECT_LT(slow.front().Hear().size(), body_.size());
  EXPECT_GE(slow.back().Hear().size(), body_.size() - 4096);
}

TEST_F(HttpServerTest, AnswersProbesWhileHandlersOfOtherRequestsWait) {
  const std::string request = "GET /held HTTP/1.1\r\n\r\n";
  std::vector<Caller> running;
  for (size_t k = 0; k < HandlerPool::kThreads - 1; ++k) {
    running.emplace_back(port()).Say(request);
    held_.acquire();
  }
  std::vector<Caller> waiting;
  std::string refused;
  while (!refused.starts_with("HTTP/1.1 503")) {
    while (waiting.size() < HttpServer::kWaitingMax) {
      waiting.emplace_back(port()).Say(request);
    }
    const Caller caller(port());
    caller.Say(request);
    refused = caller.HearUntil(1, "\r\n");
  }
  EXPECT_THAT(Get("/probe"), HasSubstr("probed"));
  EXPECT_THAT(Get("/alive"), HasSubstr("alive"));
  released_.Notify();
  for (const Caller& each : running) {
    EXPECT_THAT(each.Hear(), HasSubstr("released"));
  }
}

TEST_F(HttpServerTest, SendsARefusalToAClientThatStillSends) {
  const Caller caller(port());
  caller.Say("POST /x HTTP/1.1\r\nContent-Encoding: br\r\n\r\n" +
             std::string(300'000, 'x'));
  EXPECT_THAT(caller.Hear(), StartsWith("HTTP/1.1 415"));
}

TEST_F(HttpServerTest, IgnoresRanges) {
  for (const char* range : {"0-1", "1-100000", "40534-60000", "-5", "x"}) {
    const Caller caller(port());
    caller.Say("GET /hello/x HTTP/1.1\r\nRange: bytes=" + std::string(range) +
               "\r\n\r\n");
    const std::string answer = caller.Hear();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
    EXPECT_TRUE(answer.ends_with("\r\n\r\nhello x")) << answer;
  }
}

TEST_F(HttpServerTest, RefusesGarbageAndLongRequests) {
  for (const std::string& text :
       {std::string("\r\n\r\n"), std::string(1'000, '\0') + "\r\n\r\n",
        "GET /" + std::string(200'000, 'x') + " HTTP/1.1\r\n\r\n"}) {
    const Caller caller(port());
    caller.Say(text.substr(0, 100'000));
  }
  EXPECT_THAT(Get("/hello/x"), HasSubstr("hello x"));
}

TEST(Monitors, SayWhetherAProcessIsReady) {
  WorkerStatus status;
  status.dispatcher = "tcp://d0:5050";
  Monitor monitor(
      {.worker = [&]() -> absl::StatusOr<WorkerStatus> { return status; }});
  ASSERT_TRUE(monitor.Start("127.0.0.1:0", /*open=*/false).ok());
  const auto get = [&](const std::string& path) {
    const Caller caller(PortOf(monitor.address()));
    caller.Say("GET " + path + " HTTP/1.1\r\n\r\n");
    return caller.Hear();
  };
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/readyz"), HasSubstr("waits for its dispatcher"));
  EXPECT_THAT(get("/api/status"), StartsWith("HTTP/1.1 404"));
  status.registered = true;
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 200"));
  status.draining = true;
  EXPECT_THAT(get("/readyz"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(get("/metrics"), HasSubstr("process_cpu_seconds_total"));
}

TEST(Monitors, ListenBeyondThisMachineOnlyIfAllowed) {
  Monitor monitor({});
  EXPECT_EQ(monitor.Start("0.0.0.0:0", false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(monitor.Start("nonsense", false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(monitor.Start(":80", false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(monitor.Start("0.0.0.0:0", true).ok());
}

// ---- streams

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() {
    server_.Get("/hello", [](const ServedRequest&) {
      return HttpReply{.body = "hello"};
    });
    server_.Stream("/api/stream", [this]() -> absl::StatusOr<std::string> {
      ++made_;
      return text_;
    });
    EXPECT_TRUE(server_.Start("127.0.0.1", 0).ok());
  }
  uint16_t port() const { return PortOf(server_.address()); }
  std::string Get(const std::string& path,
                  const std::string& headers = "") const {
    const Caller caller(port());
    caller.Say("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
               "\r\n");
    return caller.Hear();
  }
  Caller Open() const {
    Caller caller(port());
    caller.Say("GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return caller;
  }

  std::atomic<int> made_ = 0;
  std::string text_ = R"({"jobs":[]})";
  HttpServer server_;
};

TEST_F(StreamTest, SendsTheTextAgainAndAgain) {
  const Caller caller = Open();
  const std::string heard = caller.HearUntil(2, "data: {\"jobs\":[]}\n\n");
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(heard, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(heard, HasSubstr("event: status\n"));
}

TEST_F(StreamTest, MakesNoTextWithoutAStream) {
  EXPECT_THAT(Get("/hello"), HasSubstr("hello"));
  EXPECT_EQ(made_, 0);
}

TEST_F(StreamTest, HasABoundAndLeavesTheOtherPathsAlone) {
  std::vector<Caller> open;
  for (size_t k = 0; k < EventStreams::kStreamsMax; ++k) {
    open.push_back(Open());
    open.back().HearUntil(1, "data: ");
  }
  const std::string refused = Get("/api/stream");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("Retry-After"));
  EXPECT_THAT(refused, HasSubstr("as many streams"));
  const absl::Time begun = SteadyNow();
  for (int k = 0; k < 20; ++k) {
    EXPECT_THAT(Get("/hello"), HasSubstr("hello"));
  }
  EXPECT_LT(SteadyNow() - begun, absl::Seconds(5));
  // A place is free once its client has gone.
  open.pop_back();
  std::string again;
  while (!again.starts_with("HTTP/1.1 200")) {
    ASSERT_LT(SteadyNow() - begun, absl::Seconds(20));
    again = Open().HearUntil(1, "\r\n\r\n");
  }
}

TEST_F(StreamTest, DropsAClientThatReadsNothing) {
  text_.assign(8 << 20, 'x');  // more than the buffers of a connection hold
  std::vector<Caller> slow;
  for (size_t k = 0; k < EventStreams::kStreamsMax; ++k) {
    slow.push_back(Open());
    slow.back().HearUntil(1, "data: ");
  }
  // There is no place until one of them is dropped.
  const absl::Time begun = SteadyNow();
  std::string again;
  while (!again.starts_with("HTTP/1.1 200")) {
    ASSERT_LT(SteadyNow() - begun, absl::Seconds(60));
    again = Open().HearUntil(1, "\r\n\r\n");
  }
}

TEST_F(StreamTest, RefusesPagesOfOtherOrigins) {
  EXPECT_THAT(Get("/api/stream", "Sec-Fetch-Site: cross-site\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Get("/api/stream", "Sec-Fetch-Site: same-site\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Get("/hello", "Sec-Fetch-Site: cross-site\r\n"),
              StartsWith("HTTP/1.1 200"));
}

// ---- the page, and requests of operators

class OperatorTest : public ::testing::Test {
 protected:
  OperatorTest() : path_(::testing::TempDir() + "/page-token") {
    WriteToken("0123456789abcdef\n", 0600);
    auto gate = OperatorGate::FromFile(path_);
    EXPECT_TRUE(gate.ok()) << gate.status();
    monitor_.emplace(
        MonitorSources{
            .status = []() -> absl::StatusOr<std::string> { return "{}"; },
            .drain =
                [this](const std::string& worker, bool drains) {
                  done_.push_back(worker + (drains ? " drains" : " works"));
                  return worker == "w1" ? absl::OkStatus()
                                        : absl::NotFoundError("no such worker");
                },
            .cancel =
                [this](const std::string& job) {
                  done_.push_back(job + " ends");
                  return absl::OkStatus();
                },
            .sample = [](const std::string& job,
                         uint64_t batch) -> absl::StatusOr<std::string> {
              if (job != "train") {
                return absl::InvalidArgumentError("no file 'a.csv'");
              }
              return "{\"batch\":" + std::to_string(batch) + "}";
            }},
        *gate);
    EXPECT_TRUE(monitor_->Start("127.0.0.1:0", false).ok());
  }
  ~OperatorTest() override { unlink(path_.c_str()); }

  void WriteToken(const std::string& text, mode_t mode) {
    std::ofstream(path_, std::ios::trunc) << text;
    chmod(path_.c_str(), mode);
  }
  std::string Say(const std::string& first, const std::string& headers,
                  const std::string& body = "") {
    const uint16_t port = PortOf(monitor_->address());
    const Caller caller(port);
    caller.Say(first + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
               headers + "\r\n" + body);
    return caller.Hear();
  }
  std::string Post(const std::string& path, const std::string& body,
                   const std::string& more = "") {
    return Say("POST " + path, kGood + more, body);
  }

  const std::string kGood =
      "Authorization: Bearer 0123456789abcdef\r\nX-Feedmill: 1\r\n"
      "Content-Type: application/json\r\n";
  const std::string path_;
  std::vector<std::string> done_;
  std::optional<Monitor> monitor_;
};

TEST_F(OperatorTest, DoesWhatTheOwnerOfTheTokenAsks) {
  EXPECT_THAT(Post("/api/workers/drain", R"({"worker": "w1", "drain": true})"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Post("/api/workers/drain", R"({"worker": "w2", "drain": false})"),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Post("/api/jobs/cancel", R"({"job": "train"})"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(done_,
              ::testing::ElementsAre("w1 drains", "w2 works", "train ends"));
  EXPECT_THAT(Say("GET /api/operator", ""), HasSubstr("{\"actions\":true}"));
}

TEST_F(OperatorTest, ShowsABatchToTheOwnerOfTheTokenOnly) {
  EXPECT_THAT(Post("/api/jobs/sample", R"({"job": "train", "batch": 4})"),
              HasSubstr("\r\n\r\n{\"batch\":4}"));
  const std::string refused =
      Post("/api/jobs/sample", R"({"job": "other", "batch": 0})");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 422"));
  EXPECT_THAT(refused, HasSubstr("no file 'a.csv'"));
  EXPECT_THAT(Post("/api/jobs/sample", R"({"job": "train", "batch": -1})"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Say("POST /api/jobs/sample", "X-Feedmill: 1\r\n",
                  R"({"job": "train", "batch": 4})"),
              ::testing::Not(HasSubstr("{\"batch\":4}")));
}

TEST_F(OperatorTest, RefusesEverythingElse) {
  const std::string path = "POST /api/workers/drain";
  const std::string body = R"({"worker": "w1", "drain": true})";
  const std::pair<std::string, std::string> requests[] = {
      {"", "403"},
      {"X-Feedmill: 1\r\nContent-Type: application/json\r\n", "401"},
      {"X-Feedmill: 1\r\nContent-Type: application/json\r\n"
       "Authorization: Bearer 0123456789abcdeX\r\n",
       "401"},
      {"X-Feedmill: 1\r\nContent-Type: text/plain\r\n"
       "Authorization: Bearer 0123456789abcdef\r\n",
       "415"},
      {"Content-Type: application/json\r\n"
       "Authorization: Bearer 0123456789abcdef\r\n",
       "403"},
      {kGood + "Origin: http://evil.example\r\n", "403"},
      {kGood + "Origin: null\r\n", "403"},
      {kGood + "Sec-Fetch-Site: cross-site\r\n", "403"},
      {kGood + "Sec-Fetch-Site: same-site\r\n", "403"}};
  for (const auto& [headers, status] : requests) {
    EXPECT_THAT(Say(path, headers, body), StartsWith("HTTP/1.1 " + status))
        << headers;
  }
  EXPECT_THAT(Say("GET /api/workers/drain", kGood), StartsWith("HTTP/1.1 405"));
  for (const std::string& bad :
       {std::string("{}"), std::string("[]"), std::string("nonsense"),
        std::string(R"({"worker": 3, "drain": true})"),
        std::string(R"({"worker": "w1", "drain": "yes"})"),
        std::string(10'000, '[')}) {
    EXPECT_THAT(Post("/api/workers/drain", bad), StartsWith("HTTP/1.1 400"));
  }
  EXPECT_THAT(Post("/api/jobs/cancel", R"({"job": ""})"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(done_, ::testing::IsEmpty());
}

TEST_F(OperatorTest, HasAPageThatRunsItsOwnScriptOnly) {
  const std::string answer =
      Say("GET /", "Accept-Encoding: br, gzip, deflate\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Content-Encoding: gzip"));
  EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; "
                                "script-src 'sha256-"));
  EXPECT_THAT(answer, HasSubstr("frame-ancestors 'none'"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + std::string(PageGzip())));
}

TEST_F(OperatorTest, CompressesThePageOnlyForClientsThatAcceptIt) {
  for (const char* headers : {"", "Accept-Encoding: gzip;q=0\r\n"}) {
    const std::string answer = Say("GET /", headers);
    EXPECT_THAT(answer, ::testing::Not(HasSubstr("Content-Encoding")));
    EXPECT_THAT(answer, HasSubstr("Vary: Accept-Encoding"));
    EXPECT_TRUE(answer.ends_with("\r\n\r\n" + PageText()));
  }
  EXPECT_THAT(PageText(),
              ::testing::MatchesRegex("<!doctype html>.*</html>\n"));
}

TEST_F(OperatorTest, WantsATokenThatIsSecretAndLong) {
  WriteToken("0123456789abcdef\n", 0644);
  EXPECT_THAT(ErrorText(OperatorGate::FromFile(path_).status()),
              HasSubstr("chmod 600"));
  for (const std::string& text :
       {std::string(), std::string("short\n"), std::string("a b c d e f g h i"),
        std::string(5'000, 'x')}) {
    WriteToken(text, 0600);
    EXPECT_EQ(OperatorGate::FromFile(path_).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(OperatorGate::FromFile("/nowhere/token").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(OperatorTest, TakesATokenThatReplacesAnotherOne) {
  const std::string body = R"({"job": "train"})";
  const std::string fresh =
      "Authorization: Bearer another-token-0123\r\nX-Feedmill: 1\r\n"
      "Content-Type: application/json\r\n";
  EXPECT_THAT(Say("POST /api/jobs/cancel", fresh, body),
              StartsWith("HTTP/1.1 401"));
  WriteToken("another-token-0123\n", 0600);
  EXPECT_THAT(Say("POST /api/jobs/cancel", fresh, body),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Post("/api/jobs/cancel", body), StartsWith("HTTP/1.1 401"));
  // A file that others may read lets no request in.
  WriteToken("another-token-0123\n", 0644);
  EXPECT_THAT(Say("POST /api/jobs/cancel", fresh, body),
              StartsWith("HTTP/1.1 503"));
  unlink(path_.c_str());
  EXPECT_THAT(Say("POST /api/jobs/cancel", fresh, body),
              StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(done_.size(), 1u);
}

TEST(Monitors, TakeNoRequestsWithoutAToken) {
  bool asked = false;
  Monitor monitor(
      {.drain =
           [&](const std::string&, bool) {
             asked = true;
             return absl::OkStatus();
           },
       .cancel = [&](const std::string&) { return absl::OkStatus(); }});
  ASSERT_TRUE(monitor.Start("127.0.0.1:0", false).ok());
  const Caller caller(PortOf(monitor.address()));
  caller.Say(
      "POST /api/workers/drain HTTP/1.1\r\nAuthorization: Bearer \r\n"
      "X-Feedmill: 1\r\nContent-Type: application/json\r\n"
      "Content-Length: 2\r\n\r\n{}");
  const std::string answer = caller.Hear();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(answer, HasSubstr("--http-token-file"));
  EXPECT_FALSE(asked);
}

}  // namespace
}  // namespace feedmill
