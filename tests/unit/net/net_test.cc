#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/lifecycle.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"

namespace feedmill {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// ---- addresses

TEST(Address, IsReadWithAndWithoutScheme) {
  for (const char* text : {"tcp://host.example:5050", "host.example:5050",
                           "grpc://host.example:5050"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->host, "host.example");
    EXPECT_EQ(address->port, 5050);
    EXPECT_EQ(address->ToString(), "tcp://host.example:5050");
  }
}

TEST(Address, Ipv6StandsInBrackets) {
  const auto address = ParseAddress("tcp://[::1]:65535");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "::1");
  EXPECT_EQ(address->ToString(), "tcp://[::1]:65535");
}

TEST(Address, SeveralAreOneServers) {
  const auto address = ParseAddress("one:1,tcp://two:2,[::1]:3");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->ToString(), "tcp://one:1,tcp://two:2,tcp://[::1]:3");
  EXPECT_EQ(*ParseAddress(address->ToString()), *address);
  const std::vector<std::string> turns = {
      address->AtTurn(0).ToString(), address->AtTurn(1).ToString(),
      address->AtTurn(2).ToString(), address->AtTurn(3).ToString()};
  EXPECT_THAT(turns, ::testing::ElementsAre("tcp://one:1", "tcp://two:2",
                                            "tcp://[::1]:3", "tcp://one:1"));
  for (const char* text : {"one:1,", ",one:1", "one:1,,two:2", "one:1,two"}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
  std::string many = "host:1";
  for (int k = 0; k < 20; ++k) many += ",host:1";
  EXPECT_FALSE(ParseAddress(many).ok());
}

TEST(Address, AnInvalidAddressSaysWhatToWrite) {
  for (const char* text : {"",
                           ":",
                           "host",
                           "host:",
                           ":5050",
                           "host:port",
                           "host:0",
                           "host:65536",
                           "host:-1",
                           "host:5050x",
                           "::1:5050",
                           "[::1]",
                           "[::1",
                           "[]:1",
                           "[host]:1",
                           "[::1]5050",
                           "http://host:1",
                           "ipc:///tmp/x",
                           "tcp://tcp://host:1",
                           "tcp://grpc://host:1",
                           "ho st:1",
                           "host:1\n",
                           "tcp://",
                           "a/b:1",
                           "host:99999999999999999999"}) {
    const auto address = ParseAddress(text);
    EXPECT_TRUE(absl::IsInvalidArgument(address.status())) << text;
    EXPECT_THAT(ErrorText(address.status()), HasSubstr("tcp://host:port"))
        << text;
  }
}

TEST(Address, AHostMayLackAPort) {
  EXPECT_EQ(*ParseHost("10.0.0.1", 7), (Address{"10.0.0.1", 7}));
  EXPECT_EQ(*ParseHost("10.0.0.1:8", 7), (Address{"10.0.0.1", 8}));
  EXPECT_EQ(*ParseHost("::1", 7), (Address{"::1", 7}));
  EXPECT_EQ(*ParseHost("[::1]", 7), (Address{"::1", 7}));
  EXPECT_FALSE(ParseHost("", 7).ok());
}

TEST(Address, AdviceNamesAHostThatIsNotKnown) {
  // No name server may know names of .invalid (RFC 6761).
  EXPECT_THAT(NoAnswerAdvice({"dispatcher.invalid", 5050}),
              AnyOf(HasSubstr("no host \"dispatcher.invalid\""),
                    HasSubstr("is it running")));  // no answer within a second
  for (const char* host : {"localhost", "127.0.0.1", "::1"}) {
    EXPECT_THAT(NoAnswerAdvice({host, 5050}), HasSubstr("is it running"));
  }
}

TEST(Address, NamesOfThisMachineAreResolved) {
  EXPECT_EQ(*ResolveHost("localhost"), "127.0.0.1");
  EXPECT_EQ((Address{"localhost", 7}.ForConnect()), (Address{"127.0.0.1", 7}));
  EXPECT_EQ((Address{"a.test", 7}.ForConnect()), (Address{"a.test", 7}));
  EXPECT_EQ(*ResolveHost("*"), "0.0.0.0");
  EXPECT_TRUE(
      absl::IsInvalidArgument(ResolveHost("no-such-host.invalid").status()));
  EXPECT_EQ(LocalAddressToward({"127.0.0.1", 80}), "127.0.0.1");
}

TEST(Clock, LaterLivesHaveGreaterIncarnations) {
  uint64_t last = 0;
  for (int i = 0; i < 1'000; ++i) {
    const uint64_t next = NextIncarnation();
    ASSERT_GT(next, last);
    last = next;
  }
  // Above the incarnation of another machine whose clock is ahead.
  const uint64_t ahead = last + (uint64_t{1} << 40);
  EXPECT_GT(NextIncarnation(ahead), ahead);
  EXPECT_GT(NextIncarnation(), ahead + 1);
}

// ---- reactors

Buffer TextBuffer(const std::string& text) {
  return Buffer::CopyOf(std::as_bytes(std::span(text)));
}
std::string TextOf(const Buffer& buffer) {
  return std::string(reinterpret_cast<const char*>(buffer.data()),
                     buffer.size());
}

// A reactor that records messages for a test.
class Peer : public ReactorHandler {
 public:
  struct Received {
    SocketId socket;
    std::string from;
    std::vector<Buffer> parts;
  };

  ~Peer() override {
    reactor.Stop();
    reactor.Join();
  }
  void Start() { reactor.Start(this); }
  void Send(SocketId socket, const std::string& to, std::vector<Buffer> parts) {
    ASSERT_TRUE(reactor.Post([this, socket, to, parts = std::move(parts)] {
      reactor.Send(socket, to, parts);
    }));
  }
  Received Await() {
    std::unique_lock lock(mu_);
    came_.wait(lock, [this] { return !inbox_.empty(); });
    Received first = std::move(inbox_.front());
    inbox_.pop_front();
    return first;
  }
  // Runs `work` on the reactor's thread and waits for it.
  void Do(const std::function<void()>& work) {
    std::mutex mu;
    std::condition_variable done;
    bool ran = false;
    ASSERT_TRUE(reactor.Post([&] {
      work();
      const std::lock_guard lock(mu);
      ran = true;
      done.notify_one();
    }));
    std::unique_lock lock(mu);
    done.wait(lock, [&] { return ran; });
  }

  Reactor reactor{"test"};

 private:
  void OnMessage(absl::Time, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override {
    const std::lock_guard lock(mu_);
    inbox_.push_back({socket, std::string(from), std::move(parts)});
    came_.notify_one();
  }
  void OnTurn(absl::Time) override {}
  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }

  std::mutex mu_;
  std::condition_variable came_;
  std::deque<Received> inbox_;
};

struct Pair {
  Peer server;
  Peer client;
  SocketId listener;
  SocketId connection;

  void Start() {
    listener = *server.reactor.Listen("127.0.0.1", 0, {});
    const uint16_t port = server.reactor.PortOf(listener);
    connection = *client.reactor.Connect({"127.0.0.1", port}, {});
    server.Start();
    client.Start();
  }
};

TEST(Reactor, CarriesSmallAndLargePartsBothWays) {
  Pair pair;
  pair.Start();
  const std::string large(3'000'000, 'x');
  pair.client.Send(pair.connection, "",
                   {TextBuffer("head"), TextBuffer(large), TextBuffer("")});
  const Peer::Received request = pair.server.Await();
  ASSERT_EQ(request.parts.size(), 3U);
  EXPECT_EQ(TextOf(request.parts[0]), "head");
  EXPECT_EQ(TextOf(request.parts[1]), large);
  EXPECT_EQ(request.parts[2].size(), 0U);
  pair.server.Send(request.socket, request.from, request.parts);
  const Peer::Received answer = pair.client.Await();
  ASSERT_EQ(answer.parts.size(), 3U);
  EXPECT_EQ(TextOf(answer.parts[1]), large);
}

// Returns this process's connected sockets at `port`.
std::vector<int> ConnectedAt(uint16_t port) {
  std::vector<int> found;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_in own{}, other{};
    socklen_t size = sizeof(own), other_size = sizeof(other);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        own.sin_family == AF_INET && own.sin_port == htons(port) &&
        getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) ==
            0) {
      found.push_back(fd);
    }
  }
  return found;
}

TEST(Reactor, LetsLittleWaitForAPeerOfThisMachine) {
  Pair pair;
  pair.Start();
  pair.client.Send(pair.connection, "", {TextBuffer("a")});
  pair.server.Await();
  const auto sockets = ConnectedAt(pair.server.reactor.PortOf(pair.listener));
  ASSERT_EQ(sockets.size(), 1U);
  int bytes = 0;
  const auto is_bounded = [&] { return 400'000 <= bytes && bytes <= 1 << 20; };
  // A new connection is reported within the first iterations.
  for (int turn = 0; turn < 1'000 && !is_bounded(); ++turn) {
    pair.client.Send(pair.connection, "", {TextBuffer("b")});
    pair.server.Await();
    socklen_t size = sizeof(bytes);
    ASSERT_EQ(getsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
  }
  EXPECT_TRUE(is_bounded()) << bytes;
  const std::string large(30'000'000, 'x');
  pair.client.Send(pair.connection, "", {TextBuffer("c")});
  const Peer::Received request = pair.server.Await();
  pair.server.Send(request.socket, request.from, {TextBuffer(large)});
  EXPECT_EQ(TextOf(pair.client.Await().parts[0]), large);
  socklen_t size = sizeof(bytes);
  ASSERT_EQ(getsockopt(sockets[0], SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
  EXPECT_TRUE(is_bounded()) << bytes << ": what is sent must not make it grow";
}

TEST(Reactor, ReleasesSentBuffers) {
  Pair pair;
  pair.Start();
  std::mutex mu;
  std::condition_variable released;
  bool gone = false;
  auto owner = std::shared_ptr<std::string>(new std::string(1 << 20, 'y'),
                                            [&](std::string* text) {
                                              delete text;
                                              const std::lock_guard lock(mu);
                                              gone = true;
                                              released.notify_one();
                                            });
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  Buffer buffer(std::move(owner), data, 1 << 20);
  pair.client.Send(pair.connection, "", {std::move(buffer)});
  EXPECT_EQ(pair.server.Await().parts.at(0).size(), size_t{1} << 20);
  std::unique_lock lock(mu);
  released.wait(lock, [&] { return gone; });
}

TEST(Reactor, AListenerDropsMessagesBeyondAPeersPartOfItsBytes) {
  Pair pair;
  pair.listener =
      *pair.server.reactor.Listen("127.0.0.1", 0, {.unsent_bytes_max = 100});
  pair.connection = *pair.client.reactor.Connect(
      {"127.0.0.1", pair.server.reactor.PortOf(pair.listener)},
      {.messages_max = 1});
  pair.server.Start();
  pair.client.Start();
  pair.client.Send(pair.connection, "", {TextBuffer("hello")});
  const std::string peer = pair.server.Await().from;
  const std::string large(10'000'000, 'x');
  int sent = 0;
  // The client does not read meanwhile.
  pair.client.Do([&] {
    pair.server.Do([&] {
      Reactor& reactor = pair.server.reactor;
      // A message alone passes. The sockets take some.
      while (reactor.Send(pair.listener, peer, {TextBuffer(large)}) !=
             Reactor::Sent::kNo) {
        ASSERT_LT(++sent, 10);
      }
      EXPECT_EQ(reactor.Send(pair.listener, peer, {TextBuffer("small")}),
                Reactor::Sent::kYes);
    });
  });
  ASSERT_GE(sent, 1);
  for (int k = 0; k < sent; ++k) {
    EXPECT_EQ(TextOf(pair.client.Await().parts[0]), large);
  }
  EXPECT_EQ(TextOf(pair.client.Await().parts[0]), "small");
  uint64_t waiting = large.size();
  while (waiting > 0) {
    pair.server.Do(
        [&] { waiting = pair.server.reactor.UnsentBytesAt(pair.listener); });
  }
}

TEST(Reactor, DropsWhatAMessageHoldsWhenItIsSent) {
  Pair pair;
  pair.Start();
  pair.client.Send(pair.connection, "", {TextBuffer("hello")});
  const std::string peer = pair.server.Await().from;
  for (const size_t bytes : {size_t{3}, size_t{1} << 20}) {
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> alive = held;
    pair.server.Do([&] {
      EXPECT_EQ(pair.server.reactor.Send(
                    pair.listener, peer,
                    {TextBuffer("head"), TextBuffer(std::string(bytes, 'y'))},
                    std::move(held)),
                Reactor::Sent::kYes);
    });
    EXPECT_EQ(pair.client.Await().parts.at(1).size(), bytes);
    while (!alive.expired()) std::this_thread::yield();
  }
  auto lost = std::make_shared<int>(1);
  const std::weak_ptr<int> alive = lost;
  pair.server.Do([&] {
    EXPECT_EQ(pair.server.reactor.Send(pair.listener, "nobody",
                                       {TextBuffer("lost")}, std::move(lost)),
              Reactor::Sent::kNo);
  });
  EXPECT_TRUE(alive.expired());
}

TEST(Reactor, RefusesAMessageToAnUnknownPeerAtOnce) {
  Pair pair;
  pair.Start();
  pair.server.Do([&] {
    EXPECT_EQ(
        pair.server.reactor.Send(pair.listener, "nobody", {TextBuffer("lost")}),
        Reactor::Sent::kNo);
  });
}

// A port without a listener that no other process can get: only a listener of
// this process may share it.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    auto* any = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(bind(fd_, any, size), 0);
    EXPECT_EQ(getsockname(fd_, any, &size), 0);
  }
  ~SilentPort() { close(fd_); }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  const int fd_;
  sockaddr_in address_{};
};

TEST(Reactor, AConnectionKeepsTheLastMessagesUntilThereIsAPeer) {
  const SilentPort silent;
  Peer server;
  Peer client;
  const SocketId connection =
      *client.reactor.Connect({"127.0.0.1", silent.port()}, {});
  client.Start();
  client.Do([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(
          client.reactor.Send(connection, "", {TextBuffer(std::to_string(i))}),
          Reactor::Sent::kQueued);
    }
  });
  ASSERT_TRUE(server.reactor.Listen("127.0.0.1", silent.port(), {}).ok());
  server.Start();
  EXPECT_EQ(TextOf(server.Await().parts.at(0)), "36");
  for (int i = 37; i < 100; ++i) {
    EXPECT_EQ(TextOf(server.Await().parts.at(0)), std::to_string(i));
  }
}

TEST(Reactor, ATakenPortIsAnErrorThatNamesIt) {
  Reactor first("first");
  const SocketId listener = *first.Listen("127.0.0.1", 0, {});
  const uint16_t port = first.PortOf(listener);
  Reactor second("second");
  const auto again = second.Listen("127.0.0.1", port, {});
  EXPECT_TRUE(absl::IsUnavailable(again.status()));
  EXPECT_THAT(ErrorText(again.status()),
              HasSubstr(fmt::format("port {} is taken", port)));
}

TEST(Reactor, OnlyThisMachinesAddressesAreListenedAt) {
  Reactor reactor("test");
  EXPECT_TRUE(absl::IsUnavailable(reactor.Listen("192.0.2.1", 0, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      reactor.Listen("no-such-host.invalid", 0, {}).status()));
}

TEST(Reactor, RunsPostedWorkInOrderAndRefusesItWhenStopped) {
  Peer peer;
  EXPECT_FALSE(peer.reactor.Post([] {}));
  peer.Start();
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(peer.reactor.Post([&order, i] { order.push_back(i); }));
  }
  peer.Do([] {});
  EXPECT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  peer.reactor.Stop();
  peer.reactor.Join();
  EXPECT_FALSE(peer.reactor.Post([] {}));
}

// Returns the number of threads of libzmq in this process.
size_t ZmqThreads() {
  size_t count = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.starts_with("ZMQbg")) ++count;
  }
  return count;
}

// Waits until this process has `some` threads of libzmq or none. A thread takes
// its name after it has started, and the kernel lists an ended one for a
// moment.
bool AwaitZmqThreads(bool some) {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while ((ZmqThreads() > 0) != some) {
    if (absl::Now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Reactor, JoinEndsTheThreadsOfLibzmq) {
  ASSERT_TRUE(AwaitZmqThreads(false)) << "an earlier test left threads";
  Peer peer;
  ASSERT_TRUE(peer.reactor.Listen("127.0.0.1", 0, {}).ok());
  peer.Start();
  peer.Do([] {});
  EXPECT_TRUE(AwaitZmqThreads(true));
  peer.reactor.Stop();
  peer.reactor.Join();
  EXPECT_TRUE(AwaitZmqThreads(false));
}

TEST(Reactor, ABorrowingThreadHandlesMessages) {
  Peer peer;
  peer.Start();
  std::thread::id taker;
  const auto take = [&] {
    peer.reactor.Post([&] { taker = std::this_thread::get_id(); });
    return peer.reactor.Turn(SteadyNow() + absl::Seconds(1));
  };
  // The reactor's own thread gives up the loop and does not return while this
  // thread runs it.
  while (taker != std::this_thread::get_id()) ASSERT_TRUE(take());
  // It returns when this thread stops running the loop.
  std::thread::id keeper;
  peer.Do([&] { keeper = std::this_thread::get_id(); });
  EXPECT_NE(keeper, std::this_thread::get_id());
  while (taker != std::this_thread::get_id()) ASSERT_TRUE(take());
}

TEST(Reactor, ATurnEndsAtItsTimeAndWhenTheReactorStops) {
  Peer peer;
  peer.Start();
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(peer.reactor.Turn(SteadyNow() + absl::Milliseconds(1)));
  }
  std::thread stops([&] { peer.reactor.Stop(); });
  while (peer.reactor.Turn(absl::InfiniteFuture())) {
  }
  stops.join();
  peer.reactor.Join();
  EXPECT_FALSE(peer.reactor.Turn(absl::InfiniteFuture()));
}

// Opens a connection and sends `bytes`.
int SendBytes(uint16_t port, const std::string& bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  EXPECT_GE(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), -1);
  return fd;
}

// libzmq ends the process if a peer of an early protocol version identifies
// itself to a socket that is being closed.
TEST(Reactor, StopsWhilePeersOfOldProtocolsComeIn) {
  const std::string begin("\x10");  // the start of a name
  const std::string rest(16, 'x');
  for (int round = 0; round < 100; ++round) {
    Peer server;
    const auto listener = server.reactor.Listen("127.0.0.1", 0, {});
    ASSERT_TRUE(listener.ok());
    std::vector<int> connections(64);
    for (int& connection : connections) {
      connection = SendBytes(server.reactor.PortOf(*listener), begin);
    }
    server.Start();
    std::thread peers([&] {
      for (const int fd : connections) {
        send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      }
    });
    server.reactor.Stop();
    server.reactor.Join();
    peers.join();
    for (const int fd : connections) close(fd);
  }
}

// The connections close while the server object exists, so that peers use its
// successor.
TEST(Reactor, ClosesItsConnectionsWhenItStops) {
  Pair pair;
  pair.Start();
  pair.client.Send(pair.connection, "", {TextBuffer("first")});
  pair.server.Await();
  const uint16_t port = pair.server.reactor.PortOf(pair.listener);
  pair.server.reactor.Stop();
  pair.server.reactor.Join();
  Peer next;
  while (!next.reactor.Listen("127.0.0.1", port, {}).ok()) {
    std::this_thread::yield();
  }
  next.Start();
  std::atomic<bool> came{false};
  std::thread speaker([&] {
    while (!came) {
      pair.client.Send(pair.connection, "", {TextBuffer("second")});
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(TextOf(next.Await().parts.at(0)), "second");
  came = true;
  speaker.join();
}

// Peers that do not speak ZMTP are disconnected, or send messages that cannot
// be decoded. A correct peer is still served.
TEST(Reactor, SurvivesBytesThatAreNoMessages) {
  Pair pair;
  pair.Start();
  std::mt19937_64 random(7);
  for (int round = 0; round < 32; ++round) {
    std::string noise(random() % 4'096, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    if (round % 2 == 0 && noise.size() > 10) {
      noise.replace(0, 10, "\xff\0\0\0\0\0\0\0\x01\x7f", 10);
    }
    close(SendBytes(pair.server.reactor.PortOf(pair.listener), noise));
  }
  pair.client.Send(pair.connection, "", {TextBuffer("a peer")});
  for (;;) {
    const Peer::Received received = pair.server.Await();
    if (!received.parts.empty() && TextOf(received.parts[0]) == "a peer") break;
  }
}

// ---- messages

TEST(Messenger, AnswersUnreadableMessagesAtABoundedRate) {
  Pair pair;
  pair.Start();
  Messenger messenger(pair.server.reactor, "");
  pair.client.Send(pair.connection, "", {TextBuffer("noise")});
  const Peer::Received noise = pair.server.Await();
  const absl::Time now = absl::UnixEpoch();
  pair.server.Do([&] {
    for (int i = 0; i < 1'000; ++i) {
      EXPECT_FALSE(
          messenger.Receive(now, noise.socket, noise.from, noise.parts, true)
              .ok());
    }
    EXPECT_EQ(messenger.refused(), 1'000U);
    messenger.Send(noise.socket, noise.from, StatusReply{"{}"});
  });
  Messenger reader(pair.client.reactor, "");
  int refusals = 0;
  for (;;) {
    const Peer::Received answer = pair.client.Await();
    const auto message =
        reader.Receive(now, answer.socket, "", answer.parts, false);
    ASSERT_TRUE(message.ok()) << message.status();
    if (std::holds_alternative<StatusReply>(*message)) break;
    EXPECT_TRUE(std::holds_alternative<Refusal>(*message));
    ++refusals;
  }
  EXPECT_EQ(refusals, 16);
}

// ---- servers

TEST(Lifecycle, JoinBeforeStartIsAnError) {
  Lifecycle lifecycle("worker");
  EXPECT_TRUE(absl::IsFailedPrecondition(lifecycle.Join()));
}

TEST(Lifecycle, AStoppedServerDoesNotStartAgain) {
  Lifecycle lifecycle("worker");
  int begun = 0;
  int finished = 0;
  const auto begin = [&] {
    ++begun;
    return absl::OkStatus();
  };
  EXPECT_TRUE(lifecycle.Start(begin).ok());
  EXPECT_TRUE(lifecycle.Start(begin).ok());
  lifecycle.Stop([&] { ++finished; });
  lifecycle.Stop([&] { ++finished; });
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(finished, 1);
  EXPECT_TRUE(lifecycle.Join().ok());
  const absl::Status again = lifecycle.Start(begin);
  EXPECT_TRUE(absl::IsFailedPrecondition(again));
  EXPECT_THAT(ErrorText(again),
              HasSubstr("cannot be started after it has been stopped"));
}

TEST(Lifecycle, AFailedStartMayBeTriedAgain) {
  Lifecycle lifecycle("worker");
  EXPECT_FALSE(
      lifecycle.Start([] { return Unavailable("the port is taken"); }).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(lifecycle.Join()));
  EXPECT_TRUE(lifecycle.Start([] { return absl::OkStatus(); }).ok());
}

TEST(Lifecycle, JoinSaysWhyAServerEnded) {
  Lifecycle lifecycle("worker");
  ASSERT_TRUE(lifecycle.Start([] { return absl::OkStatus(); }).ok());
  std::thread server([&] { lifecycle.End(DeadlineExceeded("gave up")); });
  EXPECT_TRUE(absl::IsDeadlineExceeded(lifecycle.Join()));
  server.join();
  int finished = 0;
  lifecycle.Stop([&] { ++finished; });
  EXPECT_EQ(finished, 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(lifecycle.Join()));
}

}  // namespace
}  // namespace feedmill
