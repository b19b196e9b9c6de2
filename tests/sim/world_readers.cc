#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "tests/sim/world.h"

// Reading applications: they pull, hand out in batches, compare with the
// reference, and restart after a stop.

namespace feedmill::sim {
namespace {

const JobName kSideJob{"side"};
const RunNumber kFirstRun{1};
constexpr uint64_t kCheckpointEvery = 8;  // elements of one reader
constexpr uint64_t kLongChunk = 24;       // used element by element

}  // namespace

World::ReaderProcess& World::StartReader(bool take_over, size_t member,
                                         bool resume, bool side,
                                         std::optional<Former> former) {
  const uint64_t life = ++lives_;
  const std::string name = fmt::format("client-{}", life);
  ReaderProcess& reader = readers_[name];
  reader.name = name;
  reader.life = life;
  reader.skew = skews_[life] = DrawSkew();
  reader.take_over = take_over;
  reader.member = member;
  reader.side = side;
  reader.batch = random_.Choice<uint64_t>({1, 2, 4, 12});
  if (slow_use_ && !side) reader.batch = kLongChunk;
  ReadSessionSettings settings;
  settings.job = side ? kSideJob : kReadersJob;
  settings.graph = plan_.graph();
  settings.order = side ? Order::kDeterministic : order_;
  settings.seed = side ? side_seed_ : options_.seed;
  const bool rank = in_ranks_ && !side;
  std::string consumer = side ? "side" : "solo";
  if (Shared(reader)) consumer = fmt::format("s{}", life);
  if (rank) consumer = fmt::format("{}/{}", member, ranks_);
  settings.session = {ConsumerId(consumer), Incarnation(life)};
  settings.take_over = take_over;
  if (former) {
    reader.follows = !former->refused;
    settings.former_leaves = std::move(former->unsaid);
    if (!settings.former_leaves.empty()) ++result_.totals["unsaid leaves"];
  }
  if (!Shared(reader)) {
    Token from;
    std::optional<Token>& token = side ? side_token_ : tokens_[member];
    reader.resumed = resume && token.has_value();
    if (reader.resumed) {
      from = *token;
      settings.run = from.run;
      settings.start = from.cursor;
      settings.state = from.state;
      settings.passes = from.passes;
      settings.settled = from.settled;
      ++result_.totals["readers resumed"];
    } else if (names_epochs_) {
      reader.epoch = EpochOf(reader);
      settings.run = RunNumber(*reader.epoch + 1);
      settings.begins = true;
      ++result_.totals["epochs named"];
    }
    // An intruder belongs to another application.
    if (!reader.resumed && (side || main_.empty())) token.reset();
    if (rank) settings.share = reader.share = {member, ranks_};
    reader.expected = reader.share.From(from.number);
    reader.next = plan_.numbered() ? reader.expected : from.number;
  }
  settings.budget_bytes = budget_;
  settings.quota_bytes = quota_;
  reader.core = options_.makers.client(std::move(settings));
  Trace(fmt::format("{} starts{}", name, take_over ? ", taking over" : ""));
  StepReader(reader, reader.core->OnTick(ClockOf(reader)));
  timeline_.After(random_.UpTo(pace_), [this, name] { Application(name); });
  return reader;
}

void World::KillReader(const std::string& name) {
  network_->Cut(name);
  readers_.erase(name);
}

// Ends the member's previous reader, which reached its end, if there is one.
std::optional<World::Former> World::EndFormer(size_t member) {
  auto former = former_.extract(member);
  if (former.empty()) return std::nullopt;
  const auto it = readers_.find(former.mapped().name);
  if (it != readers_.end()) {
    former.mapped().unsaid = it->second.core->UnacknowledgedLeaves();
    KillReader(it->first);
  }
  return std::move(former.mapped());
}

void World::LetExit(const ReaderProcess& reader) {
  for (auto& [member, former] : former_) {
    if (former.name != reader.name) continue;
    former.unsaid = reader.core->UnacknowledgedLeaves();
  }
  KillReader(std::string(reader.name));
}

void World::StartMainLater(bool take_over, absl::Duration delay, bool resume) {
  main_.clear();
  main_coming_ = true;
  timeline_.After(delay, [this, take_over, resume] {
    if (!main_coming_) return;  // an intruder took its place
    main_coming_ = false;
    main_ = StartReader(take_over, 0, resume, false, EndFormer(0)).name;
  });
}

void World::Application(const std::string& name) {
  const auto it = readers_.find(name);
  if (it == readers_.end()) return;
  ReaderProcess& reader = it->second;
  if (now() >= reader.exit) return LetExit(reader);
  if (reader.thaw <= now() && !reader.done) {
    PullAndHandOut(reader);
    const bool over = reader.staged.empty() && reader.given.empty() &&
                      (!reader.error.ok() ||
                       reader.core->state() == ReadSession::State::kEnded ||
                       reader.core->state() == ReadSession::State::kFailed);
    if (over) OnReaderOver(reader);
  }
  timeline_.After(pace_ / 2 + random_.UpTo(pace_),
                  [this, name] { Application(name); });
}

void World::PullAndHandOut(ReaderProcess& reader) {
  ReadSession& core = *reader.core;
  if (core.drops() != reader.drops) {
    reader.drops = core.drops();
    reader.staged.clear();
    reader.handed = reader.pulled;
    if (options_.makers.asks_within_chunk) reader.given.clear();
  }
  if (!reader.given.empty()) return UseGiven(reader);
  ReadEffects effects;
  while (reader.staged.size() < reader.batch && reader.error.ok()) {
    const std::optional<Piece> piece = core.Pull(ClockOf(reader), effects);
    if (!piece) break;
    for (size_t row = 0; row < piece->chunk.rows; ++row) {
      const ElementName element = FakePlan::NameOf(piece->chunk, row);
      if (element.cursor != piece->CursorOf(row)) {
        Fail("an element's name is not its cursor");
      }
      if (Stage(reader, element)) reader.staged.push_back(element);
    }
    if (piece->state != nullptr) reader.states.push_back(piece->state);
    reader.pulled += piece->chunk.rows;
    reader.error = piece->error;
  }
  StepReader(reader, std::move(effects));
  const bool last = core.state() != ReadSession::State::kLive ||
                    !reader.error.ok() || core.idle();
  const bool whole = reader.staged.size() >= reader.batch || last;
  // A failed session has no lease; elements pulled before stay valid.
  const bool may =
      core.MayHandOut(ClockOf(reader)) ||
      (core.state() == ReadSession::State::kFailed && !reader.error.ok());
  if (core.state() == ReadSession::State::kFailed && !may) {
    reader.staged.clear();
  }
  if (!whole || !may) return;
  if (Shared(reader)) return GiveChunk(reader);
  for (uint64_t i = 0; i < reader.batch && !reader.staged.empty(); ++i) {
    Check(reader, reader.staged.front());
    reader.staged.pop_front();
    ++reader.handed;
  }
  core.HandedOut(reader.handed);
  ArmReader(reader);
}

// Checks and stages an element. In deterministic order each reader is given all
// elements, or all of its share if positions are numbered.
bool World::Stage(ReaderProcess& reader, const ElementName& element) {
  if (Shared(reader)) return true;
  const auto& reference = plan_.reference();
  if (reader.next >= reference.size() ||
      reference[reader.next] != element.cursor) {
    Fail(fmt::format("{} was given {}.{} as number {}", reader.name,
                     element.cursor.p, element.cursor.i, reader.next));
    return false;
  }
  const bool own = reader.share.Has(reader.next);
  reader.next += plan_.numbered() ? reader.share.ranks : 1;
  return own;
}

void World::Check(ReaderProcess& reader, const ElementName& element) {
  if (reader.zombie) return;
  ++result_.totals["elements"];
  const std::optional<RunInfo>& run = reader.core->run();
  if (!run || element.iteration != run->iteration) {
    return Fail("an element of another iteration");
  }
  if (reader.epoch && element.iteration != *reader.epoch) {
    return Fail(fmt::format("{} asked for iteration {}, and is given {}",
                            reader.name, *reader.epoch, element.iteration));
  }
  const bool lost =
      in_ranks_ && !reader.side && lost_leaves_.erase(reader.member) > 0;
  if (lost && run->iteration + 1 == IterationOf(reader.member)) {
    ++rank_iterations_[reader.member];
    ++result_.totals["iterations read again"];
  }
  if (in_ranks_ && !reader.side &&
      run->iteration != IterationOf(reader.member)) {
    return Fail(fmt::format("{} reads iteration {}, its application is at {}",
                            reader.name, run->iteration,
                            IterationOf(reader.member)));
  }
  if (options_.trace != nullptr) {
    Trace(fmt::format("{} hands out {}.{}", reader.name, element.cursor.p,
                      element.cursor.i));
  }
  if (Shared(reader)) return CheckSharer(reader, element.cursor);
  const auto& reference = plan_.reference();
  if (reader.expected >= reference.size() ||
      reference[reader.expected] != element.cursor) {
    return Fail(fmt::format("{} handed out {}.{} as number {}", reader.name,
                            element.cursor.p, element.cursor.i,
                            reader.expected));
  }
  if (run->passes > 0 && !run->settled &&
      element.cursor.p >= plan_.positions()) {
    return Fail(fmt::format("{} handed out {}.{} before its run was settled",
                            reader.name, element.cursor.p, element.cursor.i));
  }
  Token token{run->run,
              options_.makers.token_cursor(
                  *reader.core, {element.cursor.p, element.cursor.i + 1}),
              reader.expected + 1, run->passes,
              run->passes > 0 && run->settled};
  for (const GeneratorStatePtr& state : reader.states) {
    if (state->LeadsTo(token.cursor)) token.state = state;
  }
  const size_t member = in_ranks_ ? reader.member : 0;
  if (reader.side) {
    side_token_ = token;
  } else if (in_ranks_ || reader.name == main_) {
    tokens_[member] = token;
    const uint64_t step = reader.expected / reader.share.ranks;
    const uint64_t iterations =
        in_ranks_ ? rank_iterations_[member] : iterations_left_;
    std::optional<Checkpoint>& last = checkpoints_[member];
    // The checkpoint of the previous iteration is kept for a while, so that
    // readers can return to it.
    const bool keep =
        last && last->iterations != iterations && step < 4 * kCheckpointEvery;
    if (!keep && step % kCheckpointEvery == 0) last = {token, iterations};
  }
  reader.expected += reader.share.ranks;
}

// ---- the end of a reader

void World::OnReaderOver(ReaderProcess& reader) {
  reader.done = true;
  const bool failed = reader.core->state() == ReadSession::State::kFailed;
  Trace(fmt::format("{} is over{}", reader.name,
                    failed ? ": " + ErrorText(reader.core->failure()) : ""));
  if (failed && result_.totals["dispatchers wiped"] == 0 &&
      ErrorText(reader.core->failure()).find("lost its state") !=
          std::string::npos) {
    Fail(reader.name + " reports a loss of state that did not occur");
  }
  StepReader(reader, reader.core->Leave(ClockOf(reader)));
  reader.exit = now() + absl::Seconds(1);
  if (reader.zombie) return;
  if (!reader.side && (in_ranks_ || reader.name == main_)) {
    former_[reader.member] = {reader.name, failed};
  }
  if (reader.side) {
    OnSideOver(reader);
  } else if (order_ == Order::kAny) {
    if (failed)
      return Fail("a sharer failed: " + ErrorText(reader.core->failure()));
    if (!RunIsOver()) Fail("a sharer ended before all was handed out");
  } else if (in_ranks_) {
    OnRankOver(reader);
  } else if (reader.name == main_) {
    OnMainOver(reader);
  }
}

// Returns the number of elements of the reader's run. All ranks of a run must
// reach the same end. After a restart on an emptied dispatcher the end may
// differ; CheckSettled says when.
uint64_t World::EndOf(const ReaderProcess& reader) {
  const RunInfo& run = *reader.core->run();
  if (!run.settled) Fail(reader.name + " ended a run that may still grow");
  if (in_ranks_ && !reader.side && !passed_over_.contains(reader.member)) {
    const uint64_t end =
        ends_.try_emplace(run.run, run.positions).first->second;
    if (end != run.positions) {
      Fail(fmt::format("{} ended at position {}, another one at {}",
                       reader.name, run.positions, end));
    }
  }
  return plan_.IndexOf({run.positions, 0});
}

void World::OnMainOver(ReaderProcess& reader) {
  const std::string failure = ErrorText(reader.core->failure());
  const bool refused = failure.find("is being read by") != std::string::npos;
  if (refused && reader.error.ok() && !reader.take_over) {
    ++result_.totals["readers refused"];
    return StartMainLater(false, absl::Milliseconds(500));
  }
  CheckReadAll(reader);
  EndIteration();
}

// Checks that the reader reached the end of the sequence, or the error there.
void World::CheckReadAll(const ReaderProcess& reader) {
  if (!reader.error.ok()) {
    if (reader.error.code() != absl::StatusCode::kDataLoss ||
        !plan_.poison().has_value()) {
      return Fail("an unexpected error: " + ErrorText(reader.error));
    }
    ++result_.totals["data errors"];
  } else if (reader.core->state() == ReadSession::State::kFailed) {
    return Fail("the reader failed: " + ErrorText(reader.core->failure()));
  } else if (plan_.poison().has_value()) {
    return Fail("the data error was not told");
  }
  // After a data error nothing follows, regardless of the run's end.
  const uint64_t size =
      reader.error.ok() ? EndOf(reader) : plan_.reference().size();
  if (reader.expected != size) {
    Fail(fmt::format("the reader ended after {} of {} elements",
                     reader.expected, size));
  }
}

void World::StartSide(bool take_over, absl::Duration delay, bool resume) {
  side_.clear();
  timeline_.After(delay, [this, take_over, resume] {
    side_ = StartReader(take_over, 0, resume, /*side=*/true).name;
  });
}

void World::OnSideOver(ReaderProcess& reader) {
  CheckReadAll(reader);
  ++result_.totals["side jobs"];
  side_left_ = false;
}

void World::SideFault(bool freeze) {
  const auto it = readers_.find(side_);
  if (it == readers_.end() || it->second.done) return;
  const absl::Duration back =
      absl::Milliseconds(random_.Choice({50, 500, 2'000}));
  if (freeze) {
    it->second.thaw = now() + 2 * back;
    it->second.zombie = random_.OneIn(2);
    if (!it->second.zombie) return;
  } else {
    KillReader(it->first);
  }
  StartSide(/*take_over=*/true, back, random_.OneIn(2));
}

void World::EndIteration() {
  ++result_.totals["iterations"];
  --iterations_left_;
  iteration_began_ = now();
  main_.clear();
  if (iterations_left_ > 0)
    StartMainLater(false, random_.UpTo(absl::Seconds(1)));
}

// Checks a session that opens without taking over: no other reader may still
// hand out.
void World::CheckOpened(const SessionOpened& event) {
  const bool side = event.key.job == kSideJob;
  if (order_ == Order::kAny && !side) return;
  ReaderProcess* opener = nullptr;
  for (auto& [name, reader] : readers_) {
    if (reader.life == event.incarnation.value()) opener = &reader;
  }
  if (opener == nullptr) {
    // A late hello of a reader that is gone took the job from an intruder.
    const auto main = readers_.find(main_);
    if (!side && main != readers_.end() && main->second.let_in &&
        main->second.life < event.incarnation.value()) {
      ++result_.totals["intruders superseded"];
      main->second.zombie = true;
      StartMainLater(true, absl::Milliseconds(500));
    }
    return;
  }
  if (opener->take_over ||
      opener->resumed) {  // the earlier reader was given up by its user
    for (auto& [name, reader] : readers_) {
      const bool same = reader.side == side &&
                        (!in_ranks_ || side || reader.member == opener->member);
      reader.zombie = reader.zombie || (same && reader.life < opener->life);
    }
    // The hello was a late one of a reader that has left; an intruder was
    // admitted meanwhile.
    const auto main = readers_.find(main_);
    if (!side && !in_ranks_ && main != readers_.end() && main->second.zombie) {
      StartMainLater(true, absl::Milliseconds(500));
    }
    return;
  }
  if (opener->zombie) {  // reached a dispatcher with an empty store first
    TakeBackFromIntruder(*opener, side);
    return;
  }
  if (opener->core->state() == ReadSession::State::kFailed) {
    // The refusal came from another dispatcher; its leave is on its way.
    if (refused_[opener->life] != dispatcher_life_) return;
    return Fail("a reader that was refused was let in");
  }
  const RunNumber current = replica_.FindJob(event.key.job)->run;
  for (auto& [name, reader] : readers_) {
    const std::optional<RunInfo>& run = reader.core->run();
    if (&reader == opener || reader.zombie || reader.done ||
        reader.side != side ||
        (in_ranks_ && !side && reader.member != opener->member) ||
        (run && run->run != current)) {
      continue;
    }
    if (reader.core->state() == ReadSession::State::kLive &&
        reader.core->MayHandOut(ClockOf(reader))) {
      return Fail(name + " was replaced while its lease is valid");
    }
    // Its hello is on its way and will take the job over from the intruder.
    const bool coming = reader.take_over && !run && reader.life > opener->life;
    if (opener->intruder && name == main_ && !coming) {
      ++result_.totals["intruders let in"];
      reader.zombie = true;
      main_ = opener->name;
      opener->intruder = false;
      opener->let_in = true;
    }
  }
}

// An intruder was let in because the former reader's leave had not come. When
// it has come, the main reader begins the next iteration, and the intruder
// ends.
void World::TakeBackFromIntruder(ReaderProcess& opener, bool side) {
  const auto main = readers_.find(main_);
  if (side || main == readers_.end() || !main->second.let_in) return;
  const std::optional<RunInfo>& run = main->second.core->run();
  if (run && replica_.FindJob(kReadersJob)->run <= run->run) return;
  ++result_.totals["intruders superseded"];
  main->second.zombie = true;
  opener.zombie = false;
  main_ = opener.name;
}

// True if everything is bound and not everything handed out.
bool World::RunIsDry() const {
  const JobState* job = replica_.FindJob(kReadersJob);
  return job != nullptr && job->run == kFirstRun && !job->over() &&
         job->exhausted();
}

bool World::RunIsOver() const {
  const JobState* job = replica_.FindJob(kReadersJob);
  return job != nullptr && (job->run > kFirstRun || job->over());
}

// When sharing readers have finished, a loss of the dispatcher's state has no
// effect.
bool World::Finished() {
  main_left_ = main_left_ && !MainFinished();
  return !main_left_ && !side_left_;
}

bool World::MainFinished() const {
  if (in_ranks_) {
    return std::all_of(rank_iterations_.begin(), rank_iterations_.end(),
                       [](uint64_t left) { return left == 0; });
  }
  if (order_ == Order::kDeterministic) return iterations_left_ == 0;
  const auto reads = [](const auto& entry) {
    return !entry.second.side && !entry.second.done;
  };
  const auto end = ends_.find(kFirstRun);
  return end != ends_.end() &&
         handed_.size() == plan_.IndexOf({end->second, 0}) && RunIsOver() &&
         std::none_of(readers_.begin(), readers_.end(), reads);
}

}  // namespace feedmill::sim
