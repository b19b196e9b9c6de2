#ifndef FEEDMILL_TESTS_REFERENCE_FORMATS_H_
#define FEEDMILL_TESTS_REFERENCE_FORMATS_H_

#include <vector>

#include "core/dataset/graph.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// True if the records of a source are counted without an index.
bool IsCounted(const Source& source);

// Returns the records of a fixed_length, npy, jsonl, csv, webdataset, mds,
// lmdb or array_record source, or of compressed files, by position. If
// `counted`, a position is one record; otherwise the records of a block of 4
// MiB, or of a whole file. Reads whole files into memory; does not handle
// damaged files.
std::vector<std::vector<Element>> FormatRecords(const Source& source,
                                                bool counted);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_FORMATS_H_
