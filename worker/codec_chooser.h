#ifndef FEEDMILL_WORKER_CODEC_CHOOSER_H_
#define FEEDMILL_WORKER_CODEC_CHOOSER_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "core/wire/message.h"

namespace feedmill {

// What LinkCompression::kAuto comes to: the codec with which bytes arrive
// soonest, by what it made of this plan's data so far and by how fast the link
// is; none where the link is faster than the codecs, or the data does not
// shrink. What was not tried yet is tried where it may pay, and what did not
// pay is tried again now and then.
//
// Pure. Thread: one.
class CodecChooser {
 public:
  // `link`: bytes a second; nullopt: not measured, which gets none.
  LinkCompression Choose(const PlanId& plan, std::optional<double> link);
  // A codec made `sent` bytes of `raw` in `time` on one thread.
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
    uint64_t plain = 0;             // frames in a row that got none
  };
  std::map<PlanId, PlanMeasures> plans_;
};

}  // namespace feedmill

#endif  // FEEDMILL_WORKER_CODEC_CHOOSER_H_
