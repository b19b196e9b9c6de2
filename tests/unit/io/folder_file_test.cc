// Files written by processes that may be killed.
#include "core/io/folder_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t Count(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

Unfinished State(const std::string& path) {
  return StateOf(fs::directory_entry(path));
}

// A process that runs `work`, which may end it, and waits to be killed.
class Child {
 public:
  template <class Work>
  explicit Child(Work work) : id_(fork()) {
    if (id_ != 0) return;
    work();
    while (true) pause();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { Kill(); }

  void Kill() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  pid_t id_;
};

template <class Condition>
bool WaitFor(Condition condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Returns the first unfinished file in a folder; "" if there is none.
std::string UnfinishedIn(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".new") return entry.path();
  }
  return "";
}

TEST(FolderFile, IsThereWholeAndAlone) {
  const TestFolder folder;
  const std::string inner = folder / "a/b";
  ASSERT_TRUE(WriteIntoFolder(inner, "name", "text").ok());
  ASSERT_TRUE(WriteIntoFolder(inner, "name", "another").ok());
  EXPECT_EQ(Content(inner + "/name"), "another");
  EXPECT_EQ(Count(inner), 1u);
  EXPECT_EQ(State(inner + "/name"), Unfinished::kNone);
  const absl::Status refused = WriteIntoFolder("/proc/none", "name", "text");
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
}

TEST(FolderFile, IsAbandonedOnceItsWriterIsGone) {
  const TestFolder folder;
  const std::string path = folder / "x.new";
  Child writer([&path] {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    if (flock(file, LOCK_EX) != 0 || write(file, "a part", 6) != 6) _exit(1);
  });
  ASSERT_TRUE(WaitFor([&path] { return Content(path) == "a part"; }));
  EXPECT_EQ(State(path), Unfinished::kBeingWritten);
  EXPECT_EQ(DropUnfinished(fs::directory_entry(path)),
            Unfinished::kBeingWritten);
  EXPECT_TRUE(fs::exists(path));
  writer.Kill();
  EXPECT_EQ(State(path), Unfinished::kAbandoned);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(DropUnfinished(fs::directory_entry(path)), Unfinished::kAbandoned);
  EXPECT_FALSE(fs::exists(path));
}

TEST(FolderFile, AWriterHoldsTheLockUntilItIsKilled) {
  for (int trial = 0; trial < 10; ++trial) {
    const TestFolder folder;
    Child writer([&folder] {
      const std::string text(size_t{4} << 20, 'x');
      for (int k = 0;; ++k) {
        if (!WriteIntoFolder(folder.path(), std::to_string(k % 3), text).ok()) {
          _exit(1);
        }
      }
    });
    // Between its creation and its lock a file may look abandoned. A file with
    // bytes has been locked.
    size_t looks = 0;
    ASSERT_TRUE(WaitFor([&folder, &looks] {
      const std::string path = UnfinishedIn(folder.path());
      std::error_code gone;
      if (path.empty() || fs::file_size(path, gone) == 0 || gone) return false;
      EXPECT_NE(State(path), Unfinished::kAbandoned);
      return ++looks == 20;
    }));
    writer.Kill();
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      const bool unfinished = entry.path().extension() == ".new";
      EXPECT_EQ(DropUnfinished(entry),
                unfinished ? Unfinished::kAbandoned : Unfinished::kNone);
      EXPECT_EQ(fs::exists(entry.path()), !unfinished);
    }
  }
}

TEST(FolderFile, IsWrittenAlthoughOthersCleanMeanwhile) {
  const TestFolder folder;
  std::atomic<bool> done = false;
  std::thread cleaner([&folder, &done] {
    while (!done) {
      std::error_code error;
      for (fs::directory_iterator at(folder.path(), error), end;
           !error && at != end; at.increment(error)) {
        DropUnfinished(*at);
      }
    }
  });
  for (int k = 0; k < 2000; ++k) {
    const absl::Status status =
        WriteIntoFolder(folder.path(), "name", std::to_string(k));
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(Content(folder / "name"), std::to_string(k));
  }
  done = true;
  cleaner.join();
  EXPECT_EQ(Count(folder.path()), 1u);
}

TEST(FolderFile, ReplacesAFileAmongOthers) {
  const TestFolder folder;
  const std::string path = folder.Write("ready", "old");
  folder.Write("ready.12-3.new", "of a killed writer");
  folder.Write("ready.old.new", "of somebody");
  folder.Write("ready2.12-3.new", "of another");
  DropUnfinishedOf(path);
  EXPECT_EQ(Count(folder.path()), 3u);
  EXPECT_FALSE(fs::exists(folder / "ready.12-3.new"));
  ASSERT_TRUE(ReplaceFile(path, "new").ok());
  EXPECT_EQ(Content(path), "new");
  EXPECT_EQ(Count(folder.path()), 3u);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path).permissions()),
            0666u & ~mask);
  EXPECT_FALSE(ReplaceFile(folder / "none/ready", "new").ok());
}

}  // namespace
}  // namespace feedmill
