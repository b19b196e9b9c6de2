#include "core/dataset/lookup_step.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/memory_source.h"
#include "core/dataset/nearest_name.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"

namespace feedmill {
namespace {

absl::Status CheckTable(const LookupStep& step) {
  if (step.table.size() != 1 || step.table[0].source.empty()) {
    return InvalidArgument("it needs one table");
  }
  const Graph& table = step.table[0];
  if (!table.steps.empty()) {
    return InvalidArgument(
        "the table has steps; write what they make to a file, and look into "
        "that");
  }
  const bool has_rows =
      SourceFiles(table.source) != nullptr || table.source.Is<MemorySource>();
  if (has_rows) return absl::OkStatus();
  return InvalidArgument(
      "the table is the source {}; a table is read from files, or made of "
      "arrays in memory",
      table.source.name());
}

// Marks a column and its validity as read.
absl::Status Read(const std::string& name, const LookupStep& step,
                  const ElementSpec& all, std::string_view hint,
                  std::vector<bool>& live) {
  const int found = all.Find(name);
  if (found >= 0 && !IsValidityName(name)) {
    const auto c = static_cast<size_t>(found);
    if (live[c]) return InvalidArgument("the column \"{}\" stands twice", name);
    live[c] = true;
    if (MayBeNull(std::span(all.components), c)) live[c + 1] = true;
    return absl::OkStatus();
  }
  std::vector<std::string_view> known;
  for (const ComponentSpec& c : all.components) known.push_back(c.name);
  return InvalidArgument("{} has no column \"{}\"{}; its columns are {}{}",
                         TableText(step), name, DidYouMean(name, known),
                         all.ToString(), hint);
}

}  // namespace

const Graph* TableOf(const Step& step) {
  const auto* const lookup = step.As<LookupStep>();
  return lookup == nullptr || lookup->table.empty() ? nullptr
                                                    : lookup->table.data();
}

absl::Status ChangeTables(
    const std::function<absl::Status(Graph& table)>& change, Graph& graph) {
  for (Step& step : graph.steps) {
    if (TableOf(step) == nullptr) continue;
    LookupStep changed = step.Get<LookupStep>();
    FM_RETURN_IF_ERROR(change(changed.table[0]));
    step = Step(step.kind(), std::move(changed));
  }
  return absl::OkStatus();
}

std::string TableText(const LookupStep& step) {
  const std::vector<std::string>* const files =
      step.table.empty() ? nullptr : SourceFiles(step.table[0].source);
  if (files == nullptr || files->empty()) return "the table";
  return files->size() == 1 ? files->front()
                            : fmt::format("{}, …", files->front());
}

absl::StatusOr<LookupColumns> ColumnsOf(const LookupStep& step) {
  FM_RETURN_IF_ERROR(CheckTable(step));
  const Source& source = step.table[0].source;
  FM_ASSIGN_OR_RETURN(const ElementSpec all,
                      source.kind().Output(source.options(), {}));
  const std::string& key = step.table_key.empty() ? step.key : step.table_key;
  LookupColumns out;
  out.live.resize(all.components.size());
  FM_RETURN_IF_ERROR(
      Read(key, step, all,
           step.table_key.empty() ? "; table_key names another column" : "",
           out.live));
  const std::vector<bool> keys = out.live;
  for (const std::string& name : step.columns) {
    FM_RETURN_IF_ERROR(Read(name, step, all, "", out.live));
  }
  for (size_t c = 0; c < out.live.size(); ++c) {
    if (step.columns.empty()) out.live[c] = true;
    if (!out.live[c]) continue;
    const size_t place = out.spec.components.size();
    if (all.components[c].name == key) out.key = place;
    if (!keys[c]) out.taken.push_back(place);
    out.spec.components.push_back(all.components[c]);
  }
  const ComponentSpec& found = out.spec.components[out.key];
  const bool fits = IsInteger(found.dtype) || found.dtype == DType::kBytes;
  if (fits && found.shape.empty()) return out;
  return InvalidArgument(
      "the column \"{}\" of {} is {}{}; a key is an integer or bytes", key,
      TableText(step), DTypeName(found.dtype), ShapeToString(found.shape));
}

std::string LookupName(const LookupStep& step) {
  const std::string& key = step.table_key.empty() ? step.key : step.table_key;
  std::string name =
      fmt::format("lookup {} {}", Fingerprint(step.table.at(0)), key);
  for (const std::string& column : step.columns) name += ", " + column;
  return name;
}

}  // namespace feedmill
