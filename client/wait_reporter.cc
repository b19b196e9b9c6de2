#include "client/wait_reporter.h"

#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr absl::Duration kFirstWaitLine = absl::Seconds(2);
constexpr absl::Duration kWaitLineInterval = absl::Seconds(10);

}  // namespace

void WaitReporter::Tell(absl::Time now, absl::Time begun,
                        const std::function<std::string()>& what) {
  if (begun != begun_) {
    begun_ = begun;
    tell_at_ = begun + kFirstWaitLine;
  }
  if (now < tell_at_) return;
  tell_at_ = now + kWaitLineInterval;
  const ReadWait wait{what(), now - begun};
  LogWarning("{} has waited {:.0f} s for {}", reader_,
             absl::ToDoubleSeconds(wait.waited), wait.what);
  if (on_wait_) on_wait_(wait);
}

}  // namespace feedmill
