#include "server/notify_schedule.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "core/base/status.h"

namespace feedmill {
namespace {

// sizeof(sockaddr_un::sun_path), without its last 0.
constexpr size_t kSocketPathMax = 107;

absl::StatusOr<int64_t> PositiveNumber(std::string_view name,
                                       std::string_view text) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) {
    return InvalidArgument("{} is '{}', which is no positive number", name,
                           text);
  }
  return value;
}

}  // namespace

absl::StatusOr<std::optional<NotifyTarget>> ParseNotifyVariables(
    const NotifyVariables& variables, int pid) {
  if (variables.socket.empty()) return std::optional<NotifyTarget>();
  const char kind = variables.socket.front();
  if ((kind != '/' && kind != '@') ||
      variables.socket.size() > kSocketPathMax) {
    return InvalidArgument(
        "NOTIFY_SOCKET is '{}'; it must be an absolute path, or '@' and a "
        "name, of at most {} bytes",
        variables.socket, kSocketPathMax);
  }
  NotifyTarget target{.socket = std::string(variables.socket)};
  if (variables.watchdog_usec.empty()) return target;
  if (!variables.watchdog_pid.empty()) {
    FM_ASSIGN_OR_RETURN(const int64_t watched,
                        PositiveNumber("WATCHDOG_PID", variables.watchdog_pid));
    if (watched != pid) return target;
  }
  FM_ASSIGN_OR_RETURN(const int64_t period,
                      PositiveNumber("WATCHDOG_USEC", variables.watchdog_usec));
  target.watchdog = absl::Microseconds(period);
  return target;
}

NotifySchedule::NotifySchedule(absl::Duration watchdog)
    : has_watchdog_(watchdog < absl::InfiniteDuration()),
      interval_(std::min(watchdog / 4, kMaxInterval)) {}

std::string NotifySchedule::OnProgress(absl::Time now,
                                       std::string_view status) {
  next_check_ = now + interval_;
  std::string message;
  if (!ready_) message += "READY=1\n";
  ready_ = true;
  if (status != status_) {
    status_ = status;
    std::string line = status_;
    std::replace(line.begin(), line.end(), '\n', ' ');
    message += "STATUS=" + line + "\n";
  }
  if (has_watchdog_) message += "WATCHDOG=1\n";
  return message;
}

void NotifySchedule::OnSilence(absl::Time now) {
  next_check_ = now + interval_;
}

std::string NotifySchedule::OnStopping() {
  status_ = "stopping";
  return "STOPPING=1\nSTATUS=stopping\n";
}

}  // namespace feedmill
