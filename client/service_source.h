#ifndef FEEDMILL_CLIENT_SERVICE_SOURCE_H_
#define FEEDMILL_CLIENT_SERVICE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/read_token.h"
#include "client/reader_parts.h"
#include "client/reader_roster.h"
#include "client/service_link.h"
#include "client/wait_limits.h"
#include "core/dataset/analysis.h"

namespace feedmill {

// Joins a job of a service, and adds the sequence and its source to `parts`.
// REQUIRES: options.hooks.registry is set; parts.rules is. `token`:
// options.resume.token, checked against the graph.
absl::Status OpenThroughService(
    const std::shared_ptr<const AnalyzedGraph>& graph,
    const ReadOptions& options, const std::optional<ReadToken>& token,
    ReaderParts& parts);

// The pieces that a ServiceLink receives.
//
// Thread-safety: one thread at a time; Links from any thread.
class ServiceSource final : public ReadSource {
 public:
  // `in_order`: no other readers share the job.
  ServiceSource(std::unique_ptr<ServiceLink> link, std::string service,
                bool in_order, const ReadOptions& options);

  // Waits until the dispatcher has planned the run.
  absl::StatusOr<RunInfo> AwaitRun(const Cancellation& cancellation);
  absl::Time opened() const { return opened_; }

  absl::StatusOr<TakeResult> Take(absl::Time deadline, Piece& piece) override;
  void SkipTo(uint64_t position) override { link_->SkipTo(position); }
  absl::Status Late(absl::Time begun, bool had_element) override;
  void Leave(LeaveReason why) override;
  void AddTo(ReadToken& token) const override;
  std::vector<LinkReport> Links() const override { return link_->Links(); }
  ReadTimes& times() override { return link_->times(); }
  // The reading could not begin: no run is finished.
  void LeaveUnread() { link_->Leave(/*unread=*/true); }

  // ---- for readers that share a job
  // State of the event loop at the last wait.
  const ServiceLink::View& view() const { return view_; }
  // Lets the event loop run, and takes its state. True if the elements that
  // were taken, but not handed out, are another reader's from now on.
  bool RenewView();
  // Rows pulled before the first piece since then.
  uint64_t stage_base() const { return stage_base_.value_or(0); }
  // See ServiceLink::HandOut.
  void HandOut(uint64_t rows, bool soon) { link_->HandOut(rows, soon); }

 private:
  absl::StatusOr<TakeResult> Await(absl::Time deadline, Piece& passed,
                                   ServiceLink::QueuedPiece& next);
  absl::StatusOr<TakeResult> AwaitNews(absl::Time until, Piece& passed,
                                       ServiceLink::QueuedPiece& next);
  bool TakeView(absl::Duration at_most, bool for_piece);
  bool TakePassed(Piece& passed);
  bool IsToFlush();
  void TraceHandedOut();
  void TraceWait();

  const bool in_order_;
  const absl::Time opened_;
  const std::unique_ptr<ServiceLink> link_;
  WaitLimits waits_;
  ServiceLink::View view_;
  uint64_t drops_ = 0;  // ReadSession::drops of the pieces that Take gives
  // Positions for kPassed: in order, those before `passed_` were returned;
  // sharers: `empties_` are to be returned.
  Cursor passed_;
  std::vector<std::pair<uint64_t, uint64_t>> empties_;
  // Sharers, as numbers of rows pulled: rows taken, rows before the last kIdle,
  // and rows before it that were reported as used.
  uint64_t taken_to_ = 0;
  uint64_t flushed_to_ = 0;
  uint64_t settled_to_ = 0;
  std::optional<uint64_t> stage_base_;
  // While the job is traced: the last piece in the client's steps, and the
  // begin of a wait.
  std::optional<TraceSpan> in_steps_;
  std::optional<absl::Time> waits_since_;
  // Last: its function uses the link.
  const ReaderRoster::Entry in_roster_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SERVICE_SOURCE_H_
