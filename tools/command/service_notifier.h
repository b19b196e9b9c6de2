#ifndef FEEDMILL_TOOLS_COMMAND_SERVICE_NOTIFIER_H_
#define FEEDMILL_TOOLS_COMMAND_SERVICE_NOTIFIER_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "monitoring/monitor.h"
#include "server/notify_schedule.h"

namespace feedmill {

// Reports readiness, status and liveness to the service manager that started
// this process (systemd's Type=notify). Does nothing without NOTIFY_SOCKET.
//
// Each check asks the service's event loop for its numbers and waits for the
// answer. A loop that hangs does not answer, so that the watchdog is not fed.
//
// Thread-safety: one thread.
class ServiceNotifier {
 public:
  // `sources` must outlive the notifier. InvalidArgument if a variable of the
  // service manager is wrong.
  static absl::StatusOr<ServiceNotifier> FromEnvironment(
      const MonitorSources& sources);
  // Sends to `target`; nullopt: nowhere.
  ServiceNotifier(const MonitorSources& sources,
                  std::optional<NotifyTarget> target);

  // Time at which Check is due. InfiniteFuture without a service manager.
  absl::Time NextCheck() const;
  // Asks the service, and sends what the schedule says. Waits for the answer
  // for 5 s at most.
  void Check();
  // Sends that the service begins to stop.
  void Stopping();

 private:
  void Send(const std::string& message);

  const MonitorSources* sources_;
  std::optional<NotifyTarget> target_;
  NotifySchedule schedule_;
  bool failed_ = false;  // the last Send; logged once in a row
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SERVICE_NOTIFIER_H_
