#include "broker/answer_writer.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace feedmill {

void AnswerWriter::AnswerAll(absl::Time now) {
  context_.outbox.Reserve(context_.outbox.workers().size());
  for (const auto& [id, known] : context_.outbox.workers()) {
    KnownWorker* const worker = known ? known : context_.leases.FindWorker(id);
    if (worker != nullptr) AnswerWorker(now, id, *worker);
  }
  for (const SessionKey& key : context_.outbox.sessions()) {
    KnownReader* const reader = context_.readers.Find(key);
    if (reader != nullptr) AnswerReader(now, key, *reader);
  }
}

ClientAnswer AnswerWriter::AnswerFor(const JobState& job,
                                     const Session& session) const {
  ClientAnswer answer;
  answer.job = job.name;
  answer.session = session;
  // A reader that waits for workers is sent 0 if none can run its functions.
  const PythonNeedsPtr needs = context_.plans.PythonNeedsOf(job);
  if (needs == nullptr || pythons_.SomeCanRun(needs)) {
    answer.workers = static_cast<uint32_t>(context_.leases.workers().size());
  }
  answer.heartbeat_interval = context_.clock.Interval();
  answer.client_timeout = context_.clock.ClientTimeout(job);
  answer.seen = context_.state.seen();
  return answer;
}

void AnswerWriter::AnswerAwaiting(const PeerId& to, const ClientHello& hello,
                                  const JobState& job, PendingRanks behind) {
  ClientAnswer answer = AnswerFor(job, hello.session);
  answer.awaited = behind.count;
  answer.awaited_ranks = std::move(behind.ranks);
  context_.outbox.SendLast(to, std::move(answer));
}

void AnswerWriter::AnswerReader(absl::Time now, const SessionKey& key,
                                KnownReader& reader) {
  const std::optional<absl::Time> beat_sent =
      std::exchange(reader.beat_sent, std::nullopt);
  const JobState* job = context_.state->FindJob(key.job);
  if (job == nullptr || reader.address.value().empty()) return;
  const auto it = job->sessions.find(key.consumer);
  if (it == job->sessions.end()) return;
  const SessionState& session = it->second;
  if (job->phase == RunPhase::kFailed) {
    context_.outbox.Reject(reader.address, key.job,
                           {key.consumer, session.incarnation},
                           RejectReason::kRefused, job->error);
    return;
  }
  ClientAnswer answer = AnswerFor(*job, {key.consumer, session.incarnation});
  answer.beat_sent = beat_sent;
  if (job->phase != RunPhase::kPlanning) {
    answer.run = RunInfo{
        job->run,         job->iteration, job->seed,
        job->source_size, job->positions, job->plan,
        job->passes,      job->settled,   context_.plans.SourceRound(*job),
        job->sequenced};
  }
  AddSplits(session, answer);
  if (settler_.Awaits(key.job)) {
    PendingRanks unmet = AbsentRanks::Unmet(*job);
    answer.awaited = unmet.count;
    answer.awaited_ranks = std::move(unmet.ranks);
  }
  answer.exhausted = job->exhausted();
  answer.finished = job->phase == RunPhase::kFinished;
  if (!traces_.empty()) answer.tracing = traces_.OrderFor(now, key.job);
  context_.outbox.Send(reader.address, std::move(answer));
}

void AnswerWriter::AddSplits(const SessionState& session,
                             ClientAnswer& answer) const {
  for (const SplitId& id : session.splits) {
    const SplitState& split = *context_.state->FindSplit(id);
    BoundSplit bound{id, split.begin, split.end, {}, split.error};
    const LeaseTable::Work* work = context_.leases.Find(id);
    if (work != nullptr) {
      bound.leases = work->leases;
      bound.skip = work->skip;
    }
    answer.splits.push_back(std::move(bound));
  }
}

void AnswerWriter::AnswerWorker(absl::Time now, const WorkerId& id,
                                KnownWorker& worker) {
  WorkerAnswer answer;
  answer.incarnation = worker.incarnation;
  std::set<PlanId> needed;
  for (const SplitId& split_id : worker.leases) {
    const SplitState& split = *context_.state->FindSplit(split_id);
    const JobState& job = *context_.state->FindJob(split.owner.job);
    const SessionState& session = job.sessions.at(split.owner.consumer);
    const LeaseTable::Work& work = *context_.leases.Find(split_id);
    const auto lease =
        std::find_if(work.leases.begin(), work.leases.end(),
                     [&id](const LeaseRef& l) { return l.worker == id; });
    answer.leases.push_back({split_id,
                             {split.owner.consumer, session.incarnation},
                             job.plan,
                             split.begin,
                             work.suspect() ? work.stop : split.end,
                             lease->attempt,
                             session.share,
                             traces_.TraceOf(now, job.name),
                             work.spread ? work.depth : 0});
    if (worker.plans.contains(job.plan) || !needed.insert(job.plan).second) {
      continue;
    }
    // A definition can be large: it is sent again only if it may be lost.
    const auto [said, first] = worker.defined.try_emplace(job.plan, now);
    if (!first && now - said->second < 2 * context_.clock.Interval()) continue;
    said->second = now;
    answer.definitions.push_back({job.plan, context_.plans.RunGraph(job),
                                  job.manifest, job.seed, job.iteration});
  }
  std::erase_if(worker.defined,
                [&](const auto& said) { return !needed.contains(said.first); });
  for (const std::string& fingerprint : worker.resolving) {
    answer.manifests.push_back({fingerprint, manifests_.GraphOf(fingerprint)});
  }
  worker.interval = context_.clock.Interval();
  worker.unanswered = 0;
  answer.heartbeat_interval = worker.interval;
  answer.park_after = context_.clock.ParkAfter();
  answer.drained = worker.draining && worker.leases.empty();
  answer.seen = context_.state.seen();
  answer.python_known = worker.python != nullptr;
  answer.workers = static_cast<uint32_t>(context_.leases.takers());
  if (!traces_.empty()) answer.tracing = traces_.OrderFor(now);
  context_.outbox.Send(worker.address, std::move(answer));
}

}  // namespace feedmill
