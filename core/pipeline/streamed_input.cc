// The input of a stage whose source combines inputs of unknown size. A position
// is a pass over all of them. One thread at a time makes a pass, from its
// beginning or from a state. The state has the places of all inputs, with the
// states of their generators. Other threads make elements of the inputs ahead
// (StageContext::threads).

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"
#include "core/chunk/row_states.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_kind.h"
#include "core/pipeline/block_program.h"
#include "core/pipeline/held_rows.h"
#include "core/pipeline/input_service.h"
#include "core/pipeline/input_stream.h"
#include "core/pipeline/stage_input.h"
#include "core/pipeline/stream_places.h"
#include "core/plan/input_combiner.h"

namespace feedmill {
namespace {

// Most interrupted passes that are kept; any thread may continue one.
constexpr size_t kParkedMax = 16;
constexpr size_t kStatesMax = 64;
constexpr size_t kStateBytesMax = size_t{8} << 20;
// Least time between two states of a pass. The time after a state is repeated
// if the pass continues from it.
constexpr std::chrono::nanoseconds kStateInterval =
    std::chrono::milliseconds(20);

// Least bytes of rows for each byte of a state, so that states cost little.
constexpr size_t kBytesPerStateByte = 16;

// A repeated pass that takes less is not worth other threads.
constexpr std::chrono::nanoseconds kShortPass = std::chrono::milliseconds(2);

// Data that all passes of one plan share.
struct Recipe {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Manifest> manifest;
  StageContext context;
  std::shared_ptr<const ElementSpec> spec;

  const AnalyzedGraph& graph() const { return plan->graph(); }
  // True for the source of a SequencedGraph.
  bool sequenced() const { return graph().graph.sequenced; }

  absl::StatusOr<std::unique_ptr<InputStream>> Begin(
      size_t input, uint64_t pass, uint64_t turn,
      const std::optional<StreamPlace>& place = {}) const {
    static const std::shared_ptr<const Manifest>& none =
        *new std::shared_ptr<const Manifest>(
            std::make_shared<const Manifest>());
    const auto files = manifest->inputs.empty()
                           ? none
                           : std::shared_ptr<const Manifest>(
                                 manifest, &manifest->inputs[input]);
    StageContext own = context;
    own.part = PartOf(input);
    auto stream = InputStream::Make(graph().inputs[input], files, own,
                                    plan->seed(), Iteration(input, pass, turn),
                                    /*holds_rows=*/sequenced(),
                                    graph().inputs.size(), place);
    if (stream.ok()) return stream;
    return At(input, stream.status());
  }

  // Names the input of an error. The only input of a sequenced run has no name:
  // it is the pipeline.
  absl::Status At(size_t input, const absl::Status& error) const {
    return sequenced() ? error
                       : Annotate(error, fmt::format("inputs[{}]", input));
  }

  // True if other workers may make the input's elements. They do not say which
  // on_error skipped an element.
  bool MayMove(size_t input) const {
    const AnalyzedGraph& part = *graph().inputs[input];
    if (context.service == nullptr || HasGenerator(part)) return false;
    // The one position of such a pipeline would be made by one worker, too.
    if (sequenced() && part.source.streamed) return false;
    return !(context.covered && (part.skip_before || HasStreams(part)));
  }

  // Lets other workers make the elements after those that `stream` has made.
  void Move(size_t input, uint64_t pass, uint64_t turn, InputStream& stream,
            std::string reader) const {
    const AnalyzedGraph& part = *graph().inputs[input];
    InputService::Request request{.part = PartOf(input)};
    request.reader = std::move(reader);
    if (part.source.needs_files) {
      Manifest files = manifest->inputs[input];
      for (const NamedFile& file : NamedFiles(part.graph)) {
        for (const NamedContent& content : context.contents) {
          const bool known =
              !files.contents.empty() && files.contents.back() == content;
          if (content.path == file.path && !known)
            files.contents.push_back(content);
        }
      }
      request.manifest_hash = files.Hash();
    }
    request.seed = plan->seed();
    request.iteration = Iteration(input, pass, turn);
    request.begin = stream.at();
    stream.ReadElsewhere(context.service->Read(request), context.covered);
  }

 private:
  std::vector<size_t> PartOf(size_t input) const {
    std::vector<size_t> part = context.part;
    if (!sequenced()) part.push_back(input);
    return part;
  }
  // Each begin of an input is an iteration of its own, except where the input
  // is the whole pipeline.
  uint64_t Iteration(size_t input, uint64_t pass, uint64_t turn) const {
    if (sequenced()) return plan->iteration();
    return MakeRandomKey(plan->seed(), plan->iteration(), pass, input, turn)
        .low;
  }
};

// A skipped element of an input: it uses a row number, but has no row.
struct SkippedRow {
  SkippedElement element;
  bool outer = false;  // an on_error of the whole skipped it, not of the input
};

// A pass and its last rows.
class Pass final : SelectableInputs {
 public:
  static absl::StatusOr<std::unique_ptr<Pass>> Begin(const Recipe& recipe,
                                                     uint64_t number) {
    auto pass = std::unique_ptr<Pass>(new Pass(recipe, number));
    for (size_t i = 0; i < pass->streams_.size(); ++i) {
      FM_RETURN_IF_ERROR(pass->Begin(i, 0));
    }
    return pass;
  }
  // Continues a pass from its state before a row. Null: the bytes are no state
  // of this source.
  static absl::StatusOr<std::unique_ptr<Pass>> Resume(const Recipe& recipe,
                                                      uint64_t number,
                                                      const RowState& state) {
    const std::optional<PassPlace> place = DecodePlace(state.bytes);
    auto pass = std::unique_ptr<Pass>(new Pass(recipe, number));
    if (!place || !pass->Fits(*place)) return nullptr;
    for (size_t i = 0; i < place->inputs.size(); ++i) {
      const auto& [turn, at] = place->inputs[i];
      const absl::Status begun = pass->Begin(i, turn, at);
      if (absl::IsInvalidArgument(begun)) return nullptr;
      FM_RETURN_IF_ERROR(begun);
    }
    pass->first_row_ = state.row;
    return pass;
  }

  uint64_t number() const { return number_; }
  // The present rows: [first_row, end_row).
  uint64_t first_row() const { return first_row_; }
  uint64_t end_row() const { return first_row_ + rows_.rows; }
  const Chunk& rows() const { return rows_; }
  // The element of row end_row(), if it was skipped.
  const std::optional<SkippedRow>& left_out() const { return left_out_; }
  // The first row that the pass has not reached.
  uint64_t next_row() const { return end_row() + (left_out_ ? 1 : 0); }
  // True if no rows follow: because of error(), if that is not OK.
  bool ended() const { return ended_; }
  const absl::Status& error() const { return error_; }

  std::chrono::steady_clock::time_point kept{};  // when a state was kept
  size_t kept_bytes = 0;                         // of that state
  size_t made_bytes() const { return made_bytes_; }
  void ClearMadeBytes() { made_bytes_ = 0; }

  // Makes the following rows, about `bytes_max` bytes, up to the next skipped
  // element; fewer if `scratch` is due. Makes none once the pass has ended.
  absl::Status Next(size_t bytes_max, StageInput::Scratch& scratch) {
    beside_ = scratch.beside;
    first_row_ = next_row();
    left_out_.reset();
    ChunkBuilder builder(recipe_.spec);
    builder_ = &builder;
    while (!ended_ && !left_out_ && made_ < kBlockRows &&
           (made_ == 0 || builder.bytes() < bytes_max)) {
      fed_ = false;
      FM_RETURN_IF_ERROR(selector_ == nullptr ? AddAlike() : AddInTurn());
      if (fed_ && made_ > 0 && scratch.due()) break;
    }
    Append();
    builder.FinishRows(made_);
    made_bytes_ += builder.bytes();
    scratch.wants_beside = wants_beside_;
    made_ = 0;
    builder_ = nullptr;
    rows_ = std::move(builder).Finish();
    if (ended_) {
      for (auto& stream : streams_) stream.reset();
    }
    return absl::OkStatus();
  }

  // Returns the state before next_row(); nullopt at the end, or if it would be
  // too large.
  std::optional<RowState> State() const {
    if (ended_) return std::nullopt;
    PassPlace place;
    if (selector_ != nullptr) place.turns = selector_->Save();
    for (size_t i = 0; i < streams_.size(); ++i) {
      place.inputs.push_back({begun_[i], streams_[i]->place()});
    }
    const size_t most = recipe_.sequenced() ? kRowStateMax : kGeneratorStateMax;
    for (const PassPlace::Input& input : place.inputs) {
      if (HeldBytes(input.place.stage) > most) return std::nullopt;
    }
    RowState state{next_row(), EncodePlace(place)};
    if (state.bytes.size() > most) return std::nullopt;
    return state;
  }

 private:
  Pass(const Recipe& recipe, uint64_t number)
      : recipe_(recipe),
        number_(number),
        streams_(recipe.graph().inputs.size()),
        begun_(streams_.size()),
        waited_(streams_.size()),
        looked_at_(streams_.size()) {
    const Source& source = recipe.graph().graph.source;
    selector_ = source.kind().combiner()->MakeSelector(source.options());
  }

  // ---- SelectableInputs
  size_t count() const override { return streams_.size(); }
  absl::Status Begin(size_t input, uint64_t turn) override {
    return Begin(input, turn, {});
  }
  absl::Status Begin(size_t input, uint64_t turn,
                     const std::optional<StreamPlace>& place) {
    FM_ASSIGN_OR_RETURN(streams_[input],
                        recipe_.Begin(input, number_, turn, place));
    streams_[input]->WorkWhileWaiting([this] { return HelpWithAny(); });
    begun_[input] = turn;
    waited_[input] = {};
    ahead_ = std::max(ahead_, streams_[input]->positions_ahead());
    looked_at_[input] = false;
    next_ = std::min(next_, input);
    return absl::OkStatus();
  }
  absl::StatusOr<SelectableInputs::Next> Look(size_t input) override {
    InputStream& stream = *streams_[input];
    // Look replaces the stream's chunk, so taken rows have to be appended
    // first.
    if (stream.left() == 0) {
      Append();
      BeginAhead(input);
      AnnounceFor(input);
      MoveIfSlow(input);
      fed_ = true;
    }
    FM_ASSIGN_OR_RETURN(const InputStream::Next next, LookAt(input));
    switch (next) {
      case InputStream::Next::kLeftOut:
        LeaveOut(input, false);
        return SelectableInputs::Next::kLeftOut;
      case InputStream::Next::kElement:
      case InputStream::Next::kBad:  // a bad element takes its turn
        break;
      case InputStream::Next::kEnd:
        std::erase(open_, input);
        return stream.error().ok() ? SelectableInputs::Next::kEnd
                                   : SelectableInputs::Next::kBad;
    }
    return SelectableInputs::Next::kElement;
  }

  // Looks at a stream, and measures the wait for its elements.
  absl::StatusOr<InputStream::Next> LookAt(size_t input) {
    InputStream& stream = *streams_[input];
    if (stream.left() > 0) return stream.Look();
    const auto begun = std::chrono::steady_clock::now();
    auto next = stream.Look();
    const auto waited = std::chrono::steady_clock::now() - begun;
    waited_[input] += waited;
    waited_in_all_ += waited;
    return next;
  }

  void MoveIfSlow(size_t input) {
    InputStream& stream = *streams_[input];
    if (stream.moved() || !recipe_.MayMove(input) ||
        !recipe_.context.service->Helps(waited_in_all_, waited_[input])) {
      return;
    }
    wants_beside_ = true;
    if (!beside_) return;
    if (reader_.empty()) reader_ = recipe_.context.service->NewReader();
    recipe_.Move(input, number_, begun_[input], stream, reader_);
  }

  uint64_t Size(size_t input, const MixtureMeasure& measure) const override {
    const InputStream& stream = *streams_[input];
    if (stream.left() == 0) return 0;
    const Chunk& chunk = stream.chunk();
    const auto c = static_cast<size_t>(chunk.spec->Find(measure.component));
    const Column& column = chunk.columns[c];
    const auto items = static_cast<uint64_t>(column.RowItems(stream.row()));
    if (measure.unit == MixtureMeasure::Unit::kItems) return items;
    if (column.dtype != DType::kBytes) return items * ItemSize(column.dtype);
    const int64_t first = column.RowStart(stream.row());
    const auto offsets = column.offsets.As<int64_t>().subspan(
        static_cast<size_t>(first), static_cast<size_t>(items) + 1);
    return static_cast<uint64_t>(offsets.back() - offsets.front());
  }

  bool Fits(const PassPlace& place) {
    if (place.inputs.size() != streams_.size()) return false;
    return selector_ == nullptr
               ? place.turns.empty()
               : selector_->Restore(place.turns, streams_.size());
  }

  // Lets other threads begin with the inputs that come after this one.
  void BeginAhead(size_t input) {
    if (recipe_.context.threads == nullptr) return;
    // A source that is repeated may be short.
    if (number_ > 0 && std::chrono::steady_clock::now() - start_ < kShortPass) {
      return;
    }
    const auto threads =
        static_cast<size_t>(recipe_.context.threads->executor().threads());
    const size_t end = std::min(streams_.size(), input + threads);
    for (; begun_ahead_ < end; ++begun_ahead_) {
      if (begun_ahead_ > input) streams_[begun_ahead_]->Begin();
    }
  }

  // Makes elements of any input that has begun. False: there are none to make.
  bool HelpWithAny() {
    return std::any_of(streams_.begin(), streams_.end(), [](auto& stream) {
      return stream != nullptr && stream->Help();
    });
  }

  // Announces positions that are read soon, because an input needs its next
  // piece: some of each input that takes turns, and if few are left there, the
  // first ones of the inputs after them.
  void AnnounceFor(size_t input) {
    if (ahead_ == 0) return;
    if (!looked_at_[input]) open_.push_back(input);
    looked_at_[input] = true;
    if (open_.empty()) return;  // this input has ended, and is asked again
    while (next_ < streams_.size() && looked_at_[next_]) ++next_;
    const uint64_t each = std::max<uint64_t>(1, ahead_ / open_.size());
    uint64_t left = ahead_;
    const auto announce = [&](size_t i, uint64_t count) {
      if (streams_[i]->positions_ahead() == 0) return;
      left -= std::min(left, streams_[i]->Announce(count));
    };
    for (const size_t i : open_) announce(i, each);
    for (size_t i = next_; i < streams_.size() && left > 0; ++i) {
      if (!looked_at_[i]) announce(i, left);
    }
  }

  // Records that the next element of the input was skipped. The pass makes the
  // rows after it in the next call.
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
    End(recipe_.At(input, streams_[input]->error()));
  }

  absl::Status AddInTurn() {
    FM_ASSIGN_OR_RETURN(const InputSelector::Selection turn,
                        selector_->Next(*this));
    switch (turn.kind) {
      case InputSelector::Selection::Kind::kLeftOut:
        break;
      case InputSelector::Selection::Kind::kTake: {
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
      case InputSelector::Selection::Kind::kEnd:
        End(absl::OkStatus());
        break;
      case InputSelector::Selection::Kind::kBad:
        EndBad(turn.input);
        break;
      case InputSelector::Selection::Kind::kNothing:
        End(FailedPrecondition(
            "{} inputs[{}] has no elements, so it cannot be repeated",
            recipe_.graph().graph.source.name(), turn.input));
    }
    return absl::OkStatus();
  }

  // Appends the rows taken from one input, which are consecutive.
  void Append() {
    if (taken_.count == 0) return;
    const Chunk& from = streams_[taken_.input]->chunk();
    for (size_t c = 0; c < from.columns.size(); ++c) {
      builder_->AppendRows(c, from.columns[c], taken_.begin,
                           taken_.begin + taken_.count);
    }
    taken_.count = 0;
  }

  // Takes rows that all inputs have ready, side by side.
  absl::Status AddAlike() {
    size_t count = kBlockRows - made_;
    std::optional<size_t> bad;
    for (size_t i = 0; i < streams_.size(); ++i) {
      FM_ASSIGN_OR_RETURN(const auto next, Look(i));
      if (next == SelectableInputs::Next::kLeftOut) return absl::OkStatus();
      if (next == SelectableInputs::Next::kBad && !bad) bad = i;
      // The shortest input ends a zip, also before a bad element.
      if (next == SelectableInputs::Next::kEnd) {
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

  // Skips the next row of all inputs, because at least one element was skipped.
  // The first such input gives the reason.
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

  struct TakenRows {
    size_t input = 0;
    size_t begin = 0;  // in the current chunk of the stream
    size_t count = 0;
  };

  const Recipe& recipe_;
  const uint64_t number_;
  std::unique_ptr<InputSelector> selector_;  // null: a zip
  std::vector<std::unique_ptr<InputStream>> streams_;
  std::vector<uint64_t> begun_;  // turn of each input
  // Time in which the pass waited for elements: of each input in its present
  // turn, and of all.
  std::vector<std::chrono::nanoseconds> waited_;
  std::chrono::nanoseconds waited_in_all_{};
  std::string reader_;         // see InputService::NewReader
  bool beside_ = false;        // see WorkerStage::Scratch
  bool wants_beside_ = false;  // an input has moved or is to move
  // Most positions to announce; 0 if no input gains by it.
  uint64_t ahead_ = 0;
  std::vector<bool> looked_at_;
  std::vector<size_t> open_;  // inputs that were looked at and have not ended
  size_t next_ = 0;           // earlier inputs were looked at
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  size_t begun_ahead_ = 0;  // earlier inputs have begun
  Chunk rows_;
  uint64_t first_row_ = 0;
  bool ended_ = false;
  absl::Status error_;
  std::optional<SkippedRow> left_out_;
  size_t made_bytes_ = 0;  // since ClearMadeBytes
  // Used while rows are made.
  ChunkBuilder* builder_ = nullptr;
  size_t made_ = 0;
  TakenRows taken_;   // not appended yet
  bool fed_ = false;  // an input made rows, which may have taken long
};

class StreamedInput final : public StageInput {
 public:
  explicit StreamedInput(Recipe recipe) : recipe_(std::move(recipe)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const RecordRef>, size_t, Scratch&,
                              InputBlock&) const override {
    return Internal("elements of streamed inputs cannot be read by position");
  }

  absl::StatusOr<bool> ReadBlock(const RecordRef& ref, uint64_t row,
                                 size_t bytes_max, Scratch& scratch,
                                 InputBlock& out) const override {
    std::unique_ptr<Pass> pass = TakeParked(ref.pass, row);
    if (pass == nullptr) {
      FM_ASSIGN_OR_RETURN(pass, Resume(ref, row));
    }
    if (pass == nullptr) {
      FM_ASSIGN_OR_RETURN(pass, Pass::Begin(recipe_, ref.pass));
    }
    while (pass->next_row() <= row && !pass->ended()) {
      FM_RETURN_IF_ERROR(pass->Next(bytes_max, scratch));
      Keep(*pass);
    }
    Show(*pass, row, out);
    const bool more = !pass->ended() || row < pass->next_row();
    if (more || out.rows > 0) Park(std::move(pass));
    return more;
  }

  std::optional<RowState> StateBefore(const RecordRef& ref,
                                      uint64_t row) const override {
    const std::lock_guard lock(mutex_);
    return states_.Before(ref.pass, row);
  }
  void Restore(const RecordRef& ref, RowState state) const override {
    const std::lock_guard lock(mutex_);
    states_.Keep(ref.pass, std::move(state));
  }
  // Passes continue from their states.
  void Rest() const override {
    std::list<std::unique_ptr<Pass>> dropped;  // destroyed outside the lock
    const std::lock_guard lock(mutex_);
    dropped.swap(parked_);
  }

  std::string Describe(const RecordRef& ref, uint64_t row) const override {
    return fmt::format(
        "{}: element {}{}",
        recipe_.sequenced() ? "the pipeline"
                            : recipe_.graph().graph.source.name(),
        row, ref.pass == 0 ? "" : fmt::format(" of pass {}", ref.pass));
  }

  bool heavy() const override { return true; }

 private:
  static void Show(const Pass& pass, uint64_t row, InputBlock& out) {
    out.rows = 0;
    if (row < pass.end_row()) {
      out.rows = static_cast<size_t>(pass.end_row() - row);
      const auto first = static_cast<size_t>(row - pass.first_row());
      out.Show(pass.rows().Slice(first, pass.rows().rows).columns);
    }
    out.SetBad({.error = pass.ended() ? pass.error() : absl::OkStatus(),
                .ends_block = pass.ended() && !pass.error().ok()});
    const std::optional<SkippedRow>& left_out = pass.left_out();
    if (!left_out || row > pass.end_row()) return;
    out.SetBad({.error = DataLoss("{}", left_out->element.error),
                .left_out = !left_out->outer,
                .failed_records = left_out->element.records});
  }

  // Returns a pass that continues from a state before the row; null without
  // one.
  absl::StatusOr<std::unique_ptr<Pass>> Resume(const RecordRef& ref,
                                               uint64_t row) const {
    const std::optional<RowState> state = StateBefore(ref, row);
    if (!state) return nullptr;
    return Pass::Resume(recipe_, ref.pass, *state);
  }

  // Keeps a state of the pass now and then; with a generator, each time.
  void Keep(Pass& pass) const {
    const auto now = std::chrono::steady_clock::now();
    if (!has_generator_ &&
        (now - pass.kept < kStateInterval ||
         pass.made_bytes() / kBytesPerStateByte < pass.kept_bytes)) {
      return;
    }
    pass.kept = now;
    std::optional<RowState> state = pass.State();
    if (!state) return;
    pass.kept_bytes = state->bytes.size();
    pass.ClearMadeBytes();
    const std::lock_guard lock(mutex_);
    states_.Keep(pass.number(), *std::move(state));
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
    std::list<std::unique_ptr<Pass>> dropped;  // destroyed outside the lock
    const std::lock_guard lock(mutex_);
    parked_.push_front(std::move(pass));
    if (parked_.size() > kParkedMax) {
      dropped.splice(dropped.begin(), parked_, std::prev(parked_.end()));
    }
  }

  const Recipe recipe_;
  const bool has_generator_ = HasGenerator(recipe_.graph());
  mutable std::mutex mutex_;
  // Newest first; guarded by mutex_.
  mutable std::list<std::unique_ptr<Pass>> parked_;
  mutable RowStates states_{kStatesMax, kStateBytesMax};  // guarded by mutex_
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
