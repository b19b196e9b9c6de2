// Links to an arena, and malicious peers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/shared_memory_client.h"
#include "core/net/shared_memory_server.h"
#include "tests/unit/net/buffers.h"

namespace feedmill {
namespace {

// A SharedMemoryServer on a reactor, called on the reactor's thread.
class Links : public ::testing::Test, private ReactorHandler {
 protected:
  Links()
      : reactor_("fm-test"),
        host_(reactor_, kArenaBytes,
              [this](std::string_view peer, const std::vector<Buffer>& parts) {
                heard_.emplace_back(peer);
                for (const std::string& text : Texts(parts)) {
                  heard_.push_back(text);
                }
              }) {}
  // Not in the constructor and destructor, where parts of the object are
  // missing.
  void SetUp() override { reactor_.Start(this); }
  void TearDown() override {
    reactor_.Stop();
    reactor_.Join();
  }

  static constexpr size_t kArenaBytes = 4 * kMiB;

  template <class F>
  auto On(F work) {
    std::optional<decltype(work())> result;
    std::mutex mu;
    std::condition_variable done;
    EXPECT_TRUE(reactor_.Post([&] {
      auto made = work();
      const std::lock_guard lock(mu);
      result = std::move(made);
      done.notify_one();
    }));
    std::unique_lock lock(mu);
    done.wait(lock, [&] { return result.has_value(); });
    return *std::move(result);
  }
  // Runs the reactor's loop until `fact` holds.
  bool Await(const std::function<bool()>& fact) {
    for (int turn = 0; turn < 100'000; ++turn) {
      if (On(fact)) return true;
      std::this_thread::yield();
    }
    return false;
  }

  ShareOffer OfferTo(const std::string& peer) {
    return On(
        [&] { return host_.OnRequest(reactor_.now(), peer, {BootId()}); });
  }
  bool IsLinked(const std::string& peer) {
    return On([&] { return host_.LenderTo(peer) != nullptr; });
  }
  // Returns a link that is ready.
  std::shared_ptr<SharedMemoryClient> Linked(const std::string& peer) {
    auto link = SharedMemoryClient::Join(OfferTo(peer));
    EXPECT_TRUE(link.ok()) << link.status();
    EXPECT_TRUE(Await([&] { return ReadyAt(**link); }));
    EXPECT_TRUE(Await([&] { return host_.LenderTo(peer) != nullptr; }));
    return *link;
  }
  static bool ReadyAt(SharedMemoryClient& link) {
    return link.OnReadable() != SharedMemoryClient::State::kJoining;
  }
  SharedParts Lend(const std::string& peer, std::vector<Buffer> parts) {
    return On([&] {
      parts.insert(parts.begin(), Buffer());
      return host_.LenderTo(peer)->Lend(parts);
    });
  }
  // Sends a frame like a worker: its header, parts that are not lent, and lent
  // parts.
  struct Sent {
    SharedParts shared;
    bool locally = false;
  };
  Sent SendTo(const std::string& peer, const Buffer& header,
              std::vector<Buffer> parts = {}) {
    return On([&] {
      parts.insert(parts.begin(), header);
      Sent sent{host_.LenderTo(peer)->Lend(parts)};
      for (auto it = sent.shared.parts.rbegin(); it != sent.shared.parts.rend();
           ++it) {
        parts.erase(parts.begin() + it->part);
      }
      sent.locally = host_.Send(peer, parts);
      return sent;
    });
  }
  std::vector<std::string> Heard() {
    return On([&] { return heard_; });
  }
  uint64_t LentBytes() {
    return On([&] { return host_.lent_bytes(); });
  }
  std::shared_ptr<BlockSource> Blocks() {
    return On([&] { return host_.blocks(); });
  }

  Reactor reactor_;
  SharedMemoryServer host_;
  std::vector<std::string> heard_;  // of the reactor's thread

 private:
  void OnMessage(absl::Time, SocketId, std::string_view,
                 std::vector<Buffer>) override {}
  void OnTurn(absl::Time now) override { host_.OnTurn(now); }
  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
};

TEST_F(Links, PartsAreSeenWhereTheyLieAndComeBack) {
  const auto link = Linked("a");
  ASSERT_EQ(link->state(), SharedMemoryClient::State::kUp);
  const SharedParts shared = Lend(
      "a", {Filled(Blocks(), 100 * kKiB, 3), Filled(nullptr, 100 * kKiB, 4),
            Filled(Blocks(), 200 * kKiB, 5)});
  ASSERT_EQ(shared.parts.size(), 2u);  // the second is outside the arena
  EXPECT_EQ(shared.parts[0].part, 1u);
  EXPECT_EQ(shared.parts[1].part, 3u);
  EXPECT_EQ(LentBytes(), 300 * kKiB);
  auto borrowed = link->Borrow(shared);
  ASSERT_TRUE(borrowed.ok()) << borrowed.status();
  EXPECT_TRUE(link->Used());
  EXPECT_FALSE(link->Used());
  EXPECT_TRUE(AllAre((*borrowed)[0], 3) && AllAre((*borrowed)[1], 5));
  const Buffer slice = (*borrowed)[1].Slice(100, 100);
  borrowed->clear();
  EXPECT_TRUE(Await([&] { return host_.lent_bytes() == 200 * kKiB; }));
  // While a view exists, its place is not given to other buffers.
  for (int k = 0; k < 20; ++k) Filled(Blocks(), 300 * kKiB, 9);
  EXPECT_TRUE(AllAre(slice, 5));
}

TEST_F(Links, BuffersMadeAfterTheOfferAreShared) {
  EXPECT_EQ(Blocks(), nullptr);
  const ShareOffer offer = OfferTo("a");
  const Buffer first = Filled(Blocks(), 100 * kKiB, 3);
  const auto link = SharedMemoryClient::Join(offer);
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_NE(Blocks(), nullptr);  // before and after the greeting
  ASSERT_TRUE(Await([&] { return ReadyAt(**link); }));
  ASSERT_TRUE(Await([&] { return host_.LenderTo("a") != nullptr; }));
  const SharedParts shared = Lend("a", {first});
  ASSERT_EQ(shared.parts.size(), 1u);
  const auto borrowed = (*link)->Borrow(shared);
  ASSERT_TRUE(borrowed.ok()) << borrowed.status();
  EXPECT_TRUE(AllAre(borrowed->front(), 3));
}

TEST_F(Links, LostEntriesReturnWithTheNextMessage) {
  const auto link = Linked("a");
  Lend("a", {Filled(Blocks(), 100 * kKiB, 1)});
  const SharedParts lost = Lend("a", {Filled(Blocks(), 100 * kKiB, 1)});
  const SharedParts next = Lend("a", {Filled(Blocks(), 100 * kKiB, 2)});
  EXPECT_EQ(LentBytes(), 300 * kKiB);
  const auto borrowed = link->Borrow(next);
  ASSERT_TRUE(borrowed.ok()) << borrowed.status();
  EXPECT_TRUE(Await([&] { return host_.lent_bytes() == 100 * kKiB; }));
  // The entries may hold other buffers by now.
  EXPECT_TRUE(absl::IsInvalidArgument(link->Borrow(lost).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(link->Borrow(next).status()));
  EXPECT_TRUE(AllAre(borrowed->front(), 2));
}

TEST_F(Links, PlacesOutsideAreRefusedAndTheGoodOnesComeBack) {
  const auto link = Linked("a");
  for (const SharedPart bad :
       {SharedPart{2, 7, kArenaBytes, 1}, SharedPart{2, 7, kArenaBytes - 8, 9},
        SharedPart{2, 7, ~uint64_t{0}, 8}, SharedPart{2, 7, 8, ~uint64_t{0}},
        SharedPart{2, PartTable::kEntries, 0, 8},
        SharedPart{2, ~uint32_t{0}, 0, 8}}) {
    SharedParts shared = Lend("a", {Filled(Blocks(), 100 * kKiB, 1)});
    shared.parts.push_back(bad);
    EXPECT_TRUE(absl::IsInvalidArgument(link->Borrow(shared).status()));
  }
  EXPECT_TRUE(Await([&] { return host_.lent_bytes() == 0; }));
  SharedParts other = Lend("a", {});
  ++other.link;
  EXPECT_TRUE(absl::IsInvalidArgument(link->Borrow(other).status()));
}

TEST_F(Links, OneClientHasHalfOfTheArenaAtMost) {
  const auto link = Linked("a");
  std::vector<Buffer> parts(8);
  for (Buffer& part : parts) part = Filled(Blocks(), 400 * kKiB, 1);
  const SharedParts shared = Lend("a", parts);
  EXPECT_EQ(shared.parts.size(), 5u);
  EXPECT_LE(LentBytes(), kArenaBytes / 2);
  const auto other = Linked("b");
  EXPECT_EQ(Lend("b", parts).parts.size(), 5u);
}

TEST_F(Links, BytesStayWhenReaderAndWorkerAreGone) {
  Buffer kept;
  {
    auto link = Linked("a");
    auto borrowed = link->Borrow(Lend("a", {Filled(Blocks(), kMiB, 6)}));
    ASSERT_TRUE(borrowed.ok());
    kept = borrowed->front();
    link->Retire();
  }
  for (int k = 0; k < 20; ++k) Filled(Blocks(), kMiB, 9);
  EXPECT_EQ(LentBytes(), kMiB);
  EXPECT_TRUE(AllAre(kept, 6));
  kept = Buffer();  // the last one: the link ends
  EXPECT_TRUE(Await([&] { return host_.links() == 0; }));
  EXPECT_EQ(LentBytes(), 0u);
  EXPECT_EQ(Blocks(), nullptr);
}

TEST_F(Links, AClientThatDiesGivesEverythingBack) {
  int up[2];
  ASSERT_EQ(pipe(up), 0);
  const ShareOffer offer = OfferTo("a");
  const pid_t child = fork();
  if (child == 0) {
    auto link = SharedMemoryClient::Join(offer);
    while (link.ok() &&
           (*link)->state() == SharedMemoryClient::State::kJoining) {
      (*link)->OnReadable();
    }
    if (write(up[1], "u", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(up[0], &byte, 1), 1);
  ASSERT_TRUE(Await([&] { return host_.LenderTo("a") != nullptr; }));
  Lend("a", {Filled(Blocks(), kMiB, 1)});
  EXPECT_EQ(LentBytes(), kMiB);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(Await([&] { return host_.links() == 0; }));
  EXPECT_EQ(LentBytes(), 0u);
  close(up[0]);
  close(up[1]);
}

TEST_F(Links, AChildThatDropsItsCopyTakesNothingFromItsParent) {
  const auto link = Linked("a");
  auto borrowed = link->Borrow(Lend("a", {Filled(Blocks(), kMiB, 6)}));
  ASSERT_TRUE(borrowed.ok());
  const pid_t child = fork();
  if (child == 0) {
    borrowed->clear();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  On([] { return 0; });  // one iteration
  EXPECT_EQ(LentBytes(), kMiB);
}

TEST_F(Links, AdmitOnlyAClientThatKnowsTheNonce) {
  ShareOffer offer = OfferTo("a");
  ShareOffer wrong = offer;
  ++wrong.nonce;
  const auto stranger = SharedMemoryClient::Join(wrong);
  ASSERT_TRUE(stranger.ok());
  EXPECT_TRUE(Await([&] { return ReadyAt(**stranger); }));
  EXPECT_EQ((*stranger)->state(), SharedMemoryClient::State::kLost);
  EXPECT_FALSE(IsLinked("a"));
  // An offer can be used only once.
  const auto link = SharedMemoryClient::Join(offer);
  EXPECT_TRUE(Await([&] { return ReadyAt(**link); }));
  EXPECT_EQ((*link)->state(), SharedMemoryClient::State::kUp);
  const auto again = SharedMemoryClient::Join(offer);
  EXPECT_TRUE(Await([&] { return ReadyAt(**again); }));
  EXPECT_EQ((*again)->state(), SharedMemoryClient::State::kLost);
}

TEST_F(Links, NoiseAtTheLocalSocketChangesNothing) {
  const auto link = Linked("a");
  const ShareOffer offer = OfferTo("b");
  for (const size_t size : {1u, 7u, 9u, 200u}) {
    auto noisy = ConnectLocally(offer.socket_name);
    ASSERT_TRUE(noisy.ok());
    const std::vector<std::byte> noise(size, std::byte{0xa5});
    const int fd = noisy->get();
    ASSERT_TRUE(SendLocally(fd, noise, std::vector<int>{fd, fd}).ok());
    EXPECT_TRUE(Await([&] { return !ReceiveLocally(fd).ok(); }));
  }
  EXPECT_TRUE(IsLinked("a"));
  const SharedParts shared = Lend("a", {Filled(Blocks(), kMiB, 1)});
  EXPECT_TRUE(link->Borrow(shared).ok());
}

TEST_F(Links, RefuseOtherHostsAndOffersWithoutMemory) {
  EXPECT_EQ(On([&] {
              return host_.OnRequest(reactor_.now(), "a", {"another boot"});
            }).socket_name,
            "");
  SharedMemoryServer none(reactor_, 0);
  EXPECT_EQ(On([&] {
              return none.OnRequest(reactor_.now(), "a", {BootId()});
            }).socket_name,
            "");
  EXPECT_FALSE(
      SharedMemoryClient::Join({"feedmill-nobody-listens-here", 1}).ok());
  EXPECT_FALSE(SharedMemoryClient::Join({std::string(200, 'x'), 1}).ok());
}

TEST_F(Links, MessagesGoThroughOneConnectionInOrder) {
  const auto link = Linked("a");
  // Messages sent before the link existed may still be on their way.
  const Sent first = SendTo("a", TextPart("first"));
  EXPECT_FALSE(first.locally);
  EXPECT_FALSE(link->Send({TextPart("too early")}));
  const Sent second = SendTo("a", TextPart("second"),
                             {Filled(Blocks(), kMiB, 2), TextPart("part")});
  EXPECT_TRUE(second.locally);
  EXPECT_TRUE(SendTo("a", TextPart("third")).locally);
  EXPECT_TRUE(link->Next().empty());
  EXPECT_TRUE(link->waits());
  ASSERT_TRUE(link->Borrow(first.shared).ok());
  EXPECT_EQ(Texts(link->Next()), (std::vector<std::string>{"second", "part"}));
  EXPECT_TRUE(AllAre(link->Borrow(second.shared)->at(0), 2));
  EXPECT_EQ(Texts(link->Next()), std::vector<std::string>{"third"});
  EXPECT_TRUE(link->Next().empty());
  EXPECT_FALSE(link->waits());
  EXPECT_TRUE(link->Send({TextPart("answer"), TextPart("")}));
  EXPECT_TRUE(Await([&] { return !heard_.empty(); }));
  EXPECT_EQ(Heard(), (std::vector<std::string>{"a", "answer", ""}));
}

TEST_F(Links, LargeMessagesUseTheSocketInOrder) {
  const auto link = Linked("a");
  ASSERT_TRUE(link->Borrow(SendTo("a", TextPart("first")).shared).ok());
  EXPECT_TRUE(SendTo("a", TextPart("second")).locally);
  const Sent large = SendTo("a", Filled(nullptr, 100 * kKiB, 1));
  EXPECT_FALSE(large.locally);
  EXPECT_TRUE(SendTo("a", TextPart("last")).locally);
  EXPECT_EQ(Texts(link->Next()), std::vector<std::string>{"second"});
  EXPECT_TRUE(link->Next().empty());
  EXPECT_TRUE(link->waits());
  ASSERT_TRUE(link->Borrow(large.shared).ok());
  EXPECT_EQ(Texts(link->Next()), std::vector<std::string>{"last"});
}

TEST_F(Links, AClientThatLosesTheSocketLosesTheLinkAndKeepsItsBytes) {
  const auto link = Linked("a");
  SendTo("a", TextPart("first"));
  auto borrowed = link->Borrow(
      SendTo("a", TextPart("second"), {Filled(Blocks(), kMiB, 6)}).shared);
  ASSERT_TRUE(borrowed.ok()) << borrowed.status();
  EXPECT_EQ(Texts(link->Next()), std::vector<std::string>{"second"});
  On([&] {
    host_.Leave("a");
    return 0;
  });
  EXPECT_FALSE(IsLinked("a"));
  EXPECT_TRUE(link->Next().empty());
  EXPECT_EQ(link->state(), SharedMemoryClient::State::kLost);
  for (int k = 0; k < 20; ++k) Filled(Blocks(), kMiB, 9);
  EXPECT_TRUE(AllAre(borrowed->front(), 6));
  EXPECT_EQ(LentBytes(), kMiB);
  const auto second = Linked("a");
  EXPECT_TRUE(IsLinked("a"));
}

TEST_F(Links, AHostThatDoesNotListenSaysNothingThere) {
  std::optional<SharedMemoryServer> quiet(std::in_place, reactor_, kArenaBytes);
  const ShareOffer offer =
      On([&] { return quiet->OnRequest(reactor_.now(), "a", {BootId()}); });
  auto link = SharedMemoryClient::Join(offer);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_TRUE(Await([&] { return ReadyAt(**link); }));
  ASSERT_TRUE(Await([&] { return quiet->LenderTo("a") != nullptr; }));
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(On([&] {
      const std::vector<Buffer> parts{TextPart("frame")};
      quiet->LenderTo("a")->Lend(parts);
      return quiet->Send("a", parts);
    }));
  }
  EXPECT_FALSE((*link)->Send({TextPart("grant")}));
  On([&] {
    quiet.reset();
    return 0;
  });
}

TEST_F(Links, LendNothingToARetiredClient) {
  const auto link = Linked("a");
  link->Retire();
  EXPECT_FALSE(IsLinked("a"));
  EXPECT_FALSE(link->Send({TextPart("x")}));
}

TEST_F(Links, NoiseFromAClientEndsItsLinkAlone) {
  const auto other = Linked("b");
  const auto link = Linked("a");
  const std::vector<std::byte> noise(100, std::byte{0xa5});
  ASSERT_TRUE(SendLocally(link->fd(), noise, {}).ok());
  EXPECT_TRUE(Await([&] { return host_.LenderTo("a") == nullptr; }));
  EXPECT_TRUE(IsLinked("b"));
  EXPECT_EQ(Heard(), std::vector<std::string>{});
}

TEST_F(Links, AskingAgainEndsTheOldLinksUse) {
  const auto first = Linked("a");
  OfferTo("a");
  EXPECT_FALSE(IsLinked("a"));
  const auto second = Linked("a");
  EXPECT_NE(Lend("a", {}).link, 0u);
  EXPECT_TRUE(IsLinked("a"));
}

}  // namespace
}  // namespace feedmill
