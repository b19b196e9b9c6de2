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
  reported_passes_.clear();
  begun_before_.reset();
  former_.clear();
  const std::optional<Token> token =
      tokens_.empty() ? std::nullopt : tokens_.front();
  const uint64_t iterations =
      rank_iterations_.empty() ? iterations_left_ : rank_iterations_.front();
  ranks_ = ranks;
  base_token_ = token;
  ranks_base_ = token ? token->number : 0;
  ranks_base_iterations_ = iterations;
  tokens_.assign(ranks, token);
  checkpoints_.assign(ranks, std::nullopt);
  rank_iterations_.assign(ranks, iterations);
  members_.assign(ranks, "");
  for (size_t member = 0; member < ranks; ++member) {
    StartRankLater(member, random_.UpTo(within));
  }
}

void World::StartRankLater(size_t member, absl::Duration delay) {
  members_[member].clear();
  timeline_.After(delay, [this, member, application = application_] {
    if (application != application_ || !members_[member].empty()) return;
    const bool take_over =
        ranks_take_over_ || rank_iterations_[member] == iterations_left_;
    members_[member] = StartReader(take_over, member, /*resume=*/true, false,
                                   EndFormer(member))
                           .name;
  });
}

void World::OnRankOver(ReaderProcess& reader) {
  const size_t member = reader.member;
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
      return StartRankLater(member, absl::Milliseconds(500));
    }
    // The error message says to start again.
    if (reader.left_behind &&
        failure.find("start it again") != std::string::npos) {
      ++result_.totals["ranks left behind"];
      return StartRankLater(member, absl::Milliseconds(500));
    }
    if (passed_over_.contains(member) &&
        failure.find("(processing_mode off)") != std::string::npos) {
      ++result_.totals["ranks passed over"];
      passed_over_.erase(member);
      tokens_[member] = base_token_;
      checkpoints_[member].reset();
      return StartRankLater(member, absl::Milliseconds(500));
    }
    return Fail("a rank failed: " + failure);
  }
  const uint64_t size = EndOf(reader);
  if (reader.expected < size) {
    return Fail(fmt::format("{} ended before number {} of {}", reader.name,
                            reader.expected, size));
  }
  ++result_.totals["iterations of ranks"];
  iteration_began_ = now();
  tokens_[member].reset();
  members_[member].clear();
  if (--rank_iterations_[member] > 0) {
    StartRankLater(member, random_.UpTo(absl::Seconds(1)));
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
  for (size_t member = 0; member < ranks_; ++member) {
    if (rank_iterations_[member] == 0 ||
        IterationOf(member) >= event.iteration) {
      continue;
    }
    const auto it = readers_.find(members_[member]);
    if (it != readers_.end()) {
      it->second.left_behind = true;
      if (it->second.core->state() == ReadSession::State::kLive &&
          it->second.core->MayHandOut(ClockOf(it->second))) {
        return Fail(fmt::format("run {} begins while {} reads an earlier one",
                                event.run.value(), it->first));
      }
    }
    if (!MayBeLeftBehind(*job, member, event.run)) {
      return Fail(fmt::format("run {} begins without rank {}",
                              event.run.value(), member));
    }
  }
}

// True if an incarnation of the rank reported the previous run as finished, or
// nothing was heard of it for long.
bool World::MayBeLeftBehind(const JobState& job, size_t member,
                            RunNumber run) const {
  // Ranks of a stopped application may be anywhere.
  const ConsumerId consumer(fmt::format("{}/{}", member, ranks_));
  const auto life = job.lives.find(consumer);
  if (life != job.lives.end() && life->second.value() < first_life_) {
    return true;
  }
  const auto finished = job.finished.find(member);
  if (finished != job.finished.end() &&
      run.value() <= finished->second.value() + 1) {
    return true;
  }
  const auto last = reports_before_.find(consumer);
  return last != reports_before_.end() &&
         settings_.client_timeout <= now() - last->second;
}

// Returns the final number of passes of that run, if the rank knows it and has
// read something of it and still reads; else 0.
uint64_t World::KnownPasses(size_t member, RunNumber run) const {
  if (rank_iterations_[member] == 0) return 0;
  const auto it = readers_.find(members_[member]);
  if (it != readers_.end() && !it->second.zombie && it->second.core->run()) {
    const RunInfo& own = *it->second.core->run();
    const bool reads = it->second.core->cursor() != Cursor{};
    return reads && own.run == run && own.settled ? own.passes : 0;
  }
  const std::optional<Token>& token = tokens_[member];
  const bool knows =
      token && token->run == run && token->settled && token->cursor != Cursor{};
  return knows ? token->passes : 0;
}

// Records ranks' reports about their run to a dispatcher that may have lost its
// store.
void World::NotePasses(const ClientHello& hello) {
  const size_t member = hello.share.rank;
  if (!in_ranks_ || hello.job != kReadersJob || hello.share.ranks != ranks_)
    return;
  const bool reads = hello.cursor != Cursor{};
  if (hello.run && hello.settled && hello.passes > 0) {
    heard_passes_.insert({*hello.run, hello.passes});
  }
  const auto it = readers_.find(members_[member]);
  if (it == readers_.end() || it->second.zombie ||
      it->second.life != hello.session.incarnation.value()) {
    return;
  }
  if (reads && hello.run && hello.settled && hello.passes > 0) {
    reported_passes_[member] = {*hello.run, hello.passes};
  }
  const JobState* job = replica_.FindJob(kReadersJob);
  const bool met =
      job != nullptr && job->ranks == ranks_ && job->finished.contains(member);
  if (!met && (reads || hello.passes > 0) && !begun_before_) {
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

// Checks the final number of passes of a run. It must be the number known to a
// rank that still reads, if the rank reported it or would have within the
// client timeout. Unreported numbers are lost with the store: the number
// is decided again (P-191).
void World::CheckSettled(const RunExtended& event, const JobState& job) {
  // If reports differ, the first one counts.
  const bool told = heard_passes_.contains({job.run, event.passes});
  for (size_t member = 0; member < ranks_ && job.ranks == ranks_; ++member) {
    const uint64_t known = KnownPasses(member, job.run);
    if (known == 0 || known == event.passes) continue;
    const auto said = reported_passes_.find(member);
    if (said != reported_passes_.end() &&
        said->second == std::pair(job.run, known)) {
      return Fail(
          fmt::format("a run is settled with {} passes, rank {} said {}",
                      event.passes, member, known));
    }
    if (!told && begun_before_ &&
        now() - *begun_before_ < settings_.client_timeout) {
      return Fail(
          fmt::format("a run is settled with {} passes before rank {}, "
                      "which knows of {}, was waited for",
                      event.passes, member, known));
    }
    passed_over_.insert(member);
  }
  const auto end = ends_.find(job.run);
  if (end != ends_.end() && end->second != event.passes * plan_.positions()) {
    ++result_.totals["runs settled again"];
    ends_.erase(end);
  }
}

// Restarts a reader that died from an older token, perhaps of an earlier
// iteration.
void World::GoBack(size_t member) {
  const std::optional<Checkpoint>& checkpoint = checkpoints_[member];
  if (!checkpoint || random_.OneIn(2)) return;
  tokens_[member] = checkpoint->token;
  uint64_t& iterations =
      in_ranks_ ? rank_iterations_[member] : iterations_left_;
  if (iterations != checkpoint->iterations)
    ++result_.totals["iterations begun again"];
  iterations = checkpoint->iterations;
}

// Stops the application at a step that all ranks have made. It continues with
// another number of ranks, from the merged token or the one before.
void World::ChangeRanks() {
  const bool back = merged_.has_value() && random_.OneIn(3);
  const std::optional<Checkpoint> reached = back ? merged_ : MergeTokens();
  if (!reached) return;
  merged_ = reached;
  ++result_.totals[back ? "ranks went back" : "ranks changed"];
  for (const std::string& name : members_) {
    const auto it = readers_.find(name);
    if (it == readers_.end()) continue;
    it->second.zombie = true;
    if (random_.OneIn(2)) KillReader(name);
  }
  tokens_.assign(1, reached->token);
  rank_iterations_.assign(1, reached->iterations);
  StartRanks(random_.Between(1, 4), absl::Seconds(1));
}

std::optional<World::Checkpoint> World::MergeTokens() const {
  const uint64_t base =
      rank_iterations_[0] == ranks_base_iterations_ ? ranks_base_ : 0;
  uint64_t steps = ~uint64_t{0};
  for (size_t member = 0; member < ranks_; ++member) {
    const std::optional<Token>& token = tokens_[member];
    if (!token || token->run != tokens_[0]->run ||
        rank_iterations_[member] != rank_iterations_[0]) {
      return std::nullopt;
    }
    const Share share{member, ranks_};
    const uint64_t made = share.Below(token->number) - share.Below(base);
    steps = std::min(steps, made);
  }
  const uint64_t number = base + steps * ranks_;
  Token merged{tokens_[0]->run, {}, number};
  for (const std::optional<Token>& token : tokens_) {  // like Token::Merge
    if (merged.settled && token->settled && merged.passes != token->passes) {
      return std::nullopt;
    }
    if (token->settled || !merged.settled) {
      merged.passes = token->settled ? token->passes
                                     : std::max(merged.passes, token->passes);
    }
    merged.settled = merged.settled || token->settled;
  }
  if (number > 0) {
    const Cursor last = plan_.reference()[number - 1];
    merged.cursor = {last.p, last.i + 1};
  }
  return Checkpoint{merged, rank_iterations_[0]};
}

}  // namespace feedmill::sim
