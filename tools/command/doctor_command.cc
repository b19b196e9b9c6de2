#include <netdb.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/printable_text.h"
#include "core/base/release.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/security.h"
#include "core/process/process_quota.h"
#include "core/process/thread_limit.h"
#include "core/wire/message.h"
#include "feedmill/reader.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/security_flags.h"
#include "tools/command/service_findings.h"

namespace feedmill {
namespace {

constexpr char kDoctorSummary[] =
    "Checks this machine's limits and, with --service, whether a dispatcher "
    "and\n"
    "its workers can be reached from here. Each line says what to do.";
constexpr char kDoctorExamples[] =
    "Exit status: 0 if nothing failed, 1 if something did.\n"
    "\n"
    "Examples:\n"
    "  feedmill doctor\n"
    "  feedmill doctor --service tcp://10.0.0.1:5050";

constexpr rlim_t kFilesWanted = 4'096;
constexpr size_t kThreadsWanted = 64;
constexpr size_t kWorkersTried = 32;
constexpr absl::Duration kConnectTime = absl::Seconds(2);

using Level = Finding::Level;

Finding CheckFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kFilesWanted) {
    return {Level::kOk, "open files",
            fmt::format("at most {}", limit.rlim_max)};
  }
  return {Level::kWarning, "open files",
          fmt::format("at most {}: a server takes few connections; raise the "
                      "hard limit (ulimit -Hn) to {}",
                      limit.rlim_max, kFilesWanted)};
}

Finding CheckThreadLimit() {
  const absl::Status status =
      CheckThreads(kThreadsWanted, "raise it, or use fewer threads");
  if (status.ok()) {
    return {Level::kOk, "threads",
            fmt::format("{} more can be had; {} CPUs", kThreadsWanted,
                        AvailableCpus())};
  }
  return {Level::kFailure, "threads", ErrorText(status)};
}

// Checks the memory that a worker shares with readers on its host.
Finding CheckSharedMemory() {
  const int fd = memfd_create("feedmill-doctor", MFD_CLOEXEC);
  const bool made = fd >= 0 && ftruncate(fd, 1 << 20) == 0;
  void* const memory =
      made ? mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
           : MAP_FAILED;
  const int error = errno;
  if (memory != MAP_FAILED) munmap(memory, 1 << 20);
  if (fd >= 0) close(fd);
  if (memory != MAP_FAILED) {
    return {Level::kOk, "shared memory", "can be made"};
  }
  return {Level::kWarning, "shared memory",
          fmt::format("cannot be made ({}): elements of workers on this host "
                      "go over TCP, which costs CPU",
                      std::strerror(error))};
}

Finding CheckClock() {
  timex state{};
  if (adjtimex(&state) != TIME_ERROR) {
    return {Level::kOk, "clock", "is synchronized"};
  }
  return {Level::kWarning, "clock",
          "is not synchronized: times in logs of several machines do not "
          "match; run an NTP client"};
}

// Returns 0 if a connection can be made, else errno.
int ConnectError(const addrinfo& to) {
  const int fd = socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  int error = 0;
  if (connect(fd, to.ai_addr, to.ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    pollfd item{fd, POLLOUT, 0};
    const auto ms = static_cast<int>(absl::ToInt64Milliseconds(kConnectTime));
    socklen_t size = sizeof(error);
    if (poll(&item, 1, ms) <= 0) {
      error = ETIMEDOUT;
    } else {
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  close(fd);
  return error;
}

// A name may have several addresses; one that accepts is enough.
absl::Status TryConnect(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(address.host.c_str(), fmt::format("{}", address.port).c_str(),
                  &hints, &found);
  if (failed != 0) {
    return NotFound("the name '{}' is not known here: {}", address.host,
                    gai_strerror(failed));
  }
  int error = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    error = ConnectError(*each);
    if (error == 0) break;
  }
  freeaddrinfo(found);
  if (error == 0) return absl::OkStatus();
  return Unavailable("{}", std::strerror(error));
}

Finding CheckWorker(const std::string& name) {
  const std::string at = SplitKey(name).address;
  const absl::StatusOr<Address> address = ParseAddress(at);
  const absl::Status status =
      address.ok() ? TryConnect(*address) : address.status();
  if (status.ok()) return {Level::kOk, "worker", at + " can be reached"};
  return {Level::kFailure, "worker",
          fmt::format("{} cannot be reached from here: {}; start it with "
                      "--advertise HOST:PORT that this machine reaches, open "
                      "the port, or read with --via dispatcher",
                      at, ErrorText(status))};
}

void CheckService(const std::string& service, const std::string& cluster_id,
                  const SecurityConfig& security, absl::Duration timeout,
                  std::vector<Finding>& findings) {
  const absl::StatusOr<Address> address = ParseAddress(service);
  const absl::Status connected =
      address.ok() ? TryConnect(*address) : address.status();
  if (!connected.ok()) {
    findings.push_back(
        {Level::kFailure, "dispatcher",
         fmt::format("nothing listens at {}: {}; is it running, is the address "
                     "right, is the port open?",
                     service, ErrorText(connected))});
    return;
  }
  const absl::Time begun = absl::Now();
  const absl::StatusOr<std::string> text =
      FetchStatus(service, timeout, cluster_id, security);
  if (!text.ok()) {
    findings.push_back(
        {Level::kFailure, "dispatcher", ErrorText(text.status())});
    return;
  }
  const nlohmann::json status = nlohmann::json::parse(*text, nullptr, false);
  const nlohmann::json workers = status.is_object()
                                     ? status.value("workers", nlohmann::json())
                                     : nlohmann::json();
  findings.push_back(
      {Level::kOk, "dispatcher",
       fmt::format("{} answers after {:.0f} ms, and understands this release",
                   service, absl::ToDoubleMilliseconds(absl::Now() - begun))});
  for (Finding& finding : JudgeService(status, ReleaseName())) {
    findings.push_back(std::move(finding));
  }
  if (!workers.is_array() || workers.empty()) {
    findings.push_back({Level::kFailure, "workers",
                        fmt::format("there are none; start one: feedmill "
                                    "worker --dispatcher {}",
                                    service)});
    return;
  }
  for (size_t k = 0; k < std::min(workers.size(), kWorkersTried); ++k) {
    if (!workers[k].is_object()) continue;
    findings.push_back(CheckWorker(workers[k].value("address", "")));
  }
  if (workers.size() > kWorkersTried) {
    findings.push_back({Level::kOk, "workers",
                        fmt::format("{} more were not tried",
                                    workers.size() - kWorkersTried)});
  }
}

const char* LevelName(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kFailure:
      return "failed";
  }
  return "";
}

}  // namespace

absl::StatusOr<int> RunDoctor(const Invocation& invocation) {
  std::string service;
  std::string cluster_id;
  SecurityConfig security;
  absl::Duration timeout = absl::Seconds(4);
  FlagSet flags("doctor", kDoctorSummary, kDoctorExamples);
  flags.Text("--service", "HOST:PORT",
             "Address of a dispatcher; default: only this machine is checked",
             &service);
  flags.Duration("--timeout", "Longest wait for an answer", &timeout);
  flags.Text("--cluster-id", "NAME", "Refuse a dispatcher of another cluster",
             &cluster_id);
  DeclareKeys(flags, &security);
  DeclareServerKey(flags, &security);
  flags.Configurable();
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  std::vector<Finding> findings{
      {Level::kOk, "release",
       fmt::format("{}, protocol version {}", ReleaseName(), kProtocolVersion)},
      CheckFiles(),
      CheckThreadLimit(),
      CheckSharedMemory(),
      CheckClock()};
  if (!service.empty()) {
    CheckService(service, cluster_id, security, timeout, findings);
  }
  bool failed = false;
  for (const Finding& finding : findings) {
    failed = failed || finding.level == Level::kFailure;
    fmt::print("{:<8} {:<14} {}\n", LevelName(finding.level), finding.subject,
               PrintableText(finding.text));
  }
  return failed ? kExitFailure : kExitSuccess;
}

}  // namespace feedmill
