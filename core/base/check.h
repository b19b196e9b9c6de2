#ifndef FEEDMILL_CORE_BASE_CHECK_H_
#define FEEDMILL_CORE_BASE_CHECK_H_

#include <string_view>

namespace feedmill {

// Prints the failed condition with its place and aborts. Never returns.
[[noreturn]] void CheckFailed(const char* file, int line,
                              const char* condition);

// Prints a message and aborts. Never returns. For errors of an application's
// programmer that a bare condition would not explain.
[[noreturn]] void Fatal(std::string_view message);

}  // namespace feedmill

// For errors of the programmer, always on. Bad input is a Status, never this.
#define FM_CHECK(condition)           \
  (__builtin_expect(!!(condition), 1) \
       ? static_cast<void>(0)         \
       : ::feedmill::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // FEEDMILL_CORE_BASE_CHECK_H_
