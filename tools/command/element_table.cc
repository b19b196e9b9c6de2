#include "tools/command/element_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/base/printable_text.h"
#include "core/chunk/jsonl.h"
#include "core/chunk/validity.h"
#include "core/ops/shown_bytes.h"

namespace feedmill {
namespace {

constexpr std::string_view kGap = "  ";
// Arrays of more items are shown by their type.
constexpr int64_t kItemsMax = 6;

// `validity`: of the column; null if it has no nulls.
std::string CellOfItem(const Column& column, const Column* validity,
                       int64_t item) {
  if (validity != nullptr &&
      validity->values.As<uint8_t>()[static_cast<size_t>(item)] == 0) {
    return "null";
  }
  if (column.dtype == DType::kBytes) return ShownBytes(column.BytesAt(item));
  std::string text;
  AppendJsonItem(column, item, text);
  return text;
}

std::string CellOf(const Column& column, const Column* validity, size_t row) {
  const Shape shape = column.RowShape(row);
  const int64_t first = column.RowStart(row);
  const int64_t items = column.RowItems(row);
  if (shape.empty()) return CellOfItem(column, validity, first);
  if (shape.size() > 1 || items > kItemsMax) {
    return fmt::format("{}{}", DTypeName(column.dtype), ShapeToString(shape));
  }
  std::vector<std::string> shown;
  for (int64_t k = 0; k < items; ++k) {
    shown.push_back(CellOfItem(column, validity, first + k));
  }
  return CutText(fmt::format("[{}]", fmt::join(shown, ", ")), kShownCharacters);
}

bool IsNumber(std::string_view cell) {
  return !cell.empty() &&
         cell.find_first_not_of("0123456789+-.e") == cell.npos &&
         cell.find_first_of("0123456789") != cell.npos;
}

std::string Padded(const std::string& cell, size_t width, bool right) {
  const std::string space(width - CharactersOf(cell), ' ');
  return right ? space + cell : cell + space;
}

std::string Blocks(const TableRows& rows) {
  size_t width = 0;
  for (const std::string& name : rows.front()) {
    width = std::max(width, CharactersOf(name));
  }
  std::string text;
  for (size_t r = 1; r < rows.size(); ++r) {
    if (r > 1) text += '\n';
    for (size_t c = 0; c < rows[r].size(); ++c) {
      text += fmt::format("{}{}{}\n", Padded(rows.front()[c], width, false),
                          kGap, rows[r][c]);
    }
  }
  return text;
}

}  // namespace

std::string AlignedTable(const TableRows& rows, size_t width) {
  const size_t columns = rows.front().size();
  std::vector<size_t> widths(columns);
  std::vector<bool> right(columns, rows.size() > 1);
  bool several_lines = false;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], CharactersOf(rows[r][c]));
      if (r > 0 && !IsNumber(rows[r][c])) right[c] = false;
      several_lines =
          several_lines || rows[r][c].find('\n') != std::string::npos;
    }
  }
  size_t all = kGap.size() * (columns - 1);
  for (const size_t each : widths) all += each;
  if ((all > width || several_lines) && rows.size() > 1) return Blocks(rows);
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      if (c > 0) line += kGap;
      line += Padded(cells[c], widths[c], right[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  for (size_t r = 0; r < rows.size(); ++r) {
    add_line(rows[r]);
    if (r > 0) continue;
    std::vector<std::string> rule;
    for (const size_t each : widths) rule.push_back(std::string(each, '-'));
    add_line(rule);
  }
  return text;
}

TableRows TableOfElements(const ElementSpec& spec,
                          std::span<const Chunk> chunks,
                          PictureProtocol pictures) {
  TableRows rows(1);
  const std::span all(spec.components);
  for (size_t c = 0; c < all.size(); ++c) {
    if (IsValidity(all, c)) continue;
    rows[0].push_back(all[c].name.empty() ? "value"
                                          : PrintableText(all[c].name));
  }
  for (const Chunk& chunk : chunks) {
    for (size_t row = 0; row < chunk.rows; ++row) {
      std::vector<std::string>& cells = rows.emplace_back();
      for (size_t c = 0; c < all.size(); ++c) {
        if (IsValidity(all, c)) continue;
        const Column* const validity =
            MayBeNull(all, c) ? &chunk.columns[c + 1] : nullptr;
        cells.push_back(CellOf(chunk.columns[c], validity, row));
        const std::string picture =
            TerminalPicture(pictures, chunk.columns[c], row);
        if (!picture.empty()) cells.back() += "\n" + picture;
      }
    }
  }
  return rows;
}

}  // namespace feedmill
