// A service with keys and peers that lie about who they are, in one process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/order_hash.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/key_file.h"
#include "core/net/log.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/net/security.h"
#include "feedmill/dataset.h"
#include "feedmill/dispatcher.h"
#include "feedmill/reader.h"
#include "feedmill/worker.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Keeps saying a WorkerBeat, with the key that it is given.
class FalseWorker : public ReactorHandler {
 public:
  FalseWorker(const std::string& dispatcher, const CurveClient& curve,
              std::string name)
      : reactor_("false-worker"),
        messenger_(reactor_, ""),
        name_(std::move(name)) {
    const auto socket = reactor_.Connect(*ParseAddress(dispatcher), {}, curve);
    EXPECT_TRUE(socket.ok()) << socket.status();
    socket_ = *socket;
    reactor_.Start(this);
  }
  ~FalseWorker() override { reactor_.Stop(), reactor_.Join(); }

  int beats() const { return beats_; }
  int answers() const { return answers_; }

 private:
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override {
    const auto message =
        messenger_.Receive(now, socket, from, parts, /*answer=*/false);
    if (message.ok() && std::holds_alternative<WorkerAnswer>(*message)) {
      ++answers_;
    }
  }
  void OnTurn(absl::Time now) override {
    next_ = now + absl::Milliseconds(20);
    WorkerBeat beat;
    beat.worker = WorkerId(name_);
    beat.incarnation = Incarnation(1);
    beat.slots = 2;
    if (messenger_.Send(socket_, "", beat) == Reactor::Sent::kYes) ++beats_;
  }
  absl::Time NextDeadline() const override { return next_; }

  Reactor reactor_;
  Messenger messenger_;
  SocketId socket_;
  const std::string name_;
  absl::Time next_ = absl::InfinitePast();
  std::atomic<int> beats_ = 0;
  std::atomic<int> answers_ = 0;
};

class SecureService : public ::testing::Test {
 protected:
  SecureService() {
    SetUpLog(LogLevel::kError, LogFormat::kText, "test");
    std::string path =
        (std::filesystem::temp_directory_path() / "feedmill-secure-XXXXXX")
            .string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    keys_ = path;
    for (const Role role :
         {Role::kDispatcher, Role::kWorker, Role::kClient, Role::kOperator}) {
      Given(role, std::string(RoleName(role)));
    }
    DispatcherConfig config;
    config.endpoint.security.keys = keys_;
    dispatcher_ = std::make_unique<DispatchServer>(config);
    const absl::Status started = dispatcher_->Start();
    EXPECT_TRUE(started.ok()) << started;
    WorkerConfig worker;
    worker.dispatcher = dispatcher_->target();
    worker.threads = 1;
    worker.endpoint.security.keys = keys_;
    worker.in_process = false;  // as between machines
    worker_ = std::make_unique<WorkerServer>(worker);
    EXPECT_TRUE(worker_->Start().ok());
    EXPECT_TRUE(worker_->WaitRegistered(absl::Seconds(20)).ok());
  }
  ~SecureService() override { std::filesystem::remove_all(keys_); }

  KeyPair Given(Role role, const std::string& name) {
    const KeyPair pair = DrawKeyPair();
    std::string listed = keys_ + "/dispatcher.pub";
    if (role != Role::kDispatcher) {
      const std::string list = fmt::format("{}/{}", keys_, RoleFolder(role));
      std::filesystem::create_directories(list);
      listed = fmt::format("{}/{}.pub", list, name);
    }
    EXPECT_TRUE(WriteKeyFile(fmt::format("{}/{}.key", keys_, name),
                             {role, pair.public_key, pair.secret_key})
                    .ok());
    EXPECT_TRUE(
        WriteKeyFile(listed, {role, pair.public_key, std::nullopt}).ok());
    return pair;
  }
  CurveClient CurveOf(Role role) const {
    return *ToDispatcher(*LoadSecurity({keys_, ""}, role));
  }
  std::string Status() const {
    return FetchStatus(dispatcher_->target(), absl::Seconds(20), "",
                       {keys_, ""})
        .value_or("");
  }
  std::string ReadHash(ReadOptions options) const {
    auto reader = Read(Dataset::Range(20'000).Shuffle().WithSeed(3), options);
    if (!reader.ok()) return reader.status().ToString();
    OrderHash hash;
    for (const Chunk& chunk : (*reader)->chunks()) hash.Add(chunk);
    return (*reader)->status().ok() ? hash.Hex()
                                    : (*reader)->status().ToString();
  }

  std::string keys_;
  std::unique_ptr<DispatchServer> dispatcher_;
  std::unique_ptr<WorkerServer> worker_;
};

TEST_F(SecureService, GivesWhatALocalReadGives) {
  ReadOptions options;
  const std::string local = ReadHash(options);
  options.service = dispatcher_->target();
  options.security.keys = keys_;
  EXPECT_EQ(ReadHash(options), local);
  EXPECT_THAT(Status(), HasSubstr(worker_->target()));
}

TEST_F(SecureService, AWorkerMayNotUseANameThatHoldsAnothersKey) {
  const CurveClient curve = CurveOf(Role::kWorker);
  for (const std::string& name :
       {std::string("tcp://127.0.0.1:9"),
        WithKey("tcp://127.0.0.1:9", DrawKeyPair().public_key)}) {
    FalseWorker liar(dispatcher_->target(), curve, name);
    while (liar.beats() < 5) std::this_thread::yield();
    EXPECT_THAT(Status(), Not(HasSubstr("127.0.0.1:9\"")));
    EXPECT_THAT(Status(), Not(HasSubstr("127.0.0.1:9#")));
    EXPECT_EQ(liar.answers(), 0);
  }
  // With its own it may, so that the test can tell.
  FalseWorker honest(dispatcher_->target(), curve,
                     WithKey("tcp://127.0.0.1:9", curve.own.public_key));
  while (honest.answers() == 0) std::this_thread::yield();
  EXPECT_THAT(Status(), HasSubstr("127.0.0.1:9#"));
}

TEST_F(SecureService, AClientsKeyDoesNotRegisterAWorker) {
  const CurveClient curve = CurveOf(Role::kClient);
  FalseWorker liar(dispatcher_->target(), curve,
                   WithKey("tcp://127.0.0.1:9", curve.own.public_key));
  while (liar.beats() < 5) std::this_thread::yield();
  EXPECT_THAT(Status(), Not(HasSubstr("127.0.0.1:9#")));
  EXPECT_EQ(liar.answers(), 0);
}

// A false worker that a client is sent to, without the key of its name.
TEST_F(SecureService, AClientInsistsOnTheKeyOfTheWorkersName) {
  worker_->Stop();
  const CurveClient curve = CurveOf(Role::kWorker);
  Reactor::Limits limits;
  class Silent : public ReactorHandler {
   public:
    void OnMessage(absl::Time, SocketId, std::string_view,
                   std::vector<Buffer>) override {
      ++heard;
    }
    void OnTurn(absl::Time) override {}
    absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
    std::atomic<int> heard = 0;
  };
  Silent silent;
  Reactor reactor("plain");
  const auto socket = reactor.Listen("127.0.0.1", 0, limits);
  ASSERT_TRUE(socket.ok());
  const Address place{"127.0.0.1", reactor.PortOf(*socket)};
  reactor.Start(&silent);
  FalseWorker worker(dispatcher_->target(), curve,
                     WithKey(place.ToString(), curve.own.public_key));
  while (worker.answers() == 0) std::this_thread::yield();
  ReadOptions options;
  options.service = dispatcher_->target();
  options.security.keys = keys_;
  options.limits.first_timeout = options.limits.timeout = absl::Seconds(2);
  EXPECT_THAT(ReadHash(options), HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_EQ(silent.heard, 0);
  reactor.Stop();
  reactor.Join();
}

}  // namespace
}  // namespace feedmill
