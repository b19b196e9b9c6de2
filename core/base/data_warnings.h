#ifndef FEEDMILL_CORE_BASE_DATA_WARNINGS_H_
#define FEEDMILL_CORE_BASE_DATA_WARNINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace feedmill {

// Irregular data that is accepted, because other programs accept it, too. Each
// process counts it. `feedmill read` prints the counts of its own process when
// it ends, and a worker logs them.
//
// Thread-safety: every function from any thread, without locks.

enum class DataWarning {
  kImage,          // the codec warns, and decodes the image
  kTrailingBytes,  // bytes after compressed data, which are ignored
  kNoImage,        // a file in a folder of images, which is left out
  kOtherFormat,    // a file of lines that begins as a file of another format
  kTarLink,        // a link in a tar archive, which is left out
  kOneColumn,      // a csv file of one column that seems to have more
};

// Counts a warning. The first example of a kind is kept for its text.
void NoteDataWarning(DataWarning kind, std::string_view example,
                     uint64_t count = 1);

// Number of all warnings that this process has counted.
uint64_t DataWarningsNoted();

// One sentence for each kind that was counted, with its number and its first
// example.
std::vector<std::string> DataWarningTexts();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_DATA_WARNINGS_H_
