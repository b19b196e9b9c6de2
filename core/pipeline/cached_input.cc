// The input of the steps after a cache: rows that the cache holds, and rows
// that the steps before the cache make for the missing positions.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/io/file_systems.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/cache_key.h"
#include "core/pipeline/element_cache.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/stored_rows.h"
#include "core/pipeline/worker_stage.h"

namespace feedmill {
namespace {

using Lookup = ElementCache::Lookup;

// Consecutive rows of a chunk.
struct Stretch {
  const KeptRows* rows = nullptr;
  size_t begin = 0;
  size_t end = 0;
};

// A run of adjacent rows is read alone from this size on: it may become a piece
// without a copy.
constexpr size_t kAloneBytesMin = size_t{1} << 20;

// After this many files with read errors, a read makes all its elements.
constexpr int kReadsMax = 8;

size_t RowBytes(const KeptRows& rows) {
  return rows.bytes() / std::max<size_t>(rows.rows(), 1) + 1;
}

std::vector<Column> ColumnsOf(const Chunk& chunk, size_t begin, size_t end) {
  std::vector<Column> columns;
  const bool whole = end - begin == chunk.rows;
  for (const Column& column : chunk.columns) {
    columns.push_back(whole ? column : column.Slice(begin, end));
  }
  return columns;
}

class CachedInput final : public StageInput {
 public:
  CachedInput(std::shared_ptr<const WorkerStage> stage,
              std::shared_ptr<ElementCache> cache)
      : stage_(std::move(stage)), cache_(std::move(cache)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    auto scratch = std::make_unique<CachedScratch>();
    scratch->stage = stage_->NewScratch();
    return scratch;
  }

  absl::StatusOr<size_t> Read(std::span<const RecordRef> refs, size_t bytes_max,
                              Scratch& scratch,
                              InputBlock& out) const override {
    auto& own = static_cast<CachedScratch&>(scratch);
    refs = refs.first(std::min(refs.size(), heavy() ? kHeavyRows : kBlockRows));
    own.positions.clear();
    for (const RecordRef& ref : refs) own.positions.push_back(ref.index);
    own.stored.Begin();
    for (int reads = 0;;) {
      if (reads < kReadsMax) {
        cache_->Find(own.positions, own.found);
      } else {
        own.found.rows.assign(own.positions.size(), {});
        own.found.chunks.clear();
      }
      out.error = absl::OkStatus();
      FM_RETURN_IF_ERROR(MakeMissing(bytes_max, own, out));
      out.rows = Choose(bytes_max, own, out);
      if (out.rows < refs.size() &&
          own.found.rows[out.rows].row != Lookup::kMissing) {
        out.error = absl::OkStatus();  // the error belongs to a later position
      }
      if (Show(own, out, reads)) return out.rows;
    }
  }

  absl::StatusOr<bool> ReadBlock(const RecordRef& ref, uint64_t row,
                                 size_t bytes_max, Scratch& scratch,
                                 InputBlock& out) const override {
    auto& own = static_cast<CachedScratch&>(scratch);
    out.SetBad({});
    own.stored.Begin();
    for (int reads = 0; reads < kReadsMax;) {
      const auto rows = cache_->FindRows(ref.index, row);
      if (!rows) break;
      const bool shown = ShowRows(*rows, row, bytes_max, own, out, reads);
      if (shown) return MoreBehind(*rows, row, out);
    }
    own.stage->rows_max = own.rows_max;
    own.stage->ends = own.ends;
    FM_ASSIGN_OR_RETURN(
        auto made, stage_->MakeInBlock(ref.index, row, bytes_max, *own.stage));
    CachedRows rows;
    rows.rows.chunk = std::make_shared<const Chunk>(std::move(made.chunk));
    rows.first = row;
    rows.count = made.count;
    rows.more = made.more;
    rows.dropped = made.dropped;
    rows.origins = std::move(made.origins);
    if (made.count > 0 || !made.more) cache_->AddRows(ref.index, rows);
    out.SetBad(std::move(made));
    int reads = 0;  // no read: the rows are in memory
    ShowRows(rows, row, bytes_max, own, out, reads);
    return MoreBehind(rows, row, out);
  }

  // States of the generator before the cache. Rows of a block have the same
  // numbers there.
  std::optional<RowState> StateBefore(const RecordRef& ref,
                                      uint64_t row) const override {
    const GeneratorStatePtr state = stage_->StateAt({ref.index, row});
    if (state == nullptr) return std::nullopt;
    return RowState{state->at.i, state->bytes};
  }
  void Rest() const override { stage_->Rest(); }
  void Restore(const RecordRef& ref, RowState state) const override {
    stage_->Restore({{ref.index, state.row}, std::move(state.bytes)});
  }

  std::string Describe(const RecordRef& ref, uint64_t row) const override {
    return stage_->Describe(ref.index, row);
  }
  bool heavy() const override { return stage_->rows_heavy(); }
  bool drops() const override { return stage_->drops(); }

 private:
  struct CachedScratch final : StageInput::Scratch {
    std::unique_ptr<WorkerStage::Scratch> stage;
    std::vector<uint64_t> positions;  // requested positions
    Lookup found;
    // Missing positions, each once, and pairs that map requested positions to
    // them.
    std::vector<uint64_t> missing;
    std::vector<std::pair<uint32_t, uint32_t>> missing_at;
    std::unordered_map<uint64_t, uint32_t>
        numbers;  // index of each missing position
    std::vector<uint32_t> rows_of_missing;
    std::vector<Stretch> stretches;
    std::vector<StoredReader::RowRange> wanted;
    StoredReader stored;
  };

  static void FindMissing(CachedScratch& own) {
    own.missing.clear();
    own.missing_at.clear();
    own.numbers.clear();
    const bool distinct =
        std::adjacent_find(own.positions.begin(), own.positions.end(),
                           std::greater_equal<>()) == own.positions.end();
    for (uint32_t k = 0; k < own.positions.size(); ++k) {
      if (own.found.rows[k].row != Lookup::kMissing) continue;
      const uint64_t position = own.positions[k];
      auto number = static_cast<uint32_t>(own.missing.size());
      if (!distinct) {
        number = own.numbers.emplace(position, number).first->second;
      }
      if (number == own.missing.size()) own.missing.push_back(position);
      own.missing_at.emplace_back(k, number);
    }
  }

  // Makes missing elements, about `bytes_max` bytes of them, and adds them to
  // the cache.
  absl::Status MakeMissing(size_t bytes_max, CachedScratch& own,
                           InputBlock& out) const {
    FindMissing(own);
    if (own.missing.empty()) return absl::OkStatus();
    own.stage->rows_max = own.rows_max;
    own.stage->ends = own.ends;
    FM_ASSIGN_OR_RETURN(auto made,
                        stage_->MakeAt(own.missing, bytes_max, *own.stage));
    const auto chunk = static_cast<uint32_t>(own.found.chunks.size());
    own.found.chunks.push_back(
        {std::make_shared<const Chunk>(std::move(made.chunk)), nullptr});
    size_t row = 0;
    std::vector<uint32_t>& rows = own.rows_of_missing;
    rows.assign(made.count, Lookup::kDropped);
    for (uint32_t k = 0; k < made.count; ++k) {
      const bool kept = !made.dropped ||
                        (row < made.origins.size() && made.origins[row] == k);
      if (kept) rows[k] = static_cast<uint32_t>(row++);
    }
    for (const auto& [at, number] : own.missing_at) {
      if (number < made.count) own.found.rows[at] = {chunk, rows[number]};
    }
    cache_->Add(std::span(own.missing).first(made.count), made.origins,
                made.dropped, *own.found.chunks.back().chunk);
    out.SetBad(std::move(made));
    return absl::OkStatus();
  }

  // Chooses the rows before the first missing one that fit into about
  // `bytes_max`. A large run of adjacent rows is chosen alone.
  static size_t Choose(size_t bytes_max, CachedScratch& own, InputBlock& out) {
    own.stretches.clear();
    out.origins.clear();
    size_t bytes = 0;
    size_t k = 0;
    uint32_t chunk = 0;
    size_t row_bytes = 0;
    for (; k < own.positions.size(); ++k) {
      const Lookup::Row& at = own.found.rows[k];
      if (at.row == Lookup::kMissing || bytes >= bytes_max) break;
      if (at.row == Lookup::kDropped) continue;
      if (own.stretches.empty() || chunk != at.chunk ||
          own.stretches.back().end != at.row) {
        if (own.stretches.size() == 1 && bytes >= kAloneBytesMin) break;
        if (own.stretches.empty() || chunk != at.chunk) {
          row_bytes = RowBytes(own.found.chunks[at.chunk]);
        }
        chunk = at.chunk;
        own.stretches.push_back({&own.found.chunks[chunk], at.row, at.row});
      }
      ++own.stretches.back().end;
      out.origins.push_back(static_cast<uint32_t>(k));
      bytes += row_bytes;
    }
    out.dropped = out.origins.size() < k;
    return k;
  }

  // Returns the columns of rows [begin, end): views of memory, or copies read
  // from disk. If reading fails, returns nullopt, reports the error and counts
  // it in `reads`.
  std::optional<std::vector<Column>> Columns(const KeptRows& rows, size_t begin,
                                             size_t end, CachedScratch& own,
                                             const InputBlock& out,
                                             int& reads) const {
    if (rows.chunk != nullptr) return ColumnsOf(*rows.chunk, begin, end);
    auto chunk = own.stored.Read(*rows.stored, begin, end, out.blocks());
    if (chunk.ok()) return std::move(chunk->columns);
    Failed(rows, chunk.status(), reads);
    return std::nullopt;
  }

  // Handles an error of reading stored rows. Returns false.
  bool Failed(const KeptRows& rows, const absl::Status& why, int& reads) const {
    cache_->ReadFailed(*rows.stored, why);
    // After an error that may be temporary, the rows remain in the cache.
    reads = rows.usable() ? kReadsMax : reads + 1;
    return false;
  }

  // Sets `out` to the chosen rows: views if they are adjacent, otherwise a
  // copy. Returns false if reading fails.
  bool Show(CachedScratch& own, InputBlock& out, int& reads) const {
    Prefetch(own);
    if (own.stretches.size() == 1) {
      const Stretch& one = own.stretches[0];
      auto columns = Columns(*one.rows, one.begin, one.end, own, out, reads);
      if (!columns) return false;
      out.Show(*std::move(columns));
      return true;
    }
    ChunkBuilder builder(stage_->output(), out.blocks());
    for (const Stretch& one : own.stretches) {
      StoredReader::View view{one.rows->chunk.get(), one.begin};
      if (view.chunk == nullptr) {
        const auto read =
            own.stored.ReadHere(*one.rows->stored, one.begin, one.end);
        if (!read.ok()) return Failed(*one.rows, read.status(), reads);
        view = *read;
      }
      const size_t count = one.end - one.begin;
      for (size_t c = 0; c < view.chunk->columns.size(); ++c) {
        builder.AppendRows(c, view.chunk->columns[c], view.row,
                           view.row + count);
      }
      builder.FinishRows(count);
    }
    out.Show(std::move(builder).Finish().columns);
    return true;
  }

  // Makes a store fetch all chosen rows at the same time.
  static void Prefetch(CachedScratch& own) {
    own.wanted.clear();
    for (const Stretch& one : own.stretches) {
      if (one.rows->chunk != nullptr) continue;
      own.wanted.push_back({one.rows->stored.get(), one.begin, one.end});
    }
    own.stored.Prefetch(own.wanted);
  }

  // Sets `out` to row `row` of a block and the following rows of `rows` that
  // fit into about `bytes_max`. Returns false as Show.
  bool ShowRows(const CachedRows& rows, uint64_t row, size_t bytes_max,
                CachedScratch& own, InputBlock& out, int& reads) const {
    const uint64_t from = std::min(row - rows.first, rows.count);
    const uint64_t most = bytes_max / RowBytes(rows.rows) + 1;
    const uint64_t to = rows.count - from > most ? from + most : rows.count;
    size_t begin = from;
    size_t end = to;
    out.origins.clear();
    out.dropped = rows.dropped;
    if (out.dropped) {
      const std::vector<uint32_t>& all = rows.origins;
      const auto at = [&all](uint64_t of) {
        return static_cast<size_t>(
            std::lower_bound(all.begin(), all.end(), of) - all.begin());
      };
      begin = at(from);
      end = at(to);
      for (size_t k = begin; k < end; ++k) {
        out.origins.push_back(static_cast<uint32_t>(all[k] - from));
      }
    }
    auto columns = Columns(rows.rows, begin, end, own, out, reads);
    if (!columns) return false;
    out.Show(*std::move(columns));
    out.rows = to - from;
    return true;
  }

  // True if the block continues after the rows in `out`.
  static bool MoreBehind(const CachedRows& rows, uint64_t row,
                         InputBlock& out) {
    const uint64_t to = std::min(row - rows.first, rows.count) + out.rows;
    if (to < rows.count)
      out.error = absl::OkStatus();  // the error belongs to a later row
    return rows.more || to < rows.count;
  }

  const std::shared_ptr<const WorkerStage> stage_;
  const std::shared_ptr<ElementCache> cache_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const StageInput>> MakeCachedInput(
    const AnalyzedGraph& graph, const SourcePlan& source,
    std::shared_ptr<const Manifest> manifest, const StageContext& context) {
  const std::shared_ptr<const Plan>& plan = source.cached.at(0).plan;
  static const Manifest none;
  const std::string key =
      CacheKey(*plan, manifest == nullptr ? none : *manifest, context.contents,
               *context.registry);
  StageContext before = context;
  before.covered = context.covered || graph.skip_before.has_value();
  FM_ASSIGN_OR_RETURN(auto stage,
                      WorkerStage::Make(plan, std::move(manifest), before));
  const CacheStep& step = graph.cache();
  FM_RETURN_IF_ERROR(FileSystemOf(step.path).status());
  const auto memory =
      static_cast<size_t>(step.memory_bytes.value_or(CacheStep::kMemoryBytes));
  auto cache = OpenElementCache(key, step.path, memory, stage->output());
  return std::unique_ptr<const StageInput>(
      std::make_unique<CachedInput>(std::move(stage), std::move(cache)));
}

}  // namespace feedmill
