#ifndef FEEDMILL_CORE_PIPELINE_PIECE_SIZER_H_
#define FEEDMILL_CORE_PIPELINE_PIECE_SIZER_H_

#include <cstddef>
#include <cstdint>

namespace feedmill {

// Chooses the number of positions of the next piece from the cost of the last
// ones: about `bytes_target` bytes or 10 ms. It begins small. Pure.
class PieceSizer {
 public:
  // `estimated_bytes`: bytes of a position, 0 if unknown. `heavy`: a position
  // takes microseconds or more.
  PieceSizer(size_t bytes_target, size_t estimated_bytes, bool heavy);

  uint64_t Positions() const { return positions_; }
  // Reports the cost of a piece of `positions` positions.
  void Observe(uint64_t positions, size_t bytes, double seconds);

 private:
  const size_t bytes_target_;
  uint64_t positions_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_PIECE_SIZER_H_
