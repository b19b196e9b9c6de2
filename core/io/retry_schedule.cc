#include "core/io/retry_schedule.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/philox.h"

namespace feedmill {

RetrySchedule::RetrySchedule(uint64_t seed, std::string_view url,
                             uint64_t offset)
    : seed_(seed),
      request_(XXH3_64bits_withSeed(url.data(), url.size(), offset)) {}

absl::Duration RetrySchedule::Pause(int attempt) const {
  constexpr int kDoublingsMax = 7;  // 12.8 s, above kMax
  const absl::Duration longest =
      std::min(kMax, kFirst * (1 << std::min(attempt, kDoublingsMax)));
  const auto words =
      Philox({seed_, 0}, request_, static_cast<uint64_t>(attempt));
  const double share = static_cast<double>(words[0]) / 4294967296.0;
  return longest * (1 - share / 2);
}

}  // namespace feedmill
