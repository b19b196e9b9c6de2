// Keys, lists of keys, and a reactor's treatment of unlisted peers.

#include "core/net/security.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/net/allow_list.h"
#include "core/net/clock.h"
#include "core/net/key_file.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "tests/waits.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Keys : public ::testing::Test {
 protected:
  Keys() {
    std::string path =
        (std::filesystem::temp_directory_path() / "feedmill-keys-XXXXXX")
            .string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  ~Keys() override { std::filesystem::remove_all(folder_); }

  // Makes a key pair of `role`: NAME.key, listed where servers look.
  KeyPair Given(Role role, const std::string& name) {
    const KeyPair pair = DrawKeyPair();
    std::string listed = folder_ + "/dispatcher.pub";
    if (role != Role::kDispatcher) {
      const std::string list = fmt::format("{}/{}", folder_, RoleFolder(role));
      std::filesystem::create_directories(list);
      listed = fmt::format("{}/{}.pub", list, name);
    }
    EXPECT_TRUE(WriteKeyFile(fmt::format("{}/{}.key", folder_, name),
                             {role, pair.public_key, pair.secret_key})
                    .ok());
    EXPECT_TRUE(
        WriteKeyFile(listed, {role, pair.public_key, std::nullopt}).ok());
    return pair;
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    chmod((folder_ + "/" + name).c_str(), 0600);
  }
  absl::Status ReadClientKey(const std::string& name) {
    return ReadSecretKey(folder_ + "/" + name, Role::kClient).status();
  }

  std::string folder_;
};

TEST_F(Keys, AreReadBackUnchanged) {
  const KeyPair pair = Given(Role::kClient, "client");
  EXPECT_NE(pair.public_key, DrawKeyPair().public_key);
  const auto secret = ReadSecretKey(folder_ + "/client.key", Role::kClient);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->public_key, pair.public_key);
  EXPECT_EQ(secret->secret_key, pair.secret_key);
  EXPECT_EQ(*ReadPublicKey(folder_ + "/clients/client.pub", Role::kClient),
            pair.public_key);
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteKeyFile(
      folder_ + "/client.key", {Role::kClient, pair.public_key, {}})));
}

TEST_F(Keys, ASecretThatOthersCanReadIsRefused) {
  Given(Role::kClient, "client");
  for (const mode_t mode : {0640U, 0604U, 0620U, 0666U}) {
    chmod((folder_ + "/client.key").c_str(), mode);
    EXPECT_THAT(ErrorText(ReadClientKey("client.key")),
                HasSubstr("chmod 600 " + folder_ + "/client.key"));
  }
  chmod((folder_ + "/client.key").c_str(), 0400);
  EXPECT_TRUE(ReadClientKey("client.key").ok());
}

// Kubernetes mounts Secrets in this way for a user other than root.
TEST_F(Keys, ASecretOfRootMayBeReadByTheGroupOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Given(Role::kClient, "client");
  chmod(folder_.c_str(), 0755);
  const auto read_with = [&](mode_t mode) {
    chmod((folder_ + "/client.key").c_str(), mode);
    EXPECT_EQ(seteuid(65534), 0);
    absl::Status status = ReadClientKey("client.key");
    EXPECT_EQ(seteuid(0), 0);
    return status;
  };
  EXPECT_TRUE(read_with(0440).ok());
  for (const mode_t mode : {0444U, 0460U, 0450U}) {
    EXPECT_THAT(ErrorText(read_with(mode)), HasSubstr("chmod 600"));
  }
}

TEST_F(Keys, ErrorsOfKeyFilesDoNotShowTheSecret) {
  const KeyPair pair = DrawKeyPair();
  const std::string good =
      KeyFileText({Role::kClient, pair.public_key, pair.secret_key});
  Write("good", good);
  EXPECT_TRUE(ReadClientKey("good").ok());
  const KeyPair other = DrawKeyPair();
  for (const std::string& bad :
       {std::string(), good + good, good.substr(0, good.size() - 1),
        good.substr(0, good.size() / 2), "x" + good, good + "more 1\n",
        good + std::string(10'000, 'x'), std::string("feedmill key 1\n"),
        KeyFileText({Role::kWorker, pair.public_key, pair.secret_key}),
        KeyFileText({Role::kClient, pair.public_key, std::nullopt}),
        KeyFileText({Role::kClient, other.public_key, pair.secret_key})}) {
    std::filesystem::remove(folder_ + "/bad");
    Write("bad", bad);
    const absl::Status status = ReadClientKey("bad");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_THAT(ErrorText(status), HasSubstr("/bad"));
    EXPECT_THAT(ErrorText(status),
                Not(HasSubstr(pair.secret_key.substr(0, 8))));
  }
  EXPECT_TRUE(absl::IsNotFound(ReadClientKey("none")));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadClientKey("")));  // the folder
  EXPECT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadClientKey("pipe")));
}

TEST_F(Keys, AProcessReadsTheKeysOfItsRole) {
  EXPECT_FALSE(LoadSecurity({}, Role::kWorker)->has_value());
  const KeyPair dispatcher = Given(Role::kDispatcher, "dispatcher");
  const KeyPair worker = Given(Role::kWorker, "worker");
  const auto security = LoadSecurity({folder_, ""}, Role::kWorker);
  ASSERT_TRUE(security.ok()) << security.status();
  EXPECT_EQ((*security)->own.public_key, worker.public_key);
  EXPECT_EQ((*security)->dispatcher_key, dispatcher.public_key);
  EXPECT_EQ((*LoadSecurity({folder_, worker.public_key}, Role::kWorker))
                ->dispatcher_key,
            worker.public_key);
  const absl::Status missing =
      LoadSecurity({folder_, ""}, Role::kOperator).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(ErrorText(missing), HasSubstr("keygen"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      LoadSecurity({"", dispatcher.public_key}, Role::kClient).status()));
}

TEST_F(Keys, OnlyLoopbackIsOpenWithoutThem) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(CheckExposure(host, false, false).ok()) << host;
  }
  for (const char* host : {"0.0.0.0", "*", "::", "192.0.2.1"}) {
    const absl::Status closed = CheckExposure(host, false, false);
    EXPECT_TRUE(absl::IsInvalidArgument(closed)) << host;
    EXPECT_THAT(ErrorText(closed), HasSubstr("--keys"));
    EXPECT_THAT(ErrorText(closed), HasSubstr("--insecure-bind"));
    EXPECT_TRUE(CheckExposure(host, true, false).ok());
    EXPECT_TRUE(CheckExposure(host, false, true).ok());
  }
}

TEST_F(Keys, ARoleMaySayOnlyItsOwn) {
  const std::vector<std::pair<Role, Message>> right = {
      {Role::kWorker, WorkerBeat{}},
      {Role::kClient, ClientHello{}},
      {Role::kClient, ClientBeat{}},
      {Role::kClient, ClientLeave{}},
      {Role::kOperator, StatusRequest{}},
      {Role::kClient, DatasetRequest{}},
      {Role::kClient, Grant{}},
      {Role::kClient, Relay{}},
      {Role::kWorker, Relay{{}, "peer", {}}}};
  for (const auto& [role, message] : right) {
    for (const Role each :
         {Role::kDispatcher, Role::kWorker, Role::kClient, Role::kOperator}) {
      EXPECT_EQ(CheckRole(each, message).ok(), each == role)
          << RoleName(each) << " " << message.index();
    }
  }
}

TEST_F(Keys, AListFollowsItsFolder) {
  const KeyPair first = Given(Role::kClient, "first");
  const KeyPair worker = Given(Role::kWorker, "worker");
  auto list = AllowList::Open(folder_, {Role::kClient, Role::kOperator});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ((*list)->RoleOf(first.public_key), Role::kClient);
  EXPECT_EQ((*list)->RoleOf(worker.public_key), std::nullopt);
  EXPECT_EQ((*list)->RoleOf(""), std::nullopt);
  const KeyPair second = Given(Role::kClient, "second");
  const KeyPair chief = Given(Role::kOperator, "chief");
  EXPECT_TRUE(Eventually([&] {
    return (*list)->RoleOf(second.public_key) == Role::kClient &&
           (*list)->RoleOf(chief.public_key) == Role::kOperator;
  }));
  std::filesystem::remove(folder_ + "/clients/first.pub");
  EXPECT_TRUE(Eventually(
      [&] { return !(*list)->RoleOf(first.public_key).has_value(); }));
  EXPECT_EQ((*list)->RoleOf(second.public_key), Role::kClient);
  // An invalid key is skipped later, and refused at the start.
  Write("clients/wrong.pub", "nonsense\n");
  EXPECT_TRUE(absl::IsInvalidArgument(
      AllowList::Open(folder_, {Role::kClient}).status()));
}

// ---- reactors

// Answers each admitted peer with its role.
class Echo : public ReactorHandler {
 public:
  explicit Echo(const std::optional<CurveServer>& curve,
                size_t connections_max = 0)
      : reactor_("echo") {
    Reactor::Limits limits;
    limits.connections_max = connections_max;
    auto socket = reactor_.Listen("127.0.0.1", 0, limits, curve);
    EXPECT_TRUE(socket.ok()) << socket.status();
    port_ = reactor_.PortOf(*socket);
    reactor_.Start(this);
  }
  ~Echo() override { reactor_.Stop(), reactor_.Join(); }

  Address address() const { return {"127.0.0.1", port_}; }
  uint64_t heard() const { return heard_; }

 private:
  void OnMessage(absl::Time, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override {
    ++heard_;
    const auto& sender = reactor_.sender();
    const std::string who = sender ? std::string(RoleName(sender->role)) : "?";
    parts.push_back(Buffer::CopyOf(std::as_bytes(std::span(who))));
    reactor_.Send(socket, from, parts);
  }
  void OnTurn(absl::Time) override {}
  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }

  Reactor reactor_;
  uint16_t port_ = 0;
  std::atomic<uint64_t> heard_ = 0;
};

// Repeats a message until it is answered or the handshake has failed.
class Caller : public ReactorHandler {
 public:
  Caller(const Address& to, const std::optional<CurveClient>& curve)
      : reactor_("caller") {
    auto socket = reactor_.Connect(to, {}, curve);
    EXPECT_TRUE(socket.ok()) << socket.status();
    socket_ = *socket;
    reactor_.Start(this);
  }
  ~Caller() override { reactor_.Stop(), reactor_.Join(); }

  // Returns the role that the listener sees, or the error.
  absl::StatusOr<std::string> Outcome() {
    absl::StatusOr<std::string> outcome = DeadlineExceeded("nothing happened");
    Eventually([&] {
      const std::lock_guard lock(mu_);
      if (!answer_.empty()) {
        outcome = answer_;
      } else if (!failure_.ok()) {
        outcome = failure_;
      }
      return !absl::IsDeadlineExceeded(outcome.status());
    });
    return outcome;
  }
  bool answered() {
    const std::lock_guard lock(mu_);
    return !answer_.empty();
  }
  void Forget() {
    const std::lock_guard lock(mu_);
    answer_.clear();
  }

 private:
  void OnMessage(absl::Time, SocketId, std::string_view,
                 std::vector<Buffer> parts) override {
    const std::lock_guard lock(mu_);
    answer_.assign(reinterpret_cast<const char*>(parts.back().data()),
                   parts.back().size());
  }
  void OnTurn(absl::Time now) override {
    next_ = now + absl::Milliseconds(20);
    reactor_.Send(socket_, "",
                  {Buffer::CopyOf(std::as_bytes(std::span("anybody there?")))});
    const std::lock_guard lock(mu_);
    failure_ = reactor_.HandshakeFailure(socket_);
  }
  absl::Time NextDeadline() const override { return next_; }

  Reactor reactor_;
  SocketId socket_;
  absl::Time next_ = absl::InfinitePast();
  std::mutex mu_;
  std::string answer_;    // guarded by mu_
  absl::Status failure_;  // guarded by mu_
};

class SecureReactor : public Keys {
 protected:
  SecureReactor() : server_(DrawKeyPair()) {
    std::filesystem::create_directories(folder_ + "/clients");
  }
  CurveServer Curve() {
    return {server_, *AllowList::Open(folder_, {Role::kClient})};
  }
  KeyPair server_;
};

TEST_F(SecureReactor, LetsInWhomItLists) {
  const KeyPair client = Given(Role::kClient, "client");
  Echo echo(Curve());
  Caller caller(echo.address(), CurveClient{client, server_.public_key});
  const auto outcome = caller.Outcome();
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(*outcome, "client");
}

TEST_F(SecureReactor, KeepsOthersOutAndTheyKnowWhy) {
  Given(Role::kClient, "client");
  const KeyPair worker = Given(Role::kWorker, "worker");
  Echo echo(Curve());
  Caller unlisted(echo.address(), CurveClient{worker, server_.public_key});
  EXPECT_TRUE(absl::IsFailedPrecondition(unlisted.Outcome().status()));
  EXPECT_THAT(ErrorText(unlisted.Outcome().status()),
              HasSubstr("does not accept this key"));
  Caller plain(echo.address(), std::nullopt);
  EXPECT_FALSE(plain.Outcome().ok());
  Caller mistaken(echo.address(), CurveClient{worker, worker.public_key});
  EXPECT_THAT(ErrorText(mistaken.Outcome().status()), HasSubstr("server key"));
  EXPECT_EQ(echo.heard(), 0U);
}

TEST_F(SecureReactor, AKeyThatIsListedLaterIsLetIn) {
  Given(Role::kClient, "another");
  const KeyPair client = DrawKeyPair();
  Echo echo(Curve());
  Caller caller(echo.address(), CurveClient{client, server_.public_key});
  EXPECT_TRUE(absl::IsFailedPrecondition(caller.Outcome().status()));
  ASSERT_TRUE(WriteKeyFile(folder_ + "/clients/client.pub",
                           {Role::kClient, client.public_key, std::nullopt})
                  .ok());
  EXPECT_TRUE(Eventually([&] { return caller.answered(); }));
}

TEST_F(SecureReactor, AClientWithKeysNeverTalksToAServerWithout) {
  Echo echo(std::nullopt);
  Caller caller(echo.address(), CurveClient{DrawKeyPair(), server_.public_key});
  EXPECT_FALSE(caller.Outcome().ok());
  EXPECT_EQ(echo.heard(), 0U);
}

TEST_F(SecureReactor, AKeyThatIsRemovedIsNotHeardAnyMore) {
  const KeyPair client = Given(Role::kClient, "client");
  const KeyPair other = Given(Role::kClient, "other");
  Echo echo(Curve());
  Caller caller(echo.address(), CurveClient{client, server_.public_key});
  ASSERT_TRUE(caller.Outcome().ok());
  std::filesystem::remove(folder_ + "/clients/client.pub");
  // The connection remains, and its messages are dropped while others are
  // answered.
  EXPECT_TRUE(Eventually([&] {
    caller.Forget();
    for (int turn = 0; turn < 5; ++turn) {
      Caller next(echo.address(), CurveClient{other, server_.public_key});
      EXPECT_TRUE(next.Outcome().ok());
    }
    return !caller.answered();
  }));
}

int Dial(const Address& to) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(to.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // In progress; for ever if the listener is full.
  [[maybe_unused]] const int result =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return fd;
}

TEST_F(SecureReactor, TakesNoMoreConnectionsThanItMay) {
  Echo echo(std::nullopt, /*connections_max=*/8);
  {
    Caller first(echo.address(), std::nullopt);
    ASSERT_TRUE(first.Outcome().ok());
  }
  std::vector<int> silent(100);
  for (int& connection : silent) connection = Dial(echo.address());
  // Connections beyond the limit are not even answered.
  EXPECT_TRUE(Eventually([&] {
    silent.push_back(Dial(echo.address()));
    pollfd late{silent.back(), POLLOUT, 0};
    return poll(&late, 1, 300) == 0;
  }));
  for (const int fd : silent) close(fd);
  Caller next(echo.address(), std::nullopt);
  const auto outcome = next.Outcome();
  EXPECT_TRUE(outcome.ok()) << outcome.status();
}

}  // namespace
}  // namespace feedmill
