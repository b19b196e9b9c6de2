#ifndef FEEDMILL_CORE_NET_LOG_H_
#define FEEDMILL_CORE_NET_LOG_H_

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace feedmill {

// What long-running processes say of themselves, on stderr, one line each.
// Shells only: cores return what they have to say.
//
// Thread-safety: every function from any thread.

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

// Sets how all later lines look and which appear. Default: info, text.
// `role` ("dispatcher", "worker", …) stands in each line.
void SetUpLog(LogLevel level, LogFormat format, std::string_view role = "");

// "debug", "info", "warning", "error", "off"; "text", "json".
// InvalidArgument naming the choices.
absl::Status ParseLogLevel(std::string_view name, LogLevel& level);
absl::Status ParseLogFormat(std::string_view name, LogFormat& format);

bool LogEnabled(LogLevel level);
void LogLine(LogLevel level, const std::string& text);

#define FEEDMILL_DEFINE_LOG(Name, level)                                \
  template <class... Args>                                              \
  void Name(fmt::format_string<Args...> format, Args&&... args) {       \
    if (LogEnabled(level)) {                                            \
      LogLine(level, fmt::format(format, std::forward<Args>(args)...)); \
    }                                                                   \
  }
FEEDMILL_DEFINE_LOG(LogDebug, LogLevel::kDebug)
FEEDMILL_DEFINE_LOG(LogInfo, LogLevel::kInfo)
FEEDMILL_DEFINE_LOG(LogWarning, LogLevel::kWarning)
FEEDMILL_DEFINE_LOG(LogError, LogLevel::kError)
#undef FEEDMILL_DEFINE_LOG

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_LOG_H_
