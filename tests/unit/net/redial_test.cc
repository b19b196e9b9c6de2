// Connections to misbehaving peers are made again, and other connections of the
// process continue.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/net/reactor.h"
#include "tests/unit/net/buffers.h"

namespace feedmill {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

// The first bytes of a ROUTER without keys (RFC 23).
std::string Greeting() {
  std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
  greeting.resize(64, '\0');
  const std::string ready(
      "\x05READY\x0bSocket-Type\0\0\0\x06ROUTER\x08Identity\0\0\0\0", 41);
  return greeting + '\x04' + static_cast<char>(ready.size()) + ready;
}

// Listens at a port of loopback and calls a function for each connection.
class Port {
 public:
  explicit Port(std::function<void(int fd)> on_connection)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        on_connection_(std::move(on_connection)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    EXPECT_EQ(getsockname(listener_, any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0;) {
        on_connection_(fd);
      }
    });
  }
  ~Port() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Address address() const { return {"127.0.0.1", port_}; }

 private:
  const int listener_;
  const std::function<void(int)> on_connection_;
  uint16_t port_ = 0;
  std::thread thread_;
};

// A reactor that counts messages.
class RedialingPeer : public ReactorHandler {
 public:
  ~RedialingPeer() override {
    reactor.Stop();
    reactor.Join();
  }
  void Start() { reactor.Start(this); }
  // Runs `work` on the reactor's thread and waits for it.
  void Do(const std::function<void()>& work) {
    std::atomic<bool> ran{false};
    ASSERT_TRUE(reactor.Post([&] {
      work();
      ran = true;
      ran.notify_one();
    }));
    ran.wait(false);
  }
  // Returns false on a timeout.
  bool Await(uint64_t messages,
             std::chrono::milliseconds patience = kPatience) {
    std::unique_lock lock(mu_);
    return came_.wait_for(lock, patience, [&] { return count_ >= messages; });
  }

  explicit RedialingPeer(HostLookup::LookUp look_up = LookUpHost)
      : reactor("test", std::move(look_up)) {}
  // Sends to the connection until `to` has a message. False on a timeout.
  bool Reaches(RedialingPeer& to, SocketId connection) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      Do([&] { reactor.Send(connection, "", {TextPart("there?")}); });
      if (to.Await(1, std::chrono::milliseconds(100))) return true;
    }
    return false;
  }

  Reactor reactor;

 private:
  void OnMessage(absl::Time, SocketId, std::string_view,
                 std::vector<Buffer>) override {
    const std::lock_guard lock(mu_);
    ++count_;
    came_.notify_one();
  }
  void OnTurn(absl::Time) override {}
  // Iterations are needed to check for connections that were given up.
  absl::Time NextDeadline() const override {
    return reactor.now() + absl::Milliseconds(50);
  }

  std::mutex mu_;
  std::condition_variable came_;
  uint64_t count_ = 0;
};

TEST(Redial, AConnectionTellsThisMachinesAddress) {
  RedialingPeer server;
  RedialingPeer client;
  const auto listener = server.reactor.Listen("127.0.0.1", 0, {});
  ASSERT_TRUE(listener.ok());
  const uint16_t port = server.reactor.PortOf(*listener);
  const auto connection =
      client.reactor.Connect({"localhost", port}, Reactor::Limits{});
  ASSERT_TRUE(connection.ok());
  server.Start();
  client.Start();
  std::string host;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (host.empty() && std::chrono::steady_clock::now() < end) {
    client.Do([&] { host = client.reactor.LocalHost(*connection); });
  }
  EXPECT_EQ(host, "127.0.0.1");
  client.Do([&] { host = client.reactor.LocalHost(SocketId{}); });
  EXPECT_EQ(host, "");
}

// The leader ends, and a standby has another address.
TEST(Redial, TheNextAddressIsTriedWhenOneDoesNotAnswer) {
  RedialingPeer client;
  auto first = std::make_unique<RedialingPeer>();
  RedialingPeer second;
  const auto listener = first->reactor.Listen("127.0.0.1", 0, {});
  const auto standby = second.reactor.Listen("127.0.0.1", 0, {});
  ASSERT_TRUE(listener.ok() && standby.ok());
  // No one listens at port 1.
  const Address all{"127.0.0.1",
                    1,
                    {{"127.0.0.1", first->reactor.PortOf(*listener)},
                     {"127.0.0.1", second.reactor.PortOf(*standby)}}};
  const SocketId connection = *client.reactor.Connect(all, {});
  first->Start();
  second.Start();
  client.Start();
  EXPECT_TRUE(client.Reaches(*first, connection));
  first.reset();
  EXPECT_TRUE(client.Reaches(second, connection));
}

// In Kubernetes, a name has the addresses of all dispatchers, the nearest
// first. The nearest may be a standby, which does not answer.
TEST(Redial, AllAddressesOfANameAreTried) {
  struct Names {  // look-ups may outlive the test
    std::mutex mu;
    std::vector<std::string> addresses{"127.0.0.1"};
    void Set(std::vector<std::string> all) {
      const std::lock_guard lock(mu);
      addresses = std::move(all);
    }
  };
  const auto names = std::make_shared<Names>();
  RedialingPeer client([names](const std::string&) {
    const std::lock_guard lock(names->mu);
    return names->addresses;
  });
  auto first = std::make_unique<RedialingPeer>();
  RedialingPeer second;
  const auto standby = second.reactor.Listen("127.0.0.3", 0, {});
  ASSERT_TRUE(standby.ok());
  const uint16_t port = second.reactor.PortOf(*standby);
  ASSERT_TRUE(first->reactor.Listen("127.0.0.2", port, {}).ok());
  const SocketId connection =
      *client.reactor.Connect({"dispatcher.invalid", port}, {});
  first->Start();
  second.Start();
  client.Start();
  names->Set({"127.0.0.1", "127.0.0.2"});  // 127.0.0.1 refuses
  EXPECT_TRUE(client.Reaches(*first, connection));
  names->Set({"127.0.0.1", "127.0.0.3"});
  first.reset();
  EXPECT_TRUE(client.Reaches(second, connection));
}

TEST(Redial, APeerThatSaysWhatIsNoFrameIsConnectedToAgain) {
  std::mutex mu;
  std::condition_variable came;
  int connections = 0;
  std::string last;
  Port port([&](int fd) {
    const std::string greeting = Greeting();
    send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL);
    int number = 0;
    {
      const std::lock_guard lock(mu);
      number = ++connections;
    }
    if (number == 1) {  // a part of 9 EB
      const std::string frame("\x02\x7f\xff\xff\xff\xff\xff\xff\xff", 9);
      send(fd, frame.data(), frame.size(), MSG_NOSIGNAL);
    }
    std::string heard(4'096, '\0');
    for (ssize_t n; (n = recv(fd, heard.data(), heard.size(), 0)) > 0;) {
      const std::lock_guard lock(mu);
      if (number > 1) last.append(heard, 0, static_cast<size_t>(n));
      came.notify_one();
    }
    close(fd);
  });
  RedialingPeer client;
  const SocketId connection = *client.reactor.Connect(port.address(), {});
  client.Start();
  {
    std::unique_lock lock(mu);
    ASSERT_TRUE(came.wait_for(lock, kPatience, [&] { return connections > 1; }))
        << "it was given up";
  }
  client.Do(
      [&] { client.reactor.Send(connection, "", {TextPart("still there?")}); });
  {
    std::unique_lock lock(mu);
    EXPECT_TRUE(came.wait_for(lock, kPatience, [&] {
      return last.find("still there?") != last.npos;
    }));
  }
  client.Do([&] { client.reactor.Close(connection); });
}

// The monitor of a connection's handshake may be gone when the handshake fails.
TEST(Redial, AConnectionThatIsClosedInItsHandshakeStopsNoOther) {
  Port resets([](int fd) {
    const linger at_once{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
  });
  RedialingPeer server;
  RedialingPeer client;
  const SocketId listener = *server.reactor.Listen("127.0.0.1", 0, {});
  const SocketId connection = *client.reactor.Connect(
      {"127.0.0.1", server.reactor.PortOf(listener)}, {});
  server.Start();
  client.Start();
  for (uint64_t round = 1; round <= 200; ++round) {
    std::vector<SocketId> refused;
    client.Do([&] {
      for (int i = 0; i < 16; ++i) {
        refused.push_back(*client.reactor.Connect(resets.address(), {}));
      }
    });
    client.Do([&] {
      for (const SocketId id : refused) client.reactor.Close(id);
      client.reactor.Send(connection, "", {TextPart("still there?")});
    });
    ASSERT_TRUE(server.Await(round)) << "no message came in round " << round;
  }
}

}  // namespace
}  // namespace feedmill
