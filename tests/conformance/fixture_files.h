#ifndef FEEDMILL_TESTS_CONFORMANCE_FIXTURE_FILES_H_
#define FEEDMILL_TESTS_CONFORMANCE_FIXTURE_FILES_H_

#include <string>

namespace feedmill::testing {

// Makes small files for random pipelines below `directory`, of each format that
// RandomGraph reads, with odd contents: empty files, missing values, a wrong
// checksum. The files are the same in each run.
void MakeFixtureFiles(const std::string& directory);

}  // namespace feedmill::testing

#endif  // FEEDMILL_TESTS_CONFORMANCE_FIXTURE_FILES_H_
