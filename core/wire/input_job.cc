#include "core/wire/input_job.h"

#include <fmt/format.h>

namespace feedmill {
namespace {

// Two pipelines with this part in common are hardly read at the same time.
constexpr size_t kFingerprintPart = 16;

}  // namespace

JobName InputJobName(const std::vector<size_t>& part,
                     std::string_view fingerprint, std::string_view unique) {
  return JobName(fmt::format("{}{}]-{}-{}", kInputJobs, fmt::join(part, "]["),
                             fingerprint.substr(0, kFingerprintPart), unique));
}

std::string InputReadBy(const JobName& job, std::string_view fingerprint) {
  const std::string& name = job.value();
  if (!name.starts_with(kInputJobs)) return "";
  const std::string mark =
      fmt::format("-{}-", fingerprint.substr(0, kFingerprintPart));
  const size_t end = name.find(mark);
  return end == std::string::npos ? "" : name.substr(1, end - 1);
}

}  // namespace feedmill
