#ifndef FEEDMILL_BROKER_PLANNER_H_
#define FEEDMILL_BROKER_PLANNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/python_versions.h"
#include "core/wire/message.h"

namespace feedmill {

// Properties of a graph that the dispatcher needs to divide its work.
struct JobShape {
  std::string fingerprint;    // of the graph that workers run
  std::string manifest_hash;  // "" without files
  uint64_t source_size = 0;
  uint64_t positions = 0;    // kInfinitePositions for an infinite graph
  uint64_t first_split = 1;  // positions of the first split, before any
                             // cost is known
  // True if a run reads its graph in passes, one per worker, of `positions`
  // positions each.
  bool in_passes = false;
  uint64_t source_round = 0;  // SourcePlan::round
};

// A readable name of a position that kills workers.
struct PositionName {
  std::string text;  // "record 3 of 'a.csv'"
  // True if the position is skipped (on_error); `records` are then the records
  // that the position would have been made of.
  bool skips = false;
  std::vector<RecordOrigin> records{};
};

// Functions that read graphs. The caller passes them in so that the simulator
// can plan without files. All functions are pure.
struct Planner {
  // Returns a text that is equal for graphs that differ in seed and order only.
  // InvalidArgument for a bad graph.
  std::function<absl::StatusOr<std::string>(const std::string& graph)>
      fingerprint;
  // True if the graph needs a manifest; InvalidArgument for a bad graph.
  std::function<absl::StatusOr<bool>(const std::string& graph)> needs_manifest;
  // `manifest`: bytes of Manifest::Serialize, or "" if none is needed.
  std::function<absl::StatusOr<JobShape>(const std::string& graph,
                                         const std::string& manifest,
                                         uint64_t seed, uint64_t iteration)>
      shape;
  // Returns what the Python functions need that workers run. Null: no graph has
  // functions.
  std::function<PythonNeedsPtr(const std::string& graph)> python_needs{};
  // Returns the graph that workers run if a run reads in passes, for any number
  // of passes. Null: the graph itself.
  std::function<std::string(const std::string& graph)> run_graph{};
  // Returns the graph that workers run if a run of ranks is sequenced; "" if
  // that has no use. Null: it has none.
  std::function<std::string(const std::string& graph)> sequenced_graph{};
  // True if the number of each element is known before the element is made. The
  // workers then make only a rank's own elements for it. Null: true.
  std::function<bool(const std::string& graph)> numbered{};
  // Returns the name of a position for error messages. Null: its number is the
  // name.
  std::function<PositionName(const std::string& graph,
                             const std::string& manifest, uint64_t seed,
                             uint64_t iteration, uint64_t position)>
      name_position{};
  // Returns the names of a plan's places, indexed by StepCost::place; 1 is the
  // source. If the function is null or the list too short, numbers are used.
  std::function<std::vector<std::string>(const std::string& graph)>
      name_places{};
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_PLANNER_H_
