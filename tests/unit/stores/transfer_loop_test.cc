// A loop sends requests over sockets of this machine.

#include "stores/http/transfer_loop.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "core/process/owned_fd.h"

namespace feedmill {
namespace {

// A port of this host. The kernel accepts connections to it; nothing answers
// until Serve is called.
class Port {
 public:
  Port() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_.get(), any, size), 0);
    EXPECT_EQ(listen(socket_.get(), 64), 0);
    EXPECT_EQ(getsockname(socket_.get(), any, &size), 0);
    url_ = fmt::format("http://127.0.0.1:{}/a", ntohs(address.sin_port));
  }
  ~Port() {
    shutdown(socket_.get(), SHUT_RDWR);  // ends accept
    if (thread_.joinable()) thread_.join();
  }

  const std::string& url() const { return url_; }
  // Answers each request with the first of 100 bytes.
  void Serve() {
    thread_ = std::thread([this] {
      while (true) {
        const OwnedFd client(accept(socket_.get(), nullptr, nullptr));
        if (!client.valid()) return;
        std::string request(4096, '\0');
        if (read(client.get(), request.data(), request.size()) <= 0) continue;
        constexpr std::string_view kAnswer =
            "HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n"
            "ETag: \"v\"\r\nContent-Range: bytes 0-0/100\r\n"
            "Connection: close\r\n\r\nx";
        EXPECT_EQ(write(client.get(), kAnswer.data(), kAnswer.size()),
                  static_cast<ssize_t>(kAnswer.size()));
      }
    });
  }

 private:
  OwnedFd socket_;
  std::string url_;
  std::thread thread_;
};

std::vector<std::shared_ptr<Transfer>> Probes(const std::string& url,
                                              size_t count,
                                              const HttpOptions& options) {
  std::vector<std::shared_ptr<Transfer>> probes;
  for (size_t k = 0; k < count; ++k) {
    probes.push_back(Transfer::Probe(url, options));
  }
  return probes;
}

TEST(TransferLoop, RequestsThatHangLeaveTheirPlacesToOthers) {
  HttpOptions options;
  options.requests_max = 4;
  options.silence = absl::Milliseconds(200);
  options.stall = absl::Minutes(5);  // longer than the test may take
  options.patience = absl::Minutes(5);
  const Port silent;
  Port answers;
  answers.Serve();
  TransferLoop loop(options);
  loop.Start(Probes(silent.url(), options.requests_max, options),
             TransferLoop::Urgency::kAhead);
  for (const auto urgency :
       {TransferLoop::Urgency::kAwaited, TransferLoop::Urgency::kAhead}) {
    const auto probes = Probes(answers.url(), 10, options);
    loop.Start(probes, urgency);
    for (const auto& probe : probes) {
      EXPECT_TRUE(probe->WaitForEnd().ok());
      EXPECT_EQ(probe->identity().size, 100U);
    }
  }
}

TEST(TransferLoop, RequestsWaitForTheFirstToEndIfTwiceAsManyHang) {
  HttpOptions options;
  options.requests_max = 2;
  options.silence = absl::ZeroDuration();
  options.stall = absl::Seconds(2);
  options.patience = absl::Seconds(2);
  const Port silent;
  Port answers;
  answers.Serve();
  TransferLoop loop(options);
  const auto hanging = Probes(silent.url(), 4, options);
  loop.Start(hanging, TransferLoop::Urgency::kAwaited);
  const auto probe = Transfer::Probe(answers.url(), options);
  loop.Start({probe}, TransferLoop::Urgency::kAwaited);
  // It gets a place when the first of the others is given up.
  EXPECT_TRUE(probe->WaitForEnd().ok());
  EXPECT_TRUE(absl::IsUnavailable(hanging[0]->WaitForEnd()));
}

}  // namespace
}  // namespace feedmill
