#ifndef FEEDMILL_TESTS_REFERENCE_FORMATS_H_
#define FEEDMILL_TESTS_REFERENCE_FORMATS_H_

#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Whether the records of a source are counted without an index.
bool IsCounted(const Source& source);

// The records of a fixed_length, npy, jsonl, csv or webdataset source, or of
// compressed files, by position: one each if `counted`, else those of a block
// of 4 MiB or of a whole file. Whole files in memory; knows no damaged ones.
std::vector<std::vector<Element>> FormatRecords(const Source& source,
                                                bool counted);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_FORMATS_H_
