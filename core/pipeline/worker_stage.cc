#include "core/pipeline/worker_stage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/pipeline/bound_files.h"
#include "core/pipeline/compiled_stage.h"
#include "core/pipeline/read_profile.h"

namespace feedmill {

void SetBits(const BlockProgram::Output& rows, size_t base,
             std::vector<uint8_t>& bits) {
  const size_t words = rows.dropped ? rows.kept.size() : (rows.rows + 63) / 64;
  const size_t size = base / 8 + words * 8 + 1;
  if (bits.size() < size) bits.resize(size);
  uint8_t* to = bits.data() + base / 8;
  const unsigned shift = base % 8;
  for (size_t w = 0; w < words; ++w, to += 8) {
    const size_t left = rows.rows - w * 64;
    const uint64_t word = rows.dropped ? rows.kept[w]
                          : left < 64  ? (uint64_t{1} << left) - 1
                                       : ~uint64_t{0};
    uint64_t now;
    std::memcpy(&now, to, sizeof now);
    now |= word << shift;
    std::memcpy(to, &now, sizeof now);
    if (shift > 0) to[8] = static_cast<uint8_t>(to[8] | word >> (64 - shift));
  }
}

size_t StaticBytes(const ComponentSpec& component) {
  return static_cast<size_t>(NumItems(component.shape)) *
         ItemSize(component.dtype);
}

bool InPlace(const ComponentSpec& component) {
  return component.dtype != DType::kBytes && component.IsStatic();
}

namespace {

// Returns the smallest number of bytes of an element of this spec.
uint64_t LeastBytes(const ElementSpec& spec) {
  uint64_t bytes = 0;
  for (const ComponentSpec& component : spec.components) {
    if (!component.IsStatic()) continue;
    // A byte string has at least offsets.
    bytes += static_cast<uint64_t>(NumItems(component.shape)) *
             std::max(ItemSize(component.dtype), sizeof(uint8_t));
  }
  return std::max<uint64_t>(bytes, 1);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CompiledStage>> CompiledStage::Compile(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    const StageContext& context) {
  auto stage = std::shared_ptr<CompiledStage>(new CompiledStage());
  stage->plan_ = std::move(plan);
  const std::shared_ptr<const Plan>& made = stage->plan_;
  const AnalyzedGraph& graph = made->graph();
  const std::shared_ptr<const FunctionRegistry>& registry = context.registry;
  FM_ASSIGN_OR_RETURN(stage->source_,
                      StageInput::Make(made, manifest, context));
  const auto files = manifest == nullptr ? std::make_shared<const Manifest>()
                                         : std::move(manifest);
  const size_t begin = graph.cached_steps;
  stage->source_place_ =
      begin == 0 ? ReadProfile::kSource
                 : ReadProfile::kSteps + graph.first_step + begin - 1;
  std::vector<size_t> record_steps;
  std::vector<size_t> batch_steps;
  bool batched = false;
  auto spec = std::make_shared<const ElementSpec>(graph.InputOf(begin));
  stage->record_spec_ = spec;
  for (size_t s = begin; s < graph.client_begin; ++s) {
    const Step& step = graph.graph.steps[s];
    // The plan knows the numbers of enumerate; the worker writes them.
    if (graph.steps[s].home == Home::kWorker || step.Is<EnumerateStep>()) {
      (batched ? batch_steps : record_steps).push_back(s);
    } else if (step.Is<BatchStep>()) {
      batched = true;
    }
    spec = graph.steps[s].output;
    if (!batched) stage->record_spec_ = spec;
  }
  // The map of a flat_map runs here; the client splits its output.
  const size_t next = graph.client_begin;
  if (next < graph.steps.size() && graph.steps[next].mapped != nullptr) {
    (batched ? batch_steps : record_steps).push_back(next);
    spec = graph.steps[next].mapped;
    if (!batched) stage->record_spec_ = spec;
  }
  stage->output_ = spec;
  if (!record_steps.empty()) stage->last_step_ = record_steps.back();
  if (!batch_steps.empty()) stage->last_step_ = batch_steps.back();
  FM_ASSIGN_OR_RETURN(
      stage->record_program_,
      BlockProgram::Make(made, registry, record_steps, graph.InputOf(begin)));
  bool filters = stage->record_program_->filters() || stage->source_->drops();
  stage->covered_ = context.covered;
  const bool skips = graph.skip_before || context.covered;
  if (skips) {
    FM_ASSIGN_OR_RETURN(
        SourcePlan source,
        PlanSource(graph, *files, made->seed(), made->iteration()));
    stage->origins_ =
        std::make_shared<const OriginFinder>(made, files, std::move(source));
  }
  if (batched) {
    size_t at = begin;
    while (!graph.graph.steps[at].Is<BatchStep>()) ++at;
    stage->batch_step_ = at;
    if (batch_steps.empty()) stage->last_step_ = at;
    FM_ASSIGN_OR_RETURN(stage->batch_program_,
                        BlockProgram::Make(made, registry, batch_steps,
                                           *graph.steps[at].output));
    filters = filters || stage->batch_program_->filters();
    stage->record_bytes_ = LeastBytes(*stage->record_spec_);
    const auto& batch = graph.graph.steps[at].Get<BatchStep>();
    stage->stacker_ = std::make_unique<const BatchStacker>(
        batch.layout, batch.padding, *stage->record_spec_);
    auto gathered = std::make_shared<ElementSpec>();
    for (const ComponentSpec& c : stage->record_spec_->components) {
      stage->gathered_.push_back(!batch_steps.empty() || !InPlace(c) ||
                                 batch.layout != BatchLayout::kEqual);
      if (stage->gathered_.back()) gathered->components.push_back(c);
    }
    stage->gathered_spec_ = std::move(gathered);
  }
  const std::vector<bool>& placed = stage->record_program_->placed();
  stage->places_ = !batched && !stage->record_program_->heavy() &&
                   std::count(placed.begin(), placed.end(), false) == 0;
  stage->appends_ =
      !batched && !stage->places_ && stage->record_program_->appends();
  stage->naming_ = !graph.source.counted ? Naming::kRuns
                   : filters || skips    ? Naming::kBitmap
                                         : Naming::kDense;
  stage->Estimate(*files);
  return std::shared_ptr<const CompiledStage>(std::move(stage));
}

namespace {

// Changes a piece that begins at a position's start to one that begins inside
// the previous position, which has no elements left.
void BeginWithin(Cursor asked, Piece& piece) {
  if (auto* bitmap = std::get_if<BitmapRows>(&piece.cursors)) {
    std::vector<uint8_t> bits((piece.end.p - asked.p + 7) / 8);
    for (size_t k = 0; k < bitmap->bits.size(); ++k) {
      bits[k] = static_cast<uint8_t>(bits[k] | bitmap->bits[k] << 1);
      const auto carry = static_cast<uint8_t>(bitmap->bits[k] >> 7);
      if (k + 1 < bits.size()) bits[k + 1] = carry;
    }
    bitmap->bits = std::move(bits);
  }
  piece.begin = asked;
}

}  // namespace

absl::StatusOr<Piece> CompiledStage::RunOnce(Cursor begin, Cursor end,
                                             size_t bytes_target,
                                             StageScratch& own,
                                             bool& outer) const {
  const ProfileSpan span(ReadProfile::kChunks);
  Making making(output_, own.blocks);
  const Cursor asked = begin;
  if (naming_ != Naming::kRuns) {
    // A position makes at most one element, so {p, 1} is the start of the next
    // one.
    if (begin.i > 0) begin = {begin.p + 1, 0};
    if (end.i > 0) end = {end.p + 1, 0};
  }
  const uint64_t size = plan_->size();
  if (size != kEndless && end > Cursor{size, 0}) end = {size, 0};
  if (begin > end) {
    return Internal("positions {} to {} of a plan of {}", begin.p, end.p, size);
  }
  own.at = begin;
  making.begin = begin;
  making.end = making.limit = end;
  making.bytes_target = bytes_target;
  const bool passes = batch_program_ == nullptr && record_program_->empty();
  if (passes) {  // one read becomes the piece
    making.read_bytes = std::max(kReadBytes, bytes_target);
    own.block.blocks = own.blocks;
  }
  making.appends = appends_;
  if (appends_) making.read_bytes = kAppendedBytes;
  if (together_ > 1 && together_bytes_ >= bytes_target / 2 &&
      RowsTogether::Max() > 1) {
    const uint64_t next = (begin.p / together_ + 1) * together_;
    making.end = std::min(end, Cursor{next, 0});
    making.bytes_target = std::max(bytes_target, together_bytes_);
    making.read_bytes = std::max(kReadBytes, together_bytes_);
  }
  const absl::Status made = Make(making, own);
  if (std::exchange(own.block.blocks, nullptr) != nullptr) {
    source_->LeaveBlocks(*own.source);
  }
  FM_RETURN_IF_ERROR(made);
  // Several components may be too large together.
  ByteBudget::Check(making.bytes() - making.rows() * sizeof(int64_t), 1);
  return Conclude(asked, making, own, outer);
}

Piece CompiledStage::Conclude(Cursor asked, Making& making, StageScratch& own,
                              bool& outer) const {
  Piece piece;
  if (making.failed) piece.skipped = SkipFailed(making, outer);
  piece.begin = making.begin;
  piece.end = making.end;
  piece.error = std::move(making.error);
  switch (naming_) {
    case Naming::kRuns:
      piece.cursors = RunRows{std::move(making.runs)};
      break;
    case Naming::kBitmap:
      making.bits.resize((piece.end.p - piece.begin.p + 7) / 8);
      piece.cursors = BitmapRows{std::move(making.bits)};
      break;
    case Naming::kDense:
      piece.cursors = DenseRows{};
      break;
  }
  piece.chunk = Finish(std::move(making));
  if (appends_) {
    own.appended.clear();
    for (const Column& column : piece.chunk.columns) {
      own.appended.push_back(column.values.size());
    }
  }
  if (asked < piece.begin) BeginWithin(asked, piece);
  return piece;
}

absl::Status CompiledStage::Make(Making& making, StageScratch& scratch) const {
  // Without steps, the read columns may become the piece themselves.
  if (!record_program_->empty()) Reserve(making, scratch);
  if (naming_ == Naming::kRuns) {
    FM_RETURN_IF_ERROR(RunBlocks(making, scratch));
  } else {
    FM_RETURN_IF_ERROR(batch_program_ != nullptr ? RunBatches(making, scratch)
                                                 : RunRecords(making, scratch));
  }
  const size_t rows = making.rows();
  if (rows > 0) {
    scratch.row_bytes =
        static_cast<double>(making.bytes()) / static_cast<double>(rows);
  }
  return absl::OkStatus();
}

Chunk CompiledStage::Finish(Making making) const {
  if (making.taken.rows > 0) return std::move(making.taken);
  if (making.placed_rows == 0) return std::move(making.builder).Finish();
  Chunk chunk{output_, making.placed_rows, {}};
  for (size_t c = 0; c < making.placed.size(); ++c) {
    const ComponentSpec& component = output_->components[c];
    chunk.columns.push_back({component.dtype,
                             component.shape,
                             std::move(making.placed[c]).Freeze(),
                             {},
                             {},
                             {}});
  }
  return chunk;
}

// ---- reading and running

namespace {

// True if the column holds exactly `rows` uniform rows.
bool HoldsRows(const Column& column, size_t rows) {
  if (column.ragged()) return false;
  const size_t items = rows * static_cast<size_t>(NumItems(column.shape));
  if (column.dtype != DType::kBytes) {
    return column.values.size() == items * ItemSize(column.dtype);
  }
  const auto offsets = column.offsets.As<int64_t>();
  return offsets.size() == items + 1 && offsets.front() == 0 &&
         static_cast<size_t>(offsets.back()) == column.values.size();
}

}  // namespace

// Runs rows [first, first + count) of the block through the record steps.
// REQUIRES: records_in.direct, counters and passes are set.
void CompiledStage::RunProgram(size_t first, size_t count,
                               StageScratch& scratch) const {
  BlockProgram::Input& in = scratch.records_in;
  const InputBlock& block = scratch.block;
  size_t begin = first;
  size_t end = first + count;
  size_t all = block.rows;
  if (block.dropped) {  // translate to the rows that are present
    const auto& origins = block.origins;
    const auto at = [&origins](size_t row) {
      return static_cast<size_t>(
          std::lower_bound(origins.begin(), origins.end(), row) -
          origins.begin());
    };
    begin = at(begin);
    end = at(end);
    all = origins.size();
  }
  in.rows = end - begin;
  in.numbered = naming_ == Naming::kRuns || block.dropped;
  in.trailing = block.trailing;
  in.progression.reset();
  if (block.progression) in.progression = block.progression->From(begin);
  in.columns.clear();
  const bool whole = in.rows == all;
  scratch.slices.clear();
  scratch.slices.reserve(scratch.block.columns.size());
  for (const Column* const column : scratch.block.columns) {
    if (whole || in.progression) {
      in.columns.push_back(column);
    } else {
      scratch.slices.push_back(column->Slice(begin, end));
      in.columns.push_back(&scratch.slices.back());
    }
  }
  in.counters = scratch.counters;
  in.passes = scratch.passes;
  if (!scratch.counters.empty()) {
    in.counters = in.counters.subspan(begin, in.rows);
    in.passes = in.passes.subspan(begin, in.rows);
  }
  if (in.rows == 0 && count > 0) {
    scratch.records_out = {};
  } else {
    record_program_->Run(in, *scratch.records, scratch.records_out);
  }
  if (block.dropped) Widen(first, count, begin, scratch);
}

// Translates records_out to row numbers of the block, [first, first + count).
// Only some of these rows were present; the first that entered the program was
// present row `begin`.
void CompiledStage::Widen(size_t first, size_t count, size_t begin,
                          StageScratch& scratch) {
  BlockProgram::Output& out = scratch.records_out;
  const std::vector<uint32_t>& there = scratch.block.origins;
  scratch.origins.clear();
  scratch.kept.assign((count + 63) / 64, 0);
  for (size_t row = 0; row < out.rows; ++row) {
    const size_t origin = there[begin + out.OriginOf(row)] - first;
    scratch.origins.push_back(static_cast<uint32_t>(origin));
    scratch.kept[origin / 64] |= uint64_t{1} << origin % 64;
  }
  if (!out.error.ok()) out.failed_row = there[begin + out.failed_row] - first;
  out.origins = scratch.origins;
  out.kept = scratch.kept;
  out.dropped = true;
}

namespace {

// For rows of one number, the fixed cost of a block matters, so blocks are
// larger.
constexpr size_t kNarrowBytes = sizeof(int64_t);
constexpr size_t kNarrowRows = 2 * kBlockRows;

// After a filter, a block yields fewer bytes than requested, and blocks for the
// rest would get ever smaller. So a piece may exceed its target by this much.
size_t BytesBeyond(const BlockProgram& program, size_t bytes_target) {
  return program.filters() ? bytes_target / 16 : 0;
}

}  // namespace

// Returns how many records to read for the rest of the piece.
size_t CompiledStage::RowsAhead(const Making& making,
                                const StageScratch& scratch,
                                uint64_t left) const {
  const double row_bytes =
      scratch.row_bytes > 0
          ? scratch.row_bytes
          : static_cast<double>(std::max<size_t>(estimated_bytes_, 1));
  const double wanted = static_cast<double>(std::max(
                            BytesBeyond(*record_program_, making.bytes_target),
                            making.bytes_target - making.bytes())) /
                        row_bytes;
  const bool narrow = estimated_bytes_ > 0 && estimated_bytes_ <= kNarrowBytes;
  const size_t most = std::min(heavy_   ? kHeavyRows
                               : narrow ? kNarrowRows
                                        : kBlockRows,
                               RowsTogether::Max());
  const size_t rows =
      wanted >= static_cast<double>(most)
          ? most
          : std::max<size_t>(
                1, static_cast<size_t>(making.appends ? std::ceil(wanted)
                                                      : std::round(wanted)));
  return static_cast<size_t>(std::min<uint64_t>(rows, left));
}

// ---- records

absl::Status CompiledStage::RunRecords(Making& making,
                                       StageScratch& scratch) const {
  uint64_t p = making.begin.p;
  const bool one_by_one = record_program_->heavy();
  bool first = true;
  while (p < making.end.p && (first || !making.full())) {
    first = false;
    scratch.at = {p, 0};
    const size_t ahead =
        making.full() ? 1 : RowsAhead(making, scratch, making.end.p - p);
    Ask(p, p + ahead, scratch);
    FM_ASSIGN_OR_RETURN(const size_t read,
                        ReadAhead(0, making.BytesAhead(), scratch));
    SetNames(p, 0, read, scratch);
    const size_t step = one_by_one ? 1 : std::max<size_t>(read, 1);
    size_t row = 0;
    for (; row < read && (row == 0 || !making.full()); row += step) {
      scratch.at = {p + row, 0};
      if (one_by_one && scratch.block.dropped && !scratch.block.Has(row)) {
        continue;
      }
      ReserveDirect(step, making, scratch);
      RunProgram(row, step, scratch);
      AppendRecords(p + row, p + row + step == making.end.p, making, scratch);
      const BlockProgram::Output& out = scratch.records_out;
      if (out.error.ok()) continue;
      const size_t bad = row + out.failed_row;
      making.Fail({p + bad, 0},
                  AtRecord(out.error, out.failed_step, scratch.RefAt(bad), 0),
                  out.failed_step + 1, scratch.RefAt(bad));
      return absl::OkStatus();
    }
    p += row;
    if (row == read && !scratch.block.error.ok()) {
      making.Fail({p, 0}, scratch.block.error, scratch.block.failed_after,
                  scratch.RefAt(row));
      return absl::OkStatus();
    }
  }
  making.end = {p, 0};
  return absl::OkStatus();
}

// Reserves memory for the expected rows, so that columns do not move as they
// grow.
void CompiledStage::Reserve(Making& making, const StageScratch& scratch) const {
  if (places_) {
    for (size_t c = 0; c < output_->components.size(); ++c) {
      making.placed.emplace_back(scratch.blocks);
    }
  }
  // Strings need about as much as in the last piece.
  for (size_t c = 0; c < scratch.appended.size() && making.appends; ++c) {
    if (InPlace(output_->components[c])) continue;
    making.builder.ReserveValues(
        c, scratch.appended[c] + scratch.appended[c] / 16);
  }
  if (batch_program_ != nullptr || estimated_bytes_ == 0) return;
  const size_t row_bytes = estimated_bytes_ + sizeof(int64_t);
  const uint64_t rows =
      std::min<uint64_t>(making.end.p - making.begin.p,
                         making.bytes_target / row_bytes + kBlockRows);
  for (size_t c = 0; c < output_->components.size(); ++c) {
    const ComponentSpec& component = output_->components[c];
    if (!InPlace(component)) continue;
    const size_t bytes = StaticBytes(component) * static_cast<size_t>(rows);
    const size_t room =
        std::min(bytes, making.bytes_target +
                            BytesBeyond(*record_program_, making.bytes_target));
    if (places_) {
      // Runs of records are taken a block at a time, even if little is left.
      const size_t more = naming_ == Naming::kRuns ? kBlockRows : 1;
      making.placed[c].Reserve(static_cast<size_t>(
          std::min<uint64_t>({room + more * StaticBytes(component),
                              2 * making.bytes_target + StaticBytes(component),
                              ByteBudget::Limit()})));
      continue;
    }
    making.builder.ReserveValues(c, room);
  }
}

// Lets the record program write its rows directly into the chunk, if it can.
void CompiledStage::ReserveDirect(size_t rows, Making& making,
                                  StageScratch& scratch) const {
  scratch.records_in.appended = appends_ ? &making.builder : nullptr;
  std::vector<std::byte*>& direct = scratch.records_in.direct;
  direct.clear();
  for (size_t c = 0; c < making.placed.size(); ++c) {
    direct.push_back(
        making.placed[c].Extend(rows * StaticBytes(output_->components[c])));
  }
  if (!record_program_->heavy()) return;
  for (size_t c = 0; c < record_program_->direct().size(); ++c) {
    direct.push_back(
        record_program_->direct()[c]
            ? making.builder.AppendRow(c, output_->components[c].shape)
            : nullptr);
  }
}

// Makes the block's columns the piece, without a copy. The columns must have an
// owner. The block must fill most of the piece, be the `last` one of it, or be
// a large run of cached rows.
bool CompiledStage::TakeRecords(bool last, Making& making,
                                StageScratch& scratch) const {
  const BlockProgram::Output& out = scratch.records_out;
  const std::vector<const Column*>& read = scratch.block.columns;
  if (making.rows() > 0 || places_ || scratch.blocks != scratch.block.blocks) {
    return false;
  }
  size_t bytes = out.rows * sizeof(int64_t);
  bool from_source = false;
  for (const Column* const column : out.columns) {
    bytes += column->values.size();
    const bool is_read =
        std::find(read.begin(), read.end(), column) != read.end();
    if (!HoldsRows(*column, out.rows) ||
        (!is_read && column->values.owner() == nullptr)) {
      return false;
    }
    from_source = from_source || is_read;
  }
  const bool fills = bytes >= making.bytes_target / 4 * 3 ||
                     bytes + bytes / out.rows > making.bytes_target ||
                     (from_source && scratch.block.kept && bytes >= kKeptBytes);
  if (!last && !fills) return false;
  std::vector<Column> source;
  if (from_source) source = source_->Take(*scratch.source);
  if (from_source && source.empty()) return false;
  for (const Column* const column : out.columns) {
    const auto at = std::find(read.begin(), read.end(), column) - read.begin();
    making.taken.columns.push_back(static_cast<size_t>(at) < read.size()
                                       ? source[static_cast<size_t>(at)]
                                       : *column);
  }
  making.taken.spec = output_;
  making.taken.rows = out.rows;
  return true;
}

// Keeps the rows that were made of the memory extended for all rows.
void CompiledStage::KeepPlaced(Making& making,
                               const StageScratch& scratch) const {
  const BlockProgram::Output& out = scratch.records_out;
  for (size_t c = 0; c < making.placed.size(); ++c) {
    const size_t size = StaticBytes(output_->components[c]);
    std::byte* const to = scratch.records_in.direct[c];
    if (out.rows > 0 && size > 0 && out.columns[c]->values.data() != to) {
      std::memcpy(to, out.columns[c]->values.data(), out.rows * size);
    }
    making.placed[c].Truncate((making.placed_rows + out.rows) * size);
  }
  making.placed_rows += out.rows;
}

void CompiledStage::AppendRecords(uint64_t p, bool last, Making& making,
                                  StageScratch& scratch) const {
  const BlockProgram::Output& out = scratch.records_out;
  if (places_) KeepPlaced(making, scratch);
  if (out.rows == 0) return;
  if (appends_) {
    making.builder.FinishRows(out.rows);
  } else if (!places_ && !TakeRecords(last, making, scratch)) {
    if (record_program_->empty() && making.rows() == 0) {
      Reserve(making, scratch);
    }
    const auto& direct = scratch.records_in.direct;
    for (size_t c = 0; c < out.columns.size(); ++c) {
      if (!direct.empty() && direct[c] != nullptr) continue;
      making.builder.AppendRows(c, *out.columns[c], 0, out.rows);
    }
    making.builder.FinishRows(out.rows);
  }
  if (naming_ == Naming::kBitmap) {
    SetBits(out, p - making.begin.p, making.bits);
  }
}

absl::StatusOr<std::shared_ptr<const WorkerStage>> WorkerStage::Make(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    std::shared_ptr<const FunctionRegistry> registry) {
  StageContext context;
  FM_ASSIGN_OR_RETURN(
      context.registry,
      BindFiles(plan->graph().graph, manifest.get(), std::move(registry)));
  if (manifest != nullptr) context.contents = manifest->contents;
  return CompiledStage::Compile(std::move(plan), std::move(manifest), context);
}

}  // namespace feedmill
