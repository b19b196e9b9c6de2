#ifndef FEEDMILL_CORE_SOURCES_ROW_FILTER_H_
#define FEEDMILL_CORE_SOURCES_ROW_FILTER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/dataset/fields.h"
#include "core/sources/value_range.h"
#include "feedmill/expr.h"

namespace feedmill {

// The rows of a source that a pipeline reads and does not drop, as far as a
// source can tell: rows before an end that pass the filters directly behind the
// source. These are comparisons of a component with a literal, joined by `and`
// and `or`, which are never an error, for any values.
//
// Thread-safety: immutable.
class RowFilter {
 public:
  RowFilter() = default;
  // Collects the filters of `graph` before its first step that changes
  // elements. Shuffles and steps that choose elements may precede them. A
  // filter of any other form ends the search.
  static RowFilter Of(const AnalyzedGraph& graph);

  // Sets the end: records of the source from this one on are not read.
  void EndAt(uint64_t record) { end_ = record; }
  uint64_t end() const { return end_; }

  // True if there are no filters.
  bool empty() const { return predicates_.empty(); }
  // False if no row passes whose values of `fields` are within `ranges` (one
  // per field; nullopt: unknown). Then every row within these ranges fails,
  // also a row that is not in the file.
  bool MayPass(std::span<const SourceField> fields,
               std::span<const std::optional<ValueRange>> ranges) const;

 private:
  std::vector<Expr> predicates_;
  uint64_t end_ = std::numeric_limits<uint64_t>::max();
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ROW_FILTER_H_
