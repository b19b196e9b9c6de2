#include "core/pipeline/stream_turns.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/source_types.h"
#include "core/plan/mixture_schedule.h"

namespace feedmill {
namespace {

using Look = TurnStreams::Next;
using Turn = StreamTurns::Turn;

// What is to be said of an input that has no element now; none at its end.
std::optional<Turn> Without(Look look, size_t input) {
  if (look == Look::kBad) return Turn{Turn::Kind::kBad, input};
  if (look == Look::kLeftOut) return Turn{Turn::Kind::kLeftOut, input};
  return std::nullopt;
}

class InARow final : public StreamTurns {
 public:
  absl::StatusOr<Turn> Next(TurnStreams& streams) override {
    for (; input_ < streams.count(); ++input_) {
      FM_ASSIGN_OR_RETURN(const Look look, streams.Look(input_));
      if (look == Look::kElement) return Turn{Turn::Kind::kTake, input_};
      if (const auto turn = Without(look, input_)) return *turn;
    }
    return Turn{};
  }

 private:
  size_t input_ = 0;
};

class InCycles final : public StreamTurns {
 public:
  explicit InCycles(const InterleaveSource& source)
      : block_(source.block_length),
        // More slots than inputs stay empty.
        slots_(std::min(static_cast<size_t>(CycleLength(source)),
                        source.inputs.size())) {}

  absl::StatusOr<Turn> Next(TurnStreams& streams) override {
    while (true) {
      std::optional<size_t>& slot = slots_[at_];
      if (!slot && next_ < streams.count()) slot = next_++;
      if (!slot) {
        const bool any = std::any_of(slots_.begin(), slots_.end(),
                                     [](const auto& s) { return !!s; });
        if (!any) return Turn{};
        GoOn();
        continue;
      }
      const size_t input = *slot;
      FM_ASSIGN_OR_RETURN(const Look look, streams.Look(input));
      if (const auto turn = Without(look, input)) return *turn;
      if (look == Look::kEnd) {
        slot.reset();
        GoOn();
        continue;
      }
      if (++in_block_ == block_) GoOn();
      return Turn{Turn::Kind::kTake, input};
    }
  }

 private:
  void GoOn() {
    at_ = (at_ + 1) % slots_.size();
    in_block_ = 0;
  }

  const int64_t block_;
  std::vector<std::optional<size_t>> slots_;  // the input of each
  size_t next_ = 0;                           // the first not begun
  size_t at_ = 0;
  int64_t in_block_ = 0;
};

class ByShares final : public StreamTurns {
 public:
  ByShares(const MixtureSource& source, std::vector<uint64_t> shares)
      : stop_(source.stop),
        schedule_(std::move(shares)),
        inputs_(source.inputs.size()) {}

  absl::StatusOr<Turn> Next(TurnStreams& streams) override {
    if (stop_ == MixtureSource::Stop::kAllExhausted && last_) {
      Input& last = inputs_[*last_];
      if (!last.whole) {
        FM_ASSIGN_OR_RETURN(const Look look, streams.Look(*last_));
        if (look == Look::kLeftOut) return *Without(look, *last_);
        last.whole = look == Look::kEnd;
        whole_ += last.whole ? 1 : 0;
      }
      if (whole_ == inputs_.size()) return Turn{};
    }
    const size_t i = schedule_.At(next_).input;
    Input& input = inputs_[i];
    FM_ASSIGN_OR_RETURN(Look look, streams.Look(i));
    if (look == Look::kEnd) {
      if (stop_ == MixtureSource::Stop::kFirstExhausted) return Turn{};
      if (!input.any) return Turn{Turn::Kind::kNothing, i};
      input.any = false;
      FM_RETURN_IF_ERROR(streams.Begin(i, ++input.turn));
      FM_ASSIGN_OR_RETURN(look, streams.Look(i));
      if (look == Look::kEnd) return Turn{Turn::Kind::kNothing, i};
    }
    if (const auto turn = Without(look, i)) return *turn;
    ++next_;
    input.any = true;
    last_ = i;
    return Turn{Turn::Kind::kTake, i};
  }

 private:
  struct Input {
    uint64_t turn = 0;
    bool any = false;    // it gave an element since it was begun
    bool whole = false;  // it was read to its end
  };

  const MixtureSource::Stop stop_;
  const MixtureSchedule schedule_;
  std::vector<Input> inputs_;
  size_t whole_ = 0;
  uint64_t next_ = 0;  // the element
  std::optional<size_t> last_;
};

}  // namespace

std::unique_ptr<StreamTurns> StreamTurns::Make(const Source& source) {
  if (const auto* interleave = std::get_if<InterleaveSource>(&source)) {
    return std::make_unique<InCycles>(*interleave);
  }
  if (const auto* mixture = std::get_if<MixtureSource>(&source)) {
    auto shares = MixtureShares(*mixture);
    FM_CHECK(shares.ok());
    return std::make_unique<ByShares>(*mixture, *std::move(shares));
  }
  FM_CHECK(std::holds_alternative<ConcatenateSource>(source));
  return std::make_unique<InARow>();
}

}  // namespace feedmill
