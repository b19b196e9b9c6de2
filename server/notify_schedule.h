#ifndef FEEDMILL_SERVER_NOTIFY_SCHEDULE_H_
#define FEEDMILL_SERVER_NOTIFY_SCHEDULE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedmill {

// Variables that a service manager sets (sd_notify(3), sd_watchdog_enabled(3)).
// A variable that is not set is empty here.
struct NotifyVariables {
  std::string_view socket{};         // NOTIFY_SOCKET
  std::string_view watchdog_usec{};  // WATCHDOG_USEC
  std::string_view watchdog_pid{};   // WATCHDOG_PID
};

struct NotifyTarget {
  std::string socket;  // a path, or '@' and an abstract name
  // Longest silence before the manager restarts the service.
  absl::Duration watchdog = absl::InfiniteDuration();
};

// Returns nullopt if no service manager listens. The watchdog is off where
// WATCHDOG_PID names another process than `pid`. InvalidArgument names the
// variable that is wrong.
absl::StatusOr<std::optional<NotifyTarget>> ParseNotifyVariables(
    const NotifyVariables& variables, int pid);

// Decides when a service is checked, and which message each check yields.
//
// The watchdog is fed only by OnProgress. Call it after the event loop of the
// service has answered a question, so that a loop that hangs is found.
class NotifySchedule {
 public:
  explicit NotifySchedule(absl::Duration watchdog);

  // Time of the next check. The first is due at once; afterwards four fall into
  // the watchdog's period, and at least one into kMaxInterval.
  absl::Time NextCheck() const { return next_check_; }
  // Returns the message after the service has answered: readiness once, the
  // status when it changed, and food for the watchdog. "" if there is no news.
  std::string OnProgress(absl::Time now, std::string_view status);
  // The service did not answer: there is no message.
  void OnSilence(absl::Time now);
  // Returns the message for a service that begins to stop.
  std::string OnStopping();

  static constexpr absl::Duration kMaxInterval = absl::Seconds(5);

 private:
  const bool has_watchdog_;
  const absl::Duration interval_;
  absl::Time next_check_ = absl::InfinitePast();
  bool ready_ = false;
  std::string status_;
};

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_NOTIFY_SCHEDULE_H_
