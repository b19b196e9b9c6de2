#include "monitoring/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "core/net/address.h"
#include "core/net/clock.h"
#include "monitoring/monitor.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

uint16_t PortOf(const std::string& url) {
  return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

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

 private:
  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    server_.Get("/hello/(.+)", [](const std::string& name) {
      return HttpReply{.body = "hello " + name};
    });
    EXPECT_TRUE(server_.Start("127.0.0.1", 0).ok());
  }
  std::string Get(const std::string& path,
                  const std::string& host = "localhost") const {
    const Caller caller(port());
    caller.Say("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return caller.Hear();
  }
  uint16_t port() const { return PortOf(server_.address()); }

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

// Each such client could hold a thread for any time.
TEST_F(HttpServerTest, IsNotHeldUpForLongByClientsThatDoNotEnd) {
  std::vector<Caller> slow;
  for (int k = 0; k < 8; ++k) {
    slow.emplace_back(port()).Say("GET /hello/x HTTP/1.1\r\nX: ");
  }
  const absl::Time begun = SteadyNow();
  EXPECT_THAT(Get("/hello/x"), HasSubstr("hello x"));
  EXPECT_LT(SteadyNow() - begun, absl::Seconds(15));
}

TEST_F(HttpServerTest, TurnsNewcomersAwayWhenManyWait) {
  std::vector<Caller> slow;
  for (int k = 0; k < 80; ++k) slow.emplace_back(port());
  const absl::Time begun = SteadyNow();
  EXPECT_THAT(Get("/hello/x"), StartsWith("HTTP/1.1 503"));
  EXPECT_LT(SteadyNow() - begun, absl::Seconds(3));
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

TEST(Monitors, ListenBeyondThisMachineOnlyIfTold) {
  Monitor monitor({});
  EXPECT_EQ(monitor.Start("0.0.0.0:0", false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(monitor.Start("nonsense", false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(monitor.Start(":80", false).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(monitor.Start("0.0.0.0:0", true).ok());
}

}  // namespace
}  // namespace feedmill
