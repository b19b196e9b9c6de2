#ifndef FEEDMILL_TESTS_REFERENCE_LITTLE_ENDIAN_H_
#define FEEDMILL_TESTS_REFERENCE_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstring>
#include <string>

namespace feedmill::reference {

// Returns the T at byte `at`.
template <class T>
T Load(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace feedmill::reference

#endif  // FEEDMILL_TESTS_REFERENCE_LITTLE_ENDIAN_H_
