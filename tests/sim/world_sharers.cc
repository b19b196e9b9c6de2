#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "tests/sim/world.h"

// Applications that share a job (order any). They are given chunks. In some
// worlds they use one element at a time, so they may stop within a chunk.

namespace feedmill::sim {
namespace {

const JobName kSharedJob{"job"};
const RunNumber kSharedRun{1};

}  // namespace

void World::StartSharerLater(size_t member, absl::Duration delay) {
  members_[member].clear();
  timeline_.After(delay, [this, member] {
    if (RunIsOver()) return;  // another reader would begin the next run
    members_[member] = StartReader(false, member).name;
  });
}

// Gives the next chunk to the application. Only used elements count as handed
// out (P-172).
void World::GiveChunk(ReaderProcess& reader) {
  while (reader.given.size() < reader.batch && !reader.staged.empty()) {
    reader.given.push_back(reader.staged.front());
    reader.staged.pop_front();
  }
  UseGiven(reader);
}

void World::UseGiven(ReaderProcess& reader) {
  ReadSession& core = *reader.core;
  const uint64_t given = reader.handed + reader.given.size();
  const bool asks = options_.makers.asks_within_chunk;
  uint64_t uses = slow_use_ ? 1 : reader.given.size();
  // The lease may have ended since the chunk was given (P-173).
  if (asks && !core.MayHandOut(ClockOf(reader))) uses = 0;
  if (asks && core.state() == ReadSession::State::kFailed) reader.given.clear();
  for (; uses > 0 && !reader.given.empty(); --uses) {
    Check(reader, reader.given.front());
    reader.given.pop_front();
    ++reader.handed;
  }
  core.HandedOut(options_.makers.handed_out(reader.handed, given));
  ArmReader(reader);
}

void World::CheckSharer(ReaderProcess& reader, Cursor cursor) {
  if (reader.core->run()->run != kSharedRun) return;
  const size_t index = plan_.IndexOf(cursor);
  if (index >= plan_.reference().size() || plan_.reference()[index] != cursor) {
    return Fail(fmt::format("there is no element {}.{}", cursor.p, cursor.i));
  }
  const std::string& consumer = reader.core->session().consumer.value();
  const auto before = handed_.find(cursor);
  if (before != handed_.end()) {
    const auto closed = books_.closed.find(before->second.consumer);
    const bool excepted = closed != books_.closed.end() &&
                          closed->second.last_report <= before->second.when &&
                          before->second.when <= closed->second.closed;
    if (!excepted) {
      return Fail(fmt::format("{}.{} twice: to {} and to {}", cursor.p,
                              cursor.i, before->second.consumer, consumer));
    }
    ++result_.totals["elements again"];
  }
  handed_[cursor] = {consumer, now()};
}

bool World::OtherSharerLives(size_t member) const {
  for (size_t other = 0; other < members_.size(); ++other) {
    const auto it = readers_.find(members_[other]);
    if (other != member && it != readers_.end() && !it->second.done)
      return true;
  }
  return false;
}

// Kills a reader that holds splits when no split is left to bind.
void World::KillLateSharer() {
  late_death_ = false;
  const JobState* job = replica_.FindJob(JobName("job"));
  for (size_t member = 0; job != nullptr && member < members_.size();
       ++member) {
    const auto it = readers_.find(members_[member]);
    if (it == readers_.end() || !OtherSharerLives(member)) continue;
    const auto session =
        job->sessions.find(it->second.core->session().consumer);
    if (session == job->sessions.end() || session->second.splits.empty()) {
      continue;
    }
    ++result_.totals["late deaths"];
    const std::string name = members_[member];
    members_[member].clear();
    return KillReader(name);
  }
}

}  // namespace feedmill::sim
