#ifndef FEEDMILL_TESTS_REFERENCE_LOOKUPS_H_
#define FEEDMILL_TESTS_REFERENCE_LOOKUPS_H_

#include <string>
#include <vector>

#include "core/dataset/lookup_step.h"
#include "tests/reference/interpreter.h"

namespace feedmill::reference {

// Returns the columns of the table that become components.
std::vector<std::string> LookedUp(const LookupStep& step);

// Adds the columns of the first row of the table with the element's key.
// Returns false if the element is dropped. Throws DataError for a key without a
// row.
bool LookUp(const LookupStep& step, Element& element);

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_LOOKUPS_H_
