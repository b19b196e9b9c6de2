#ifndef FEEDMILL_CLIENT_SERVICE_LINK_H_
#define FEEDMILL_CLIENT_SERVICE_LINK_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
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
#include "core/net/address.h"
#include "core/net/arena_link.h"
#include "core/net/mailbox.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/net/security.h"

namespace feedmill {

class ReadProfile;

// A ReadSession with a connection to the dispatcher and one to each worker (32
// at most), and the hand-over of what it pulls to the application's thread. It
// goes on by itself; where that thread waits, on it, which saves waking
// another.
//
// Thread-safety: all public methods from the application's thread; Interrupt
// from any.
class ServiceLink : private ReactorHandler {
 public:
  // A piece on its way to the client stage.
  struct Handed {
    Piece piece;
    uint64_t first_row = 0;  // rows that were pulled before it
    uint64_t drops = 0;      // ReadSession::drops when it was pulled
  };
  // What the reactor knew at its last turn.
  struct View {
    ReadSession::State state = ReadSession::State::kJoin;
    absl::Status failure;  // why kFailed
    std::optional<RunInfo> run;
    uint64_t drops = 0;
    absl::Time turn;  // when that was
    bool may_hand_out = false;
    bool idle = false;  // ReadSession::idle, and all was pulled
    bool left = false;  // ReadSession::left
    bool answered = false;
    absl::Time last_answer = absl::InfinitePast();
    uint32_t workers = 0;
    uint64_t awaited = 0;  // see ReadSession::awaited
    std::vector<uint64_t> awaited_ranks{};
    absl::Time workers_changed = absl::InfinitePast();
    absl::Time progress = absl::InfinitePast();  // a frame, a cursor that moved
    Cursor cursor;  // in order: all before it was pulled, or had no elements
    std::string unreachable;  // a worker that does not take what it is told
    absl::Time unreachable_since = absl::InfiniteFuture();
    absl::Status handshake;  // why connecting to the dispatcher failed, if so
    absl::Status refused_by_worker;  // its list lacks this client's key
  };

  // How frames come.
  struct Ways {
    // Look at what workers of this process or host have made where it lies,
    // rather than have it sent.
    bool share = true;
    bool via_dispatcher = false;  // workers cannot be reached; overrides share
    LinkCompression compression =
        LinkCompression::kNone;  // where they are sent
    // Told what workers take for what they send; null: they are not asked.
    std::shared_ptr<ReadProfile> profile{};
  };

  // Begins to connect; never blocks. `security`: this client's keys.
  static absl::StatusOr<std::unique_ptr<ServiceLink>> Connect(
      const Address& dispatcher, std::string cluster_id,
      std::optional<Security> security, ReadSessionSettings settings,
      Ways ways);
  // Tells the dispatcher that this reader leaves; takes at most 100 ms. Where
  // the job has a name, it waits until the dispatcher knows: at most a second,
  // and not for one that has been silent for long.
  ~ServiceLink() override;

  // Waits until there is a piece or something of the view's first seven fields
  // (but turn) changed since the last call, at most for `at_most`. Takes all
  // pieces there are into `pieces` unless it is null.
  View Await(absl::Duration at_most, std::deque<Handed>* pieces);
  // See ReadSession::TakeEmpties.
  std::vector<std::pair<uint64_t, uint64_t>> TakeEmpties();
  // The first `rows` of all rows that were pulled are the application's now.
  // `soon`: the application waits, or is done.
  void HandOut(uint64_t rows, bool soon);
  // Nothing before `to` is needed that was not pulled (order deterministic).
  void SkipTo(Cursor to);
  // The application wants no more; the destructor says it, too. `unread`: it
  // never began.
  void Leave(bool unread = false, LeaveReason why = LeaveReason::kLeft);
  // What came over which link so far; of the first 256 workers.
  std::vector<LinkReport> Links();
  // Makes the reactor take a turn, which renews View::turn.
  void Wake() { reactor_.Wake(); }
  // Ends a wait.
  void Interrupt();
  // The dispatcher is told of it with the heartbeats.
  ReadTimes& times() { return times_; }

 private:
  struct WorkerLink {
    LinkKind kind = LinkKind::kTcp;
    SocketId socket;  // kRelay: the dispatcher's; kProcess: none
    std::shared_ptr<Mailbox> process;  // kProcess: the worker's
    bool checksums = false;            // it asks for those of parts
    absl::Time used;
    absl::Time stuck_since = absl::InfiniteFuture();
    // The worker's memory: null until it has offered it, and after it was lost.
    std::shared_ptr<ArenaLink> memory;
    absl::Time ask_at;  // for it
    // Since when a message there waits for one that the socket has not brought.
    absl::Time waits_since = absl::InfiniteFuture();
  };

  ServiceLink(std::string service, std::string cluster_id,
              std::optional<Security> security, ReadSessionSettings settings,
              Ways ways);
  bool Anonymous() const;
  void AwaitLeft();
  void KeepUnsaidLeaves();

  // ReactorHandler
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnTurn(absl::Time now) override;
  absl::Time NextDeadline() const override;

  void Perform(ReadEffects effects);
  void SendToDispatcher(Message message);
  ReaderLoad Load() const;
  void SendGrant(const PeerId& worker, Grant grant);
  WorkerLink* Reach(const PeerId& worker, const Grant& grant);
  absl::StatusOr<WorkerLink> Open(const PeerId& worker, const Grant& grant);
  absl::StatusOr<WorkerLink> ConnectTo(const PeerId& worker);
  void WatchHandshake(View& next);
  void CloseIdle(absl::Time now);
  void Close(std::map<PeerId, WorkerLink>::iterator worker);
  void OnFromWorker(absl::Time now, const PeerId& worker,
                    const std::vector<Buffer>& parts);
  void OnFromMemory(absl::Time now, const PeerId& worker);
  void OnFromProcess(Message message);
  void Note(const PeerId& worker, const WorkerLink& link, const Frame& frame);
  void AskForMemory(absl::Time now, WorkerLink& link);
  void JoinMemory(const PeerId& worker, WorkerLink& link,
                  const ShareOffer& offer);
  void OnMemoryReadable(const PeerId& worker);
  void LeaveMemory(WorkerLink& link);
  void PullInto(absl::Time now, std::vector<Handed>& pulled);
  void Publish(absl::Time now, std::vector<Handed> pulled);
  void WatchWorkers(View& next) const;

  const std::string service_;  // the dispatcher's address
  const std::optional<Security> security_;
  Reactor reactor_;
  Messenger messenger_;
  const Ways ways_;
  const std::string boot_id_;               // empty: shares no memory
  const std::shared_ptr<Mailbox> mailbox_;  // for workers of this process
  // The reactor's thread.
  ReadSession session_;
  SocketId dispatcher_;
  std::map<PeerId, WorkerLink> workers_;
  std::map<SocketId, PeerId> worker_of_;
  absl::Time next_close_ = absl::InfinitePast();
  absl::Time tell_links_at_ = absl::InfinitePast();
  absl::Status refusal_;  // the dispatcher speaks another language
  absl::Time progress_;
  Cursor cursor_;
  uint64_t pulled_rows_ = 0;

  ReadTimes times_;
  std::atomic<uint64_t> handed_out_{0};
  uint64_t handed_out_told_ = 0;  // the reactor's

  std::mutex mu_;
  View view_;                                           // guarded by mu_
  std::deque<Handed> queue_;                            // guarded by mu_
  uint64_t queue_bytes_ = 0;                            // guarded by mu_
  std::vector<std::pair<uint64_t, uint64_t>> empties_;  // guarded by mu_
  bool full_ = false;  // guarded by mu_: the reactor left something
  bool news_ = false;  // guarded by mu_: since the last Await
  std::map<PeerId, LinkReport> reports_;  // guarded by mu_
};

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_SERVICE_LINK_H_
