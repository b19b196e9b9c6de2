#ifndef FEEDMILL_CORE_PROCESS_WRITE_ERROR_H_
#define FEEDMILL_CORE_PROCESS_WRITE_ERROR_H_

#include <cstdint>
#include <string>

namespace feedmill {

// Explains the errno of a failed write: "No space left on device", or "File too
// large: the limit is 64.0 KiB a file (ulimit -f)".
//
// A process gets EFBIG only if it ignores SIGXFSZ, as the feedmill command
// does; by default the signal ends the process.
std::string WriteErrorText(int error);

// True if the process may make a file of that size (ulimit -f). Library code
// checks this first, because it leaves SIGXFSZ to the program.
bool MayWriteFile(uint64_t bytes);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PROCESS_WRITE_ERROR_H_
