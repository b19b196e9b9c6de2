#include "core/pipeline/row_groups.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/byte_budget.h"
#include "core/chunk/chunk_builder.h"

namespace feedmill {
namespace {

// Rows in no group are kept up to this many bytes or blocks.
constexpr size_t kIdleBytesMax = size_t{4} << 20;
constexpr size_t kIdleBlocksMax = 256;

// Appends rows to a builder, consecutive rows of a block together.
template <class BlockAt>
void AppendRuns(std::span<const RowRef> rows, BlockAt&& block,
                ChunkBuilder& builder) {
  for (size_t at = 0; at < rows.size();) {
    size_t end = at + 1;
    while (end < rows.size() && rows[end].block == rows[at].block &&
           rows[end].row == rows[end - 1].row + 1) {
      ++end;
    }
    const StageState::Held& held = block(rows[at].block);
    for (size_t c = 0; c < held.chunk.columns.size(); ++c) {
      builder.AppendRows(c, held.chunk.columns[c], rows[at].row,
                         rows[at].row + (end - at));
    }
    builder.FinishRows(end - at);
    at = end;
  }
}

template <class BlockAt>
StageState::Held Gathered(std::shared_ptr<const ElementSpec> spec,
                          std::span<const RowRef> rows, BlockAt&& block) {
  StageState::Held out;
  ChunkBuilder builder(std::move(spec));
  AppendRuns(rows, block, builder);
  out.chunk = std::move(builder).Finish();
  for (const RowRef ref : rows) {
    const StageState::Held& held = block(ref.block);
    if (held.counters.empty()) continue;
    out.counters.push_back(held.counters[ref.row]);
    out.passes.push_back(held.passes[ref.row]);
  }
  return out;
}

}  // namespace

void RowGroups::Add(Block block) {
  rows_ += block.held->chunk.rows;
  for (const Column& column : block.held->chunk.columns) {
    bytes_ += column.values.size() + column.offsets.size();
  }
  blocks_.push_back(std::move(block));
}

void RowGroups::Begin(const Flow& flow) {
  Add({std::make_shared<const StageState::Held>(
           StageState::Held{flow.chunk, flow.counters, flow.passes}),
       flow.inputs, flow.first_input, flow.origins});
}

Flow RowGroups::Gather(std::span<const RowRef> rows) const {
  StageState::Held held = Gathered(
      spec_, rows,
      [&](uint32_t block) -> const auto& { return *blocks_[block].held; });
  Flow out;
  out.chunk = std::move(held.chunk);
  out.counters = std::move(held.counters);
  out.passes = std::move(held.passes);
  for (const RowRef ref : rows) {
    const auto& origins = blocks_[ref.block].origins;
    if (!origins.empty()) out.origins.push_back(origins[ref.row]);
  }
  return out;
}

uint64_t RowGroups::Done(uint64_t fed, bool in_order) const {
  uint64_t done = fed;
  for (const auto& group : groups) {
    const size_t looked =
        in_order ? std::min<size_t>(group.size(), 1) : group.size();
    for (size_t k = 0; k < looked; ++k) {
      const uint64_t input = InputOf(group[k]);
      done = std::min(done, input - std::min<uint64_t>(input, 1));
    }
  }
  return done;
}

size_t RowGroups::Live() const {
  size_t live = 0;
  for (const auto& group : groups) live += group.size();
  return live;
}

uint64_t RowGroups::LargestGroupBytes() const {
  uint64_t largest = 0;
  for (const auto& group : groups) {
    uint64_t bytes = 0;
    for (const RowRef ref : group) {
      bytes +=
          blocks_[ref.block].held->chunk.ElementBytes(ref.row, ref.row + 1);
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

void RowGroups::Compact() {
  const size_t live = Live();
  const bool idle = rows_ > 2 * live &&
                    (bytes_ > kIdleBytesMax || blocks_.size() > kIdleBlocksMax);
  if (live > 0 && !idle) return;
  Block block;
  std::vector<RowRef> all;
  for (auto& group : groups) {
    for (RowRef& ref : group) {
      all.push_back(ref);
      block.inputs.push_back(InputOf(ref));
      ref = {0, static_cast<uint32_t>(all.size() - 1)};
    }
  }
  // The bound of an element's size does not apply to many elements together.
  const ByteBudget unbounded(UINT64_MAX);
  Flow flow = Gather(all);
  block.held = std::make_shared<const StageState::Held>(StageState::Held{
      std::move(flow.chunk), std::move(flow.counters), std::move(flow.passes)});
  block.origins = std::move(flow.origins);
  blocks_.clear();
  rows_ = bytes_ = 0;
  if (live > 0) Add(std::move(block));
}

void RowGroups::Save(StageState::Step& state) const {
  for (const Block& block : blocks_) state.held.push_back(block.held);
  for (const auto& group : groups) {
    state.groups.push_back(group.size());
    state.rows.insert(state.rows.end(), group.begin(), group.end());
  }
}

bool RowGroups::Restore(const StageState::Step& state) {
  StageState::Held held = HeldInOrder(state);
  const size_t rows = held.chunk.rows;
  const bool named = held.counters.size() == held.passes.size() &&
                     (held.passes.empty() || held.passes.size() == rows);
  if (!named || rows > std::numeric_limits<uint32_t>::max()) return false;
  if (rows > 0) {
    std::optional<Chunk> of_spec = RowsOf(held.chunk, *spec_);
    if (!of_spec) return false;
    held.chunk = *std::move(of_spec);
  }
  groups.clear();
  size_t at = 0;
  for (const uint64_t size : state.groups) {
    if (size > rows - at) return false;
    auto& group = groups.emplace_back();
    for (uint64_t k = 0; k < size; ++k) {
      group.push_back({0, static_cast<uint32_t>(at++)});
    }
  }
  if (at != rows) return false;
  if (rows > 0) {
    Add({std::make_shared<const StageState::Held>(std::move(held)), {}, 0, {}});
  }
  return true;
}

std::optional<Chunk> RowsOf(const Chunk& held, const ElementSpec& spec) {
  if (held.spec == nullptr) return std::nullopt;
  if (*held.spec == spec) return held;
  Chunk out{std::make_shared<const ElementSpec>(spec), held.rows, {}};
  for (const ComponentSpec& c : spec.components) {
    const int found = held.spec->Find(c.name);
    if (found < 0) return std::nullopt;
    const auto column = static_cast<size_t>(found);
    // Held rows may all have the shape that `spec` leaves open.
    if (!held.columns[column].Validate(c, held.rows).ok()) return std::nullopt;
    out.columns.push_back(held.columns[column]);
  }
  return out;
}

StageState::Held HeldInOrder(const StageState::Step& state) {
  if (state.held.empty()) return {};
  std::vector<RowRef> rows = state.rows;
  bool fits = true;
  for (const RowRef ref : rows) {
    fits = fits && ref.block < state.held.size() &&
           ref.row < state.held[ref.block]->chunk.rows;
  }
  if (!fits) return {};
  return Gathered(
      state.held[0]->chunk.spec, rows,
      [&](uint32_t block) -> const auto& { return *state.held[block]; });
}

}  // namespace feedmill
