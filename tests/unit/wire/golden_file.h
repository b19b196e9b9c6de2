#ifndef FEEDMILL_TESTS_UNIT_WIRE_GOLDEN_FILE_H_
#define FEEDMILL_TESTS_UNIT_WIRE_GOLDEN_FILE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace feedmill::testing {

// Expects that schemas/golden/<name> holds these bytes. If
// FEEDMILL_WRITE_GOLDEN is set, writes them there first.
inline void ExpectGolden(const std::string& name, const std::string& bytes) {
  const std::string path = FEEDMILL_GOLDEN_DIR "/" + name;
  if (std::getenv("FEEDMILL_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path << " is missing";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(bytes, golden.str()) << name;
}

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_UNIT_WIRE_GOLDEN_FILE_H_
