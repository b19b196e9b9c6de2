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
// Logs a line. Of the same text, 5 in 10 s; more are counted (LogLeftOut).
void LogLine(LogLevel level, const std::string& text);
// Logs a line of a kind of which there may be thousands: 20 of them in 10 s.
void LogOften(LogLevel level, std::string_view kind, const std::string& text);
// Logs how many lines were left out, of kinds and texts whose time is over.
// Cheap. To be called now and then.
void LogLeftOut();

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
