#include "core/net/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/printable_text.h"
#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/log_throttle.h"

namespace feedmill {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

// Escapes the message for a JSON string, so that a line is always one valid
// object, for any text that a peer sent.
class JsonTextFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out.push_back('\\');
        out.push_back(c);
      } else if (byte < 0x20 || byte == 0x7f) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
      } else {
        out.push_back(c);
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonTextFlag>();
  }
};

// Escapes the message so that a line is always one line, for any text that a
// peer sent.
class PlainTextFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text =
        PrintableText({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PlainTextFlag>();
  }
};

// Split of the line that this thread writes.
thread_local std::optional<uint64_t> split_of_line;

class JsonSplitFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&,
              spdlog::memory_buf_t& out) override {
    if (!split_of_line.has_value()) return;
    fmt::format_to(std::back_inserter(out), R"("split":{},)", *split_of_line);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonSplitFlag>();
  }
};

std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format,
                                                 std::string_view role) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(
      spdlog::pattern_time_type::utc);
  std::string name;
  for (const char c : role) name += c == '%' ? '_' : c;
  if (format == LogFormat::kJson) {
    formatter->add_flag<JsonTextFlag>('*').add_flag<JsonSplitFlag>('!');
    formatter->set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","role":")" + name +
        R"(",%!"message":"%*"})");
  } else {
    formatter->add_flag<PlainTextFlag>('*');
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l " +
                           (name.empty() ? name : name + ": ") + "%*");
  }
  return formatter;
}

spdlog::logger& Logger() {
  // Never destroyed: threads may log while the process exits.
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger(
        "feedmill", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::info);
    made->set_formatter(MakeFormatter(LogFormat::kText, ""));
    return made;
  }();
  return *logger;
}

}  // namespace

void SetUpLog(LogLevel level, LogFormat format, std::string_view role) {
  Logger().set_level(ToSpdlog(level));
  Logger().set_formatter(MakeFormatter(format, role));
}

absl::Status ParseLogLevel(std::string_view name, LogLevel& level) {
  for (const auto& [known, value] :
       {std::pair<std::string_view, LogLevel>{"debug", LogLevel::kDebug},
        {"info", LogLevel::kInfo},
        {"warning", LogLevel::kWarning},
        {"error", LogLevel::kError},
        {"off", LogLevel::kOff}}) {
    if (name == known) {
      level = value;
      return absl::OkStatus();
    }
  }
  return InvalidArgument(
      "log level \"{}\" is not known; choose debug, info, warning, error or "
      "off",
      name);
}

absl::Status ParseLogFormat(std::string_view name, LogFormat& format) {
  if (name == "text" || name == "json") {
    format = name == "json" ? LogFormat::kJson : LogFormat::kText;
    return absl::OkStatus();
  }
  return InvalidArgument("log format \"{}\" is not known; choose text or json",
                         name);
}

bool LogEnabled(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

namespace {

constexpr uint32_t kSameLines = 5;
constexpr uint32_t kLinesOfKind = 20;

struct Limits {
  std::mutex mu;
  LogThrottle throttle;                // guarded by mu
  std::atomic<bool> left_out = false;  // lines were suppressed
  std::atomic<int64_t> look_at_ns = 0;
};

Limits& LineLimits() {
  static auto* const limits = new Limits();  // never destroyed, like the logger
  return *limits;
}

void Write(LogLevel level, const std::string& text) {
  Logger().log(ToSpdlog(level), spdlog::string_view_t(HideUrlSecrets(text)));
}

std::string LeftOutText(uint64_t lines, absl::Duration within,
                        std::string_view like) {
  return fmt::format("left out {} more lines in {:.0f} s like: {}", lines,
                     absl::ToDoubleSeconds(within), like);
}

void WriteLimited(LogLevel level, const std::string& key, uint32_t burst,
                  const std::string& text) {
  LogThrottle::Answer answer;
  {
    const std::lock_guard lock(LineLimits().mu);
    answer = LineLimits().throttle.Ask(SteadyNow(), key, burst);
  }
  if (answer.left_out > 0) {
    Write(level, LeftOutText(answer.left_out, answer.within, key));
  }
  if (answer.say) {
    Write(level, text);
  } else {
    LineLimits().left_out = true;
  }
}

}  // namespace

void LogLine(LogLevel level, const std::string& text) {
  // Debug lines are never suppressed.
  if (level == LogLevel::kDebug) return Write(level, text);
  WriteLimited(level, text, kSameLines, text);
}

void LogOften(LogLevel level, std::string_view kind, const std::string& text) {
  if (!LogEnabled(level)) return;
  WriteLimited(level, std::string(kind), kLinesOfKind, text);
}

void LogSplit(LogLevel level, uint64_t split, const std::string& text) {
  split_of_line = split;
  const std::string line = fmt::format("split {}: {}", split, text);
  if (level == LogLevel::kDebug) {
    LogLine(level, line);
  } else {
    LogOften(level, "a split's failed attempt", line);
  }
  split_of_line.reset();
}

void LogSuppressed() {
  Limits& limits = LineLimits();
  if (!limits.left_out) return;
  const absl::Time now = SteadyNow();
  const int64_t now_ns = absl::ToUnixNanos(now);
  if (now_ns < limits.look_at_ns) return;
  limits.look_at_ns = now_ns + 1'000'000'000;
  std::vector<LogThrottle::SuppressedLines> ended;
  {
    const std::lock_guard lock(limits.mu);
    ended = limits.throttle.TakeSuppressed(now);
  }
  for (const LogThrottle::SuppressedLines& each : ended) {
    Write(LogLevel::kInfo, LeftOutText(each.lines, each.within, each.key));
  }
}

}  // namespace feedmill
