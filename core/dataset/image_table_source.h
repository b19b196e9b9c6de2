#ifndef FEEDMILL_CORE_DATASET_IMAGE_TABLE_SOURCE_H_
#define FEEDMILL_CORE_DATASET_IMAGE_TABLE_SOURCE_H_

#include <string>
#include <vector>

#include "core/dataset/graph.h"

namespace feedmill {

// The images that a column of a table names, each with the columns of its row.
struct ImageTableSource {
  std::vector<Graph> table{};  // one, a source without steps
  std::string column = "path";
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_IMAGE_TABLE_SOURCE_H_
