#include "tools/command/read_watch.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace feedmill {
namespace {

// Formats 1234567 as "1,234,567".
std::string WithCommas(uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

// Formats 125 as "2:05" and 4000 as "1:06:40".
std::string TimeText(double seconds) {
  const auto whole = static_cast<uint64_t>(std::min(seconds, 1e9) + 0.5);
  const uint64_t hours = whole / 3600;
  if (hours == 0) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60);
}

bool ReaderGone(int fd) {
  pollfd wait{fd, 0, 0};
  return poll(&wait, 1, 0) > 0 && (wait.revents & POLLERR) != 0;
}

}  // namespace

std::string ProgressLine(const ReadProgress& progress) {
  const double seconds =
      std::max(1e-3, absl::ToDoubleSeconds(progress.elapsed));
  const auto rate =
      static_cast<uint64_t>(static_cast<double>(progress.elements) / seconds);
  std::string line = fmt::format(
      "{} {}  {}/s  {:.1f} MB/s", WithCommas(progress.elements), progress.unit,
      WithCommas(rate), static_cast<double>(progress.bytes) / seconds / 1e6);
  if (progress.total.has_value() && *progress.total > 0) {
    const double part = std::min(1.0, static_cast<double>(progress.elements) /
                                          static_cast<double>(*progress.total));
    constexpr size_t kWidth = 20;
    const auto filled = static_cast<size_t>(part * kWidth);
    line += fmt::format("  [{}{}] {} %", std::string(filled, '='),
                        std::string(kWidth - filled, ' '),
                        static_cast<int>(part * 100));
    if (part > 0 && part < 1) {
      line += "  " + TimeText(seconds / part * (1 - part)) + " left";
    }
  }
  return line;
}

ReadWatch::ReadWatch(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

ReadWatch::~ReadWatch() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
  thread_.join();
  if (options_.draw) {
    std::fprintf(stderr, "\r\033[K%s\n",
                 ProgressLine(options_.progress()).c_str());
  }
}

void ReadWatch::Run() {
  std::unique_lock lock(mutex_);
  bool reported = false;
  while (!ended_changed_.wait_for(lock, std::chrono::milliseconds(200),
                                  [this] { return ended_; })) {
    if (!reported && options_.output_fd >= 0 &&
        ReaderGone(options_.output_fd)) {
      reported = true;
      options_.on_closed_output();
    }
    if (options_.draw) {
      std::fprintf(stderr, "\r\033[K%s",
                   ProgressLine(options_.progress()).c_str());
    }
  }
}

}  // namespace feedmill
