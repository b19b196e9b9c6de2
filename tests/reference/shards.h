#ifndef FEEDMILL_TESTS_REFERENCE_SHARDS_H_
#define FEEDMILL_TESTS_REFERENCE_SHARDS_H_

#include <string>
#include <vector>

#include "feedmill/dataset_options.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Returns the samples of an uncompressed MDS shard, whose bytes are `file`,
// with these columns.
std::vector<Element> MdsSamples(const std::vector<SourceField>& fields,
                                const std::string& file);

// Returns the entries of the main database of an LMDB file, in the order of
// their keys.
std::vector<Element> LmdbEntries(const std::string& file);

// Returns the records of an ArrayRecord file whose chunks are uncompressed.
std::vector<Element> ArrayRecords(const std::string& file);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_SHARDS_H_
