#include "broker/element_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/dataset/step_kind.h"
#include "core/pipeline/block_program.h"
#include "feedmill/element.h"

namespace feedmill {
namespace {

constexpr uint64_t kReadAhead = uint64_t{1} << 20;

uint64_t Times(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

// Returns the size of a row; `bytes`: total of its byte strings, if known.
std::optional<uint64_t> SizeOf(const ElementSpec& spec,
                               const std::optional<uint64_t>& bytes) {
  uint64_t size = 0;
  bool has_bytes = false;
  for (const ComponentSpec& component : spec.components) {
    if (component.dtype == DType::kBytes) {
      has_bytes = true;
    } else if (component.IsStatic()) {
      size += Times(static_cast<uint64_t>(NumItems(component.shape)),
                    ItemSize(component.dtype));
    } else {
      return std::nullopt;
    }
  }
  if (!has_bytes) return size;
  if (bytes.has_value()) return size + *bytes;
  return std::nullopt;
}

}  // namespace

std::string SizeText(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  const bool whole =
      size >= 100 || size == static_cast<double>(static_cast<uint64_t>(size));
  return fmt::format("{:.{}f} {}", size, whole ? 0 : 1, kUnits[unit]);
}

ElementSizes::ElementSizes(const AnalyzedGraph& graph, const Manifest& manifest)
    : graph_(graph) {
  // The average record size is known if the source counts records.
  std::optional<uint64_t> bytes;
  const uint64_t records = manifest.TotalRecords();
  if (graph.source.counted && records > 0) {
    bytes = manifest.TotalBytes() / records;
  }
  const ElementSpec* spec = &graph.source.spec;
  sizes_.push_back(SizeOf(*spec, bytes));
  for (size_t s = 0; s < graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    const uint64_t joined = TraitsOf(step).joins;
    std::optional<uint64_t> size = sizes_.back();
    if (joined > 1) {
      if (size) size = Times(*size, joined);
    } else if (!(*graph.steps[s].output == *spec)) {
      bytes = std::nullopt;  // the sizes of byte strings change here
      size = SizeOf(*graph.steps[s].output, bytes);
    }
    sizes_.push_back(size);
    spec = graph.steps[s].output.get();
  }
}

std::optional<uint64_t> ElementSizes::OfPosition() const {
  if (!graph_.source.counted) return std::nullopt;
  return sizes_[graph_.client_begin];
}

uint64_t ElementSizes::OfThread() const {
  uint64_t widest = 0;
  for (size_t s = 0; s <= graph_.client_begin; ++s) {
    widest = std::max(widest, sizes_[s].value_or(0));
  }
  // A block with large rows is cut.
  return kReadAhead + std::min(Times(widest, kBlockRows),
                               std::max(kReadAhead, Times(widest, 2)));
}

std::string ElementSizes::HeldBy(size_t step) const {
  const uint64_t held = TraitsOf(graph_.graph.steps[step]).holds;
  if (held == 0) return "";
  std::string out = fmt::format("{} element{}", held, held == 1 ? "" : "s");
  if (const auto each = Before(step)) {
    out += fmt::format(", {}", SizeText(Times(held, *each)));
  }
  return out;
}

}  // namespace feedmill
