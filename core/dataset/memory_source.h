#ifndef FEEDMILL_CORE_DATASET_MEMORY_SOURCE_H_
#define FEEDMILL_CORE_DATASET_MEMORY_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

namespace feedmill {

// The rows of a table in memory (core/formats/memory_table.h).
struct MemorySource {
  std::string table;  // the hash of its content, 32 hex digits
  int64_t rows = 0;
  std::vector<SourceField> fields{};
  // The content, for a process that does not have the table. "" in the process
  // that made it. The hash identifies it.
  std::string data{};
  // No part of the graph's text: the table, in the process that has it.
  std::shared_ptr<const Chunk> chunk{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_MEMORY_SOURCE_H_
