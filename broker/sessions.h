#ifndef FEEDMILL_BROKER_SESSIONS_H_
#define FEEDMILL_BROKER_SESSIONS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "broker/admission.h"
#include "broker/answer_writer.h"
#include "broker/dispatcher_context.h"
#include "broker/job_traces.h"
#include "broker/pass_settler.h"
#include "broker/run_lifecycle.h"
#include "broker/split_binder.h"
#include "broker/split_reports.h"
#include "core/wire/message.h"

namespace feedmill {

// Opens, renews, replaces and closes the sessions of readers: handles the
// messages of clients, and releases sessions that are silent. Pure.
class Sessions {
 public:
  // The references must outlive this object.
  Sessions(DispatcherContext& context, const Admission& admission,
           SplitBinder& binder, PassSettler& settler, RunLifecycle& runs,
           SplitReports& reports, JobTraces& traces, AnswerWriter& answers)
      : context_(context),
        admission_(admission),
        binder_(binder),
        settler_(settler),
        runs_(runs),
        reports_(reports),
        traces_(traces),
        answers_(answers) {}

  void Take(absl::Time now, const PeerId& from, const ClientHello& hello);
  void Take(absl::Time now, const PeerId& from, const ClientBeat& beat);
  void Take(absl::Time now, const PeerId& from, const ClientLeave& leave);
  // Releases the sessions of readers that are silent for too long.
  void ReleaseSilent(absl::Time now);

 private:
  std::optional<ClientReject::LaterLife> LaterLife(
      absl::Time now, const ClientHello& hello) const;
  void Refuse(absl::Time now, const PeerId& to, const ClientHello& hello,
              const absl::Status& status);
  void RejectOver(const PeerId& to, const JobName& job, const Session& session,
                  RejectReason reason,
                  std::optional<ClientReject::LaterLife> later = std::nullopt);
  bool MustWait(absl::Time now, const PeerId& from, const ClientHello& hello,
                const JobState& job);
  void Open(absl::Time now, const ClientHello& hello);
  void Replace(const SessionKey& key, const ClientHello& by);
  void Close(const SessionKey& key, bool for_good);
  void TakeLast(absl::Time now, const SessionKey& key,
                const ClientLeave& leave);
  void TakeLate(absl::Time now, const ClientLeave& leave);
  KnownReader& NoteHeard(absl::Time now, const PeerId& from,
                         const SessionKey& key);
  void TakeLoad(absl::Time now, const SessionKey& key, KnownReader& reader,
                const ReaderLoad& load);

  DispatcherContext& context_;
  const Admission& admission_;
  SplitBinder& binder_;
  PassSettler& settler_;
  RunLifecycle& runs_;
  SplitReports& reports_;
  JobTraces& traces_;
  AnswerWriter& answers_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_SESSIONS_H_
