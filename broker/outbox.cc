#include "broker/outbox.h"

namespace feedmill {

void Outbox::Send(const PeerId& to, Message message) {
  sends_.push_back({to, std::move(message)});
}

void Outbox::Reject(const PeerId& to, const JobName& job,
                    const Session& session, RejectReason reason,
                    absl::Status detail,
                    std::optional<ClientReject::LaterLife> later) {
  Send(to, ClientReject{job, session, reason, std::move(detail), later});
}

const SessionKey& Outbox::AnswerSession(const SessionKey& key) {
  return *sessions_.insert(key).first;
}

void Outbox::AnswerSessions(const JobState& job) {
  for (const auto& [consumer, session] : job.sessions) {
    sessions_.insert({job.name, consumer});
  }
}

void Outbox::AnswerWorker(const WorkerId& worker, KnownWorker* known) {
  const auto [it, added] = workers_.try_emplace(worker, known);
  if (!added && known != nullptr) it->second = known;
}

void Outbox::SendLast(const PeerId& to, ClientAnswer answer) {
  last_.insert_or_assign(to, std::move(answer));
}

std::vector<Outgoing> Outbox::Take() {
  for (auto& [to, answer] : last_) Send(to, std::move(answer));
  last_.clear();
  workers_.clear();
  sessions_.clear();
  return std::exchange(sends_, {});
}

}  // namespace feedmill
