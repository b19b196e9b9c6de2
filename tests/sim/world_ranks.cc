#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "tests/sim/world.h"

// Applications with several ranks: starts, restarts from older tokens, changes
// of their number, and the rules for continuing without a rank.

namespace feedmill::sim {

// Starts the application: all of its ranks, from the token if there is one.
void World::StartRanks(uint64_t ranks, absl::Duration within) {
  ++application_;
  first_life_ = lives_ + 1;
  ends_.clear();
  passed_over_.clear();
  said_slots_.clear();
  begun_before_.reset();
  former_.clear();
  const std::optional<Token> token =
      tokens_.empty() ? std::nullopt : tokens_.front();
  const uint64_t passes =
      rank_passes_.empty() ? passes_left_ : rank_passes_.front();
  ranks_ = ranks;
  base_token_ = token;
  ranks_base_ = token ? token->number : 0;
  ranks_base_passes_ = passes;
  tokens_.assign(ranks, token);
  checkpoints_.assign(ranks, std::nullopt);
  rank_passes_.assign(ranks, passes);
  slots_.assign(ranks, "");
  for (size_t slot = 0; slot < ranks; ++slot) {
    StartRankLater(slot, random_.UpTo(within));
  }
}

void World::StartRankLater(size_t slot, absl::Duration delay) {
  slots_[slot].clear();
  timeline_.After(delay, [this, slot, application = application_] {
    if (application != application_ || !slots_[slot].empty()) return;
    const bool take_over =
        ranks_take_over_ || rank_passes_[slot] == passes_left_;
    slots_[slot] =
        StartReader(take_over, slot, /*resume=*/true, false, EndFormer(slot))
            .name;
  });
}

void World::OnRankOver(ReaderProcess& reader) {
  const size_t slot = reader.slot;
  if (reader.core->state() == ReadSession::State::kFailed) {
    const std::string failure = ErrorText(reader.core->failure());
    const bool refused = failure.find("is being read by") != std::string::npos;
    const std::string own =
        fmt::format("'{}'", reader.core->session().consumer.value());
    if (refused && reader.follows && failure.find(own) != std::string::npos) {
      return Fail(reader.name + " was refused for its own process's reader");
    }
    if (refused && !reader.take_over && !reader.resumed) {
      ++result_.totals["readers refused"];
      return StartRankLater(slot, absl::Milliseconds(500));
    }
    // The error message says to start again.
    if (reader.left_behind &&
        failure.find("start it again") != std::string::npos) {
      ++result_.totals["ranks left behind"];
      return StartRankLater(slot, absl::Milliseconds(500));
    }
    if (passed_over_.contains(slot) &&
        failure.find("(processing_mode off)") != std::string::npos) {
      ++result_.totals["ranks passed over"];
      passed_over_.erase(slot);
      tokens_[slot] = base_token_;
      checkpoints_[slot].reset();
      return StartRankLater(slot, absl::Milliseconds(500));
    }
    return Fail("a rank failed: " + failure);
  }
  const uint64_t size = EndOf(reader);
  if (reader.expected < size) {
    return Fail(fmt::format("{} ended before number {} of {}", reader.name,
                            reader.expected, size));
  }
  ++result_.totals["passes of ranks"];
  pass_began_ = now();
  tokens_[slot].reset();
  slots_[slot].clear();
  if (--rank_passes_[slot] > 0) {
    StartRankLater(slot, random_.UpTo(absl::Seconds(1)));
  }
}

// Checks that a new run of ranks cuts off no rank that still reads an earlier
// run. A rank that was silent for long is excepted: it may be dead.
void World::CheckRunStarted(const RunStarted& event) {
  const JobState* job = replica_.FindJob(event.job);
  if (!in_ranks_ || event.job != kReadersJob || job == nullptr ||
      event.run <= job->run || job->ranks != ranks_) {
    return;
  }
  for (size_t slot = 0; slot < ranks_; ++slot) {
    if (rank_passes_[slot] == 0 || IterationOf(slot) >= event.iteration) {
      continue;
    }
    const auto it = readers_.find(slots_[slot]);
    if (it != readers_.end()) {
      it->second.left_behind = true;
      if (it->second.core->state() == ReadSession::State::kLive &&
          it->second.core->MayHandOut(ClockOf(it->second))) {
        return Fail(fmt::format("run {} begins while {} reads an earlier one",
                                event.run.value(), it->first));
      }
    }
    if (!MayBeLeftBehind(*job, slot, event.run)) {
      return Fail(fmt::format("run {} begins without rank {}",
                              event.run.value(), slot));
    }
  }
}

// True if an incarnation of the rank reported the previous run as finished, or
// nothing was heard of it for long.
bool World::MayBeLeftBehind(const JobState& job, size_t slot,
                            RunNumber run) const {
  // Ranks of a stopped application may be anywhere.
  const ConsumerId consumer(fmt::format("{}/{}", slot, ranks_));
  const auto life = job.lives.find(consumer);
  if (life != job.lives.end() && life->second.value() < first_life_) {
    return true;
  }
  const auto finished = job.finished.find(slot);
  if (finished != job.finished.end() &&
      run.value() <= finished->second.value() + 1) {
    return true;
  }
  const auto last = reports_before_.find(consumer);
  return last != reports_before_.end() &&
         settings_.client_timeout <= now() - last->second;
}

// Returns the final number of slots of that run, if the rank knows it and has
// read something of it and still reads; else 0.
uint64_t World::KnownSlots(size_t slot, RunNumber run) const {
  if (rank_passes_[slot] == 0) return 0;
  const auto it = readers_.find(slots_[slot]);
  if (it != readers_.end() && !it->second.zombie && it->second.core->run()) {
    const RunInfo& own = *it->second.core->run();
    const bool reads = it->second.core->cursor() != Cursor{};
    return reads && own.run == run && own.settled ? own.slots : 0;
  }
  const std::optional<Token>& token = tokens_[slot];
  const bool knows =
      token && token->run == run && token->settled && token->cursor != Cursor{};
  return knows ? token->slots : 0;
}

// Records ranks' reports about their run to a dispatcher that may have lost its
// store.
void World::NoteWordOfSlots(const ClientHello& hello) {
  const size_t slot = hello.share.rank;
  if (!in_ranks_ || hello.job != kReadersJob || hello.share.ranks != ranks_)
    return;
  const bool reads = hello.cursor != Cursor{};
  if (hello.run && hello.settled && hello.slots > 0) {
    heard_slots_.insert({*hello.run, hello.slots});
  }
  const auto it = readers_.find(slots_[slot]);
  if (it == readers_.end() || it->second.zombie ||
      it->second.life != hello.session.incarnation.value()) {
    return;
  }
  if (reads && hello.run && hello.settled && hello.slots > 0) {
    said_slots_[slot] = {*hello.run, hello.slots};
  }
  const JobState* job = replica_.FindJob(kReadersJob);
  const bool met =
      job != nullptr && job->ranks == ranks_ && job->finished.contains(slot);
  if (!met && (reads || hello.slots > 0) && !begun_before_) {
    begun_before_ = now();
  }
}

// A peer that has seen another journal proves that there was one.
void World::NoteSeen(const Message& message) {
  Seen seen;
  if (const auto* hello = std::get_if<ClientHello>(&message)) {
    seen = hello->seen;
  } else if (const auto* client = std::get_if<ClientBeat>(&message)) {
    seen = client->seen;
  } else if (const auto* worker = std::get_if<WorkerBeat>(&message)) {
    seen = worker->seen;
  }
  const bool other = seen.journal != journal_ && seen.journal != JournalId();
  if (other && !begun_before_) begun_before_ = dispatcher_began_;
}

// Checks the final number of slots of a run. It must be the number known to a
// rank that still reads, if the rank reported it or would have within the
// client timeout. Unreported numbers are lost with the store: the number
// is decided again (P-191).
void World::CheckSettled(const RunExtended& event, const JobState& job) {
  // If reports differ, the first one counts.
  const bool told = heard_slots_.contains({job.run, event.slots});
  for (size_t slot = 0; slot < ranks_ && job.ranks == ranks_; ++slot) {
    const uint64_t known = KnownSlots(slot, job.run);
    if (known == 0 || known == event.slots) continue;
    const auto said = said_slots_.find(slot);
    if (said != said_slots_.end() &&
        said->second == std::pair(job.run, known)) {
      return Fail(fmt::format("a run is settled with {} slots, rank {} said {}",
                              event.slots, slot, known));
    }
    if (!told && begun_before_ &&
        now() - *begun_before_ < settings_.client_timeout) {
      return Fail(
          fmt::format("a run is settled with {} slots before rank {}, "
                      "which knows of {}, was waited for",
                      event.slots, slot, known));
    }
    passed_over_.insert(slot);
  }
  const auto end = ends_.find(job.run);
  if (end != ends_.end() && end->second != event.slots * plan_.positions()) {
    ++result_.totals["runs settled again"];
    ends_.erase(end);
  }
}

// Restarts a reader that died from an older token, perhaps of an earlier pass.
void World::GoBack(size_t slot) {
  const std::optional<Checkpoint>& checkpoint = checkpoints_[slot];
  if (!checkpoint || random_.OneIn(2)) return;
  tokens_[slot] = checkpoint->token;
  uint64_t& passes = in_ranks_ ? rank_passes_[slot] : passes_left_;
  if (passes != checkpoint->passes) ++result_.totals["passes begun again"];
  passes = checkpoint->passes;
}

// Stops the application at a step that all ranks have made. It continues with
// another number of ranks, from the merged token or the one before.
void World::ChangeRanks() {
  const bool back = merged_.has_value() && random_.OneIn(3);
  const std::optional<Checkpoint> reached = back ? merged_ : MergeTokens();
  if (!reached) return;
  merged_ = reached;
  ++result_.totals[back ? "ranks went back" : "ranks changed"];
  for (const std::string& name : slots_) {
    const auto it = readers_.find(name);
    if (it == readers_.end()) continue;
    it->second.zombie = true;
    if (random_.OneIn(2)) KillReader(name);
  }
  tokens_.assign(1, reached->token);
  rank_passes_.assign(1, reached->passes);
  StartRanks(random_.Between(1, 4), absl::Seconds(1));
}

std::optional<World::Checkpoint> World::MergeTokens() const {
  const uint64_t base = rank_passes_[0] == ranks_base_passes_ ? ranks_base_ : 0;
  uint64_t steps = ~uint64_t{0};
  for (size_t slot = 0; slot < ranks_; ++slot) {
    const std::optional<Token>& token = tokens_[slot];
    if (!token || token->run != tokens_[0]->run ||
        rank_passes_[slot] != rank_passes_[0]) {
      return std::nullopt;
    }
    const Share share{slot, ranks_};
    const uint64_t made = share.Below(token->number) - share.Below(base);
    steps = std::min(steps, made);
  }
  const uint64_t number = base + steps * ranks_;
  Token merged{tokens_[0]->run, {}, number};
  for (const std::optional<Token>& token : tokens_) {  // like Token::Merge
    if (merged.settled && token->settled && merged.slots != token->slots) {
      return std::nullopt;
    }
    if (token->settled || !merged.settled) {
      merged.slots =
          token->settled ? token->slots : std::max(merged.slots, token->slots);
    }
    merged.settled = merged.settled || token->settled;
  }
  if (number > 0) {
    const Cursor last = plan_.reference()[number - 1];
    merged.cursor = {last.p, last.i + 1};
  }
  return Checkpoint{merged, rank_passes_[0]};
}

}  // namespace feedmill::sim
