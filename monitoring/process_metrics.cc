#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

#include "core/base/release.h"
#include "core/base/status.h"
#include "core/wire/message.h"
#include "monitoring/metrics.h"

namespace feedmill {
namespace {

// Fields 22 (start, in ticks since the machine's start), 23 (virtual bytes) and
// 24 (resident pages) of /proc/self/stat. Parsing begins after the process
// name, which is in parentheses and may contain spaces.
struct ProcessStat {
  double start_ticks = 0;
  double virtual_bytes = 0;
  double resident_pages = 0;
};

ProcessStat ReadProcessStat() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  const size_t name_end = text.rfind(')');
  ProcessStat stat;
  if (name_end == text.npos) return stat;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  constexpr int kFieldsBefore = 19;  // fields 3 to 21
  for (int k = 0; k < kFieldsBefore; ++k) fields >> skipped;
  fields >> stat.start_ticks >> stat.virtual_bytes >> stat.resident_pages;
  return stat;
}

// Returns the machine's start time in seconds since the Unix epoch.
double BootTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  while (file >> word) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

double OpenDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  double count = 0;
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    ++count;
  }
  return count;
}

}  // namespace

void AddProcessMetrics(MetricList& metrics) {
  metrics.Gauge("feedmill_build_info", "1, with this release of feedmill", 1,
                {{"release", ReleaseName()},
                 {"protocol", fmt::format("{}", kProtocolVersion)}});
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  const ProcessStat stat = ReadProcessStat();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  metrics.Counter("process_cpu_seconds_total",
                  "Total user and system CPU time spent in seconds.",
                  seconds(use.ru_utime) + seconds(use.ru_stime));
  metrics.Gauge(
      "process_resident_memory_bytes", "Resident memory size in bytes.",
      stat.resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
  metrics.Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.",
                stat.virtual_bytes);
  metrics.Gauge("process_open_fds", "Number of open file descriptors.",
                OpenDescriptors());
  metrics.Gauge("process_max_fds", "Maximum number of open file descriptors.",
                static_cast<double>(files.rlim_cur));
  metrics.Gauge("process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
                BootTime() + stat.start_ticks /
                                 static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace feedmill
