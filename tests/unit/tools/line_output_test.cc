#include "tools/command/line_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/base/status.h"

namespace feedmill {
namespace {

using ::testing::HasSubstr;

// A pipe whose read end belongs to this test.
class HeldPipe {
 public:
  HeldPipe() {
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
  }
  ~HeldPipe() {
    CloseReader();
    CloseWriter();
  }
  int writer() const { return ends_[1]; }
  void CloseReader() { Close(ends_[0]); }
  void CloseWriter() { Close(ends_[1]); }
  std::string Read() const {
    std::string text(size_t{1} << 16, '\0');
    const ssize_t got = read(ends_[0], text.data(), text.size());
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }

 private:
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  int ends_[2];
};

// `count` lines of `bytes` each, and their ends.
struct TestLines {
  TestLines(size_t count, size_t bytes) {
    for (size_t k = 0; k < count; ++k) {
      text += std::string(bytes - 1, static_cast<char>('a' + k % 26)) + '\n';
      ends.push_back(text.size());
    }
  }
  std::string text;
  std::vector<size_t> ends;
};

class LineOutputTest : public ::testing::Test {
 protected:
  absl::Status Write(LineOutput& output, const TestLines& lines,
                     const std::function<bool()>& go_on = {}) {
    return output.Write(lines.text, lines.ends, written_, go_on);
  }

  std::atomic<bool> cancel_ = false;
  std::atomic<uint64_t> written_ = 0;
};

TEST_F(LineOutputTest, TellsAGoneReaderFromOtherErrors) {
  HeldPipe pipe;
  pipe.CloseReader();
  LineOutput gone(pipe.writer(), cancel_);
  EXPECT_EQ(Write(gone, TestLines(1, 2)).code(), absl::StatusCode::kAborted);
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  LineOutput full(fd, cancel_);
  EXPECT_EQ(Write(full, TestLines(1, 2)).code(),
            absl::StatusCode::kUnavailable);
  close(fd);
  EXPECT_EQ(written_, 0);
}

TEST_F(LineOutputTest, WaitsForANonBlockingPipe) {
  HeldPipe pipe;
  fcntl(pipe.writer(), F_SETFL, O_NONBLOCK);
  const TestLines lines(3, size_t{1} << 19);
  std::string got;
  std::thread reader([&] {
    while (got.size() < lines.text.size()) got += pipe.Read();
  });
  LineOutput output(pipe.writer(), cancel_);
  EXPECT_TRUE(Write(output, lines).ok());
  reader.join();
  EXPECT_EQ(got, lines.text);
  EXPECT_EQ(written_, 3);
}

TEST_F(LineOutputTest, StopsBetweenTwoLinesOfAPipeThatIsFull) {
  const TestLines lines(200, 1'000);
  HeldPipe pipe;
  ASSERT_EQ(fcntl(pipe.writer(), F_SETPIPE_SZ, 1 << 16), 1 << 16);
  LineOutput output(pipe.writer(), cancel_);
  int calls = 0;
  const absl::Status stopped = Write(output, lines, [&] {
    cancel_ = ++calls == 16;  // one page per call; the pipe has 16
    return true;
  });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled) << stopped;
  EXPECT_EQ(written_, 64);
  pipe.CloseWriter();
  std::string got;
  for (std::string part; !(part = pipe.Read()).empty();) got += part;
  EXPECT_EQ(got, lines.text.substr(0, 64'000));
}

TEST_F(LineOutputTest, FinishesTheLineThatAStopMeets) {
  // The pipe holds less than a third of a line.
  const TestLines lines(3, 300'000);
  HeldPipe pipe;
  LineOutput output(pipe.writer(), cancel_, absl::Seconds(60));
  std::string got;
  std::thread reader([&] {
    for (std::string part; !(part = pipe.Read()).empty();) {
      got += part;
      cancel_ = got.size() > 300'000;
    }
  });
  const absl::Status stopped = Write(output, lines);
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled) << stopped;
  pipe.CloseWriter();
  reader.join();
  EXPECT_EQ(written_, 2);
  EXPECT_EQ(got, lines.text.substr(0, 600'000));
}

TEST_F(LineOutputTest, EndsAtAStopAlthoughTheLineIsNotRead) {
  HeldPipe pipe;
  LineOutput output(pipe.writer(), cancel_, absl::Milliseconds(10));
  const absl::Status stopped = Write(output, TestLines(1, 3'000'000), [&] {
    cancel_ = true;
    return true;
  });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled) << stopped;
  EXPECT_THAT(ErrorText(stopped), HasSubstr("rest of the last line"));
  EXPECT_EQ(written_, 0);
}

TEST_F(LineOutputTest, ReportsWrittenLinesBeforeItWaits) {
  const TestLines lines(17, 4'096);
  HeldPipe pipe;
  ASSERT_EQ(fcntl(pipe.writer(), F_SETPIPE_SZ, 1 << 16), 1 << 16);
  LineOutput output(pipe.writer(), cancel_);
  EXPECT_TRUE(Write(output, lines, [&] { return written_ < 16; }).ok());
  EXPECT_EQ(written_, 16);
}

TEST_F(LineOutputTest, WritesNothingWhenItMayNotContinue) {
  HeldPipe pipe;
  LineOutput output(pipe.writer(), cancel_);
  int calls = 0;
  EXPECT_TRUE(
      Write(output, TestLines(9, 3'000), [&] { return ++calls < 3; }).ok());
  EXPECT_EQ(written_, 2);
  EXPECT_EQ(pipe.Read().size(), 6'000);
}

TEST_F(LineOutputTest, CutsHalfALineOffAFile) {
  const std::string path = ::testing::TempDir() + "feedmill-lines-XXXXXX";
  std::string name = path;
  const int fd = mkstemp(name.data());
  ASSERT_GE(fd, 0);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{1'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const TestLines lines(10, 300);
  LineOutput output(fd, cancel_);
  const absl::Status status = Write(output, lines);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(written_, 3);
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  EXPECT_EQ(text.str(), lines.text.substr(0, 900));
  close(fd);
  unlink(name.c_str());
}

}  // namespace
}  // namespace feedmill
