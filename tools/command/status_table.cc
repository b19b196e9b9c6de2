#include "tools/command/status_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/status.h"

namespace feedmill {
namespace {

using Json = nlohmann::ordered_json;

std::string CellText(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.empty()) return "-";
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
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

}  // namespace

absl::StatusOr<std::string> StatusTable(const std::string& json) {
  const Json status = Json::parse(json, nullptr, false);
  if (!status.is_object()) {
    return Internal("the dispatcher's status is not a JSON object");
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
    if (IsTable(value)) AppendTable(key, value, out);
  }
  return out;
}

}  // namespace feedmill
