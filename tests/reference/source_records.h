#ifndef FEEDMILL_TESTS_REFERENCE_SOURCE_RECORDS_H_
#define FEEDMILL_TESTS_REFERENCE_SOURCE_RECORDS_H_

#include <cstdint>
#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Reads the records of a source without inputs, by position, and the number of
// positions of each file. An element without components is a corrupt record.
void RecordsOf(const Source& source, bool counted,
               std::vector<std::vector<Element>>& records,
               std::vector<uint64_t>& file_sizes);

// Returns the element; throws DataError if it is corrupt or has a bad
// component.
Element Sound(Element element);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SOURCE_RECORDS_H_
