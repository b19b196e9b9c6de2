#include "core/pipeline/worker_stage.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/float_modes.h"
#include "core/base/machine_error.h"
#include "core/base/status.h"
#include "core/pipeline/bound_files.h"
#include "core/pipeline/piece_draft.h"
#include "core/pipeline/read_profile.h"
#include "core/pipeline/stage_program.h"
#include "core/pipeline/stage_scratch.h"
#include "core/process/process_quota.h"
#include "core/sources/value_cache.h"

namespace feedmill {
namespace {

using Naming = StageProgram::Naming;

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

uint64_t FirstWhole(Cursor cursor) { return cursor.p + (cursor.i > 0 ? 1 : 0); }

}  // namespace

absl::StatusOr<std::shared_ptr<const WorkerStage>> WorkerStage::Make(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    std::shared_ptr<const FunctionRegistry> registry,
    std::shared_ptr<StreamThreads> threads,
    std::shared_ptr<InputService> service) {
  StageContext context;
  context.covered = plan->graph().covered;
  context.threads = std::move(threads);
  context.part = plan->graph().part;
  context.service = std::move(service);
  FM_ASSIGN_OR_RETURN(context.registry, BindFiles(plan->graph(), manifest.get(),
                                                  std::move(registry)));
  if (manifest != nullptr) context.contents = manifest->contents;
  return Make(std::move(plan), std::move(manifest), context);
}

absl::StatusOr<std::shared_ptr<const WorkerStage>> WorkerStage::Make(
    std::shared_ptr<const Plan> plan, std::shared_ptr<const Manifest> manifest,
    const StageContext& context) {
  // Decoded groups of rows and the like, of all sources of the process.
  static const bool bounded = [] {
    KeptValueBytes::SetMost(AvailableMemory() / 8);
    return true;
  }();
  static_cast<void>(bounded);
  FM_ASSIGN_OR_RETURN(
      auto program,
      StageProgram::Compile(std::move(plan), std::move(manifest), context));
  return std::shared_ptr<const WorkerStage>(
      new WorkerStage(std::move(program), std::nullopt));
}

WorkerStage::WorkerStage(std::shared_ptr<const StageProgram> program,
                         std::optional<Part> part)
    : program_(std::move(program)), part_(std::move(part)) {}

WorkerStage::~WorkerStage() = default;

std::shared_ptr<const WorkerStage> WorkerStage::ForShare(Share share) const {
  FM_CHECK(!part_.has_value());
  if (share.whole() || !program_->plan->graph().numbered) {
    return shared_from_this();
  }
  auto program = std::make_shared<StageProgram>(*program_);
  program->plan = program_->plan->ForShare(share);
  program->together = 1;
  return std::shared_ptr<const WorkerStage>(
      new WorkerStage(std::move(program), Part{share, program_->plan}));
}

std::unique_ptr<WorkerStage::Scratch> WorkerStage::NewScratch() const {
  auto scratch = std::make_unique<StageScratch>();
  scratch->source = program_->source->NewScratch();
  scratch->block.columns.resize(program_->records->takes().size());
  scratch->records = program_->records->NewScratch();
  if (program_->batches != nullptr) {
    scratch->batches = program_->batches->NewScratch();
  }
  return scratch;
}

void WorkerStage::Restore(const GeneratorState& state) const {
  const Plan& plan = *program_->plan;
  if (program_->naming != Naming::kRuns || state.at.p >= plan.size()) return;
  program_->source->Restore(plan.Record(state.at.p, 0),
                            {state.at.i, state.bytes});
}

GeneratorStatePtr WorkerStage::StateAt(Cursor end) const {
  if (program_->naming != Naming::kRuns || end.i == 0 ||
      end.p >= program_->plan->size()) {
    return nullptr;
  }
  auto state =
      program_->source->StateBefore(program_->plan->Record(end.p, 0), end.i);
  if (!state) return nullptr;
  return std::make_shared<const GeneratorState>(
      GeneratorState{{end.p, state->row}, std::move(state->bytes)});
}

uint64_t WorkerStage::PositionsAhead() const {
  const uint64_t records = program_->source->records_ahead();
  const uint64_t each =
      program_->batches == nullptr ? 1 : program_->plan->batch_size();
  return (records + each - 1) / std::max<uint64_t>(1, each);
}

void WorkerStage::Announce(uint64_t begin, uint64_t end,
                           Scratch& scratch) const {
  auto& own = static_cast<StageScratch&>(scratch);
  if (part_) {
    begin = part_->share.Below(begin);
    end = part_->share.Below(end);
  }
  end = std::min(end, program_->plan->size());
  if (begin >= end) return;
  own.refs.clear();
  program_->plan->Records(begin, end, own.refs);
  program_->source->PrefetchRecords(own.refs, *own.source);
}

void WorkerStage::Rest() const { program_->source->Rest(); }

size_t WorkerStage::EstimatedBytes() const { return program_->estimated_bytes; }
bool WorkerStage::heavy() const { return program_->heavy; }
size_t WorkerStage::AheadBytes() const { return program_->ahead_bytes; }
uint64_t WorkerStage::together() const { return program_->together; }

// ---- pieces

absl::StatusOr<Piece> WorkerStage::Run(Cursor begin, Cursor end,
                                       size_t bytes_target,
                                       Scratch& scratch) const {
  auto& own = static_cast<StageScratch&>(scratch);
  using Clock = std::chrono::steady_clock;
  own.ends = own.piece_time == std::chrono::nanoseconds::max()
                 ? Clock::time_point::max()
                 : Clock::now() + own.piece_time;
  own.source->beside = own.beside;
  own.source->wants_beside = false;
  auto piece = part_ ? RunShare(begin, end, bytes_target, own)
                     : RunAgain(begin, end, bytes_target, own);
  own.wants_beside = own.source->wants_beside;
  return piece;
}

absl::StatusOr<Piece> WorkerStage::RunShare(Cursor begin, Cursor end,
                                            size_t bytes_target,
                                            StageScratch& scratch) const {
  const Share& share = part_->share;
  if (part_->whole->size() != kInfinite) {
    end = std::min(end, {part_->whole->size(), 0});
  }
  const uint64_t first = share.Below(FirstWhole(begin));
  const uint64_t last = std::max(first, share.Below(FirstWhole(end)));
  FM_ASSIGN_OR_RETURN(Piece piece,
                      RunAgain({first, 0}, {last, 0}, bytes_target, scratch));
  if (!std::holds_alternative<DenseRows>(piece.cursors)) {
    return Internal("positions that make one element each are not dense");
  }
  const bool whole = piece.error.ok() && piece.end.p >= last;
  piece.begin = begin;
  piece.end = whole ? std::max(begin, end) : Cursor{share.At(piece.end.p), 0};
  BitmapRows rows;
  rows.bits.resize((piece.end.p - begin.p + 7) / 8);
  for (size_t row = 0; row < piece.chunk.rows; ++row) {
    const uint64_t bit = share.At(first + row) - begin.p;
    rows.bits[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
  }
  piece.cursors = std::move(rows);
  return piece;
}

absl::StatusOr<Piece> WorkerStage::RunAgain(Cursor begin, Cursor end,
                                            size_t bytes_target,
                                            StageScratch& scratch) const {
  // The first cursor that RunOnce makes.
  const Cursor first = program_->naming == Naming::kRuns || begin.i == 0
                           ? begin
                           : Cursor{begin.p + 1, 0};
  bool alone = false;  // one row and one element at a time
  while (true) {
    try {
      scratch.rows_max = alone ? 1 : scratch.rows_together;
      auto piece = RunOnce(begin, end, alone ? 1 : bytes_target, scratch);
      if (!alone && scratch.rows_together < kBlockRows) {
        scratch.rows_together *= 2;
        if (scratch.rows_together >= kBlockRows) {
          scratch.rows_together = SIZE_MAX;
        }
      }
      return piece;
    } catch (const MachineError& error) {
      Renew(scratch);
      return error.status();
    } catch (const std::bad_alloc& error) {
      const Cursor at = scratch.at;
      Renew(scratch);
      if (!alone) {
        alone = true;
        scratch.rows_together = std::max<size_t>(
            std::min(scratch.rows_together, kBlockRows) / 4, 1);
      } else if (first < at && at < end) {
        end = at;  // make the elements before the failed one
      } else {
        const auto* refused = dynamic_cast<const MemoryRefused*>(&error);
        if (refused == nullptr || !refused->over_limit()) {
          return StatusOf(error);  // an error of this machine
        }
        return Refuse(begin, first, end, *refused, scratch);
      }
    }
  }
}

absl::StatusOr<Piece> WorkerStage::RunOnce(Cursor begin, Cursor end,
                                           size_t bytes_target,
                                           StageScratch& scratch) const {
  const StageProgram& program = *program_;
  const ProfileSpan span(ReadProfile::kChunks);
  const Cursor asked = begin;
  if (program.naming != Naming::kRuns) {
    // A position makes at most one element, so {p, 1} is the start of the next
    // one.
    if (begin.i > 0) begin = {begin.p + 1, 0};
    if (end.i > 0) end = {end.p + 1, 0};
  }
  const uint64_t size = program.plan->size();
  if (size != kInfinite && end > Cursor{size, 0}) end = {size, 0};
  if (begin > end) {
    return Internal("positions {} to {} of a plan of {}", begin.p, end.p, size);
  }
  scratch.at = begin;
  // A batch of views is one view, however large.
  const size_t view_bytes_max = program.batches == nullptr
                                    ? bytes_target
                                    : std::numeric_limits<size_t>::max();
  scratch.view_bytes_max = scratch.takes_views ? view_bytes_max : 0;
  const bool together = program.together > 1 &&
                        program.together_bytes >= bytes_target / 2 &&
                        scratch.rows_max > 1;
  const uint64_t next = (begin.p / program.together + 1) * program.together;
  PieceDraft draft(
      program, scratch, begin, together ? std::min(end, Cursor{next, 0}) : end,
      together ? std::max(bytes_target, program.together_bytes) : bytes_target);
  draft.limit = end;
  if (program.batches == nullptr && program.records->empty()) {
    // One read becomes the piece.
    draft.read_bytes = std::max(kReadBytes, bytes_target);
    scratch.block.UseMemory(scratch.blocks);
  }
  if (program.appends) draft.read_bytes = kAppendedBytes;
  if (together) draft.read_bytes = std::max(kReadBytes, program.together_bytes);
  const absl::Status made = Fill(draft, scratch);
  scratch.block.UseMemory(nullptr);
  FM_RETURN_IF_ERROR(made);
  // Several components may be too large together.
  ByteBudget::Check(draft.sink.bytes() - draft.sink.rows() * sizeof(int64_t),
                    1);
  return Conclude(asked, draft, scratch);
}

absl::Status WorkerStage::Fill(PieceDraft& draft, StageScratch& scratch) const {
  const DefaultFloatModes modes;
  const StageProgram& program = *program_;
  scratch.source->rows_max = scratch.rows_max;
  scratch.source->ends = scratch.ends;
  // Without steps, the read columns may become the piece themselves.
  if (!program.records->empty()) draft.sink.Reserve();
  if (program.naming == Naming::kRuns) {
    FM_RETURN_IF_ERROR(MakeFromBlocks(program, scratch, draft));
  } else if (program.batches != nullptr) {
    FM_RETURN_IF_ERROR(MakeFromBatches(program, scratch, draft));
  } else {
    FM_RETURN_IF_ERROR(MakeFromRecords(program, scratch, draft));
  }
  const size_t rows = draft.sink.rows();
  if (rows > 0) {
    scratch.row_bytes =
        static_cast<double>(draft.sink.bytes()) / static_cast<double>(rows);
  }
  return absl::OkStatus();
}

Piece WorkerStage::Conclude(Cursor asked, PieceDraft& draft,
                            StageScratch& scratch) const {
  Piece piece;
  if (draft.failed) piece.skipped = SkipFailed(draft);
  piece.begin = draft.begin;
  piece.end = draft.end;
  piece.error = std::move(draft.error);
  piece.state = StateAt(piece.end);
  switch (program_->naming) {
    case Naming::kRuns:
      piece.cursors = RunRows{std::move(draft.runs)};
      break;
    case Naming::kBitmap:
      draft.bits.resize((piece.end.p - piece.begin.p + 7) / 8);
      piece.cursors = BitmapRows{std::move(draft.bits)};
      break;
    case Naming::kDense:
      piece.cursors = DenseRows{};
      break;
  }
  piece.chunk = std::move(draft.sink).Finish();
  if (program_->appends) {
    scratch.appended.clear();
    for (const Column& column : piece.chunk.columns) {
      scratch.appended.push_back(column.values.size());
    }
  }
  if (asked < piece.begin) BeginWithin(asked, piece);
  return piece;
}

// ---- elements that cannot be made or are too large

Piece WorkerStage::Refuse(Cursor asked, Cursor begin, Cursor end,
                          const MemoryRefused& refused,
                          StageScratch& scratch) const {
  PieceDraft draft(*program_, scratch, begin, end, 0);
  const RecordRef ref = program_->plan->Record(begin.p, 0);
  // The last step made the row, or was going to write it.
  const std::optional<size_t>& last = program_->last_step;
  const absl::Status status = StatusOf(refused);
  draft.Fail(begin,
             {.error = last ? program_->AtRecord(status, *last, ref, begin.i)
                            : Annotate(status, program_->source->Describe(
                                                   ref, begin.i)),
              .failed_after = last ? *last + 1 : 0},
             ref, begin.i);
  return Conclude(asked, draft, scratch);
}

void WorkerStage::Renew(StageScratch& scratch) const {
  const size_t rows_together = scratch.rows_together;
  const Scratch kept = scratch;
  scratch = StageScratch();  // frees the old memory first
  scratch = std::move(static_cast<StageScratch&>(*NewScratch()));
  static_cast<Scratch&>(scratch) = kept;
  scratch.rows_together = rows_together;
}

std::optional<SkippedElement> WorkerStage::SkipFailed(PieceDraft& draft) const {
  const std::optional<size_t>& before = program_->plan->graph().skip_before;
  const bool own = draft.left_out || (before && draft.failed_after <= *before);
  if (!own && !program_->covered) return std::nullopt;
  SkippedElement skipped;
  skipped.cursor = draft.end;
  skipped.outer = !own;
  skipped.error = ErrorText(draft.error);
  skipped.records = std::move(draft.failed_records);
  if (skipped.records.empty() && program_->origins != nullptr) {
    program_->origins->Find(draft.failed_ref, draft.failed_row,
                            skipped.records);
  }
  draft.error = absl::OkStatus();
  const bool runs_on = program_->naming == Naming::kRuns && !draft.ends_block;
  draft.end = runs_on ? Cursor{draft.end.p, draft.end.i + 1}
                      : std::min(draft.limit, Cursor{draft.end.p + 1, 0});
  return skipped;
}

// ---- for a cache

const std::shared_ptr<const ElementSpec>& WorkerStage::output() const {
  return program_->output;
}

bool WorkerStage::rows_heavy() const { return program_->rows_heavy(); }

bool WorkerStage::drops() const { return program_->naming == Naming::kBitmap; }

std::string WorkerStage::Describe(uint64_t position, uint64_t row) const {
  std::vector<RecordRef> refs;
  program_->plan->Records(position, position + 1, refs);
  return program_->source->Describe(refs[0], row);
}

absl::StatusOr<WorkerStage::ComputedRows> WorkerStage::MakeAt(
    std::span<const uint64_t> positions, size_t bytes_target,
    Scratch& scratch) const {
  auto& own = static_cast<StageScratch&>(scratch);
  PieceDraft draft(*program_, own, {}, {positions.size(), 0}, bytes_target);
  own.places = positions;
  const absl::Status status = Fill(draft, own);
  own.places = {};
  FM_RETURN_IF_ERROR(status);
  ComputedRows made;
  made.count = draft.end.p;
  made.SetBad(std::move(draft));
  if (drops()) {
    draft.bits.resize((made.count + 7) / 8);
    for (uint32_t k = 0; k < made.count; ++k) {
      if ((draft.bits[k / 8] >> k % 8 & 1) != 0) made.origins.push_back(k);
    }
    made.dropped = made.origins.size() < made.count;
  }
  made.chunk = std::move(draft.sink).Finish();
  return made;
}

absl::StatusOr<WorkerStage::ComputedRows> WorkerStage::MakeInBlock(
    uint64_t position, uint64_t row, size_t bytes_target,
    Scratch& scratch) const {
  auto& own = static_cast<StageScratch&>(scratch);
  PieceDraft draft(*program_, own, {position, row}, {position + 1, 0},
                   bytes_target);
  FM_RETURN_IF_ERROR(Fill(draft, own));
  ComputedRows made;
  uint64_t rows = 0;
  for (const CursorRun& run : draft.runs) {
    rows += run.count;
    made.count = run.i + run.count - row;
  }
  made.more = draft.failed || draft.end.p == position;
  if (made.more) made.count = draft.end.i - row;
  made.SetBad(std::move(draft));
  made.dropped = rows < made.count;
  for (const CursorRun& run : draft.runs) {
    for (uint64_t k = 0; made.dropped && k < run.count; ++k) {
      made.origins.push_back(static_cast<uint32_t>(run.i + k - row));
    }
  }
  made.chunk = std::move(draft.sink).Finish();
  return made;
}

}  // namespace feedmill
