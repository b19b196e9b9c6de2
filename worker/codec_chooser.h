#ifndef FEEDMILL_WORKER_CODEC_CHOOSER_H_
#define FEEDMILL_WORKER_CODEC_CHOOSER_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// Chooses the codec for LinkCompression::kAuto: the one with the highest
// end-to-end throughput, given its results on this plan's data and the link's
// rate. Chooses none if the link is faster than the codecs or the data does not
// shrink. Untested codecs are tried if they may pay; rejected ones are tried
// again from time to time.
//
// Pure. Thread: one.
class CodecChooser {
 public:
  // `link`: bytes per second; nullopt (unknown) gives kNone.
  LinkCompression Choose(const PlanId& plan, std::optional<double> link);
  // Records that a codec packed `raw` bytes into `sent` in `time` on one
  // thread.
  void Note(const PlanId& plan, LinkCompression codec, uint64_t raw,
            uint64_t sent, absl::Duration time);
  void Forget(const PlanId& plan) { plans_.erase(plan); }

 private:
  struct Measure {
    double bytes_per_s = 0;
    double ratio = 1;  // sent / raw
    bool known = false;
  };
  struct PlanMeasures {
    std::array<Measure, 2> codecs;  // lz4, zstd
    uint64_t plain = 0;             // consecutive unpacked frames
  };
  std::map<PlanId, PlanMeasures> plans_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_CODEC_CHOOSER_H_
