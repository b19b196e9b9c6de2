// The input of a stage with a combining source. Each ref is looked up in the
// order of the inputs. The plans and programs of the inputs make their rows,
// many at once, and the rows are put in the order of the refs.

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/dataset/source_types.h"
#include "core/io/read_stop.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/stage_input.h"

namespace feedmill {
namespace {

// Rows of one input during a read.
struct BranchScratch {
  std::unique_ptr<StageInput::Scratch> source;
  std::shared_ptr<BlockProgram::Scratch> program;
  std::vector<RecordRef> refs;  // requested of its source
  std::vector<Cursor> counters;
  std::vector<uint64_t> passes;
  InputBlock read;
  BlockProgram::Input in;
  BlockProgram::Output made;
  std::vector<Column> slices;
  size_t taken = 0;  // rows that are already in the output block

  void Clear() {
    refs.clear();
    counters.clear();
    taken = 0;
  }
};

// One of the inputs: its plan, its source and its steps.
class Branch {
 public:
  static absl::StatusOr<Branch> Make(size_t number,
                                     const SourcePlan::Input& input,
                                     std::shared_ptr<const Manifest> manifest,
                                     const StageContext& context) {
    const AnalyzedGraph& graph = input.plan->graph();
    Branch branch;
    branch.number_ = number;
    branch.plan_ = input.plan;
    branch.turns_ = input.turns;
    if (graph.cached != nullptr) {
      FM_ASSIGN_OR_RETURN(
          branch.source_,
          MakeCachedInput(graph, input.source, std::move(manifest), context));
    } else if (graph.inputs.empty()) {
      FM_ASSIGN_OR_RETURN(
          branch.source_,
          MakeSourceInput(input.plan, std::move(manifest), context));
    } else {
      FM_ASSIGN_OR_RETURN(branch.source_, MakeCombinedInput(graph, input.source,
                                                            manifest, context));
    }
    std::vector<size_t> steps;
    for (size_t s = graph.cached_steps; s < graph.steps.size(); ++s) {
      if (graph.steps[s].placement == Placement::kWorker) steps.push_back(s);
    }
    FM_ASSIGN_OR_RETURN(
        branch.program_,
        BlockProgram::Make(input.plan, context.registry, steps,
                           graph.InputOf(graph.cached_steps),
                           /*in_order=*/true, graph.output.get()));
    // Analyze rejects filters in counted inputs.
    FM_CHECK(!branch.program_->filters());
    return branch;
  }

  size_t components() const { return plan_->graph().output->components.size(); }
  bool heavy() const { return program_->heavy() || source_->heavy(); }

  BranchScratch NewScratch() const {
    BranchScratch scratch;
    scratch.source = source_->NewScratch();
    scratch.program = program_->NewScratch();
    return scratch;
  }

  // Adds positions [begin, end) of turn `turn` in pass `pass` of the whole to
  // the request.
  void Ask(uint64_t begin, uint64_t end, uint64_t pass, uint64_t turn,
           BranchScratch& scratch) const {
    plan_->Records(begin, end, scratch.refs, pass * turns_ + turn);
    if (!program_->random()) return;
    for (uint64_t p = begin; p < end; ++p) scratch.counters.push_back({p, 0});
  }

  size_t records_ahead() const { return source_->records_ahead(); }
  // Announces the positions of the request.
  void Prefetch(BranchScratch& scratch) const {
    if (scratch.refs.empty() || records_ahead() == 0) return;
    source_->PrefetchRecords(scratch.refs, *scratch.source);
  }

  absl::Status Read(size_t bytes_max, BranchScratch& scratch) const {
    scratch.passes.clear();
    if (program_->random()) {
      for (const RecordRef& ref : scratch.refs) {
        scratch.passes.push_back(ref.pass);
      }
    }
    FM_RETURN_IF_ERROR(
        source_->Read(scratch.refs, bytes_max, *scratch.source, scratch.read)
            .status());
    return scratch.read.MakePlain(program_->takes(), /*takes_mapped=*/false);
  }

  // Runs rows [first, first + count) of the read block through the steps. The
  // error of `made` names the row.
  void Run(size_t first, size_t count, BranchScratch& scratch) const {
    BlockProgram::Input& in = scratch.in;
    scratch.made.rows = 0;
    scratch.made.columns.clear();
    scratch.made.error = absl::OkStatus();
    if (count == 0) return;
    in.rows = count;
    in.columns.clear();
    scratch.slices.clear();
    scratch.slices.reserve(scratch.read.columns.size());
    const bool whole = first == 0 && count == scratch.read.rows;
    for (EncodedColumn& column : scratch.read.columns) {
      in.columns.push_back(column.Encoded());
      if (whole) continue;
      in.columns.back() = in.columns.back().Slice(
          first, first + count, scratch.slices.emplace_back());
    }
    in.counters = scratch.counters;
    in.passes = scratch.passes;
    if (!scratch.counters.empty()) {
      in.counters = in.counters.subspan(first, count);
      in.passes = in.passes.subspan(first, count);
    }
    program_->Run(in, *scratch.program, scratch.made);
    if (scratch.made.error.ok()) return;
    const size_t step = scratch.made.failed_step;
    scratch.made.error = Annotate(
        scratch.made.error,
        fmt::format(
            "inputs[{}]: {}: steps[{}] {}", number_,
            source_->Describe(scratch.refs[first + scratch.made.failed_row], 0),
            step, plan_->graph().graph.steps[step].name()));
  }

  // Returns the reason why no row follows those that were read; OK if there was
  // no room.
  absl::Status ReadError(const BranchScratch& scratch) const {
    return Annotate(scratch.read.error, fmt::format("inputs[{}]", number_));
  }

  std::string Describe(uint64_t position, uint64_t pass, uint64_t turn) const {
    std::vector<RecordRef> refs;
    plan_->Records(position, position + 1, refs, pass * turns_ + turn);
    return fmt::format("inputs[{}]: {}", number_,
                       source_->Describe(refs[0], 0));
  }

 private:
  size_t number_ = 0;
  std::shared_ptr<const Plan> plan_;
  uint64_t turns_ = 1;
  std::unique_ptr<const StageInput> source_;
  std::shared_ptr<const BlockProgram> program_;
};

// Positions [begin, end) of an input.
struct PositionRun {
  uint64_t begin = 0, end = 0, pass = 0, turn = 0;
};

struct CombinedScratch final : StageInput::Scratch {
  std::vector<BranchScratch> branches;
  std::vector<uint64_t> indexes;
  std::vector<InputPlace> places;  // of the refs; none for a zip
  std::vector<PositionRun> runs;   // by input
};

class CombinedInput final : public StageInput {
 public:
  CombinedInput(std::shared_ptr<const ElementSpec> spec,
                std::shared_ptr<const Combination> order, bool zip,
                std::vector<Branch> branches)
      : spec_(std::move(spec)),
        order_(std::move(order)),
        zip_(zip),
        branches_(std::move(branches)) {
    for (const Branch& branch : branches_) heavy_ = heavy_ || branch.heavy();
  }

  std::unique_ptr<Scratch> NewScratch() const override {
    auto scratch = std::make_unique<CombinedScratch>();
    for (const Branch& branch : branches_) {
      scratch->branches.push_back(branch.NewScratch());
    }
    return scratch;
  }

  absl::StatusOr<size_t> Read(std::span<const RecordRef> refs, size_t bytes_max,
                              Scratch& scratch,
                              InputBlock& out) const override {
    auto& own = static_cast<CombinedScratch&>(scratch);
    refs = refs.first(std::min(refs.size(), heavy_ ? kHeavyRows : kBlockRows));
    out.error = absl::OkStatus();
    Ask(refs, own);
    for (size_t b = 0; b < branches_.size(); ++b) {
      if (own.branches[b].refs.empty()) continue;
      own.branches[b].source->ends = own.ends;
      FM_RETURN_IF_ERROR(branches_[b].Read(bytes_max, own.branches[b]));
    }
    if (heavy_) {
      FM_RETURN_IF_ERROR(MakeOneByOne(refs.size(), bytes_max, own, out));
      return out.rows;
    }
    for (size_t b = 0; b < branches_.size(); ++b) {
      BranchScratch& branch = own.branches[b];
      if (!branch.refs.empty()) branches_[b].Run(0, branch.read.rows, branch);
    }
    out.rows = zip_ ? TakeAlike(own, out) : TakeInOrder(refs.size(), own, out);
    return out.rows;
  }

  absl::StatusOr<bool> ReadBlock(const RecordRef&, uint64_t, size_t, Scratch&,
                                 InputBlock&) const override {
    return Internal("the positions of a source of inputs are its elements");
  }

  size_t records_ahead() const override {
    size_t records = 0;
    for (const Branch& branch : branches_) {
      records = std::max(records, branch.records_ahead());
    }
    return records;
  }

  void PrefetchRecords(std::span<const RecordRef> refs,
                       Scratch& scratch) const override {
    auto& own = static_cast<CombinedScratch&>(scratch);
    Ask(refs, own);
    for (size_t b = 0; b < branches_.size(); ++b) {
      branches_[b].Prefetch(own.branches[b]);
    }
  }

  std::string Describe(const RecordRef& ref, uint64_t) const override {
    if (zip_) return branches_[0].Describe(ref.index, ref.pass, 0);
    InputPlace place;
    order_->Find({&ref.index, 1}, {&place, 1});
    return branches_[place.input].Describe(place.position, ref.pass,
                                           place.turn);
  }

  bool heavy() const override { return heavy_; }

 private:
  // Asks each input for its part of the refs, in runs of positions.
  void Ask(std::span<const RecordRef> refs, CombinedScratch& own) const {
    for (BranchScratch& branch : own.branches) branch.Clear();
    own.places.clear();
    if (zip_) {
      for (size_t k = 0; k < refs.size();) {
        size_t run = 1;
        while (k + run < refs.size() && refs[k + run].pass == refs[k].pass &&
               refs[k + run].index == refs[k].index + run) {
          ++run;
        }
        for (size_t b = 0; b < branches_.size(); ++b) {
          branches_[b].Ask(refs[k].index, refs[k].index + run, refs[k].pass, 0,
                           own.branches[b]);
        }
        k += run;
      }
      return;
    }
    own.indexes.clear();
    for (const RecordRef& ref : refs) own.indexes.push_back(ref.index);
    own.places.resize(refs.size());
    order_->Find(own.indexes, own.places);
    AskInRuns(refs, own);
  }

  // The positions of an input are consecutive even if elements of other inputs
  // stand between them. So a run of an input continues until its position
  // jumps.
  void AskInRuns(std::span<const RecordRef> refs, CombinedScratch& own) const {
    std::vector<PositionRun>& open = own.runs;
    open.assign(branches_.size(), PositionRun{});
    const auto close = [&](size_t b) {
      const PositionRun& run = open[b];
      if (run.begin < run.end) {
        branches_[b].Ask(run.begin, run.end, run.pass, run.turn,
                         own.branches[b]);
      }
    };
    for (size_t k = 0; k < refs.size(); ++k) {
      const InputPlace& place = own.places[k];
      PositionRun& run = open[place.input];
      if (run.begin == run.end || place.position != run.end ||
          place.turn != run.turn || refs[k].pass != run.pass) {
        close(place.input);
        run = {place.position, place.position, refs[k].pass, place.turn};
      }
      ++run.end;
    }
    for (size_t b = 0; b < open.size(); ++b) close(b);
  }

  // Takes the rows that all inputs have made, side by side.
  size_t TakeAlike(CombinedScratch& own, InputBlock& out) const {
    size_t rows = own.branches[0].refs.size();
    for (size_t b = 0; b < branches_.size(); ++b) {
      const BranchScratch& branch = own.branches[b];
      if (branch.made.rows >= rows) continue;
      rows = branch.made.rows;
      out.error = ErrorAfter(b, branch);
    }
    if (rows == 0) {  // an input that failed may have no columns
      out.Show(ChunkBuilder(spec_, out.blocks()).Finish().columns);
      return 0;
    }
    std::vector<Column> columns;
    for (const BranchScratch& branch : own.branches) {
      AddColumns(branch, rows, columns);
    }
    out.Show(std::move(columns));
    return rows;
  }

  // Takes rows in the order of the places, up to the first missing one.
  size_t TakeInOrder(size_t count, CombinedScratch& own,
                     InputBlock& out) const {
    size_t rows = 0;
    size_t inputs = 0;
    for (; rows < count; ++rows) {
      const uint32_t input = own.places[rows].input;
      BranchScratch& branch = own.branches[input];
      if (branch.taken == branch.made.rows) {
        out.error = ErrorAfter(input, branch);
        break;
      }
      inputs += branch.taken++ == 0 ? 1 : 0;
    }
    if (inputs == 1) {
      std::vector<Column> columns;
      AddColumns(own.branches[own.places[0].input], rows, columns);
      out.Show(std::move(columns));
      return rows;
    }
    ChunkBuilder builder(spec_, out.blocks());
    for (BranchScratch& branch : own.branches) branch.taken = 0;
    for (size_t begin = 0; begin < rows;) {
      const uint32_t input = own.places[begin].input;
      size_t end = begin + 1;
      while (end < rows && own.places[end].input == input) ++end;
      BranchScratch& branch = own.branches[input];
      for (size_t c = 0; c < branch.made.columns.size(); ++c) {
        builder.AppendRows(c, *branch.made.columns[c], branch.taken,
                           branch.taken + end - begin);
      }
      branch.taken += end - begin;
      begin = end;
    }
    builder.FinishRows(rows);
    out.Show(std::move(builder).Finish().columns);
    return rows;
  }

  // For heavy steps: makes row by row, so that every row that is made is used.
  absl::Status MakeOneByOne(size_t count, size_t bytes_max,
                            CombinedScratch& own, InputBlock& out) const {
    ChunkBuilder builder(spec_, out.blocks());
    for (size_t k = 0; k < count; ++k) {
      if (builder.rows() > 0 && (builder.bytes() >= bytes_max || own.due())) {
        break;
      }
      if (ReadStop::Asked()) return Cancelled("these elements are not needed");
      bool whole = true;
      size_t component = 0;
      const size_t first = zip_ ? 0 : own.places[k].input;
      const size_t last = zip_ ? branches_.size() - 1 : first;
      for (size_t b = first; whole && b <= last; ++b) {
        whole = AppendOne(b, component, own.branches[b], builder, out.error);
        if (zip_) component += branches_[b].components();
      }
      if (!whole) {
        builder.DropUnfinished();
        break;
      }
      builder.FinishRows(1);
    }
    out.rows = builder.rows();
    out.Show(std::move(builder).Finish().columns);
    return absl::OkStatus();
  }

  // Appends the next row of input b to the components from `component` on.
  // Returns false if there is none, and sets `error` if an error is the reason.
  bool AppendOne(size_t b, size_t component, BranchScratch& branch,
                 ChunkBuilder& builder, absl::Status& error) const {
    if (branch.taken == branch.read.rows) {
      error = branches_[b].ReadError(branch);
      return false;
    }
    branches_[b].Run(branch.taken, 1, branch);
    if (!branch.made.error.ok()) {
      error = branch.made.error;
      return false;
    }
    for (const Column* const column : branch.made.columns) {
      builder.AppendRows(component++, *column, 0, 1);
    }
    ++branch.taken;
    return true;
  }

  // Returns the reason why input b made no more rows.
  absl::Status ErrorAfter(size_t b, const BranchScratch& branch) const {
    return branch.made.error.ok() ? branches_[b].ReadError(branch)
                                  : branch.made.error;
  }

  // Adds the first `rows` rows that the input made.
  static void AddColumns(const BranchScratch& branch, size_t rows,
                         std::vector<Column>& columns) {
    for (const Column* const column : branch.made.columns) {
      columns.push_back(rows == branch.made.rows ? *column
                                                 : column->Slice(0, rows));
    }
  }

  const std::shared_ptr<const ElementSpec> spec_;
  const std::shared_ptr<const Combination> order_;
  const bool zip_;
  const std::vector<Branch> branches_;
  bool heavy_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const StageInput>> MakeCombinedInput(
    const AnalyzedGraph& graph, const SourcePlan& source,
    const std::shared_ptr<const Manifest>& manifest,
    const StageContext& context) {
  std::vector<Branch> branches;
  for (size_t i = 0; i < source.inputs.size(); ++i) {
    // Null if no input has files; otherwise each input has a manifest
    // (PlanSource).
    std::shared_ptr<const Manifest> own;
    if (manifest != nullptr && !manifest->inputs.empty()) {
      own = std::shared_ptr<const Manifest>(manifest, &manifest->inputs[i]);
    }
    absl::StatusOr<Branch> branch =
        Branch::Make(i, source.inputs[i], std::move(own), context);
    if (!branch.ok()) {
      return Annotate(branch.status(), fmt::format("inputs[{}]", i));
    }
    branches.push_back(*std::move(branch));
  }
  return std::unique_ptr<const StageInput>(std::make_unique<CombinedInput>(
      std::make_shared<const ElementSpec>(graph.source.spec),
      source.combination, PropertiesOf(graph.graph.source).pairs_inputs,
      std::move(branches)));
}

}  // namespace feedmill
