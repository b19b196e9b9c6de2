#include "core/base/check.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace feedmill {

namespace {

[[noreturn]] void End() {
#ifndef FEEDMILL_FUZZ  // libFuzzer handles SIGABRT to save the input
  // A failed check must end the process even if the program handles SIGABRT.
  std::signal(SIGABRT, SIG_DFL);
#endif
  std::abort();
}

}  // namespace

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  End();
}

void Fatal(std::string_view message) {
  std::fprintf(stderr, "feedmill: %.*s\n", static_cast<int>(message.size()),
               message.data());
  End();
}

}  // namespace feedmill
