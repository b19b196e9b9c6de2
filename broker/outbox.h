#ifndef FEEDMILL_BROKER_OUTBOX_H_
#define FEEDMILL_BROKER_OUTBOX_H_

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "broker/dispatcher_state.h"
#include "broker/lease_table.h"
#include "core/wire/message.h"

namespace feedmill {

// Messages of the present call, and the peers that get an answer at its end.
// Pure.
class Outbox {
 public:
  void Send(const PeerId& to, Message message);
  void Reject(const PeerId& to, const JobName& job, const Session& session,
              RejectReason reason, absl::Status detail = absl::OkStatus(),
              std::optional<ClientReject::LaterLife> later = std::nullopt);

  // The peer gets one answer at the end of the call. AnswerSession returns the
  // stored key. `known`: null if it is to be looked up.
  const SessionKey& AnswerSession(const SessionKey& key);
  void AnswerSessions(const JobState& job);
  void AnswerWorker(const WorkerId& worker, KnownWorker* known = nullptr);
  // Call before the worker is dropped.
  void ForgetWorker(const WorkerId& worker) { workers_.erase(worker); }

  // Sends the answer at the end of the call, after all others; it replaces the
  // peer's former such answer.
  void SendLast(const PeerId& to, ClientAnswer answer);
  void CancelSendLast(const PeerId& to) { last_.erase(to); }

  // For the end of the call.
  const std::map<WorkerId, KnownWorker*>& workers() const { return workers_; }
  const std::set<SessionKey>& sessions() const { return sessions_; }
  void Reserve(size_t sends) { sends_.reserve(sends_.size() + sends); }
  // Returns all messages and forgets the peers.
  std::vector<Outgoing> Take();

 private:
  std::vector<Outgoing> sends_;
  std::set<SessionKey> sessions_;
  std::map<WorkerId, KnownWorker*> workers_;
  std::map<PeerId, ClientAnswer> last_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_OUTBOX_H_
