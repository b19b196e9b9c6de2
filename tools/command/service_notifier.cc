#include "tools/command/service_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

std::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// One line for `systemctl status`. An error if the event loop did not answer.
absl::StatusOr<std::string> StatusLine(const MonitorSources& sources) {
  std::string line;
  if (sources.dispatcher) {
    FM_ASSIGN_OR_RETURN(const DispatcherSnapshot snapshot,
                        sources.dispatcher());
    line = fmt::format("{}, {}, {}", Counted(snapshot.workers.size(), "worker"),
                       Counted(snapshot.jobs.size(), "job"),
                       Counted(snapshot.sessions, "reader"));
  }
  if (!sources.worker) return line.empty() ? "serving" : line;
  FM_ASSIGN_OR_RETURN(const WorkerStatus worker, sources.worker());
  if (!line.empty()) line += "; ";
  const std::string leases = Counted(worker.leases, "lease");
  if (worker.draining) {
    line += fmt::format("draining, {}", leases);
  } else if (worker.registered) {
    line += fmt::format("works for {}, {}", worker.dispatcher, leases);
  } else {
    line += fmt::format("waits for the dispatcher at {}", worker.dispatcher);
  }
  return line;
}

// Sends one datagram; errno, or 0.
int SendDatagram(const std::string& path, const std::string& text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  // Non-blocking: a manager that does not read must not stop the service.
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const ssize_t sent =
      sendto(fd, text.data(), text.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), size);
  const int error = sent < 0 ? errno : 0;
  close(fd);
  return error;
}

}  // namespace

absl::StatusOr<ServiceNotifier> ServiceNotifier::FromEnvironment(
    const MonitorSources& sources) {
  FM_ASSIGN_OR_RETURN(
      std::optional<NotifyTarget> target,
      ParseNotifyVariables({.socket = Variable("NOTIFY_SOCKET"),
                            .watchdog_usec = Variable("WATCHDOG_USEC"),
                            .watchdog_pid = Variable("WATCHDOG_PID")},
                           getpid()));
  return ServiceNotifier(sources, std::move(target));
}

ServiceNotifier::ServiceNotifier(const MonitorSources& sources,
                                 std::optional<NotifyTarget> target)
    : sources_(&sources),
      target_(std::move(target)),
      schedule_(target_.has_value() ? target_->watchdog
                                    : absl::InfiniteDuration()) {}

absl::Time ServiceNotifier::NextCheck() const {
  return target_.has_value() ? schedule_.NextCheck() : absl::InfiniteFuture();
}

void ServiceNotifier::Check() {
  if (!target_.has_value()) return;
  const absl::StatusOr<std::string> line = StatusLine(*sources_);
  if (line.ok()) {
    Send(schedule_.OnProgress(SteadyNow(), *line));
  } else {
    schedule_.OnSilence(SteadyNow());
    LogDebug("no news for the service manager: {}", ErrorText(line.status()));
  }
}

void ServiceNotifier::Stopping() {
  if (target_.has_value()) Send(schedule_.OnStopping());
}

void ServiceNotifier::Send(const std::string& message) {
  if (message.empty()) return;
  const int error = SendDatagram(target_->socket, message);
  if (error != 0 && !failed_) {
    LogWarning("cannot notify the service manager at '{}' (NOTIFY_SOCKET): {}",
               target_->socket, std::strerror(error));
  }
  failed_ = error != 0;
}

}  // namespace feedmill
