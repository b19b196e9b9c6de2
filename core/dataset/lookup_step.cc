#include "core/dataset/lookup_step.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/validity.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/image_table_source.h"
#include "core/dataset/memory_source.h"
#include "core/dataset/nearest_name.h"
#include "core/dataset/source_types.h"
#include "core/dataset/step_kind.h"

namespace feedmill {
namespace {

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
                         TableText(step.table), name, DidYouMean(name, known),
                         all.ToString(), hint);
}

}  // namespace

const Graph* TableOf(const Step& step) {
  const auto* const lookup = step.As<LookupStep>();
  return lookup == nullptr || lookup->table.empty() ? nullptr
                                                    : lookup->table.data();
}

const Graph* TableOf(const Source& source) {
  const auto* const images = source.As<ImageTableSource>();
  return images == nullptr || images->table.empty() ? nullptr
                                                    : images->table.data();
}

absl::Status ChangeTables(
    const std::function<absl::Status(Graph& table)>& change, Graph& graph) {
  if (TableOf(graph.source) != nullptr) {
    ImageTableSource changed = graph.source.Get<ImageTableSource>();
    FM_RETURN_IF_ERROR(change(changed.table[0]));
    graph.source = Source(graph.source.kind(), std::move(changed));
  }
  for (Step& step : graph.steps) {
    if (TableOf(step) == nullptr) continue;
    LookupStep changed = step.Get<LookupStep>();
    FM_RETURN_IF_ERROR(change(changed.table[0]));
    step = Step(step.kind(), std::move(changed));
  }
  return absl::OkStatus();
}

std::string TableText(const std::vector<Graph>& table) {
  const std::vector<std::string>* const files =
      table.empty() ? nullptr : SourceFiles(table[0].source);
  if (files == nullptr || files->empty()) return "the table";
  return files->size() == 1 ? files->front()
                            : fmt::format("{}, …", files->front());
}

absl::StatusOr<ElementSpec> TableSpec(const std::vector<Graph>& table) {
  if (table.size() != 1 || table[0].source.empty()) {
    return InvalidArgument("it needs one table");
  }
  const Source& source = table[0].source;
  if (!table[0].steps.empty()) {
    return InvalidArgument(
        "the table has steps; write what they make to a file, and look into "
        "that");
  }
  if (SourceFiles(source) == nullptr && !source.Is<MemorySource>()) {
    return InvalidArgument(
        "the table is the source {}; a table is read from files, or made of "
        "arrays in memory",
        source.name());
  }
  return source.kind().Output(source.options(), {});
}

absl::StatusOr<LookupColumns> ColumnsOf(const LookupStep& step) {
  FM_ASSIGN_OR_RETURN(const ElementSpec all, TableSpec(step.table));
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
      TableText(step.table), DTypeName(found.dtype),
      ShapeToString(found.shape));
}

std::string LookupName(const LookupStep& step) {
  const std::string& key = step.table_key.empty() ? step.key : step.table_key;
  std::string name =
      fmt::format("lookup {} {}", Fingerprint(step.table.at(0)), key);
  for (const std::string& column : step.columns) name += ", " + column;
  return name;
}

}  // namespace feedmill
