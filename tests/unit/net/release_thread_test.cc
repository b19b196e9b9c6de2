// Large memory is not released on the threads that carry heartbeats.
#include "core/net/release_thread.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/chunk/large_blocks.h"
#include "core/net/reactor.h"
#include "tests/unit/net/buffers.h"

namespace feedmill {
namespace {

constexpr Reactor::Limits kLimits{int64_t{1} << 30, 100};

std::atomic<int> g_passed_on = 0;

void CountAndFree(void* block, size_t) {
  std::free(block);
  if (!FreesElsewhere::Active()) return;
  ++g_passed_on;
  g_passed_on.notify_all();
}

Buffer Large() {
  return Filled(nullptr, kLargeBlockBytes + size_t{5} * kMiB + 17, 9);
}

class Quiet : public ReactorHandler {
 public:
  ~Quiet() override {
    reactor.Stop();
    reactor.Join();
  }
  void OnMessage(absl::Time, SocketId, std::string_view from,
                 std::vector<Buffer> parts) override {
    came.set_value({std::string(from), std::move(parts)});
  }
  void OnTurn(absl::Time) override {}
  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }

  std::promise<std::pair<std::string, std::vector<Buffer>>> came;
  Reactor reactor{"quiet"};
};

// Drops an owner by the thread; returns true if another thread dropped it.
bool DropsElsewhere() {
  std::promise<std::thread::id> dropped;
  ReleaseElsewhere(
      std::shared_ptr<int>(new int(1),
                           [&](int* own) {
                             delete own;
                             dropped.set_value(std::this_thread::get_id());
                           }),
      100);
  return dropped.get_future().get() != std::this_thread::get_id();
}

TEST(ReleaseThread, AChildOfForkHasOneOfItsOwn) {
  EXPECT_TRUE(DropsElsewhere());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // the child would wait for the parent's thread
    _exit(DropsElsewhere() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Blocks the thread until it is destroyed.
class BusyThread {
 public:
  BusyThread() {
    ReleaseElsewhere(std::shared_ptr<int>(new int(1),
                                          [this](int* own) {
                                            delete own;
                                            begun_.Notify();
                                            go_.WaitForNotification();
                                            done_.Notify();
                                          }),
                     1);
    begun_.WaitForNotification();
  }
  ~BusyThread() {
    go_.Notify();
    done_.WaitForNotification();  // the other thread still uses `go_`
  }

 private:
  absl::Notification begun_;
  absl::Notification go_;
  absl::Notification done_;
};

TEST(ReleaseThread, TheThreadThatDropsMoreThanTheBoundReleasesItItself) {
  BoundReleases(uint64_t{5} * kMiB);
  std::atomic<int> here = 0;
  const std::thread::id own = std::this_thread::get_id();
  const auto drop = [&] {
    ReleaseElsewhere(std::shared_ptr<int>(new int(1),
                                          [&here, own](int* block) {
                                            delete block;
                                            here += own ==
                                                    std::this_thread::get_id();
                                          }),
                     size_t{2} * kMiB);
  };
  {
    const BusyThread busy;
    drop();
    drop();
    EXPECT_EQ(here, 0);
    drop();
    EXPECT_EQ(here, 1);
  }
  EXPECT_TRUE(DropsElsewhere());  // after both that wait
  EXPECT_EQ(here, 1);
}

TEST(ReleaseThread, OneBlockMayAlwaysWait) {
  BoundReleases(0);
  while (!DropsElsewhere()) std::this_thread::yield();  // an earlier one waits
  BoundReleases(UINT64_MAX);
}

// Number of threads of this process by the name of a release thread.
int ReleaseThreads() {
  int found = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    found += name == "fm-release";
  }
  return found;
}

TEST(ReleaseThread, EndsWithoutWorkAndStartsAgain) {
  for (int k = 0; k < 2; ++k) {
    EXPECT_TRUE(DropsElsewhere());
    while (ReleaseThreads() > 0) absl::SleepFor(absl::Milliseconds(10));
  }
}

TEST(ReleaseThread, ReactorsPassOnLargeBlocksThatTheyDropOrHaveSent) {
  Quiet server;
  const auto port = server.reactor.Listen("127.0.0.1", 0, kLimits, {});
  ASSERT_TRUE(port.ok()) << port.status();
  Quiet client;
  const auto to = client.reactor.Connect(
      {"127.0.0.1", server.reactor.PortOf(*port)}, kLimits, {});
  ASSERT_TRUE(to.ok()) << to.status();
  server.reactor.Start(&server);
  client.reactor.Start(&client);
  SetBlockReleaser(&CountAndFree);  // after the reactors' memory
  g_passed_on = 0;
  { const Buffer own = Large(); }
  EXPECT_EQ(g_passed_on, 0);  // this thread frees by itself
  ASSERT_TRUE(
      client.reactor.Post([large = Large()]() mutable { large = Buffer(); }));
  g_passed_on.wait(0);
  // libzmq drops the block when it is sent.
  ASSERT_TRUE(client.reactor.Post([&, large = Large()]() mutable {
    client.reactor.Send(*to, "", {std::exchange(large, Buffer())});
  }));
  const auto [from, parts] = server.came.get_future().get();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(AllAre(parts[0], 9));
  g_passed_on.wait(1);
  EXPECT_EQ(g_passed_on, 2);
  InstallReleaseThread();
}

}  // namespace
}  // namespace feedmill
