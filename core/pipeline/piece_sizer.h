#ifndef FEEDMILL_CORE_PIPELINE_PIECE_SIZER_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_SIZER_H_

#include <cstddef>
#include <cstdint>

namespace feedmill {

// How many positions the next piece should have, from what the last ones took:
// about `bytes_target` bytes or 10 ms, beginning small. Pure.
class PieceSizer {
 public:
  // `estimated_bytes`: of a position, 0 if not known; `heavy`: a position
  // costs microseconds or more.
  PieceSizer(size_t bytes_target, size_t estimated_bytes, bool heavy);

  uint64_t Positions() const { return positions_; }
  // A piece of that many positions was made.
  void Observe(uint64_t positions, size_t bytes, double seconds);

 private:
  const size_t bytes_target_;
  uint64_t positions_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_SIZER_H_
