#ifndef FEEDMILL_TOOLS_COMMAND_RESOURCE_ERRORS_H_
#define FEEDMILL_TOOLS_COMMAND_RESOURCE_ERRORS_H_

namespace feedmill {

// If the process is refused memory, threads or file space, ends it with exit
// status 1 and a line that names the limit. Handles:
//   - exceptions that no function handles (e.g. std::bad_alloc of a server's
//     thread)
//   - libraries that call abort() or exit() for this reason (libzmq, libgomp)
//   - files that reach the size limit (ulimit -f): SIGXFSZ is ignored, so that
//     writes fail with EFBIG, which the writer reports
// An abort for another reason still aborts.
//
// Call first in main. Only a command may set a process's handlers; the library
// does not change its program's handlers.
void ExplainResourceErrors();

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_RESOURCE_ERRORS_H_
