#include "worker/codec_chooser.h"

#include <algorithm>
#include <cstddef>

namespace feedmill {
namespace {

constexpr LinkCompression kCodecs[] = {LinkCompression::kLz4,
                                       LinkCompression::kZstd};
// Minimum throughput of packing on one core, in bytes per second, for data that
// shrinks (measured: docs/design.md, Numbers to design by). Used before the
// first measurement.
constexpr double kUsualBytesPerSecond[] = {600e6, 350e6};
// Smaller gains are not worth the CPU time.
constexpr double kGain = 0.9;
constexpr uint64_t kTryAgain = 64;
constexpr double kWeight = 0.25;  // of the last measurement
constexpr size_t kPlansMax = 1'024;

}  // namespace

LinkCompression CodecChooser::Choose(const PlanId& plan,
                                     std::optional<double> link) {
  if (!link.has_value() || *link <= 0) return LinkCompression::kNone;
  if (plans_.size() >= kPlansMax && !plans_.contains(plan)) plans_.clear();
  PlanMeasures& measures = plans_[plan];
  const double plain = 1 / *link;
  double best_time = kGain * plain;
  LinkCompression best = LinkCompression::kNone;
  for (size_t k = 0; k < std::size(kCodecs); ++k) {
    const Measure& measure = measures.codecs[k];
    if (!measure.known) {
      if (*link < kUsualBytesPerSecond[k]) return kCodecs[k];
      continue;
    }
    // Packing and sending run in parallel.
    const double time =
        std::max(1 / measure.bytes_per_s, measure.ratio / *link);
    if (time < best_time) {
      best_time = time;
      best = kCodecs[k];
    }
  }
  if (best != LinkCompression::kNone) {
    measures.plain = 0;
  } else if (++measures.plain % kTryAgain == 0) {
    // Later data may shrink. If the link is faster than the codec, packing
    // cannot help.
    const size_t k = measures.plain / kTryAgain % std::size(kCodecs);
    if (*link < measures.codecs[k].bytes_per_s) return kCodecs[k];
  }
  return best;
}

void CodecChooser::Note(const PlanId& plan, LinkCompression codec, uint64_t raw,
                        uint64_t sent, absl::Duration time) {
  const auto found = plans_.find(plan);
  if (found == plans_.end() || raw == 0 || time <= absl::ZeroDuration()) return;
  Measure& measure =
      found->second.codecs[codec == LinkCompression::kLz4 ? 0 : 1];
  const double bytes_per_s =
      static_cast<double>(raw) / absl::ToDoubleSeconds(time);
  const double ratio = static_cast<double>(sent) / static_cast<double>(raw);
  const double weight = measure.known ? kWeight : 1;
  measure.bytes_per_s += weight * (bytes_per_s - measure.bytes_per_s);
  measure.ratio += weight * (ratio - measure.ratio);
  measure.known = true;
}

}  // namespace feedmill
