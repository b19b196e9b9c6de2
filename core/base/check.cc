#include "core/base/check.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace feedmill {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  // It is no shortage, for which a program may have a handler.
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

}  // namespace feedmill
