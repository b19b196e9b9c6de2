#include <sys/statvfs.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "broker/held_sends.h"
#include "broker/job_planner.h"
#include "broker/journal_thread.h"
#include "broker/relay_post.h"
#include "broker/state_journal.h"
#include "broker/status_report.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/lifecycle.h"
#include "core/net/log.h"
#include "core/net/messenger.h"
#include "core/net/process_limits.h"
#include "core/net/reactor.h"
#include "core/net/split_log.h"
#include "core/ops/plugin_functions.h"
#include "feedmill/dispatcher.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLinger = absl::Milliseconds(50);
constexpr absl::Duration kMeasureInterval = absl::Seconds(1);
// Time after which an event that satisfies MayBeLate is handed to the journal.
constexpr absl::Duration kMaxSyncDelay = absl::Milliseconds(200);
// A sync that takes longer is reported to operators: peers wait for it.
constexpr absl::Duration kSlowSync = absl::Seconds(1);
// Time for which the dispatcher itself waits for a sync. Most disks need less.
// Messages that arrive meanwhile are then handled together, with one answer for
// each peer, which costs less CPU time.
constexpr absl::Duration kPatience = absl::Milliseconds(50);
// Beyond these limits the dispatcher waits for the disk before it reads more
// messages: events and messages that wait, and about the bytes of each.
constexpr uint64_t kWaitingEventsMax = 100'000;
constexpr size_t kHeldMessagesMax = 100'000;
constexpr uint64_t kWaitingBytesMax = uint64_t{64} << 20;
// The bytes limit is high because a manifest of millions of files is one part.
constexpr Reactor::Limits kLimits{int64_t{1} << 30, 1'000};

// The identity of a new store. Never 0, which stands for "none seen".
JournalId DrawJournalId() {
  std::random_device device;
  std::uniform_int_distribution<uint64_t> draw(1);
  return JournalId(draw(device));
}

}  // namespace

class DispatchServer::Shell : public ReactorHandler {
 public:
  explicit Shell(DispatcherConfig config)
      : config_(std::move(config)),
        lifecycle_("dispatcher"),
        reactor_(std::make_unique<Reactor>("fm-dispatcher")),
        messenger_(*reactor_, config_.endpoint.cluster_id) {
    if (config_.endpoint.host.empty()) config_.endpoint.host = kLoopback;
  }

  absl::Status Start() {
    return lifecycle_.Start([this] { return Begin(); });
  }
  void Stop() {
    lifecycle_.Stop([this] {
      reactor_->Stop(kLinger);
      reactor_->Join();
      // No peer gets an answer any more, but the next dispatcher continues from
      // these events.
      if (journal_ != nullptr) journal_->Append(std::move(unsynced_), 0);
      journal_.reset();  // writes what waits
      held_.Clear();
    });
  }
  absl::Status Join() { return lifecycle_.Join(); }
  bool running() const { return lifecycle_.running(); }
  // Runs `ask` on the dispatcher's thread and returns its result.
  template <class Ask>
  auto Export(absl::Duration timeout, Ask ask)
      -> absl::StatusOr<decltype(ask(std::declval<const Dispatcher&>(),
                                     absl::Time()))> {
    if (!running()) return FailedPrecondition("the dispatcher does not run");
    using Answer =
        decltype(ask(std::declval<const Dispatcher&>(), absl::Time()));
    const auto answer = std::make_shared<std::promise<Answer>>();
    std::future<Answer> future = answer->get_future();
    const bool asked = reactor_->Post([this, answer, ask] {
      answer->set_value(ask(*dispatcher_, reactor_->now()));
    });
    if (asked && future.wait_for(absl::ToChronoNanoseconds(timeout)) ==
                     std::future_status::ready) {
      try {
        return future.get();
      } catch (const std::future_error&) {
        // Dropped, as the server has ended since.
      }
      return FailedPrecondition("the dispatcher does not run");
    }
    return DeadlineExceeded("the dispatcher did not answer within {}",
                            absl::FormatDuration(timeout));
  }
  // Runs `ask`, a request of an operator, on the dispatcher's thread.
  template <class Ask>
  absl::Status Request(absl::Duration timeout, Ask ask) {
    if (!running()) return FailedPrecondition("the dispatcher does not run");
    const auto answer = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> future = answer->get_future();
    const bool asked = reactor_->Post([this, answer, ask] {
      Dispatcher::OperatorAnswer done = ask(*dispatcher_, reactor_->now());
      Perform(std::move(done.effects));
      answers_.push_back([answer, status = std::move(done.status)] {
        answer->set_value(status);
      });
    });
    if (asked && future.wait_for(absl::ToChronoNanoseconds(timeout)) ==
                     std::future_status::ready) {
      try {
        return future.get();
      } catch (const std::future_error&) {
        // Dropped, as the server has ended since.
      }
      return FailedPrecondition("the dispatcher does not run");
    }
    return DeadlineExceeded("the dispatcher did not answer within {}",
                            absl::FormatDuration(timeout));
  }
  std::string target() const {
    const std::lock_guard lock(mu_);
    return target_;
  }

 private:
  absl::Status Check() const;
  absl::Status Begin();
  absl::Status Listen();
  absl::StatusOr<Address> Advertised(uint16_t port) const;
  absl::StatusOr<DispatcherState> OpenState();

  // ReactorHandler
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnPeerGone(absl::Time, SocketId, std::string_view peer) override {
    dispatcher_->OnPeerGone(PeerId(std::string(peer)));
  }
  void OnTurn(absl::Time now) override;
  absl::Time NextDeadline() const override;

  bool IsItsOwnName(const Message& message) const;
  void MeasureShell(absl::Time now);
  void Perform(DispatcherEffects effects);
  void Settle(absl::Time now);
  void HandOver();
  void TakeProgress();
  void WaitFor(const std::function<void()>& wait);
  void SendDurable();
  bool TooMuchWaits() const;
  void End(absl::Status why);

  DispatcherConfig config_;
  Lifecycle lifecycle_;
  std::optional<Security> security_;
  const std::unique_ptr<Reactor> reactor_;

  // Created by Begin; then used by the reactor's thread only.
  Messenger messenger_;
  std::optional<Dispatcher> dispatcher_;
  std::optional<RelayPost> relays_;
  SocketId peers_;
  std::unique_ptr<StateJournal> opened_;        // until journal_ writes it
  std::unique_ptr<JournalThread> journal_;      // null: state is in memory
  std::vector<Dispatcher::Incoming> incoming_;  // of this turn
  SplitLog split_log_;
  std::vector<DispatcherEvent> unsynced_;       // not handed to the journal yet
  std::vector<Outgoing> unsent_;                // of this turn
  std::vector<std::function<void()>> answers_;  // to operators, of this turn
  HeldSends held_;
  uint64_t after_ = 0;    // last event on which those of this turn depend
  uint64_t durable_ = 0;  // last event that is on disk; of a journal
  bool must_sync_ = false;
  absl::Time sync_by_ = absl::InfiniteFuture();
  bool compacts_ = false;  // the journal wants a snapshot
  bool behind_logged_ = false;
  ShellLoad load_;
  absl::Time measured_at_ = absl::InfinitePast();  // load_.busy
  absl::Duration measured_cpu_;
  absl::Duration measured_journal_;
  absl::Duration waited_;  // for the journal
  absl::Duration measured_waited_;

  mutable std::mutex mu_;
  std::string target_;  // guarded by mu_
};

absl::Status DispatchServer::Shell::Check() const {
  if (config_.fault_tolerant_mode && config_.work_dir.empty()) {
    return InvalidArgument(
        "fault_tolerant_mode needs a work_dir, a folder to keep the state in");
  }
  const DispatcherSettings& settings = config_.settings;
  const std::pair<const char*, absl::Duration> durations[] = {
      {"heartbeat_interval", settings.heartbeat_interval},
      {"worker_timeout", settings.worker_timeout},
      {"park_after", settings.park_after},
      {"client_timeout", settings.client_timeout},
      {"sharer_timeout", settings.sharer_timeout},
      {"scale.interval", settings.scale.interval},
      {"scale.down_after", settings.scale.down_after},
      {"scale.start_time", settings.scale.start_time},
  };
  if (settings.scale.workers_max < std::max(1U, settings.scale.workers_min)) {
    return InvalidArgument(
        "scale.workers_max is {}; it must be at least 1 and at least "
        "scale.workers_min, which is {}",
        settings.scale.workers_max, settings.scale.workers_min);
  }
  for (const auto& [name, duration] : durations) {
    if (duration <= absl::ZeroDuration()) {
      return InvalidArgument("{} is {}; it must be longer than zero", name,
                             absl::FormatDuration(duration));
    }
  }
  return absl::OkStatus();
}

absl::Status DispatchServer::Shell::Begin() {
  if (config_.registry == nullptr) {
    FM_ASSIGN_OR_RETURN(config_.registry, DefaultFunctions());
  }
  FM_RETURN_IF_ERROR(Check());
  TuneMalloc();
  FM_RETURN_IF_ERROR(RaiseFileLimit());
  FM_ASSIGN_OR_RETURN(
      security_, LoadSecurity(config_.endpoint.security, Role::kDispatcher));
  FM_RETURN_IF_ERROR(CheckExposure(config_.endpoint.host, security_.has_value(),
                                   config_.endpoint.insecure_bind));
  FM_ASSIGN_OR_RETURN(DispatcherState state, OpenState());
  const absl::Status listening = Listen();
  if (!listening.ok()) {
    opened_.reset();  // frees the work-dir for another dispatcher
    return listening;
  }
  if (opened_ != nullptr) {
    journal_ = std::make_unique<JournalThread>(std::move(opened_),
                                               [this] { reactor_->Wake(); });
  }
  dispatcher_.emplace(config_.settings, MakePlanner(config_.registry),
                      std::move(state), SteadyNow());
  relays_.emplace(messenger_, config_.relay_bytes);
  LogInfo("dispatcher at {}", target());
  reactor_->Start(this);
  return absl::OkStatus();
}

absl::StatusOr<DispatcherState> DispatchServer::Shell::OpenState() {
  DispatcherState state;
  if (config_.work_dir.empty()) {
    state.journal = DrawJournalId();
    return state;
  }
  FM_ASSIGN_OR_RETURN(opened_, StateJournal::Open(config_.work_dir));
  state = opened_->TakeState();
  durable_ = state.sequence;
  LogInfo("{} jobs and {} splits after {} events in '{}'", state.jobs.size(),
          state.splits.size(), state.sequence, config_.work_dir);
  return state;
}

absl::Status DispatchServer::Shell::Listen() {
  FM_ASSIGN_OR_RETURN(
      peers_, reactor_->Listen(config_.endpoint.host, config_.endpoint.port,
                               kLimits, ServerSide(security_)));
  FM_ASSIGN_OR_RETURN(const Address own, Advertised(reactor_->PortOf(peers_)));
  {
    const std::lock_guard lock(mu_);
    target_ = own.ToString();
  }
  return opened_ == nullptr ? absl::OkStatus()
                            : opened_->SayAddress(own.ToString());
}

absl::StatusOr<Address> DispatchServer::Shell::Advertised(uint16_t port) const {
  if (!config_.endpoint.advertise.empty())
    return ParseHost(config_.endpoint.advertise, port);
  // Peers cannot connect to a wildcard. The interface of the route to any
  // outside address (192.0.2.1 is a documentation address) is used instead.
  const Address anywhere{"192.0.2.1", 9};
  return Address{IsWildcard(config_.endpoint.host)
                     ? LocalAddressToward(anywhere)
                     : config_.endpoint.host,
                 port};
}

void DispatchServer::Shell::OnMessage(absl::Time now, SocketId socket,
                                      std::string_view from,
                                      std::vector<Buffer> parts) {
  absl::StatusOr<Message> message =
      messenger_.Receive(now, socket, from, parts, /*answer=*/true);
  if (!message.ok() || !IsItsOwnName(*message)) return;
  if (auto* relay = std::get_if<Relay>(&*message)) {
    relays_->Pass(peers_, *dispatcher_, PeerId(std::string(from)),
                  std::move(*relay));
    return;
  }
  split_log_.Received(from, *message);
  incoming_.push_back({PeerId(std::string(from)), *std::move(message)});
}

// Measures the part of the time in which this thread is on a core or waits for
// the journal. If the journal's thread works for longer, its part counts.
void DispatchServer::Shell::MeasureShell(absl::Time now) {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  const absl::Duration cpu = absl::DurationFromTimespec(used);
  const absl::Duration journal =
      journal_ == nullptr ? absl::ZeroDuration() : journal_->Worked();
  const absl::Duration worked =
      std::max(cpu - measured_cpu_ + waited_ - measured_waited_,
               journal - measured_journal_);
  if (measured_at_ != absl::InfinitePast()) {
    load_.busy =
        std::clamp(absl::FDivDuration(worked, now - measured_at_), 0.0, 1.0);
  }
  measured_at_ = now;
  measured_cpu_ = cpu;
  measured_waited_ = waited_;
  measured_journal_ = journal;
  struct statvfs disk {};
  if (journal_ != nullptr && statvfs(config_.work_dir.c_str(), &disk) == 0) {
    load_.free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  dispatcher_->NoteShell(load_);
}

// True if the sender may use the worker's name. The name holds the key that
// clients verify, so only the owner of that key may use it.
bool DispatchServer::Shell::IsItsOwnName(const Message& message) const {
  const auto* beat = std::get_if<WorkerBeat>(&message);
  if (beat == nullptr || !reactor_->sender().has_value()) return true;
  return SplitKey(beat->worker.value()).key == reactor_->sender()->key;
}

void DispatchServer::Shell::OnTurn(absl::Time now) {
  if (lifecycle_.ended()) return;
  TakeProgress();
  if (lifecycle_.ended()) return;
  TransportFaults faults{messenger_.refused(), messenger_.dropped(),
                         reactor_->refused()};
  relays_->Note(faults);
  dispatcher_->NoteTransport(faults);
  if (now - measured_at_ >= kMeasureInterval) MeasureShell(now);
  if (!incoming_.empty()) Perform(dispatcher_->Handle(now, incoming_));
  incoming_.clear();
  if (now >= dispatcher_->NextDeadline()) Perform(dispatcher_->OnTick(now));
  Settle(now);
}

absl::Time DispatchServer::Shell::NextDeadline() const {
  return std::min(dispatcher_->NextDeadline(), sync_by_);
}

// Collects the effects of a turn: its events are handed to the journal
// together.
void DispatchServer::Shell::Perform(DispatcherEffects effects) {
  for (DispatcherEvent& event : effects.events) {
    if (LogEnabled(LogLevel::kDebug)) LogDebug("{}", Describe(event));
    if (journal_ == nullptr) continue;
    if (!MayBeLate(event)) must_sync_ = true;
    unsynced_.push_back(std::move(event));
  }
  for (const DispatcherNote& note : effects.notes) {
    LogOften(note.warning ? LogLevel::kWarning : LogLevel::kInfo,
             NoteName(note.kind), note.text);  // limited by kind
  }
  if (effects.workers_wanted.has_value() && config_.on_workers_wanted) {
    config_.on_workers_wanted(*effects.workers_wanted);
  }
  after_ = std::max(after_, effects.after);
  if (unsent_.empty()) {
    unsent_.swap(effects.sends);
  } else {
    std::move(effects.sends.begin(), effects.sends.end(),
              std::back_inserter(unsent_));
  }
  if (!dispatcher_->behind().ok() && !std::exchange(behind_logged_, true)) {
    LogError("{}", ErrorText(dispatcher_->behind()));
  }
}

void DispatchServer::Shell::Settle(absl::Time now) {
  if (!unsynced_.empty()) {
    sync_by_ = std::min(sync_by_, now + kMaxSyncDelay);
    if (must_sync_ || now >= sync_by_ || compacts_) HandOver();
  }
  if (compacts_) {
    // All events of this state have been handed over.
    journal_->Compact(
        std::make_unique<const DispatcherState>(dispatcher_->state()));
    compacts_ = false;
  }
  if (lifecycle_.ended()) return;
  held_.Hold(after_, std::exchange(unsent_, {}));
  for (auto& answer : std::exchange(answers_, {})) {
    held_.Hold(after_, std::move(answer));
  }
  SendDurable();
  while (TooMuchWaits()) {
    WaitFor([this] { journal_->WaitForProgress(); });
    TakeProgress();
    if (lifecycle_.ended()) return;
    SendDurable();
  }
}

// Hands the events to the journal. On a fast disk they are synced at the end.
void DispatchServer::Shell::HandOver() {
  const bool idle = journal_->waiting_events() == 0;
  must_sync_ = false;
  sync_by_ = absl::InfiniteFuture();
  WaitFor([&] {
    journal_->Append(std::exchange(unsynced_, {}),
                     dispatcher_->state().splits.size());
    if (idle) journal_->WaitIdle(kPatience);
  });
  TakeProgress();
}

void DispatchServer::Shell::WaitFor(const std::function<void()>& wait) {
  const absl::Time begun = SteadyNow();
  wait();
  waited_ += SteadyNow() - begun;
}

void DispatchServer::Shell::TakeProgress() {
  if (journal_ == nullptr) return;
  const JournalThread::Progress progress = journal_->TakeProgress();
  if (!progress.status.ok()) return End(progress.status);
  load_.journal_syncs = progress.syncs;
  load_.journal_time = progress.sync_time;
  load_.journal_last = progress.last_sync;
  compacts_ = progress.worth_compacting;
  if (progress.longest >= kSlowSync) {
    dispatcher_->NoteSlowSync(progress.longest);
  }
  if (progress.sequence == durable_) return;
  durable_ = progress.sequence;
  dispatcher_->NoteSynced(durable_, progress.last_delay);
}

// Sends the messages of which all events are on disk.
void DispatchServer::Shell::SendDurable() {
  held_.Release(journal_ == nullptr ? after_ : durable_,
                [this](const Outgoing& outgoing) {
                  split_log_.Sent(outgoing.to.value(), outgoing.message);
                  messenger_.Send(peers_, outgoing.to.value(),
                                  outgoing.message);
                });
}

// True if the disk is so slow that the memory for what waits is used up.
bool DispatchServer::Shell::TooMuchWaits() const {
  if (journal_ == nullptr) return false;
  const uint64_t events = journal_->waiting_events();
  if (events == 0) return false;
  return events > kWaitingEventsMax ||
         journal_->waiting_bytes() > kWaitingBytesMax ||
         held_.count() > kHeldMessagesMax || held_.bytes() > kWaitingBytesMax;
}

// Stops the server without answers: a change that cannot be journaled must not
// be sent. Peers wait for another dispatcher.
void DispatchServer::Shell::End(absl::Status why) {
  LogError("{}", ErrorText(why));
  unsynced_.clear();
  held_.Clear();
  reactor_->Stop();
  lifecycle_.End(std::move(why));
}

DispatchServer::DispatchServer(DispatcherConfig config)
    : shell_(std::make_shared<Shell>(std::move(config))) {}
DispatchServer::~DispatchServer() { Stop(); }
absl::Status DispatchServer::Start() { return shell_->Start(); }
void DispatchServer::Stop() { shell_->Stop(); }
absl::Status DispatchServer::Join() {
  const std::shared_ptr<Shell> shell = shell_;
  return shell->Join();
}
bool DispatchServer::running() const { return shell_->running(); }
absl::StatusOr<std::string> DispatchServer::ExportState(
    absl::Duration timeout) const {
  return shell_->Export(timeout,
                        [](const Dispatcher& dispatcher, absl::Time now) {
                          return dispatcher.StatusJson(now);
                        });
}
absl::StatusOr<std::string> DispatchServer::ExportVerdict(
    const std::string& job, absl::Duration timeout) const {
  FM_ASSIGN_OR_RETURN(
      const std::optional<Verdict> verdict,
      shell_->Export(timeout,
                     [job](const Dispatcher& dispatcher, absl::Time now) {
                       return dispatcher.JudgeJob(now, JobName(job));
                     }));
  if (!verdict.has_value()) return NotFound("there is no job '{}'", job);
  return VerdictText(*verdict);
}
absl::StatusOr<std::string> DispatchServer::ExportEvents(
    absl::Duration timeout) const {
  return shell_->Export(timeout,
                        [](const Dispatcher& dispatcher, absl::Time now) {
                          return dispatcher.EventsJson(now);
                        });
}
absl::Status DispatchServer::DrainWorker(const std::string& worker, bool drains,
                                         absl::Duration timeout) {
  return shell_->Request(
      timeout, [worker, drains](Dispatcher& dispatcher, absl::Time now) {
        return dispatcher.DrainWorker(now, worker, drains);
      });
}
absl::Status DispatchServer::CancelJob(const std::string& job,
                                       absl::Duration timeout) {
  return shell_->Request(timeout,
                         [job](Dispatcher& dispatcher, absl::Time now) {
                           return dispatcher.CancelJob(now, JobName(job));
                         });
}
absl::StatusOr<ExportedRun> DispatchServer::ExportRun(
    const std::string& job, absl::Duration timeout) const {
  FM_ASSIGN_OR_RETURN(
      const std::optional<ExportedRun> run,
      shell_->Export(timeout, [job](const Dispatcher& dispatcher, absl::Time) {
        return dispatcher.PresentRun(JobName(job));
      }));
  if (!run.has_value()) return NotFound("there is no job '{}'", job);
  return *run;
}
absl::StatusOr<DispatcherSnapshot> DispatchServer::ExportSnapshot(
    absl::Duration timeout) const {
  return shell_->Export(timeout,
                        [](const Dispatcher& dispatcher, absl::Time now) {
                          return dispatcher.Snapshot(now);
                        });
}
std::string DispatchServer::target() const { return shell_->target(); }

}  // namespace feedmill
