#include "broker/answer_writer.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace feedmill {

void AnswerWriter::AnswerAll(absl::Time now) {
  outbox_.Reserve(outbox_.workers().size());
  for (const auto& [id, known] : outbox_.workers()) {
    KnownWorker* const worker = known ? known : leases_.FindWorker(id);
    if (worker != nullptr) AnswerWorker(now, id, *worker);
  }
  for (const SessionKey& key : outbox_.sessions()) {
    KnownReader* const reader = readers_.Find(key);
    if (reader != nullptr) AnswerReader(now, key, *reader);
  }
}

ClientAnswer AnswerWriter::AnswerFor(const JobState& job,
                                     const Session& session) const {
  ClientAnswer answer;
  answer.job = job.name;
  answer.session = session;
  // A reader that waits for workers is sent 0 if none can run its functions.
  const PythonNeedsPtr needs = plans_.PythonNeedsOf(job);
  if (needs == nullptr || pythons_.SomeCanRun(needs)) {
    answer.workers = static_cast<uint32_t>(leases_.workers().size());
  }
  answer.heartbeat_interval = clock_.Interval();
  answer.client_timeout = clock_.ClientTimeout(job);
  answer.seen = state_.seen();
  return answer;
}

void AnswerWriter::AnswerAwaiting(const PeerId& to, const ClientHello& hello,
                                  const JobState& job, PendingRanks behind) {
  ClientAnswer answer = AnswerFor(job, hello.session);
  answer.awaited = behind.count;
  answer.awaited_ranks = std::move(behind.ranks);
  outbox_.SendLast(to, std::move(answer));
}

void AnswerWriter::AnswerReader(absl::Time now, const SessionKey& key,
                                KnownReader& reader) {
  const std::optional<absl::Time> beat_sent =
      std::exchange(reader.beat_sent, std::nullopt);
  const JobState* job = state_->FindJob(key.job);
  if (job == nullptr || reader.address.value().empty()) return;
  const auto it = job->sessions.find(key.consumer);
  if (it == job->sessions.end()) return;
  const SessionState& session = it->second;
  if (job->phase == RunPhase::kFailed) {
    outbox_.Reject(reader.address, key.job, {key.consumer, session.incarnation},
                   RejectReason::kRefused, job->error);
    return;
  }
  ClientAnswer answer = AnswerFor(*job, {key.consumer, session.incarnation});
  answer.beat_sent = beat_sent;
  if (job->phase != RunPhase::kPlanning) {
    answer.run =
        RunInfo{job->run,         job->iteration, job->seed,
                job->source_size, job->positions, job->plan,
                job->slots,       job->settled,   plans_.SourceRound(*job)};
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
  outbox_.Send(reader.address, std::move(answer));
}

void AnswerWriter::AddSplits(const SessionState& session,
                             ClientAnswer& answer) const {
  for (const SplitId& id : session.splits) {
    const SplitState& split = *state_->FindSplit(id);
    BoundSplit bound{id, split.begin, split.end, {}, split.error};
    const LeaseTable::Work* work = leases_.Find(id);
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
    const SplitState& split = *state_->FindSplit(split_id);
    const JobState& job = *state_->FindJob(split.owner.job);
    const SessionState& session = job.sessions.at(split.owner.consumer);
    const LeaseTable::Work& work = *leases_.Find(split_id);
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
                             traces_.TraceOf(now, job.name)});
    if (worker.plans.contains(job.plan) || !needed.insert(job.plan).second) {
      continue;
    }
    // A definition can be large: it is sent again only if it may be lost.
    const auto [said, first] = worker.defined.try_emplace(job.plan, now);
    if (!first && now - said->second < 2 * clock_.Interval()) continue;
    said->second = now;
    answer.definitions.push_back({job.plan, plans_.RunGraph(job), job.manifest,
                                  job.seed, job.iteration});
  }
  std::erase_if(worker.defined,
                [&](const auto& said) { return !needed.contains(said.first); });
  for (const std::string& fingerprint : worker.resolving) {
    answer.manifests.push_back({fingerprint, manifests_.GraphOf(fingerprint)});
  }
  worker.interval = clock_.Interval();
  worker.unanswered = 0;
  answer.heartbeat_interval = worker.interval;
  answer.park_after = clock_.ParkAfter();
  answer.drained = worker.draining && worker.leases.empty();
  answer.seen = state_.seen();
  answer.python_known = worker.python != nullptr;
  if (!traces_.empty()) answer.tracing = traces_.OrderFor(now);
  outbox_.Send(worker.address, std::move(answer));
}

}  // namespace feedmill
