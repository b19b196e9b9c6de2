#include "core/pipeline/client_stage.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/stacking.h"

namespace feedmill {
namespace {

constexpr size_t kBlockRows = 2048;

// Rows between two steps, with what later steps need to know of them.
struct Flow {
  Chunk chunk;
  // One per row if a random step follows: its counter (a batch's first
  // record's) and its combined pass.
  std::vector<Cursor> counters;
  std::vector<uint64_t> passes;
  // Input rows that stand before or in row r: one per row, or from
  // `first_input` on by one.
  std::vector<uint64_t> inputs;
  uint64_t first_input = 0;

  uint64_t InputOf(size_t row) const {
    return inputs.empty() ? first_input + row : inputs[row];
  }

  Flow Slice(size_t begin, size_t end) const {
    Flow out;
    out.chunk = chunk.Slice(begin, end);
    const auto cut = [&](const auto& from, auto& to) {
      if (from.empty()) return;
      to.assign(from.begin() + static_cast<ptrdiff_t>(begin),
                from.begin() + static_cast<ptrdiff_t>(end));
    };
    cut(counters, out.counters);
    cut(passes, out.passes);
    cut(inputs, out.inputs);
    out.first_input = first_input + begin;
    return out;
  }
};

// One step, or a run of per-element steps. Hands on what it makes.
class ClientStep {
 public:
  virtual ~ClientStep() = default;
  virtual absl::Status Push(Flow flow) = 0;
  // A pass ends: what is held goes out, the next pass begins anew.
  virtual absl::Status EndPass() { return absl::OkStatus(); }
  // Lets go of what waits for more rows.
  virtual absl::Status Flush() { return absl::OkStatus(); }
  // Nothing more passes until the next pass, or ever.
  virtual bool full() const { return false; }
  virtual bool full_for_ever() const { return full() && pass_length == 0; }
  // What it holds between two pieces.
  virtual void Save(StageState::Step&) const {}
  virtual bool Restore(const StageState::Step&) { return true; }
  // Whether it counts its rows over the whole iteration.
  virtual bool counts() const { return false; }

  ClientStep* next = nullptr;
  uint64_t pass_length = 0;  // 0: one pass is all

 protected:
  // An error behind the last row that a later step takes has no effect.
  absl::Status Report(absl::Status error) const {
    for (const ClientStep* step = next; step != nullptr; step = step->next) {
      if (step->full()) return absl::OkStatus();
    }
    return error;
  }
};

class OutputStep final : public ClientStep {
 public:
  absl::Status Push(Flow flow) override {
    if (flow.chunk.rows == 0) return absl::OkStatus();
    const uint64_t input_rows = flow.InputOf(flow.chunk.rows - 1);
    outputs.push_back({std::move(flow.chunk), input_rows});
    return absl::OkStatus();
  }

  std::deque<ClientStage::Output> outputs;
};

class TakeRows final : public ClientStep {
 public:
  explicit TakeRows(uint64_t count) : count_(count), left_(count) {}

  absl::Status Push(Flow flow) override {
    if (left_ == 0) return absl::OkStatus();
    if (flow.chunk.rows > left_) {
      flow = flow.Slice(0, static_cast<size_t>(left_));
    }
    left_ -= flow.chunk.rows;
    return next->Push(std::move(flow));
  }
  absl::Status EndPass() override {
    left_ = count_;
    return absl::OkStatus();
  }
  bool full() const override { return left_ == 0; }
  bool full_for_ever() const override {
    return count_ == 0 || ClientStep::full_for_ever();
  }
  void Save(StageState::Step& state) const override { state.left = left_; }
  bool Restore(const StageState::Step& state) override {
    left_ = state.left;
    return left_ <= count_;
  }

 private:
  const uint64_t count_;
  uint64_t left_;
};

class SkipRows final : public ClientStep {
 public:
  explicit SkipRows(uint64_t count) : count_(count), left_(count) {}

  absl::Status Push(Flow flow) override {
    const size_t drop =
        static_cast<size_t>(std::min<uint64_t>(left_, flow.chunk.rows));
    left_ -= drop;
    if (drop == flow.chunk.rows) return absl::OkStatus();
    if (drop > 0) flow = flow.Slice(drop, flow.chunk.rows);
    return next->Push(std::move(flow));
  }
  absl::Status EndPass() override {
    left_ = count_;
    return absl::OkStatus();
  }
  void Save(StageState::Step& state) const override { state.left = left_; }
  bool Restore(const StageState::Step& state) override {
    left_ = state.left;
    return left_ <= count_;
  }

 private:
  const uint64_t count_;
  uint64_t left_;
};

class BatchRows final : public ClientStep {
 public:
  BatchRows(const BatchStep& step, const ElementSpec& input,
            std::shared_ptr<const ElementSpec> output)
      : size_(static_cast<size_t>(step.size)),
        drop_remainder_(step.drop_remainder),
        input_(input),
        output_(std::move(output)) {}

  absl::Status Push(Flow flow) override {
    size_t at = 0;
    while (at < flow.chunk.rows) {
      const size_t left = flow.chunk.rows - at;
      if (held_rows_ == 0 && left >= size_) {
        const size_t rows = left / size_ * size_;
        FM_RETURN_IF_ERROR(Emit(flow.Slice(at, at + rows), size_));
        at += rows;
        continue;
      }
      const size_t rows = std::min(size_ - held_rows_, left);
      held_.push_back(flow.Slice(at, at + rows));
      held_rows_ += rows;
      at += rows;
      if (held_rows_ == size_) FM_RETURN_IF_ERROR(EmitHeld());
    }
    return absl::OkStatus();
  }

  absl::Status Flush() override {
    if (held_rows_ > 0 && !drop_remainder_) return EmitHeld();
    held_.clear();
    held_rows_ = 0;
    return absl::OkStatus();
  }
  absl::Status EndPass() override { return Flush(); }
  bool counts() const override { return true; }
  void Save(StageState::Step& state) const override {
    state.made = made_;
    for (const Flow& flow : held_) {
      state.held.push_back({flow.chunk, flow.counters, flow.passes});
    }
  }
  bool Restore(const StageState::Step& state) override {
    made_ = state.made;
    for (const StageState::Held& held : state.held) {
      const size_t rows = held.chunk.rows;
      if (held.chunk.spec == nullptr || *held.chunk.spec != input_ ||
          rows >= size_ - held_rows_ ||
          held.counters.size() != held.passes.size() ||
          (!held.passes.empty() && held.passes.size() != rows)) {
        return false;
      }
      Flow& flow = held_.emplace_back();
      flow.chunk = held.chunk;
      flow.counters = held.counters;
      flow.passes = held.passes;
      held_rows_ += rows;
    }
    return true;
  }

 private:
  absl::Status EmitHeld() {
    Flow batch;
    std::vector<Chunk> chunks;
    for (const Flow& flow : held_) chunks.push_back(flow.chunk);
    batch.chunk = Concatenate(chunks);
    batch.counters = held_.front().counters;  // the first is what counts
    batch.passes = held_.front().passes;
    const Flow& last = held_.back();
    batch.inputs.assign(held_rows_, last.InputOf(last.chunk.rows - 1));
    const size_t rows = held_rows_;
    held_.clear();
    held_rows_ = 0;
    return Emit(std::move(batch), rows);
  }

  // Hands on whole batches of `size` rows each.
  absl::Status Emit(Flow rows, size_t size) {
    size_t count = rows.chunk.rows / size;
    Flow out;
    const absl::Status error = Stack(rows.chunk, size, count, out.chunk);
    for (size_t k = 0; k < count; ++k) {
      if (!rows.passes.empty()) {
        out.counters.push_back({(made_ + k) * size_, 0});
        out.passes.push_back(rows.passes[k * size]);
      }
      out.inputs.push_back(rows.InputOf((k + 1) * size - 1));
    }
    made_ += count;
    if (count > 0) FM_RETURN_IF_ERROR(next->Push(std::move(out)));
    return Report(error);
  }

  // Stacks the first `count` batches; where one cannot be, those before it,
  // and `count` is their number.
  absl::Status Stack(const Chunk& rows, size_t size, size_t& count,
                     Chunk& out) const {
    absl::Status error;
    Chunk part = rows;
    while (count > 0) {
      if (part.rows > count * size) part = part.Slice(0, count * size);
      const std::vector<size_t> groups(count, size);
      out = Chunk{output_, count, {}};
      absl::Status status;
      for (const Column& column : part.columns) {
        size_t failed = 0;
        status = StackRows(column, groups, out.columns.emplace_back(), failed);
        if (status.ok()) continue;
        count = failed;
        error = status;
        break;
      }
      if (status.ok()) break;
    }
    return error;
  }

  const size_t size_;
  const bool drop_remainder_;
  const ElementSpec input_;
  const std::shared_ptr<const ElementSpec> output_;
  std::vector<Flow> held_;
  size_t held_rows_ = 0;
  uint64_t made_ = 0;  // over the whole iteration
};

class ProgramRows final : public ClientStep {
 public:
  ProgramRows(std::shared_ptr<const Plan> plan,
              std::shared_ptr<const BlockProgram> program,
              std::shared_ptr<const ElementSpec> output)
      : plan_(std::move(plan)),
        program_(std::move(program)),
        output_(std::move(output)),
        scratch_(program_->NewScratch()) {}

  absl::Status Push(Flow flow) override {
    Flow out;
    ChunkBuilder builder(output_);
    absl::Status error;
    const size_t step = program_->heavy() ? 1 : kBlockRows;
    for (size_t at = 0; at < flow.chunk.rows && error.ok(); at += step) {
      const size_t end = std::min(at + step, flow.chunk.rows);
      error = RunBlock(flow, at, end, builder, out);
    }
    out.chunk = std::move(builder).Finish();
    if (out.chunk.rows > 0) FM_RETURN_IF_ERROR(next->Push(std::move(out)));
    return Report(error);
  }

 private:
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
      if (flow.counters.empty()) continue;
      out.counters.push_back(flow.counters[origin]);
      out.passes.push_back(flow.passes[origin]);
    }
    if (made.error.ok()) return absl::OkStatus();
    const Step& step = plan_->graph().graph.steps[made.failed_step];
    return Annotate(made.error, fmt::format("steps[{}] {}", made.failed_step,
                                            StepName(step)));
  }

  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<const BlockProgram> program_;
  const std::shared_ptr<const ElementSpec> output_;
  const std::shared_ptr<BlockProgram::Scratch> scratch_;
  BlockProgram::Input input_;
  BlockProgram::Output output_rows_;
};

class StepChain final : public ClientStage {
 public:
  StepChain(std::shared_ptr<const Plan> plan, bool random,
            std::vector<std::unique_ptr<ClientStep>> steps)
      : plan_(std::move(plan)), random_(random), steps_(std::move(steps)) {
    for (size_t k = 0; k < steps_.size(); ++k) {
      steps_[k]->next = k + 1 < steps_.size() ? steps_[k + 1].get() : &output_;
      const uint64_t length = steps_[k]->pass_length;
      if (pass_length_ == 0) pass_length_ = length;
    }
  }

  absl::Status Push(const Piece& piece) override {
    if (!error_.ok()) return error_;
    error_ = PushPasses(piece);
    return error_;
  }

  absl::Status Flush() override {
    if (!error_.ok()) return error_;
    for (const auto& step : steps_) {
      error_ = step->Flush();
      if (!error_.ok()) break;
    }
    return error_;
  }

  absl::Status Finish() override {
    if (!error_.ok()) return error_;
    for (const auto& step : steps_) {
      error_ = step->EndPass();
      if (!error_.ok()) break;
    }
    return error_;
  }

  bool Pop(Output& out) override {
    if (output_.outputs.empty()) return false;
    out = std::move(output_.outputs.front());
    output_.outputs.pop_front();
    return true;
  }

  StageState Save() const override {
    StageState state;
    state.position = position_;
    for (const auto& step : steps_) step->Save(state.steps.emplace_back());
    return state;
  }

  absl::Status Restore(const StageState& state) override {
    bool fits = state.steps.size() == steps_.size();
    for (size_t k = 0; fits && k < steps_.size(); ++k) {
      fits = steps_[k]->Restore(state.steps[k]);
      for (const StageState::Held& held : state.steps[k].held) {
        fits = fits && held.counters.empty() != random_;
      }
    }
    if (!fits) {
      return InvalidArgument("the token does not fit the pipeline's steps");
    }
    position_ = state.position;
    return absl::OkStatus();
  }

  bool done() const override { return needed_from() >= plan_->size(); }

  uint64_t needed_from() const override {
    uint64_t needed = position_;
    bool counted = false;
    for (const auto& step : steps_) {
      if (step->full_for_ever()) return kEndless;
      // Random steps are told how many batches were made, seen or not.
      counted = counted || (random_ && step->counts());
      if (!step->full() || counted) continue;
      const uint64_t length = step->pass_length;
      needed = std::max(needed, (position_ / length + 1) * length);
    }
    return needed;
  }

 private:
  // Pushes the piece's rows, pass by pass.
  absl::Status PushPasses(const Piece& piece) {
    FM_RETURN_IF_ERROR(AdvanceTo(piece.begin.p));
    if (pass_length_ == 0 && !random_) {
      FM_RETURN_IF_ERROR(PushRows(piece, {}, 0, piece.chunk.rows));
      position_ = piece.end.p;
      return absl::OkStatus();
    }
    const std::vector<Cursor> cursors = CursorsOf(piece);
    size_t row = 0;
    while (row < cursors.size()) {
      FM_RETURN_IF_ERROR(AdvanceTo(cursors[row].p));
      size_t end = cursors.size();
      if (pass_length_ > 0) {
        const uint64_t limit = NextBoundary();
        end = row;
        while (end < cursors.size() && cursors[end].p < limit) ++end;
      }
      FM_RETURN_IF_ERROR(PushRows(piece, cursors, row, end));
      row = end;
    }
    return AdvanceTo(piece.end.p);
  }

  uint64_t NextBoundary() const {
    return (position_ / pass_length_ + 1) * pass_length_;
  }

  // Moves on to position p, ending the passes on the way.
  absl::Status AdvanceTo(uint64_t p) {
    while (pass_length_ > 0 && NextBoundary() <= p) {
      position_ = NextBoundary();
      // Inner repeats' passes divide outer ones: earlier steps end first.
      for (const auto& step : steps_) {
        if (step->pass_length == 0 || position_ % step->pass_length != 0) {
          continue;
        }
        FM_RETURN_IF_ERROR(step->EndPass());
      }
    }
    position_ = std::max(position_, p);
    return absl::OkStatus();
  }

  static std::vector<Cursor> CursorsOf(const Piece& piece) {
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

  absl::Status PushRows(const Piece& piece, const std::vector<Cursor>& cursors,
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
      flow.passes.push_back(again ? flow.passes.back()
                                  : plan_->PassAt(cursor.p));
    }
    return steps_.empty() ? output_.Push(std::move(flow))
                          : steps_.front()->Push(std::move(flow));
  }

  const std::shared_ptr<const Plan> plan_;
  const bool random_;
  const std::vector<std::unique_ptr<ClientStep>> steps_;
  OutputStep output_;
  uint64_t pass_length_ = 0;  // the shortest
  uint64_t position_ = 0;     // all before has been pushed or skipped
  uint64_t input_rows_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ClientStage>> ClientStage::Make(
    std::shared_ptr<const Plan> plan,
    std::shared_ptr<const FunctionRegistry> registry) {
  const AnalyzedGraph& graph = plan->graph();
  std::vector<std::unique_ptr<ClientStep>> steps;
  bool random = false;
  std::vector<size_t> run;  // per-element steps that are compiled together
  const auto add = [&](std::unique_ptr<ClientStep> step, size_t s) {
    step->pass_length = plan->PassLength(s);
    steps.push_back(std::move(step));
  };
  const auto flush = [&]() -> absl::Status {
    if (run.empty()) return absl::OkStatus();
    FM_ASSIGN_OR_RETURN(
        auto program,
        BlockProgram::Make(plan, registry, run, graph.InputOf(run.front())));
    random = random || program->random();
    const size_t last = run.back();
    run.clear();
    add(std::make_unique<ProgramRows>(plan, std::move(program),
                                      graph.steps[last].output),
        last);
    return absl::OkStatus();
  };
  for (size_t s = graph.client_begin; s < graph.graph.steps.size(); ++s) {
    const Step& step = graph.graph.steps[s];
    const auto* take = std::get_if<TakeStep>(&step);
    const auto* skip = std::get_if<SkipStep>(&step);
    const auto* batch = std::get_if<BatchStep>(&step);
    // A repeat is the plan's; steps know of it by their pass lengths.
    if (std::holds_alternative<RepeatStep>(step)) continue;
    if (take == nullptr && skip == nullptr && batch == nullptr) {
      run.push_back(s);
      continue;
    }
    FM_RETURN_IF_ERROR(flush());
    if (take != nullptr) {
      add(std::make_unique<TakeRows>(static_cast<uint64_t>(take->count)), s);
    } else if (skip != nullptr) {
      add(std::make_unique<SkipRows>(static_cast<uint64_t>(skip->count)), s);
    } else {
      add(std::make_unique<BatchRows>(*batch, graph.InputOf(s),
                                      graph.steps[s].output),
          s);
    }
  }
  FM_RETURN_IF_ERROR(flush());
  return std::unique_ptr<ClientStage>(
      std::make_unique<StepChain>(std::move(plan), random, std::move(steps)));
}

}  // namespace feedmill
