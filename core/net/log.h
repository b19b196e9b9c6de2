#ifndef FEEDMILL_CORE_NET_LOG_H_
#define FEEDMILL_CORE_NET_LOG_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace feedmill {

// Log of long-running processes: one line per message, on stderr. For shells
// only; cores return their messages.
//
// Thread-safety: every function from any thread.

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

// Sets the format and the lowest level of later lines. Default: info, text.
// `role` ("dispatcher", "worker", …) appears in each line.
void SetUpLog(LogLevel level, LogFormat format, std::string_view role = "");

// Parses "debug", "info", "warning", "error", "off"; "text", "json".
// InvalidArgument lists the choices.
absl::Status ParseLogLevel(std::string_view name, LogLevel& level);
absl::Status ParseLogFormat(std::string_view name, LogFormat& format);

bool LogEnabled(LogLevel level);
// Logs a line. At most 5 equal lines in 10 s are written; more are counted.
void LogLine(LogLevel level, const std::string& text);
// Logs a line of a frequent kind: at most 20 lines of one kind in 10 s.
void LogOften(LogLevel level, std::string_view kind, const std::string& text);
// Logs a line about a split: "split 17: …". In JSON the line has the field
// "split", too.
void LogSplit(LogLevel level, uint64_t split, const std::string& text);
// Logs the number of suppressed lines of each kind or text whose interval has
// ended. Cheap. Call it periodically.
void LogSuppressed();

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
