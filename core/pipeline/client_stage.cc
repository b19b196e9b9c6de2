#include "core/pipeline/client_stage.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/float_modes.h"
#include "core/base/status.h"
#include "core/dataset/step_kind.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/client_step.h"

namespace feedmill {
namespace {

class ProgramRows final : public ClientStep {
 public:
  ProgramRows(std::shared_ptr<const Plan> plan,
              std::shared_ptr<const BlockProgram> program,
              std::shared_ptr<const ElementSpec> output)
      : plan_(std::move(plan)),
        program_(std::move(program)),
        output_(std::move(output)),
        scratch_(program_->NewScratch()) {
    place = ReadProfile::kChunks;  // the program reports its steps itself
  }

  bool paced() const override { return program_->paced(); }

  absl::Status OnPush(Flow flow) override {
    Flow out;
    ChunkBuilder builder(output_);
    absl::Status error;
    size_t step = program_->rows_together();
    size_t at = 0;
    while (at < flow.chunk.rows && error.ok()) {
      const size_t end = std::min(at + step, flow.chunk.rows);
      try {
        error = RunBlock(flow, at, end, builder, out);
        at = end;
      } catch (const MemoryRefused&) {
        builder.DropUnfinished();
        // The rows may only be too large together.
        if (step == 1 && builder.rows() == 0) throw;
        step = std::max<size_t>(step / 16, 1);
      }
      if (at == flow.chunk.rows || builder.bytes() >= kFlowBytes ||
          (at < end && step == 1)) {
        FM_RETURN_IF_ERROR(PushRows(builder, out));
      }
    }
    FM_RETURN_IF_ERROR(PushRows(builder, out));
    return Report(error);
  }

 private:
  // If rows grow, they are passed on in parts of about this many bytes.
  static constexpr size_t kFlowBytes = size_t{4} << 20;

  // Passes the rows made so far to the next step.
  absl::Status PushRows(ChunkBuilder& builder, Flow& out) {
    Flow made = std::exchange(out, {});
    made.chunk =
        std::move(std::exchange(builder, ChunkBuilder(output_))).Finish();
    return made.chunk.rows > 0 ? next->Push(std::move(made)) : absl::OkStatus();
  }

  absl::Status RunBlock(const Flow& flow, size_t begin, size_t end,
                        ChunkBuilder& builder, Flow& out) {
    const Chunk rows = flow.chunk.Slice(begin, end);
    input_.rows = rows.rows;
    input_.columns.clear();
    for (const Column& column : rows.columns) {
      input_.columns.push_back(&column);
    }
    if (!flow.counters.empty()) {
      input_.counters = std::span(flow.counters).subspan(begin, rows.rows);
      input_.passes = std::span(flow.passes).subspan(begin, rows.rows);
    }
    program_->Run(input_, *scratch_, output_rows_);
    const BlockProgram::Output& made = output_rows_;
    for (size_t c = 0; c < made.columns.size() && made.rows > 0; ++c) {
      builder.AppendRows(c, *made.columns[c], 0, made.rows);
    }
    builder.FinishRows(made.rows);
    for (size_t row = 0; row < made.rows; ++row) {
      const size_t origin = begin + made.OriginOf(row);
      out.inputs.push_back(flow.InputOf(origin));
      if (!flow.origins.empty()) out.origins.push_back(flow.origins[origin]);
      if (flow.counters.empty()) continue;
      out.counters.push_back(flow.counters[origin]);
      out.passes.push_back(flow.passes[origin]);
    }
    if (made.error.ok()) return absl::OkStatus();
    const Step& step = plan_->graph().graph.steps[made.failed_step];
    return Annotate(made.error,
                    fmt::format("steps[{}] {}", made.failed_step, step.name()));
  }

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const BlockProgram> program_;
  const std::shared_ptr<const ElementSpec> output_;
  const std::shared_ptr<BlockProgram::Scratch> scratch_;
  BlockProgram::Input input_;
  BlockProgram::Output output_rows_;
};

std::vector<Cursor> CursorsOf(const Piece& piece) {
  std::vector<Cursor> cursors;
  cursors.reserve(piece.chunk.rows);
  if (const auto* bitmap = std::get_if<BitmapRows>(&piece.cursors)) {
    for (size_t bit = 0; bit < bitmap->bits.size() * 8; ++bit) {
      if (((bitmap->bits[bit / 8] >> (bit % 8)) & 1) != 0) {
        cursors.push_back({piece.begin.p + bit, 0});
      }
    }
  } else if (const auto* runs = std::get_if<RunRows>(&piece.cursors)) {
    for (const CursorRun& run : runs->runs) {
      for (uint64_t k = 0; k < run.count; ++k) {
        cursors.push_back({run.p, run.i + k});
      }
    }
  } else {
    for (size_t row = 0; row < piece.chunk.rows; ++row) {
      cursors.push_back({piece.begin.p + row, 0});
    }
  }
  cursors.resize(piece.chunk.rows, piece.end);
  return cursors;
}

}  // namespace

class ClientStage::OutputStep final : public ClientStep {
 public:
  absl::Status OnPush(Flow flow) override {
    if (flow.chunk.rows == 0) return absl::OkStatus();
    outputs.push_back({std::move(flow.chunk), std::move(flow.inputs),
                       flow.first_input, pass, std::move(flow.origins)});
    return absl::OkStatus();
  }

  std::deque<Output> outputs;
  uint64_t pass = 0;
};

ClientStage::ClientStage(std::shared_ptr<const Plan> plan, bool random,
                         Options options,
                         std::vector<std::unique_ptr<ClientStep>> steps)
    : plan_(std::move(plan)),
      random_(random),
      trace_(options.trace),
      tells_passes_(options.passes && plan_->has_passes() &&
                    (!plan_->graph().numbered ||
                     plan_->graph().graph.options.order == Order::kAny)),
      steps_(std::move(steps)),
      output_(std::make_unique<OutputStep>()) {
  for (size_t k = 0; k < steps_.size(); ++k) {
    steps_[k]->next =
        k + 1 < steps_.size() ? steps_[k + 1].get() : output_.get();
    const uint64_t length = steps_[k]->pass_length;
    if (pass_length_ == 0) pass_length_ = length;
  }
}

ClientStage::~ClientStage() = default;

size_t ClientStage::ready() const { return output_->outputs.size(); }

// Runs until the first error; the stage returns it from then on. After a
// failed allocation, the state of the steps is unknown.
template <class F>
absl::Status ClientStage::Guarded(const F& run) {
  if (!error_.ok()) return error_;
  const DefaultFloatModes modes;
  try {
    error_ = run();
  } catch (const std::exception& error) {
    error_ = StatusOf(error);
  }
  return error_;
}

absl::Status ClientStage::Push(const Piece& piece) {
  return Guarded([&] { return PushPasses(piece); });
}

absl::Status ClientStage::Flush() {
  return Guarded([this]() -> absl::Status {
    for (const auto& step : steps_) FM_RETURN_IF_ERROR(step->Flush());
    return absl::OkStatus();
  });
}

absl::Status ClientStage::Finish() {
  return Guarded([this]() -> absl::Status {
    for (const auto& step : steps_) FM_RETURN_IF_ERROR(step->EndPass());
    return absl::OkStatus();
  });
}

ClientStage::Output* ClientStage::front() {
  return output_->outputs.empty() ? nullptr : &output_->outputs.front();
}

void ClientStage::PopFront() { output_->outputs.pop_front(); }

StageState ClientStage::Save() const {
  StageState state;
  state.position = position_;
  for (const auto& step : steps_) step->Save(state.steps.emplace_back());
  return state;
}

absl::Status ClientStage::Restore(const StageState& state, Cursor next) {
  if (state.steps.empty() && next == Cursor{}) return absl::OkStatus();
  bool fits = state.steps.size() == steps_.size();
  for (size_t k = 0; fits && k < steps_.size(); ++k) {
    fits = steps_[k]->Restore(state.steps[k]);
    for (const auto& held : state.steps[k].held) {
      fits = fits && held->counters.empty() != random_;
    }
  }
  if (!fits) {
    return InvalidArgument("the token does not fit the pipeline's steps");
  }
  position_ = state.position;
  if (next > Cursor{} && next.p <= plan_->size()) {
    NotePass(next.i > 0 ? next.p : next.p - 1);
  }
  for (const auto& step : steps_) {
    if (step->pass_length > 0) step->epoch = position_ / step->pass_length;
  }
  return absl::OkStatus();
}

bool ClientStage::paced() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& step) { return step->paced(); });
}

bool ClientStage::done() const { return needed_from() >= plan_->size(); }

uint64_t ClientStage::needed_from() const {
  uint64_t needed = position_;
  bool counted = false;
  for (const auto& step : steps_) {
    if (step->full_for_ever()) return kInfinite;
    // Random steps need the number of all earlier batches, used or not.
    counted = counted || (random_ && step->counts());
    if (!step->full() || counted) continue;
    const uint64_t length = step->pass_length;
    needed = std::max(needed, (position_ / length + 1) * length);
  }
  return needed;
}

// Pushes the piece's rows, pass by pass.
absl::Status ClientStage::PushPasses(const Piece& piece) {
  FM_RETURN_IF_ERROR(AdvanceTo(piece.begin.p));
  if (piece.chunk.rows > 0) NotePass(piece.begin.p);
  const bool one_pass = !tells_passes_ || piece.end <= Cursor{pass_end_, 0} ||
                        piece.chunk.rows == 0;
  if (pass_length_ == 0 && !random_ && !trace_ && one_pass) {
    FM_RETURN_IF_ERROR(PushRows(piece, {}, 0, piece.chunk.rows));
    position_ = piece.end.p;
    return absl::OkStatus();
  }
  const std::vector<Cursor> cursors = CursorsOf(piece);
  size_t row = 0;
  while (row < cursors.size()) {
    FM_RETURN_IF_ERROR(AdvanceTo(cursors[row].p));
    NotePass(cursors[row].p);
    size_t end = cursors.size();
    if (pass_length_ > 0 || !one_pass) {
      const uint64_t limit =
          std::min(pass_length_ > 0 ? NextBoundary() : kInfinite,
                   tells_passes_ ? pass_end_ : kInfinite);
      end = row;
      while (end < cursors.size() && cursors[end].p < limit) ++end;
    }
    FM_RETURN_IF_ERROR(PushRows(piece, cursors, row, end));
    row = end;
  }
  return AdvanceTo(piece.end.p);
}

// Notes the pass of position p, whose record is pushed next.
void ClientStage::NotePass(uint64_t p) {
  if (!tells_passes_ || (pass_begin_ <= p && p < pass_end_)) return;
  output_->pass = plan_->ReachedPass(p);
  pass_begin_ = p;
  pass_end_ = plan_->ReachedPassEnd(p);
}

uint64_t ClientStage::NextBoundary() const {
  return (position_ / pass_length_ + 1) * pass_length_;
}

// Advances to position p, and ends the passes before it.
absl::Status ClientStage::AdvanceTo(uint64_t p) {
  while (pass_length_ > 0 && NextBoundary() <= p) {
    position_ = NextBoundary();
    // Passes of inner repeats divide passes of outer ones, so earlier steps
    // end first.
    for (const auto& step : steps_) {
      if (step->pass_length == 0 || position_ % step->pass_length != 0) {
        continue;
      }
      FM_RETURN_IF_ERROR(step->EndPass());
      step->epoch = position_ / step->pass_length;
    }
  }
  position_ = std::max(position_, p);
  return absl::OkStatus();
}

absl::Status ClientStage::PushRows(const Piece& piece,
                                   const std::vector<Cursor>& cursors,
                                   size_t begin, size_t end) {
  if (begin == end) return absl::OkStatus();
  Flow flow;
  const bool whole = begin == 0 && end == piece.chunk.rows;
  flow.chunk = whole ? piece.chunk : piece.chunk.Slice(begin, end);
  flow.first_input = input_rows_ + 1;
  input_rows_ += end - begin;
  for (size_t row = begin; random_ && row < end; ++row) {
    const Cursor cursor = cursors[row];
    flow.counters.push_back({plan_->CounterOf(cursor.p, 0), cursor.i});
    const bool again = row > begin && cursor.p == cursors[row - 1].p;
    flow.passes.push_back(again ? flow.passes.back() : plan_->PassAt(cursor.p));
  }
  for (size_t row = begin; trace_ && row < end; ++row) {
    flow.origins.push_back({cursors[row]});
  }
  return steps_.empty() ? output_->Push(std::move(flow))
                        : steps_.front()->Push(std::move(flow));
}

absl::StatusOr<std::unique_ptr<ClientStage>> ClientStage::Make(
    std::shared_ptr<const Plan> plan,
    std::shared_ptr<const FunctionRegistry> registry, Options options) {
  const AnalyzedGraph& graph = plan->graph();
  std::vector<std::unique_ptr<ClientStep>> steps;
  bool random = false;
  std::vector<size_t> run;  // per-element steps that are compiled together
  const auto add = [&](std::unique_ptr<ClientStep> step, size_t s) {
    step->pass_length = plan->PassLength(s);
    step->name = fmt::format("steps[{}] {}", s, graph.graph.steps[s].name());
    if (step->place == ReadProfile::kRest) {
      step->place = ReadProfile::kSteps + graph.first_step + s;
    }
    steps.push_back(std::move(step));
  };
  const auto flush = [&]() -> absl::Status {
    if (run.empty()) return absl::OkStatus();
    FM_ASSIGN_OR_RETURN(
        auto program,
        BlockProgram::Make(plan, registry, run, graph.InputOf(run.front()),
                           graph.skip_before.has_value() || graph.covered));
    random = random || program->random();
    const size_t last = run.back();
    run.clear();
    const AnalyzedStep& made = graph.steps[last];
    add(std::make_unique<ProgramRows>(
            plan, std::move(program),
            made.mapped != nullptr ? made.mapped : made.output),
        last);
    return absl::OkStatus();
  };
  for (size_t s = graph.client_begin; s < graph.graph.steps.size(); ++s) {
    // The plan contains the repeat; steps know it by their pass lengths.
    const Step& step = graph.graph.steps[s];
    if (step.Is<RepeatStep>()) continue;
    if (NeedsOf(step) == StepNeeds::kElement) {
      run.push_back(s);
      continue;
    }
    // A flat_map contains a map, which workers run if they can.
    if (graph.steps[s].mapped != nullptr && s != graph.client_begin) {
      run.push_back(s);
    }
    FM_RETURN_IF_ERROR(flush());
    for (auto& made : step.kind().MakeClientSteps(step.options(), plan, s)) {
      add(std::move(made), s);
    }
  }
  FM_RETURN_IF_ERROR(flush());
  return std::unique_ptr<ClientStage>(
      new ClientStage(std::move(plan), random, options, std::move(steps)));
}

}  // namespace feedmill
