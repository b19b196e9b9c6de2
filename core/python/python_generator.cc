#include "core/python/python_generator.h"

#include <array>
#include <cstring>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/python/column_layout.h"

namespace feedmill {
namespace {

constexpr size_t kParkedMax = 16;  // processes that keep a place
constexpr size_t kStatesMax = 256;
constexpr uint64_t kRowsMax = 4'096;  // of a call

// An error that ends the reading. It is none of an element, which on_error
// would skip: calls end at other elements on other machines.
absl::Status StateError(const std::pair<uint64_t, uint64_t>& place,
                        const absl::Status& status) {
  return Annotate(status,
                  fmt::format("the state of shard {} of the generator, at "
                              "element {}",
                              place.first, place.second));
}

}  // namespace

ProcessGenerator::ProcessGenerator(std::shared_ptr<LoadedFunction> loaded,
                                   GeneratorSource source)
    : loaded_(std::move(loaded)),
      source_(std::move(source)),
      output_(SpecOfPython(source_.output)),
      states_(kStatesMax) {}

absl::StatusOr<ProcessGenerator::Parked> ProcessGenerator::TakeProcess(
    const Place& place) {
  std::list<Parked> taken;  // ended outside the lock, but for the last
  for (;;) {
    {
      const std::lock_guard lock(mu_);
      auto found = parked_.end();
      for (auto at = parked_.begin(); at != parked_.end(); ++at) {
        if (at->place == place) {
          found = at;
          break;
        }
        if (!at->place.has_value()) found = at;
      }
      if (found == parked_.end()) break;
      taken.splice(taken.end(), parked_, found);
    }
    // A process may have ended while it was parked.
    if (taken.back().process->Waits()) return std::move(taken.back());
  }
  Parked fresh;
  FM_ASSIGN_OR_RETURN(fresh.process, loaded_->NewProcess());
  return fresh;
}

void ProcessGenerator::EndIdle() {
  std::list<Parked> dropped;
  const std::lock_guard lock(mu_);
  parked_.swap(dropped);
}

void ProcessGenerator::Park(Parked parked) {
  std::list<Parked> dropped;  // ended outside the lock
  const std::lock_guard lock(mu_);
  parked_.push_front(std::move(parked));
  if (parked_.size() > kParkedMax) {
    dropped.splice(dropped.begin(), parked_, std::prev(parked_.end()));
  }
}

std::optional<RowState> ProcessGenerator::StateBefore(uint64_t shard,
                                                      uint64_t row) {
  const std::lock_guard lock(mu_);
  return states_.Before(shard, row);
}

void ProcessGenerator::Restore(uint64_t shard, RowState state) {
  const std::lock_guard lock(mu_);
  states_.Keep(shard, std::move(state));
}

absl::StatusOr<PythonProcess::Outcome> ProcessGenerator::Ask(Parked& parked,
                                                             const Place& place,
                                                             uint64_t rows,
                                                             size_t bytes_max) {
  RowState state;  // the shard's beginning
  const bool goes_on = parked.place == place;
  if (!goes_on) {
    state = StateBefore(place.first, place.second).value_or(RowState());
  }
  const std::array<uint64_t, 6> head{
      place.first, place.second, rows,
      bytes_max,   state.row,    goes_on ? uint64_t{1} : uint64_t{0}};
  std::string message(reinterpret_cast<const char*>(head.data()), sizeof head);
  message += state.bytes;
  return parked.process->Send(message, absl::Seconds(source_.timeout_seconds));
}

absl::StatusOr<PythonGenerator::Rows> ProcessGenerator::TakeRows(
    Parked parked, const Place& place, const PythonProcess::Outcome& outcome,
    std::span<OutputColumn* const> outputs) {
  std::array<int64_t, 2> said{};  // rows, 1 if the shard continues
  if (outcome.text.size() < sizeof said) {
    return Internal("a Python process gave a result without a head");
  }
  std::memcpy(said.data(), outcome.text.data(), sizeof said);
  Rows made;
  made.more = said[1] != 0;
  if (said[0] < 0 || static_cast<uint64_t>(said[0]) > kRowsMax) {
    return Internal("a Python process gave {} rows", said[0]);
  }
  made.rows = static_cast<size_t>(said[0]);
  for (size_t c = 0; c < outputs.size(); ++c) {
    ResultRows rows;
    rows.Begin(output_.components[c], outputs[c]);
    if (made.rows == 0) continue;
    FM_RETURN_IF_ERROR(rows.Append(parked.process->result(), c, made.rows));
    rows.Finish();
  }
  const Place next{place.first, place.second + made.rows};
  if (outcome.text.size() > sizeof said) {
    Restore(next.first, {next.second, outcome.text.substr(sizeof said)});
  }
  parked.place = made.more ? std::optional(next) : std::nullopt;
  Park(std::move(parked));
  return made;
}

// If a process ends or hangs, its elements are made once more in a new process;
// then the elements before the faulty one; then the faulty one alone, twice.
absl::StatusOr<PythonGenerator::Rows> ProcessGenerator::Read(
    uint64_t shard, uint64_t row, size_t bytes_max,
    std::span<OutputColumn* const> outputs) {
  const Place place{shard, row};
  uint64_t rows = kRowsMax;
  bool again = true;
  int lost_zygotes = 0;
  for (;;) {
    FM_ASSIGN_OR_RETURN(Parked parked, TakeProcess(place));
    using Kind = PythonProcess::Outcome::Kind;
    const auto outcome = Ask(parked, place, rows, bytes_max);
    if (outcome.ok() && outcome->kind == Kind::kMade) {
      return TakeRows(std::move(parked), place, *outcome, outputs);
    }
    Rows failed;
    failed.error = absl::OkStatus();
    for (size_t c = 0; c < outputs.size(); ++c) {
      ResultRows().Begin(output_.components[c], outputs[c]);
    }
    if (outcome.ok() && outcome->kind == Kind::kFailed) {
      parked.place.reset();
      Park(std::move(parked));
      failed.error = DataLoss("the Python function {}", outcome->text);
      if (outcome->at_state) return StateError(place, failed.error);
      return failed;
    }
    const auto ended =
        parked.process->End(outcome.ok() && outcome->kind == Kind::kHung);
    parked.process.reset();
    FM_RETURN_IF_ERROR(outcome.status());
    if (outcome->kind == Kind::kStopped) {
      return Cancelled("the reading was ended");
    }
    const bool ended_itself = outcome->kind == Kind::kEnded;
    if (ended_itself && absl::IsUnavailable(ended.status()) &&
        ++lost_zygotes <= kLostZygotesMax) {
      continue;
    }
    if (std::exchange(again, false)) continue;
    if (outcome->at_state) {
      return StateError(place,
                        EndedError(*outcome, ended, source_.timeout_seconds));
    }
    if (outcome->row > row && outcome->row - row < rows) {
      rows = outcome->row - row;  // the elements before the unfinished one
      continue;
    }
    if (ended_itself && std::exchange(rows, 1) > 1) continue;
    failed.error = EndedError(*outcome, ended, source_.timeout_seconds);
    return failed;
  }
}

}  // namespace feedmill
