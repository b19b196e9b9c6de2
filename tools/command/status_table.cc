#include "tools/command/status_table.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/printable_text.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

// Columns for programs only: they would make the table too wide. The name after
// `infinite` is its name in earlier releases.
constexpr std::string_view kHiddenColumns[] = {
    "incarnation",
    "fingerprint",
    "plan",
    "anonymous",
    "infinite",
    "endless",
    "positions_bound",
    "positions_taken",
    "verdict",
    "bytes",
    "bytes_per_s",
    "busy_threads",
    "streams",
    "waiting_for_credit",
    "waiting_for_memory",
    "buffered_bytes",
    "window_bytes",
    "memory_max",
    "drain_asked",
    "set_aside",
    "leases_failed",
    "failure",
    "connected",
    "measured_s",
    "us_per_element",
    "id",
    "records",
};
constexpr size_t kEventsInTable = 10;  // the last ones

bool Hidden(std::string_view key) {
  return std::find(std::begin(kHiddenColumns), std::end(kHiddenColumns), key) !=
         std::end(kHiddenColumns);
}

std::string CellText(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.empty()) return "-";
    // Hides the key in a worker's name.
    if (text.starts_with("tcp://")) text = text.substr(0, text.find('#'));
    return PrintableText(text);
  }
  if (value.is_array()) {
    const bool names = !value.empty() && std::all_of(value.begin(), value.end(),
                                                     [](const Json& part) {
                                                       return part.is_string();
                                                     });
    if (!names) return fmt::format("{}", value.size());
    std::string text;
    for (const Json& part : value) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", CellText(part));
    }
    return text;
  }
  if (value.is_object()) {
    std::string text;
    for (const auto& [key, part] : value.items()) {
      const std::string shown = key == "leads"
                                    ? fmt::format("({})", CellText(part))
                                : part.is_structured() ? "…"
                                                       : CellText(part);
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, shown);
    }
    return text;
  }
  if (value.is_number_float())
    return fmt::format("{:.1f}", value.get<double>());
  return value.dump();
}

bool IsTable(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& row) { return row.is_object(); });
}

void AppendTable(const std::string& name, const Json& rows, std::string& out) {
  std::vector<std::string> keys;
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (Hidden(key)) continue;
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  std::vector<std::vector<std::string>> lines{keys};
  for (const Json& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const std::string& key : keys) {
      line.push_back(row.contains(key) ? CellText(row[key]) : "-");
    }
  }
  out += fmt::format("\n{} ({})\n", name, rows.size());
  for (const std::vector<std::string>& line : lines) {
    std::string text;
    for (size_t column = 0; column < keys.size(); ++column) {
      size_t width = 0;
      for (const auto& other : lines) {
        width = std::max(width, other[column].size());
      }
      text += fmt::format("  {:<{}}", line[column], width);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
}

// Joins the lists inside a table's rows into one table, with the row's name in
// the first column.
void AppendNestedTables(const Json& rows, std::string& out) {
  Json joined = Json::object();
  for (const Json& row : rows) {
    for (const auto& [key, value] : row.items()) {
      if (!IsTable(value)) continue;
      for (const Json& inner : value) {
        Json line{{"of", row.value("name", row.value("consumer", ""))}};
        line.update(inner);
        joined[key].push_back(std::move(line));
      }
    }
  }
  for (const auto& [key, value] : joined.items()) {
    AppendTable(key, value, out);
    AppendNestedTables(value, out);
  }
}

// Prints a line per job: why it is not faster.
void AppendVerdicts(const Json& status, std::string& out) {
  if (!status.contains("jobs") || !status["jobs"].is_array()) return;
  std::string lines;
  for (const Json& job : status["jobs"]) {
    if (!job.is_object() || !job.contains("verdict")) continue;
    const Json& verdict = job["verdict"];
    if (!verdict.is_object()) continue;
    lines += fmt::format("  {}: {}\n", CellText(job.value("name", Json())),
                         CellText(verdict.value("sentence", Json())));
  }
  if (!lines.empty()) out += "\nverdicts\n" + lines;
}

// Prints the elements that the last events say were left out.
void AppendLeftOut(const Json& status, std::string& out) {
  if (!status.contains("events") || !status["events"].is_array()) return;
  std::string lines;
  for (const Json& event : status["events"]) {
    if (!event.is_object() || !event.contains("records")) continue;
    if (!event["records"].is_array()) continue;
    for (const Json& record : event["records"]) {
      lines += fmt::format("  {}: {}\n", CellText(event.value("job", Json())),
                           CellText(record));
    }
  }
  if (!lines.empty()) out += "\nleft out lately\n" + lines;
}

// Appends a value in YAML's block style. Scalars are written as in JSON, which
// YAML reads as the same values.
void AppendYaml(const Json& value, size_t indent, std::string& out) {
  const std::string before(indent, ' ');
  const auto is_block = [](const Json& part) {
    return part.is_structured() && !part.empty();
  };
  const auto dump = [](const Json& part) {
    return part.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  if (value.is_object()) {
    for (const auto& [key, part] : value.items()) {
      out += fmt::format("{}{}:", before, key);
      if (is_block(part)) {
        out += '\n';
        AppendYaml(part, indent + 2, out);
      } else {
        out += fmt::format(" {}\n", dump(part));
      }
    }
    return;
  }
  for (const Json& part : value) {
    if (is_block(part)) {
      // The first line of the entry stands beside the dash.
      const size_t begin = out.size();
      AppendYaml(part, indent + 2, out);
      out.replace(begin, indent + 2, before + "- ");
    } else {
      out += fmt::format("{}- {}\n", before, dump(part));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> EventsTable(const std::string& json) {
  FM_ASSIGN_OR_RETURN(const std::string text, EventsJson(json));
  const Json events = Json::parse(text);
  std::string out;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    const int64_t count = event.value("count", int64_t{1});
    const double age = event.value("age_s", 0.0);
    out += fmt::format("{:>12}  {}{}: {}\n", fmt::format("{:.0f} s ago", age),
                       CellText(event.value("kind", Json())),
                       count > 1 ? fmt::format(" ×{}", count) : "",
                       CellText(event.value("text", Json())));
    if (!event.contains("records") || !event["records"].is_array()) continue;
    for (const Json& record : event["records"]) {
      out += fmt::format("{:>14}{}\n", "", CellText(record));
    }
  }
  return out.empty() ? "no events yet\n" : out;
}

absl::StatusOr<std::string> EventsJson(const std::string& json) {
  const Json status = Json::parse(json, nullptr, false);
  if (!status.is_object()) {
    return Internal("the dispatcher's status is not a JSON object");
  }
  if (!status.contains("events") || !status["events"].is_array()) return "[]";
  return status["events"].dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<std::string> StatusYaml(const std::string& json) {
  const Json status = Json::parse(json, nullptr, false);
  if (!status.is_structured()) {
    return Internal("the dispatcher's status is not a JSON object");
  }
  std::string out;
  AppendYaml(status, 0, out);
  return out;
}

absl::StatusOr<std::string> StatusTable(const std::string& json) {
  Json status = Json::parse(json, nullptr, false);
  if (!status.is_object()) {
    return Internal("the dispatcher's status is not a JSON object");
  }
  if (status.contains("events") && status["events"].is_array()) {
    Json& events = status["events"];
    while (events.size() > kEventsInTable) events.erase(0);
  }
  std::string out;
  for (const auto& [key, value] : status.items()) {
    if (IsTable(value)) continue;
    if (value.is_array() && value.empty()) {
      out += fmt::format("{}: none\n", key);
    } else {
      out += fmt::format("{}: {}\n", key, CellText(value));
    }
  }
  for (const auto& [key, value] : status.items()) {
    if (!IsTable(value)) continue;
    AppendTable(key, value, out);
    AppendNestedTables(value, out);
  }
  AppendLeftOut(status, out);
  AppendVerdicts(status, out);
  return out;
}

}  // namespace feedmill
