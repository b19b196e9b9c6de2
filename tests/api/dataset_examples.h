#ifndef FEEDMILL_TESTS_API_DATASET_EXAMPLES_H_
#define FEEDMILL_TESTS_API_DATASET_EXAMPLES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "feedmill/dataset.h"

namespace feedmill {

// An example in a comment of dataset.h.
struct DatasetExample {
  std::string method;
  std::function<absl::StatusOr<Dataset>()> make;
  // The elements as the comment shows them, "1, 2, …"; "": it shows none.
  std::string result;
};

// All examples, in order. make_examples.py writes this function.
std::vector<DatasetExample> DatasetExamples();

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_API_DATASET_EXAMPLES_H_
