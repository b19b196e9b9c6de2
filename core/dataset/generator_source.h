#ifndef FEEDMILL_CORE_DATASET_GENERATOR_SOURCE_H_
#define FEEDMILL_CORE_DATASET_GENERATOR_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "feedmill/dataset_options.h"

namespace feedmill {

// The elements that a Python function yields: function(shard, shards) for each
// shard, in the order of the shards. Only Python programs make this source.
struct GeneratorSource {
  std::string function;  // Base64 of what cloudpickle made
  // Identifies the function in the pipeline's fingerprint. "": its bytes do.
  std::string version{};
  Features output;     // of any dtype, without defaults
  std::string python;  // version that pickled it: "3.11.2"
  // Packages and their versions that it needs: "numpy==2.4.6".
  std::vector<std::string> packages{};
  int64_t shards = 1;
  // The number of elements of all shards, or one number for each shard. Empty:
  // unknown.
  std::vector<int64_t> length{};
  // An element that takes longer is an error.
  double timeout_seconds = 60;
  // Bytes that a process may allocate. 0: any number.
  int64_t memory_bytes = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_GENERATOR_SOURCE_H_
