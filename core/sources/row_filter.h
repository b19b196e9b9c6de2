#ifndef FEEDMILL_CORE_SOURCES_ROW_FILTER_H_
#define FEEDMILL_CORE_SOURCES_ROW_FILTER_H_

#include <optional>
#include <span>
#include <vector>

#include "core/dataset/analysis.h"
#include "core/dataset/fields.h"
#include "core/sources/value_range.h"
#include "feedmill/expr.h"

namespace feedmill {

// The filters that directly follow a source, as far as a source can evaluate
// them for a whole group of rows: comparisons of a component with a literal,
// joined by `and` and `or`. Such a filter is never an error, for any values.
//
// Thread-safety: immutable.
class RowFilter {
 public:
  RowFilter() = default;
  // Collects the filters of `graph` before its first step that changes
  // elements. Shuffles and steps that choose elements may precede them. A
  // filter of any other form ends the search.
  static RowFilter Of(const AnalyzedGraph& graph);

  bool empty() const { return predicates_.empty(); }
  // False if no row passes whose values of `fields` are within `ranges` (one
  // per field; nullopt: unknown). Then every row within these ranges fails,
  // also a row that is not in the file.
  bool MayPass(std::span<const SourceField> fields,
               std::span<const std::optional<ValueRange>> ranges) const;

 private:
  std::vector<Expr> predicates_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_ROW_FILTER_H_
