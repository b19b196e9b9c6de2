#ifndef FEEDMILL_BROKER_ANSWER_WRITER_H_
#define FEEDMILL_BROKER_ANSWER_WRITER_H_

#include "absl/time/time.h"
#include "broker/absent_ranks.h"
#include "broker/dispatcher_context.h"
#include "broker/job_traces.h"
#include "broker/manifest_requests.h"
#include "broker/pass_settler.h"
#include "broker/python_fleet.h"
#include "core/wire/message.h"

namespace feedmill {

// Writes the answers to peers from the state at the end of a call: full sets of
// a reader's splits and of a worker's leases. Pure.
class AnswerWriter {
 public:
  // The references must outlive this object.
  AnswerWriter(DispatcherContext& context, const ManifestRequests& manifests,
               const PythonFleet& pythons, const PassSettler& settler,
               const JobTraces& traces)
      : context_(context),
        manifests_(manifests),
        pythons_(pythons),
        settler_(settler),
        traces_(traces) {}

  // Answers the peers that the outbox names: workers, then readers, so that a
  // worker has its lease when the client's grant arrives.
  void AnswerAll(absl::Time now);
  // Answers a hello at the end of the call without a session; the reader
  // repeats its hello.
  void AnswerAwaiting(const PeerId& to, const ClientHello& hello,
                      const JobState& job, PendingRanks behind);

 private:
  void AnswerReader(absl::Time now, const SessionKey& key, KnownReader& reader);
  void AnswerWorker(absl::Time now, const WorkerId& id, KnownWorker& worker);
  // Returns an answer with the fields that every reader of the job gets.
  ClientAnswer AnswerFor(const JobState& job, const Session& session) const;
  void AddSplits(const SessionState& session, ClientAnswer& answer) const;

  DispatcherContext& context_;
  const ManifestRequests& manifests_;
  const PythonFleet& pythons_;
  const PassSettler& settler_;
  const JobTraces& traces_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_ANSWER_WRITER_H_
