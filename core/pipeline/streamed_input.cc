// The input of a stage whose source is made of inputs that are not counted: a
// position is a pass over all of them, which is made from its beginning, by one
// thread at a time.

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/dataset/graph_text.h"
#include "core/dataset/source_types.h"
#include "core/pipeline/compiled_stage.h"
#include "core/pipeline/input_stream.h"
#include "core/pipeline/stage_input.h"
#include "core/plan/input_combiner.h"

namespace feedmill {
namespace {

// Passes that wait to be read on, by whatever thread comes to it.
constexpr size_t kParkedMax = 16;

// What the passes of one plan have in common.
struct Recipe {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Manifest> manifest;
  StageContext context;
  std::shared_ptr<const ElementSpec> spec;

  const AnalyzedGraph& graph() const { return plan->graph(); }

  absl::StatusOr<std::unique_ptr<InputStream>> Begin(size_t input,
                                                     uint64_t pass,
                                                     uint64_t turn) const {
    static const std::shared_ptr<const Manifest>& none =
        *new std::shared_ptr<const Manifest>(
            std::make_shared<const Manifest>());
    const auto files = manifest->inputs.empty()
                           ? none
                           : std::shared_ptr<const Manifest>(
                                 manifest, &manifest->inputs[input]);
    // Each time that it is begun is an iteration of its own.
    const RandomKey key =
        MakeRandomKey(plan->seed(), plan->iteration(), pass, input, turn);
    auto stream = InputStream::Make(graph().inputs[input], files, context,
                                    plan->seed(), key.low);
    if (stream.ok()) return stream;
    return Annotate(stream.status(), fmt::format("inputs[{}]", input));
  }
};

// An element of an input that is left out: it has a row, which is none.
struct LeftOut {
  SkippedElement element;
  bool outer = false;  // by an on_error of the whole, not of the input
};

// A pass, and the last rows that were made of it.
class Pass final : TurnStreams {
 public:
  static absl::StatusOr<std::unique_ptr<Pass>> Begin(const Recipe& recipe,
                                                     uint64_t number) {
    auto pass = std::unique_ptr<Pass>(new Pass(recipe, number));
    for (size_t i = 0; i < pass->streams_.size(); ++i) {
      FM_RETURN_IF_ERROR(pass->Begin(i, 0));
    }
    return pass;
  }

  uint64_t number() const { return number_; }
  // The rows that are there: [first_row, end_row).
  uint64_t first_row() const { return first_row_; }
  uint64_t end_row() const { return first_row_ + rows_.rows; }
  const Chunk& rows() const { return rows_; }
  // What row end_row() was to be, if it is left out.
  const std::optional<LeftOut>& left_out() const { return left_out_; }
  // The first row that was not looked at.
  uint64_t next_row() const { return end_row() + (left_out_ ? 1 : 0); }
  // Nothing comes after them: for error(), if that is not OK.
  bool ended() const { return ended_; }
  const absl::Status& error() const { return error_; }

  // Makes rows that follow, about `bytes_max` bytes of them and no more than to
  // the next that is left out; none once it has ended.
  absl::Status Next(size_t bytes_max) {
    first_row_ = next_row();
    left_out_.reset();
    ChunkBuilder builder(recipe_.spec);
    builder_ = &builder;
    while (!ended_ && !left_out_ && made_ < kBlockRows &&
           (made_ == 0 || builder.bytes() < bytes_max)) {
      FM_RETURN_IF_ERROR(turns_ == nullptr ? AddAlike() : AddInTurn());
    }
    Append();
    builder.FinishRows(made_);
    made_ = 0;
    builder_ = nullptr;
    rows_ = std::move(builder).Finish();
    if (ended_) {
      for (auto& stream : streams_) stream.reset();
    }
    return absl::OkStatus();
  }

 private:
  Pass(const Recipe& recipe, uint64_t number)
      : recipe_(recipe),
        number_(number),
        streams_(recipe.graph().inputs.size()) {
    const Source& source = recipe.graph().graph.source;
    turns_ = source.kind().combiner()->MakeTurns(source.options());
  }

  // ---- TurnStreams
  size_t count() const override { return streams_.size(); }
  absl::Status Begin(size_t input, uint64_t turn) override {
    FM_ASSIGN_OR_RETURN(streams_[input], recipe_.Begin(input, number_, turn));
    return absl::OkStatus();
  }
  absl::StatusOr<TurnStreams::Next> Look(size_t input) override {
    InputStream& stream = *streams_[input];
    // Its chunk goes, and with it the rows that were taken.
    if (stream.left() == 0) Append();
    FM_ASSIGN_OR_RETURN(const InputStream::Next next, stream.Look());
    switch (next) {
      case InputStream::Next::kLeftOut:
        LeaveOut(input, false);
        return TurnStreams::Next::kLeftOut;
      case InputStream::Next::kElement:
      case InputStream::Next::kBad:  // it takes its turn
        break;
      case InputStream::Next::kEnd:
        return stream.error().ok() ? TurnStreams::Next::kEnd
                                   : TurnStreams::Next::kBad;
    }
    return TurnStreams::Next::kElement;
  }

  // What comes next of the input stands behind the rows that were made; the
  // rows after it are made when it is out.
  void LeaveOut(size_t input, bool outer) {
    SkippedElement element = streams_[input]->TakeSkipped();
    element.error = fmt::format("inputs[{}]: {}", input, element.error);
    left_out_ = {std::move(element), outer};
  }

  void End(absl::Status error) {
    ended_ = true;
    error_ = std::move(error);
  }
  void EndBad(size_t input) {
    End(Annotate(streams_[input]->error(), fmt::format("inputs[{}]", input)));
  }

  absl::Status AddInTurn() {
    FM_ASSIGN_OR_RETURN(const StreamTurns::Turn turn, turns_->Next(*this));
    switch (turn.kind) {
      case StreamTurns::Turn::Kind::kLeftOut:
        break;
      case StreamTurns::Turn::Kind::kTake: {
        InputStream& stream = *streams_[turn.input];
        if (stream.left() == 0) {
          LeaveOut(turn.input, true);
          break;
        }
        if (taken_.count == 0 || taken_.input != turn.input) {
          Append();
          taken_ = {turn.input, stream.row(), 0};
        }
        ++taken_.count;
        ++made_;
        stream.Take(1);
        break;
      }
      case StreamTurns::Turn::Kind::kEnd:
        End(absl::OkStatus());
        break;
      case StreamTurns::Turn::Kind::kBad:
        EndBad(turn.input);
        break;
      case StreamTurns::Turn::Kind::kNothing:
        End(FailedPrecondition(
            "{} inputs[{}] has no elements, so it cannot be repeated",
            recipe_.graph().graph.source.name(), turn.input));
    }
    return absl::OkStatus();
  }

  // Appends what was taken of one input, a run of its rows.
  void Append() {
    if (taken_.count == 0) return;
    const Chunk& from = streams_[taken_.input]->chunk();
    for (size_t c = 0; c < from.columns.size(); ++c) {
      builder_->AppendRows(c, from.columns[c], taken_.begin,
                           taken_.begin + taken_.count);
    }
    taken_.count = 0;
  }

  // Rows that all inputs have ready, side by side.
  absl::Status AddAlike() {
    size_t count = kBlockRows - made_;
    std::optional<size_t> bad;
    for (size_t i = 0; i < streams_.size(); ++i) {
      FM_ASSIGN_OR_RETURN(const auto next, Look(i));
      if (next == TurnStreams::Next::kLeftOut) return absl::OkStatus();
      if (next == TurnStreams::Next::kBad && !bad) bad = i;
      if (next == TurnStreams::Next::kEnd) {  // the shortest, bad ones or not
        End(absl::OkStatus());
        return absl::OkStatus();
      }
      count = std::min(count, streams_[i]->left());
    }
    if (bad) {
      EndBad(*bad);
      return absl::OkStatus();
    }
    if (count == 0) {
      LeaveOutAlike();
      return absl::OkStatus();
    }
    size_t component = 0;
    for (const auto& stream : streams_) {
      for (const Column& column : stream->chunk().columns) {
        builder_->AppendRows(component++, column, stream->row(),
                             stream->row() + count);
      }
      stream->Take(count);
    }
    made_ += count;
    return absl::OkStatus();
  }

  // The next row of all, of which one at least is left out: the first says
  // why.
  void LeaveOutAlike() {
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i]->left() > 0) {
        streams_[i]->Take(1);
      } else if (left_out_) {
        streams_[i]->TakeSkipped();
      } else {
        LeaveOut(i, true);
      }
    }
  }

  struct Taken {
    size_t input = 0;
    size_t begin = 0;  // a row of the chunk that its stream shows
    size_t count = 0;
  };

  const Recipe& recipe_;
  const uint64_t number_;
  std::unique_ptr<StreamTurns> turns_;  // null: a zip
  std::vector<std::unique_ptr<InputStream>> streams_;
  Chunk rows_;
  uint64_t first_row_ = 0;
  bool ended_ = false;
  absl::Status error_;
  std::optional<LeftOut> left_out_;
  // While rows are made.
  ChunkBuilder* builder_ = nullptr;
  size_t made_ = 0;
  Taken taken_;  // not appended yet
};

class StreamedInput final : public StageInput {
 public:
  explicit StreamedInput(Recipe recipe) : recipe_(std::move(recipe)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Own>();
  }

  absl::StatusOr<size_t> Read(std::span<const RecordRef>, size_t, Scratch&,
                              InputBlock&) const override {
    return Internal("the elements of inputs that are streams have no places");
  }

  absl::StatusOr<bool> ReadBlock(const RecordRef& ref, uint64_t row,
                                 size_t bytes_max, Scratch& scratch,
                                 InputBlock& out) const override {
    std::unique_ptr<Pass> pass = TakeParked(ref.pass, row);
    if (pass == nullptr) {
      FM_ASSIGN_OR_RETURN(pass, Pass::Begin(recipe_, ref.pass));
    }
    while (pass->next_row() <= row && !pass->ended()) {
      FM_RETURN_IF_ERROR(pass->Next(bytes_max));
    }
    auto& own = static_cast<Own&>(scratch);
    Show(*pass, row, own, out);
    const bool more = !pass->ended() || row < pass->next_row();
    if (more || out.rows > 0) Park(std::move(pass));
    return more;
  }

  std::vector<Column> Take(Scratch& scratch) const override {
    return std::move(static_cast<Own&>(scratch).columns);
  }

  std::string Describe(const RecordRef& ref, uint64_t row) const override {
    return fmt::format(
        "{}: element {}{}", recipe_.graph().graph.source.name(), row,
        ref.pass == 0 ? "" : fmt::format(" of pass {}", ref.pass));
  }

  bool heavy() const override { return true; }

 private:
  struct Own final : StageInput::Scratch {
    std::vector<Column> columns;  // share a pass' memory
  };

  static void Show(const Pass& pass, uint64_t row, Own& own, InputBlock& out) {
    own.columns.clear();
    out.columns.clear();
    out.rows = 0;
    if (row < pass.end_row()) {
      out.rows = static_cast<size_t>(pass.end_row() - row);
      const auto first = static_cast<size_t>(row - pass.first_row());
      for (const Column& column : pass.rows().columns) {
        own.columns.push_back(
            first == 0 ? column : column.Slice(first, pass.rows().rows));
      }
    }
    for (const Column& column : own.columns) out.columns.push_back(&column);
    out.error = pass.ended() ? pass.error() : absl::OkStatus();
    out.ends_block = !out.error.ok();
    out.left_out = false;
    out.failed_records.clear();
    const std::optional<LeftOut>& left_out = pass.left_out();
    if (!left_out || row > pass.end_row()) return;
    out.error = DataLoss("{}", left_out->element.error);
    out.ends_block = false;
    out.left_out = !left_out->outer;
    out.failed_records = left_out->element.records;
  }

  std::unique_ptr<Pass> TakeParked(uint64_t number, uint64_t row) const {
    const std::lock_guard lock(mutex_);
    for (auto at = parked_.begin(); at != parked_.end(); ++at) {
      if ((*at)->number() != number || row < (*at)->first_row()) continue;
      auto taken = std::move(*at);
      parked_.erase(at);
      return taken;
    }
    return nullptr;
  }

  void Park(std::unique_ptr<Pass> pass) const {
    std::list<std::unique_ptr<Pass>> dropped;  // freed outside the lock
    const std::lock_guard lock(mutex_);
    parked_.push_front(std::move(pass));
    if (parked_.size() > kParkedMax) {
      dropped.splice(dropped.begin(), parked_, std::prev(parked_.end()));
    }
  }

  const Recipe recipe_;
  mutable std::mutex mutex_;
  mutable std::list<std::unique_ptr<Pass>> parked_;  // newest first
};

}  // namespace

absl::StatusOr<std::unique_ptr<const StageInput>> MakeStreamedInput(
    const std::shared_ptr<const Plan>& plan,
    std::shared_ptr<const Manifest> manifest, const StageContext& context) {
  StageContext own = context;
  own.covered = context.covered || plan->graph().skip_before.has_value();
  Recipe recipe{plan, std::move(manifest), std::move(own),
                std::make_shared<const ElementSpec>(plan->graph().source.spec)};
  return std::unique_ptr<const StageInput>(
      std::make_unique<StreamedInput>(std::move(recipe)));
}

}  // namespace feedmill
