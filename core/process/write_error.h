#ifndef FEEDMILL_CORE_PROCESS_WRITE_ERROR_H_
#define FEEDMILL_CORE_PROCESS_WRITE_ERROR_H_

#include <cstdint>
#include <string>

namespace feedmill {

// Why writing a file failed with that errno: "No space left on device", or
// "File too large: the limit is 64.0 KiB a file (ulimit -f)".
//
// A process gets EFBIG only if it ignores SIGXFSZ, as the feedmill command
// does; by default the signal ends it.
std::string WriteErrorText(int error);

// True if the process may make a file of that size (ulimit -f). For files of
// the library, which leaves SIGXFSZ to its program.
bool MayWriteFile(uint64_t bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_WRITE_ERROR_H_
