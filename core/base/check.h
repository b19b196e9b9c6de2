#ifndef FEEDMILL_CORE_BASE_CHECK_H_
#define FEEDMILL_CORE_BASE_CHECK_H_

namespace feedmill {

// Prints the failed condition with its place and aborts. Never returns.
[[noreturn]] void CheckFailed(const char* file, int line,
                              const char* condition);

}  // namespace feedmill

// For errors of the programmer, always on. Bad input is a Status, never this.
#define FM_CHECK(condition)           \
  (__builtin_expect(!!(condition), 1) \
       ? static_cast<void>(0)         \
       : ::feedmill::CheckFailed(__FILE__, __LINE__, #condition))

#endif  // FEEDMILL_CORE_BASE_CHECK_H_
