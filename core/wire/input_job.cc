#include "core/wire/input_job.h"

#include <fmt/format.h>

namespace feedmill {
namespace {

// Two pipelines with this part in common are hardly read at the same time.
constexpr size_t kFingerprintPart = 16;

}  // namespace

JobName InputJobName(const std::vector<size_t>& part,
                     std::string_view fingerprint, std::string_view reader,
                     std::string_view unique) {
  return JobName(fmt::format("{}{}]-{}.{}", InputJobPrefix(fingerprint),
                             fmt::join(part, "]["), reader, unique));
}

std::string InputJobPrefix(std::string_view fingerprint) {
  return fmt::format("@{}-inputs[", fingerprint.substr(0, kFingerprintPart));
}

std::string_view InputJobPrefixOf(const JobName& job) {
  constexpr std::string_view kInputs = "-inputs[";
  const std::string_view name = job.value();
  const size_t at = name.find(kInputs);
  return name.starts_with('@') && at != name.npos
             ? name.substr(0, at + kInputs.size())
             : std::string_view();
}

std::string_view InputReaderOf(const JobName& job) {
  const std::string_view name = job.value();
  const std::string_view last = name.substr(name.rfind('-') + 1);
  return last.substr(0, last.find('.'));
}

std::string InputReadBy(const JobName& job) {
  const std::string& name = job.value();
  const size_t begin = name.find('-') + 1;
  return name.substr(begin, name.rfind('-') - begin);
}

}  // namespace feedmill
