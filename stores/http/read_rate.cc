#include "stores/http/read_rate.h"

#include <algorithm>

namespace feedmill {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(100);

}  // namespace

void ReadRate::Add(uint64_t bytes, absl::Time now) {
  const absl::Duration period = now - begin_;
  if (period >= kPeriod) {
    if (period < absl::InfiniteDuration()) {
      rate_before_ = rate_;
      rate_ = static_cast<double>(bytes_) / absl::ToDoubleSeconds(period);
    }
    begin_ = now;
    bytes_ = 0;
  }
  bytes_ += bytes;
}

uint64_t ReadRate::BytesIn(absl::Duration time) const {
  return static_cast<uint64_t>(std::max(rate_, rate_before_) *
                               absl::ToDoubleSeconds(time));
}

}  // namespace feedmill
