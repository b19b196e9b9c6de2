#ifndef FEEDMILL_CLIENT_SERVICE_LINK_H_
#define FEEDMILL_CLIENT_SERVICE_LINK_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/read_session.h"
#include "client/read_times.h"
#include "client/reader_roster.h"
#include "client/worker_links.h"
#include "core/net/address.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/net/security.h"
#include "core/net/split_log.h"

namespace feedmill {

// Connects a ReadSession to the dispatcher and to workers, and queues pulled
// pieces for the application's thread (service_source.h). Runs on its own
// thread. While the application waits, it runs on the application's thread,
// which saves waking another one.
//
// Thread-safety: public methods from the application's thread; State and Links
// from any.
class ServiceLink final : private ReactorHandler {
 public:
  // A piece for the client stage.
  struct QueuedPiece {
    Piece piece;
    uint64_t first_row = 0;  // rows pulled before the piece
    uint64_t drops = 0;      // ReadSession::drops when it was pulled
    uint64_t bytes = 0;      // of its elements
    SplitId split{};
  };
  // State at the reactor's last iteration.
  struct View {
    ReadSession::State state = ReadSession::State::kJoin;
    absl::Status failure;  // why kFailed
    std::optional<RunInfo> run;
    Incarnation incarnation;  // of the session
    uint64_t drops = 0;
    absl::Time turn;  // time of that iteration
    bool may_hand_out = false;
    bool idle = false;  // ReadSession::idle
    bool left = false;  // ReadSession::left
    bool answered = false;
    absl::Time last_answer = absl::InfinitePast();
    uint32_t workers = 0;
    uint64_t awaited = 0;  // see ReadSession::awaited
    bool joins = true;     // see ReadSession::joins
    std::vector<uint64_t> awaited_ranks{};
    absl::Time workers_changed = absl::InfinitePast();
    // last frame or move of the cursor
    absl::Time progress = absl::InfinitePast();
    Cursor cursor;  // deterministic order: all before it was pulled
    WorkerLinks::Faults faults;
    absl::Status handshake;  // error of the last connection to the dispatcher
    bool queued = false;     // there is a next piece
  };

  // Starts to connect; never blocks. `security`: this client's keys.
  static absl::StatusOr<std::unique_ptr<ServiceLink>> Connect(
      const Address& dispatcher, std::string cluster_id,
      std::optional<Security> security, ReadSessionSettings settings,
      Transports transports);
  // Tells the dispatcher that the reader leaves; takes at most 100 ms. If the
  // job has a name, waits up to 1 s for the acknowledgement, unless the
  // dispatcher has been silent for long.
  ~ServiceLink() override;

  // Waits for at most `at_most` until one of the first seven fields of the view
  // (except `turn`) changes. If `for_piece`, a next piece ends the wait, too.
  View Await(absl::Duration at_most, bool for_piece);
  // Takes the next queued piece that was pulled at `drops`, and drops older
  // ones, which are another reader's by now. False: none is queued, or the next
  // one is newer.
  bool Take(uint64_t drops, QueuedPiece& next);
  // Deterministic order: positions before `position` are not needed.
  void SkipTo(uint64_t position);
  // See ReadSession::TakeEmpties.
  std::vector<std::pair<uint64_t, uint64_t>> TakeEmpties();
  // Reports that at least the first `rows` of all pulled rows were handed to
  // the application. `soon`: the application has used all of them; the report
  // does not wait if no piece is queued.
  void HandOut(uint64_t rows, bool soon);
  // Ends the session; the destructor does it too. `unread`: the reader never
  // began.
  void Leave(bool unread = false, LeaveReason why = LeaveReason::kLeft);
  // See WorkerLinks::Reports.
  std::vector<LinkReport> Links() const { return links_.Reports(); }
  // Makes the reactor run an iteration, which renews View::turn.
  void Wake() { reactor_.Wake(); }
  // Returns the state of the reader, for metrics.
  ReaderState State();
  // Times of the application, sent with heartbeats.
  ReadTimes& times() { return times_; }
  // True while the job is traced.
  bool traced() const { return traced_.load(std::memory_order_relaxed); }
  // Adds a span of the application.
  void AddSpan(const TraceSpan& span);

 private:
  ServiceLink(std::string service, std::string cluster_id,
              std::optional<Security> security, ReadSessionSettings settings,
              Transports transports);
  bool Anonymous() const;
  void AwaitLeft();
  void KeepUnacknowledgedLeaves();

  // ReactorHandler
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnTurn(absl::Time now) override;
  absl::Time NextDeadline() const override;

  void Perform(ReadEffects effects);
  void SendToDispatcher(Message message);
  ReaderLoad Load();
  void AddSessionTo(ReaderLoad& load) const;
  void WatchHandshake(View& next);
  void OnFromDispatcher(absl::Time now, const std::vector<Buffer>& parts);
  void OnFromSocket(absl::Time now, SocketId socket,
                    const std::vector<Buffer>& parts);
  void ReceiveLocal(absl::Time now, const PeerId& worker);
  void Receive(absl::Time now, const PeerId& worker,
               const WorkerLinks::Route& route,
               const std::vector<Buffer>& parts);
  void OnFromProcess(absl::Time now, Message message);
  void Handle(absl::Time now, const PeerId& worker, Message message);
  void PullInto(absl::Time now, std::vector<QueuedPiece>& pulled);
  void Publish(absl::Time now, std::vector<QueuedPiece> pulled);
  void TakeSpans(absl::Time now);

  const std::string service_;  // the dispatcher's address
  const std::optional<Security> security_;
  Reactor reactor_;
  Messenger messenger_;
  const size_t queued_max_;  // pieces
  // The reactor's thread.
  ReadSession session_;
  SocketId dispatcher_;
  WorkerLinks links_;
  absl::Time next_link_report_ = absl::InfinitePast();
  absl::Status refusal_;  // of a dispatcher with another protocol version
  absl::Time progress_;
  Cursor cursor_;
  uint64_t pulled_rows_ = 0;
  uint64_t skipped_ = 0;  // elements that on_error left out of pulled pieces
  // Texts of skipped elements that were not sent yet: the first kSkippedKept.
  std::vector<std::string> skipped_texts_;
  SplitLog split_log_;

  ReadTimes times_;
  std::atomic<bool> traced_{false};  // set by the reactor's thread
  std::atomic<uint64_t> handed_out_{0};
  uint64_t handed_out_sent_ = 0;  // the reactor's; last value sent

  std::mutex mu_;
  View view_;          // guarded by mu_
  ReaderState state_;  // guarded by mu_; without the application's times
  std::deque<QueuedPiece> queue_;                       // guarded by mu_
  uint64_t queue_bytes_ = 0;                            // guarded by mu_
  std::vector<std::pair<uint64_t, uint64_t>> empties_;  // guarded by mu_
  bool full_ = false;             // guarded by mu_: pieces may be left to queue
  bool news_ = false;             // guarded by mu_: since the last Await
  std::vector<TraceSpan> spans_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SERVICE_LINK_H_
