#include "client/wait_reporter.h"

#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr absl::Duration kFirstReport = absl::Seconds(2);
constexpr absl::Duration kReportInterval = absl::Seconds(10);

}  // namespace

void WaitReporter::Report(absl::Time now, absl::Time begun,
                          const std::function<std::string()>& what) {
  if (begun != begun_) {
    begun_ = begun;
    next_report_ = begun + kFirstReport;
  }
  if (now < next_report_) return;
  next_report_ = now + kReportInterval;
  const ReadWait wait{what(), now - begun};
  LogWarning("{} has waited {:.0f} s for {}", reader_,
             absl::ToDoubleSeconds(wait.waited), wait.what);
  if (on_wait_) on_wait_(wait);
}

}  // namespace feedmill
