// Memory-mapped files, and the process's SIGBUS handler.

#include "core/io/guarded_mapping.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

constexpr size_t kSize = 200'000;

std::unique_ptr<const GuardedMapping> Map(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_GE(fd, 0);
  auto mapping = GuardedMapping::Of(fd);
  close(fd);
  return mapping;
}

std::string Copy(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '?');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

// Returns an unguarded mapping of a file without bytes.
const volatile char* Faulty() {
  const int fd = memfd_create("faulty", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(fd, 4096), 0);
  void* const at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  EXPECT_NE(at, MAP_FAILED);
  EXPECT_EQ(ftruncate(fd, 0), 0);
  close(fd);
  return static_cast<const volatile char*>(at);
}

void Handle(void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ASSERT_EQ(sigaction(SIGBUS, &action, nullptr), 0);
}

// Installs the library's handler and checks that it works.
void FaultInAMapping() {
  TestFolder folder;
  const std::string path = folder.Write("a", std::string(kSize, 'a'));
  const auto mapping = Map(path);
  std::filesystem::resize_file(path, 0);
  if (Copy(mapping->bytes()) != std::string(kSize, '\0') || mapping->Sound()) {
    _exit(99);
  }
}

TEST(GuardedMapping, HasTheBytesOfTheFile) {
  TestFolder folder;
  const std::string text = "the text of a file";
  const auto mapping = Map(folder.Write("a", text));
  ASSERT_NE(mapping, nullptr);
  EXPECT_TRUE(GuardedMapping::Guarded());
  EXPECT_EQ(Copy(mapping->bytes()), text);
  EXPECT_TRUE(mapping->Sound());
}

TEST(GuardedMapping, AnEmptyFileHasNone) {
  TestFolder folder;
  EXPECT_EQ(Map(folder.Write("a", "")), nullptr);
}

TEST(GuardedMapping, ReadsZerosBeyondATruncationAndReportsIt) {
  TestFolder folder;
  const std::string path = folder.Write("a", std::string(kSize, 'a'));
  const auto cut = Map(path);
  const auto whole = Map(folder.Write("b", std::string(kSize, 'b')));
  EXPECT_EQ(Copy(cut->bytes().first(10)), "aaaaaaaaaa");
  std::filesystem::resize_file(path, 10'000);
  EXPECT_EQ(Copy(cut->bytes().first(10)), "aaaaaaaaaa");
  EXPECT_TRUE(cut->Sound()) << "nothing was read that is not there";
  const uint64_t faults = GuardedMapping::Faults();
  EXPECT_EQ(Copy(cut->bytes().last(10)), std::string(10, '\0'));
  EXPECT_FALSE(cut->Sound());
  EXPECT_EQ(GuardedMapping::Faults(), faults + 1);
  EXPECT_EQ(Copy(whole->bytes()), std::string(kSize, 'b'));
  EXPECT_TRUE(whole->Sound());
  // Permanent, but only for this mapping.
  folder.Write("a", std::string(kSize, 'c'));
  EXPECT_EQ(Copy(cut->bytes()), std::string(kSize, '\0'));
  EXPECT_FALSE(cut->Sound());
  const auto again = Map(path);
  EXPECT_EQ(Copy(again->bytes()), std::string(kSize, 'c'));
  EXPECT_TRUE(again->Sound());
}

TEST(GuardedMapping, IsSoundWhereAnotherStoodThatWasNot) {
  for (int turn = 0; turn < 10; ++turn) {
    FaultInAMapping();
    TestFolder folder;
    const auto mapping = Map(folder.Write("a", "text"));
    EXPECT_TRUE(mapping->Sound());
  }
}

TEST(GuardedMapping, GivesOutThousandsAndThenNone) {
  TestFolder folder;
  const std::string path = folder.Write("a", "text");
  std::vector<std::unique_ptr<const GuardedMapping>> mappings;
  while (auto mapping = Map(path)) {
    mappings.push_back(std::move(mapping));
    ASSERT_LT(mappings.size(), 100'000u);
  }
  EXPECT_GT(mappings.size(), 1'000u);
  mappings.pop_back();
  EXPECT_NE(Map(path), nullptr);
}

// One thread truncates the file while others read it: each reads the original
// bytes or gets an error.
TEST(GuardedMapping, TellsEveryThreadThatReadsMeanwhile) {
  TestFolder folder;
  const std::string text(kSize, 'a');
  for (int turn = 0; turn < 20; ++turn) {
    const std::string path = folder.Write(std::to_string(turn), text);
    const auto shared = Map(path);
    std::atomic<int> read = 0;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&, k] {
        const auto own = k % 2 == 0 ? Map(path) : nullptr;
        const GuardedMapping& mapping = own != nullptr ? *own : *shared;
        // The file is cut at 0 here, so truncated bytes are never seen as zeros
        // behind a new end.
        while (mapping.Sound()) {
          const std::string got = Copy(mapping.bytes());
          if (mapping.Sound()) {
            EXPECT_EQ(got, text);
          }
          ++read;
        }
      });
    }
    while (read < 4) std::this_thread::yield();
    std::filesystem::resize_file(path, 0);
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(shared->Sound());
  }
}

TEST(GuardedMapping, IsNotGuardedWhileAnothersHandlerIsThere) {
  TestFolder folder;
  const auto mapping = Map(folder.Write("a", "text"));
  ASSERT_TRUE(GuardedMapping::Guarded());
  struct sigaction ours;
  ASSERT_EQ(sigaction(SIGBUS, nullptr, &ours), 0);
  Handle([](int) {});
  EXPECT_FALSE(GuardedMapping::Guarded());
  // Another mapping changes nothing.
  EXPECT_NE(Map(folder / "a"), nullptr);
  EXPECT_FALSE(GuardedMapping::Guarded());
  ASSERT_EQ(sigaction(SIGBUS, &ours, nullptr), 0);
  EXPECT_TRUE(GuardedMapping::Guarded());
}

TEST(GuardedMapping, IsNotGuardedInAThreadThatBlocksTheSignal) {
  TestFolder folder;
  const auto mapping = Map(folder.Write("a", "text"));
  std::thread([] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
    EXPECT_FALSE(GuardedMapping::Guarded());
  }).join();
  EXPECT_TRUE(GuardedMapping::Guarded());
}

TEST(GuardedMapping, BearsASignalStackOfTheThread) {
  std::thread([] {
    std::vector<char> memory(64 << 10);
    stack_t stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    FaultInAMapping();
    stack.ss_flags = SS_DISABLE;
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  }).join();
}

// ---- SIGBUS outside mappings; each case in a new process
class OtherBusErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  }
};
using OtherBusErrorsDeathTest = OtherBusErrors;

TEST_F(OtherBusErrorsDeathTest, EndTheProcessWithoutAnotherHandler) {
  const auto fault = [] {
    Handle(SIG_DFL);  // removes a sanitizer's handler
    FaultInAMapping();
    _exit(*Faulty());
  };
  EXPECT_EXIT(fault(), ::testing::KilledBySignal(SIGBUS), "");
  const auto send = [] {
    Handle(SIG_DFL);
    FaultInAMapping();
    raise(SIGBUS);
    _exit(0);
  };
  EXPECT_EXIT(send(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(OtherBusErrorsDeathTest, GoToTheHandlerThatWasThereBefore) {
  const auto simple = [] {
    Handle([](int number) { _exit(number == SIGBUS ? 7 : 1); });
    FaultInAMapping();
    _exit(*Faulty());
  };
  EXPECT_EXIT(simple(), ::testing::ExitedWithCode(7), "");
  const auto informed = [] {
    static const volatile char* faulty = nullptr;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void* context) {
      _exit(info->si_addr == const_cast<char*>(faulty) && context ? 8 : 1);
    };
    sigaction(SIGBUS, &action, nullptr);
    FaultInAMapping();
    faulty = Faulty();
    _exit(*faulty);
  };
  EXPECT_EXIT(informed(), ::testing::ExitedWithCode(8), "");
}

// Like Python's faulthandler.
TEST_F(OtherBusErrorsDeathTest, GoToOneThatPutsTheUsualBackAndSendsThemAgain) {
  const auto again = [] {
    Handle(
        [](int number) {
          Handle(SIG_DFL);
          raise(number);
        },
        SA_NODEFER);
    FaultInAMapping();
    _exit(*Faulty());
  };
  EXPECT_EXIT(again(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(OtherBusErrorsDeathTest, ReachAOneShotHandlerOnce) {
  const auto once = [] {
    Handle([](int) {}, static_cast<int>(SA_RESETHAND));
    FaultInAMapping();
    _exit(*Faulty());
  };
  EXPECT_EXIT(once(), ::testing::KilledBySignal(SIGBUS), "");
}

// A handler installed later that forwards signals to the library's.
TEST_F(OtherBusErrorsDeathTest, GoRoundNoCircle) {
  const auto later = [] {
    Handle(SIG_DFL);
    FaultInAMapping();
    static struct sigaction ours;
    struct sigaction action {};
    action.sa_handler = [](int number) {
      sigaction(SIGBUS, &ours, nullptr);
      raise(number);
    };
    action.sa_flags = SA_NODEFER;
    sigaction(SIGBUS, &action, &ours);
    _exit(*Faulty());
  };
  EXPECT_EXIT(later(), ::testing::KilledBySignal(SIGBUS), "");
}

TEST_F(OtherBusErrorsDeathTest, StayIgnoredIfTheyWereSentAndIgnored) {
  const auto ignored = [] {
    Handle(SIG_IGN);
    FaultInAMapping();
    raise(SIGBUS);
    _exit(3);
  };
  EXPECT_EXIT(ignored(), ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace feedmill
