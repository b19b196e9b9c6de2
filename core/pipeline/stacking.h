#ifndef FEEDMILL_CORE_PIPELINE_STACKING_H_
#define FEEDMILL_CORE_PIPELINE_STACKING_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "feedmill/element.h"

namespace feedmill {

// Batches are rows that are adjacent in memory. Making and splitting batches
// changes shapes, but copies no items.

// Groups consecutive rows of `rows` along a new first axis: group k has
// groups[k] > 0 rows, and the groups contain all rows. `out` shares the items.
// DataLoss if the rows of a group differ in shape; `failed_group` is the first
// such group.
absl::Status StackRows(const Column& rows, std::span<const size_t> groups,
                       Column& out, size_t& failed_group);

// Adds the name of the component to an error.
absl::Status OfComponent(const absl::Status& status, const std::string& name);

// The inverse: returns the records of all rows, along their first axis.
// `groups` receives the number of records of each row. REQUIRES: the rank is at
// least 1.
void UnstackRows(const Column& rows, size_t row_count, Column& out,
                 std::vector<size_t>& groups);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STACKING_H_
