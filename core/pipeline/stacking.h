#ifndef FEEDMILL_CORE_PIPELINE_STACKING_H_
#define FEEDMILL_CORE_PIPELINE_STACKING_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "feedmill/chunk.h"

namespace feedmill {

// Batches are rows that stand one after another in memory: putting records
// into batches and taking batches apart change shapes, not items.

// Groups consecutive rows of `rows` (groups[k] > 0 of them each, all in all its
// rows) along a new first axis. `out` shares the items. DataLoss if the rows
// of a group differ in shape; `failed_group` is the first such.
absl::Status StackRows(const Column& rows, std::span<const size_t> groups,
                       Column& out, size_t& failed_group);

// An error of the rows of a component, with its name.
absl::Status OfComponent(const absl::Status& status, const std::string& name);

// The reverse: the records of all rows, along their first axis. `groups` gets
// the number of records of each row. REQUIRES: the rank is at least 1.
void UnstackRows(const Column& rows, size_t row_count, Column& out,
                 std::vector<size_t>& groups);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_STACKING_H_
