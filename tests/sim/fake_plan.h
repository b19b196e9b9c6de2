#ifndef FEEDMILL_TESTS_SIM_FAKE_PLAN_H_
#define FEEDMILL_TESTS_SIM_FAKE_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/dispatcher.h"
#include "core/chunk/cursor.h"
#include "core/chunk/piece.h"
#include "feedmill/chunk.h"
#include "tests/sim/random.h"

namespace feedmill::sim {

// Where an element comes from; its bytes begin with it.
struct ElementName {
  uint64_t iteration = 0;
  Cursor cursor;
  friend bool operator==(const ElementName&, const ElementName&) = default;
};

// A pipeline that is a pure function from cursors to elements: positions with
// 0..3 elements of one bytes component each, in one of three shapes (1:1, a
// filter, a flat_map). One position may have a data error. With slots, a run is
// all of it so many times.
class FakePlan {
 public:
  // `longer`: so many times as many positions, each in as much less time.
  FakePlan(Random& random, bool slotted, uint64_t longer);

  const std::string& graph() const { return graph_; }
  // What workers run.
  std::string run_graph() const {
    return slotted_ ? graph_ + " again" : graph_;
  }
  bool slotted() const { return slotted_; }
  bool needs_manifest() const { return needs_manifest_; }
  uint64_t positions() const { return counts_.size(); }
  // The reference: all elements before the error, in order, of as many slots as
  // there can be.
  const std::vector<Cursor>& reference() const { return reference_; }
  // Where in the reference `cursor` is.
  size_t IndexOf(Cursor cursor) const;
  // The position of each slot that fails, for order deterministic.
  std::optional<uint64_t> poison() const { return poison_; }
  void RemovePoison();
  // The most element bytes of one position.
  uint64_t position_bytes_max() const { return position_bytes_max_; }
  // Every position makes one element: element n is that of position n.
  bool numbered() const { return shape_ == Shape::kDense; }
  // Time of one thread for a position.
  absl::Duration CostOf(uint64_t position) const;

  // What a worker makes of [begin, end): it stops at the end of the position
  // that fills `bytes_target`. Where it is numbered, only the share's.
  Piece Compute(uint64_t iteration, Cursor begin, Cursor end,
                uint64_t bytes_target, Share share = {}) const;

  // What the dispatcher is told of it.
  Planner MakePlanner() const;

  static ElementName NameOf(const Chunk& chunk, size_t row);

 private:
  enum class Shape { kDense, kFiltered, kFlat };

  void MakeReference();

  // Within its slot.
  uint64_t Within(uint64_t position) const { return position % positions(); }

  const bool slotted_;
  Shape shape_ = Shape::kDense;
  std::string graph_;
  bool needs_manifest_ = false;
  uint64_t first_split_ = 1;
  std::vector<uint64_t> counts_;  // elements of each position
  std::vector<uint64_t> sizes_;   // bytes of each of a position's elements
  std::vector<absl::Duration> costs_;
  std::vector<Cursor> reference_;
  std::optional<uint64_t> poison_;
  uint64_t position_bytes_max_ = 0;
  std::shared_ptr<const ElementSpec> spec_;
};

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_FAKE_PLAN_H_
