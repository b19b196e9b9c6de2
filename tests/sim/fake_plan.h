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
#include "feedmill/element.h"
#include "tests/sim/random.h"

namespace feedmill::sim {

// Origin of an element; its bytes begin with it.
struct ElementName {
  uint64_t iteration = 0;
  Cursor cursor;
  friend bool operator==(const ElementName&, const ElementName&) = default;
};

// A pipeline that is a pure function from cursors to elements. Positions have 0
// to 3 elements of one bytes component, in one of three shapes (1:1, a filter,
// a flat_map). One position may have a data error. In mode off, a run
// reads the whole of it in several passes.
class FakePlan {
 public:
  // `longer`: factor for the number of positions; each takes that much less
  // time.
  // `python`: it has Python functions.
  // `generates`: it is a generator: pieces end within positions, with a state.
  FakePlan(Random& random, bool in_passes, uint64_t longer, bool python,
           bool generates);

  const std::string& graph() const { return graph_; }
  // The graph that workers run.
  std::string run_graph() const {
    return in_passes_ ? graph_ + " again" : graph_;
  }
  bool in_passes() const { return in_passes_; }
  bool python() const { return python_; }
  // The interpreter of a worker that can run the functions, or cannot.
  static PythonInterpreter Interpreter(bool fit);
  bool needs_manifest() const { return needs_manifest_; }
  uint64_t positions() const { return counts_.size(); }
  // The reference: all elements before the error, in order, for the maximum
  // number of passes.
  const std::vector<Cursor>& reference() const { return reference_; }
  // Index of `cursor` in the reference.
  size_t IndexOf(Cursor cursor) const;
  // The position of each pass that fails (deterministic order).
  std::optional<uint64_t> poison() const { return poison_; }
  void RemovePoison();
  // Maximum element bytes of a position.
  uint64_t position_bytes_max() const { return position_bytes_max_; }
  // True if every position makes one element: position n makes element n.
  bool numbered() const { return shape_ == Shape::kDense; }
  // Thread time of a position.
  absl::Duration CostOf(uint64_t position) const;

  // Computes [begin, end), up to the end of the position that reaches
  // `bytes_target`. If elements are numbered, only elements of the share.
  Piece Compute(uint64_t iteration, Cursor begin, Cursor end,
                uint64_t bytes_target, Share share = {}) const;

  // The planner for the dispatcher.
  Planner MakePlanner() const;

  static ElementName NameOf(const Chunk& chunk, size_t row);
  // The bytes of the state at a cursor.
  static std::string StateOf(uint64_t iteration, Cursor at);

 private:
  enum class Shape { kDense, kFiltered, kFlat };

  void MakeReference();

  // Index within its pass.
  uint64_t Within(uint64_t position) const { return position % positions(); }

  const bool in_passes_;
  const bool python_;
  const bool generates_;
  Shape shape_ = Shape::kDense;
  std::string graph_;
  bool needs_manifest_ = false;
  uint64_t first_split_ = 1;
  std::vector<uint64_t> counts_;  // number of elements of each position
  std::vector<uint64_t> sizes_;   // bytes per element, by position
  std::vector<absl::Duration> costs_;
  std::vector<Cursor> reference_;
  std::optional<uint64_t> poison_;
  uint64_t position_bytes_max_ = 0;
  std::shared_ptr<const ElementSpec> spec_;
};

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_FAKE_PLAN_H_
