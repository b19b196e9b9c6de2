#include <algorithm>
#include <array>
#include <utility>

#include "broker/event_codec.h"
#include "core/base/status.h"
#include "tests/sim/world.h"

// The dispatcher's process: its messages, its disk, its crashes and restarts.

namespace feedmill::sim {
namespace {

constexpr uint64_t kReplayEvery = 64;  // steps of the dispatcher
constexpr absl::Duration kLateSync = absl::Milliseconds(200);

}  // namespace

void World::TellDispatcher(const std::string& from, const Message& message) {
  incoming_.push_back({PeerId(from), message});
  if (turn_ == absl::ZeroDuration()) return EndTurn();
  if (incoming_.size() > 1) return;
  const absl::Duration frozen =
      std::max(dispatcher_thaw_ - now(), absl::ZeroDuration());
  timeline_.After(turn_ + frozen, [this, life = dispatcher_life_] {
    if (life == dispatcher_life_ && dispatcher_up_) EndTurn();
  });
}

void World::EndTurn() {
  const auto turn = std::exchange(incoming_, {});
  if (in_ranks_) reports_before_ = books_.last_report;
  for (const Dispatcher::Incoming& incoming : turn) {
    NoteSeen(incoming.message);
    if (const auto* beat = std::get_if<ClientBeat>(&incoming.message)) {
      const SessionState* session =
          replica_.FindSession({beat->job, beat->session.consumer});
      const bool former = session != nullptr &&
                          beat->session.incarnation < session->incarnation;
      if (former) continue;
      absl::Time& last = books_.last_report[beat->session.consumer];
      last = std::max(last,
                      beat->sent - skews_[beat->session.incarnation.value()]);
    } else if (auto* leave = std::get_if<ClientLeave>(&incoming.message)) {
      leaving_.insert(leave->session.consumer);
    } else if (auto* hello = std::get_if<ClientHello>(&incoming.message)) {
      NotePasses(*hello);
    }
  }
  StepDispatcher(dispatcher_->Handle(now() + dispatcher_skew_, turn));
  leaving_.clear();
}

void World::StepDispatcher(DispatcherEffects effects) {
  bool late = true;
  for (const DispatcherEvent& event : effects.events) {
    if (options_.trace != nullptr) Trace("event " + feedmill::Describe(event));
    late = late && options_.makers.may_be_late(event);
    CheckEvent(event);
    replica_.Apply(event);
    disk_.push_back(EncodeEvent(event));
    if (!options_.makers.may_be_late(event)) needed_ = disk_.size();
  }
  if (effects.after < needed_) Fail("messages do not wait for their events");
  if (++replay_checks_due_ >= kReplayEvery) CheckReplay();
  const bool speaks = !effects.sends.empty() || !effects.events.empty();
  const auto dies = [&](CrashPoint point) { return speaks && crash_ == point; };
  if (dies(CrashPoint::kBeforeSync)) return KillDispatcher();
  if (!late) {
    BeginSync();
  } else if (disk_.size() > synced_ && !sync_due_) {
    sync_due_ = true;
    timeline_.After(kLateSync, [this, life = dispatcher_life_] {
      if (life == dispatcher_life_ && dispatcher_up_) BeginSync();
    });
  }
  if (dies(CrashPoint::kBeforeSends)) return KillDispatcher();
  if (!dies(CrashPoint::kAmongSends) && late_death_ && RunIsDry()) {
    KillLateSharer();
  }
  held_.push_back({needed_, speaks, std::move(effects.sends)});
  Release();
  if (dispatcher_up_) ArmDispatcher();
}

// Sends the messages whose events are on disk, in order.
void World::Release() {
  while (!held_.empty() && held_.front().after <= synced_) {
    HeldTurn turn = std::move(held_.front());
    held_.pop_front();
    if (turn.speaks && crash_ == CrashPoint::kAmongSends) {
      turn.sends.resize(random_.Between(0, turn.sends.size()));
      Say(std::move(turn.sends));
      return KillDispatcher();
    }
    Say(std::move(turn.sends));
  }
}

void World::Say(std::vector<Outgoing> sends) {
  std::set<PeerId> told;
  for (Outgoing& outgoing : sends) {
    // Rejects and replies answer single messages of the call.
    if (!std::holds_alternative<ClientReject>(outgoing.message) &&
        !std::holds_alternative<DatasetReply>(outgoing.message) &&
        !std::holds_alternative<StatusReply>(outgoing.message) &&
        !told.insert(outgoing.to).second) {
      Fail(fmt::format("{} was told two things in one call",
                       outgoing.to.value()));
    }
    if (const auto* reject = std::get_if<ClientReject>(&outgoing.message);
        reject != nullptr && reject->reason == RejectReason::kRefused) {
      refused_[reject->session.incarnation.value()] = dispatcher_life_;
    }
    if (const auto* answer = std::get_if<ClientAnswer>(&outgoing.message);
        answer != nullptr && answer->awaited > 0) {
      ++result_.totals["ranks told to wait"];
    }
    if (const auto* answer = std::get_if<WorkerAnswer>(&outgoing.message)) {
      for (const Lease& lease : answer->leases) {
        if (lease.attempt.value() > 1) ++result_.totals["leases again"];
      }
      CheckFit(outgoing.to, *answer);
    }
    network_->Send(kDispatcher, outgoing.to.value(),
                   std::move(outgoing.message));
  }
}

void World::CheckFit(const PeerId& to, const WorkerAnswer& answer) {
  const auto worker = workers_.find(to.value());
  if (!pythons_ || worker == workers_.end() || worker->second.fit) return;
  if (worker->second.life != answer.incarnation.value()) return;
  if (!answer.leases.empty() || !answer.manifests.empty()) {
    Fail(fmt::format("{} cannot run the functions, and got work", to.value()));
  }
}

void World::ArmDispatcher() {
  const absl::Time deadline = std::max(
      dispatcher_->NextDeadline() - dispatcher_skew_, dispatcher_thaw_);
  if (deadline >= dispatcher_wake_) return;
  dispatcher_wake_ = deadline;
  timeline_.At(deadline, [this] { WakeDispatcher(); });
}

void World::WakeDispatcher() {
  // another wake-up is scheduled
  if (!dispatcher_up_ || now() < dispatcher_wake_) return;
  dispatcher_wake_ = absl::InfiniteFuture();
  if (dispatcher_thaw_ > now()) return ArmDispatcher();
  StepDispatcher(dispatcher_->OnTick(now() + dispatcher_skew_));
  if (dispatcher_up_ &&
      dispatcher_->NextDeadline() <= now() + dispatcher_skew_) {
    Fail("the dispatcher's deadline does not pass");
  }
}

// ---- disk

void World::Sync() {
  sync_due_ = false;
  synced_ = disk_.size();
  synced_books_ = books_;
}

// Syncs all events so far. On a slow disk this takes a time, in which the
// dispatcher handles further messages; later events are synced after it.
void World::BeginSync() {
  if (!slow_disk_) {
    const bool late = needed_ < disk_.size();
    Sync();
    if (late) dispatcher_->NoteSynced(synced_, absl::ZeroDuration());
    return;
  }
  if (std::exchange(syncing_, true)) return;
  sync_due_ = false;
  ++result_.totals["slow syncs"];
  EndSyncAfter(slow_disk_->UpTo(sync_max_), disk_.size(), books_, now());
}

void World::EndSyncAfter(absl::Duration time, size_t end, Books books,
                         absl::Time begun) {
  timeline_.After(time, [this, end, books = std::move(books), begun,
                         life = dispatcher_life_] {
    if (life != dispatcher_life_ || !dispatcher_up_) return;
    if (dispatcher_thaw_ > now()) {
      return EndSyncAfter(dispatcher_thaw_ - now(), end, books, begun);
    }
    syncing_ = false;
    synced_ = end;
    synced_books_ = books;
    dispatcher_->NoteSynced(end, now() - begun);
    if (disk_.size() > synced_) BeginSync();
    Release();
  });
}

// Returns the state from the records on disk.
DispatcherState World::Replay() {
  DispatcherState state;
  state.journal = journal_;
  for (const std::string& record : disk_) {
    const absl::StatusOr<DispatcherEvent> event = DecodeEvent(record);
    const absl::Status status =
        event.ok() ? CheckFollows(state, *event) : event.status();
    if (!status.ok()) {
      Fail("the journal cannot be replayed: " + ErrorText(status));
      break;
    }
    state.Apply(*event);
  }
  return state;
}

void World::CheckReplay() {
  replay_checks_due_ = 0;
  ++result_.totals["replays compared"];
  if (!(replica_ == dispatcher_->state())) {
    Fail("replaying the journal does not give the state");
  }
}

// Checks the bytes on disk in the same way.
void World::CheckJournal() {
  if (!dispatcher_up_) return;
  CheckReplay();
  if (!(Replay() == dispatcher_->state())) {
    Fail("what is on disk does not give the state");
  }
}

// ---- crashes and restarts

void World::StartDispatcher(bool wiped) {
  if (wiped) {
    disk_.clear();
    registered_.clear();
    synced_ = 0;
    if (!in_ranks_) ends_.clear();
    passed_over_.clear();
    books_ = synced_books_ = Books{};
    journal_ = JournalId(options_.seed + 1 + (uint64_t{++journals_} << 32));
  }
  trace_ = {};
  ++dispatcher_life_;
  dispatcher_began_ = now();
  begun_before_.reset();
  if (!wiped) begun_before_ = now();
  reported_passes_.clear();
  heard_passes_.clear();
  dispatcher_up_ = true;
  dispatcher_thaw_ = now();
  incoming_.clear();
  // Some worlds handle each message at once, some batches of messages.
  turn_ = std::array{absl::ZeroDuration(), absl::ZeroDuration(),
                     absl::Milliseconds(1),
                     absl::Milliseconds(10)}[options_.seed % 4];
  Sync();  // as opening a journal does, before the content is used
  needed_ = synced_;
  held_.clear();
  syncing_ = false;
  crash_.reset();
  replica_ = Replay();
  dispatcher_skew_ = DrawSkew();
  dispatcher_ = options_.makers.dispatcher(settings_, plan_.MakePlanner(),
                                           replica_, now() + dispatcher_skew_);
  dispatcher_wake_ = absl::InfiniteFuture();
  CheckDatasets();
  ArmDispatcher();
}

// Restores the books to the state on disk.
void World::RewindBooks() {
  const Books before = std::exchange(books_, synced_books_);
  for (const auto& [consumer, closed] : before.closed) {
    if (replica_.closed.contains({JobName("job"), ConsumerId(consumer)})) {
      books_.closed.emplace(consumer, closed);
    }
  }
}

// Unsynced records may be lost from some record on, and that record may be
// partial.
void World::LoseUnsynced() {
  const size_t kept = random_.Between(synced_, disk_.size());
  result_.totals["events lost"] += disk_.size() - kept;
  if (kept < disk_.size()) {
    const std::string& whole = disk_[kept];
    const std::string torn = whole.substr(0, random_.Next() % whole.size());
    if (DecodeEvent(torn).ok()) Fail("a torn record was read");
  }
  const bool lost = kept < disk_.size();
  disk_.resize(kept);
  replica_ = Replay();
  if (lost) RewindBooks();
  Trace(fmt::format("the journal ends at event {}", kept));
}

void World::KillDispatcher() {
  CheckJournal();
  dispatcher_up_ = false;
  network_->Cut(kDispatcher);
  const bool wiped = std::exchange(wipe_, false);
  ++result_.totals[wiped ? "dispatchers wiped" : "dispatcher crashes"];
  LoseUnsynced();
  timeline_.After(absl::Milliseconds(random_.Choice({20, 300, 1'200})),
                  [this, wiped] {
                    Trace(wiped ? "the dispatcher starts with nothing"
                                : "the dispatcher starts");
                    StartDispatcher(wiped);
                    if (wiped && order_ == Order::kAny) RestartSharers();
                  });
}

// Crashes now, or in the middle of the next call.
void World::DispatcherFault(bool wipe) {
  if (!dispatcher_up_ || crash_) return;
  if (wipe && (Finished() || !main_left_)) return;
  wipe_ = wipe;
  if (random_.OneIn(3)) return KillDispatcher();
  crash_ = random_.Choice({CrashPoint::kBeforeSync, CrashPoint::kBeforeSends,
                           CrashPoint::kAmongSends});
}

// The dead readers' elements are unknown, so the application starts again.
void World::RestartSharers() {
  handed_.clear();
  for (size_t member = 0; member < members_.size(); ++member) {
    const auto it = readers_.find(members_[member]);
    if (it == readers_.end()) continue;
    KillReader(it->first);
    StartSharerLater(member, random_.UpTo(absl::Seconds(1)));
  }
}

// ---- decisions

void World::CheckEvent(const DispatcherEvent& event) {
  if (const auto* opened = std::get_if<SessionOpened>(&event)) {
    ++result_.totals["sessions"];
    CheckOpened(*opened);
  } else if (const auto* started = std::get_if<RunStarted>(&event)) {
    CheckRunStarted(*started);
  } else if (const auto* bound = std::get_if<SplitsBound>(&event)) {
    result_.totals["splits"] += bound->count();
  } else if (const auto* extended = std::get_if<RunExtended>(&event)) {
    CheckPasses(*extended);
  } else if (const auto* finished = std::get_if<RunFinished>(&event)) {
    const JobState& job = *replica_.FindJob(finished->job);
    const bool main = finished->job == JobName("job");
    if (order_ == Order::kAny && main) ends_[job.run] = job.positions;
  } else if (const auto* closed = std::get_if<SessionClosed>(&event)) {
    const ConsumerId& consumer = closed->key.consumer;
    const Incarnation life = replica_.FindSession(closed->key)->incarnation;
    // A leave reports the final position, so no exception applies.
    if (!leaving_.contains(consumer)) {
      books_.closed[consumer.value()] = {books_.last_report[consumer], now()};
    }
    for (const auto& [name, reader] : readers_) {
      if (reader.core->session() != Session{consumer, life} || reader.zombie ||
          reader.done || reader.core->state() != ReadSession::State::kLive) {
        continue;
      }
      ++result_.totals["sessions released"];
      if (reader.core->MayHandOut(ClockOf(reader))) {
        Fail(fmt::format("{} was released while its lease is valid",
                         consumer.value()));
      }
    }
  }
}

// Checks that a run has at most as many passes as there are workers.
void World::CheckPasses(const RunExtended& event) {
  const JobState& job = *replica_.FindJob(event.job);
  const bool more = event.passes > job.passes;
  if (more) ++result_.totals["passes added"];
  if (event.last) ++result_.totals["runs settled"];
  if (event.passes > workers_.size()) {
    Fail(
        fmt::format("{} passes for {} workers", event.passes, workers_.size()));
  }
  if (!more && !event.last) Fail("an event that changes nothing");
  if (in_ranks_ && event.job == JobName("job") && event.passes < job.passes &&
      !heard_passes_.contains({job.run, event.passes})) {
    Fail(fmt::format("{} passes became {}, which no rank said", job.passes,
                     event.passes));
  }
  if (in_ranks_ && event.last && event.job == JobName("job")) {
    CheckSettled(event, job);
  }
}

}  // namespace feedmill::sim
