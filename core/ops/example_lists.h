#ifndef FEEDMILL_CORE_OPS_EXAMPLE_LISTS_H_
#define FEEDMILL_CORE_OPS_EXAMPLE_LISTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "feedmill/dataset_options.h"

namespace feedmill {

// ---- values of the features of tf.train.Example messages

// Append the values of a BytesList, Int64List or FloatList, packed or not.
// False if it is malformed.
bool ReadBytesList(std::string_view list, std::vector<std::string_view>& out);
bool ReadInt64List(std::string_view list, std::vector<int64_t>& out);
bool ReadFloatList(std::string_view list, std::vector<float>& out);

// Appends floats that stand one after the other; false if they are not whole.
bool AppendPacked(std::string_view packed, std::vector<float>& out);

// Reads the default of a feature into the one of the numbers that has its
// dtype. False if it is no such number.
bool ParseDefault(const Feature& feature, int64_t& integer, float& real);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_EXAMPLE_LISTS_H_
