#ifndef FEEDMILL_TOOLS_COMMAND_RESOURCE_ERRORS_H_
#define FEEDMILL_TOOLS_COMMAND_RESOURCE_ERRORS_H_

namespace feedmill {

// Makes a process that is refused memory, threads or file space end with exit
// status 1 and a line that names the limit, wherever that happens:
//   - an exception that no function handles (std::bad_alloc of a server's
//     thread, for example),
//   - a library that calls abort() or exit() because of it (libzmq, libgomp),
//   - a file that reaches the limit of its size (ulimit -f): SIGXFSZ is
//     ignored, so that writing fails with EFBIG, which the writer reports.
// What aborts for another reason still aborts.
//
// For the first line of main: only a command may set a process's handlers. The
// library leaves those of its program alone.
void ExplainResourceErrors();

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_RESOURCE_ERRORS_H_
