#include <sys/statvfs.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "broker/durable_outbox.h"
#include "broker/job_planner.h"
#include "broker/journal_thread.h"
#include "broker/relay_post.h"
#include "broker/state_journal.h"
#include "broker/status_report.h"
#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/lifecycle.h"
#include "core/net/log.h"
#include "core/net/messenger.h"
#include "core/net/process_limits.h"
#include "core/net/reactor.h"
#include "core/net/reactor_question.h"
#include "core/net/split_log.h"
#include "core/ops/plugin_functions.h"
#include "feedmill/dispatcher.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLinger = absl::Milliseconds(50);
constexpr absl::Duration kMeasureInterval = absl::Seconds(1);
// The bytes limit is high because a manifest of millions of files is one part.
constexpr int64_t kMessageBytesMax = int64_t{1} << 30;
constexpr int kMessagesMax = 1'000;

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
      if (outbox_.has_value()) outbox_->Close();
    });
  }
  absl::Status Join() { return lifecycle_.Join(); }
  bool running() const { return lifecycle_.running(); }
  // Runs `ask` on the dispatcher's thread and returns its result.
  template <class Ask>
  auto Export(absl::Duration timeout, Ask ask) {
    using Answer = absl::StatusOr<decltype(ask(
        std::declval<const Dispatcher&>(), absl::Time()))>;
    return Question<Answer>(timeout, [this, ask](const auto& reply) {
      reply(ask(*dispatcher_, reactor_->now()));
    });
  }
  // Runs `ask`, a request of an operator, on the dispatcher's thread.
  template <class Ask>
  absl::Status Request(absl::Duration timeout, Ask ask) {
    return Question<absl::Status>(timeout, [this, ask](const auto& reply) {
      Dispatcher::OperatorAnswer done = ask(*dispatcher_, reactor_->now());
      Perform(std::move(done.effects));
      outbox_->Add([reply, status = std::move(done.status)] { reply(status); });
    });
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
  void End(absl::Status why);
  template <class Result>
  Result Question(absl::Duration timeout,
                  std::function<void(std::function<void(Result)>)> ask) {
    if (!running()) return FailedPrecondition("the dispatcher does not run");
    return AskReactor<Result>(*reactor_, "the dispatcher", timeout,
                              std::move(ask));
  }

  DispatcherConfig config_;
  Lifecycle lifecycle_;
  std::optional<Security> security_;
  const std::unique_ptr<Reactor> reactor_;

  // Created by Begin; then used by the reactor's thread only.
  Messenger messenger_;
  std::optional<Dispatcher> dispatcher_;
  std::optional<RelayPost> relays_;
  SocketId peers_;
  std::unique_ptr<StateJournal> opened_;  // until outbox_ writes it
  std::optional<DurableOutbox> outbox_;
  std::vector<Dispatcher::Incoming> incoming_;  // of this turn
  SplitLog split_log_;
  bool behind_logged_ = false;
  ShellLoad load_;
  absl::Time measured_at_ = absl::InfinitePast();  // load_.busy
  absl::Duration measured_cpu_;
  absl::Duration measured_journal_;
  absl::Duration measured_waited_;

  mutable std::mutex mu_;
  std::string target_;  // guarded by mu_
};

absl::Status DispatchServer::Shell::Check() const {
  if (config_.standby && config_.work_dir.empty()) {
    return InvalidArgument(
        "a standby needs the work_dir of the dispatcher that it waits for");
  }
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
  std::unique_ptr<JournalThread> journal;
  if (opened_ != nullptr) {
    journal = std::make_unique<JournalThread>(std::move(opened_),
                                              [this] { reactor_->Wake(); });
  }
  dispatcher_.emplace(config_.settings, MakePlanner(config_.registry),
                      std::move(state), SteadyNow());
  outbox_.emplace(
      *dispatcher_, std::move(journal), [this](const Outgoing& outgoing) {
        split_log_.Sent(outgoing.to.value(), outgoing.message);
        messenger_.Send(peers_, outgoing.to.value(), outgoing.message);
      });
  relays_.emplace(messenger_);
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
  if (config_.standby) {
    LogInfo("standby: waits until no dispatcher leads the state in '{}'",
            HideUrlSecrets(config_.work_dir));
  }
  FM_ASSIGN_OR_RETURN(
      opened_, StateJournal::Open(config_.work_dir, config_.standby, [this] {
        return config_.stop_waiting && config_.stop_waiting();
      }));
  state = opened_->TakeState();
  if (opened_->term() > 0) {
    load_.state_place = HideUrlSecrets(config_.work_dir);
    load_.term = opened_->term();
    load_.leads_since = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(),
                                         absl::UTCTimeZone());
  }
  LogInfo("{} jobs and {} splits after {} events in '{}'", state.jobs.size(),
          state.splits.size(), state.sequence,
          HideUrlSecrets(config_.work_dir));
  return state;
}

absl::Status DispatchServer::Shell::Listen() {
  FM_ASSIGN_OR_RETURN(
      peers_, reactor_->Listen(config_.endpoint.host, config_.endpoint.port,
                               {.message_bytes_max = kMessageBytesMax,
                                .messages_max = kMessagesMax,
                                .unsent_bytes_max = config_.relay_bytes},
                               ServerSide(security_)));
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
  const absl::Duration journal = outbox_->journal_worked();
  const absl::Duration worked =
      std::max(cpu - measured_cpu_ + outbox_->waited() - measured_waited_,
               journal - measured_journal_);
  if (measured_at_ != absl::InfinitePast()) {
    load_.busy =
        std::clamp(absl::FDivDuration(worked, now - measured_at_), 0.0, 1.0);
  }
  measured_at_ = now;
  measured_cpu_ = cpu;
  measured_waited_ = outbox_->waited();
  measured_journal_ = journal;
  load_.journal_syncs = outbox_->progress().syncs;
  load_.journal_time = outbox_->progress().sync_time;
  load_.journal_last = outbox_->progress().last_sync;
  load_.standbys.clear();
  for (const Standby& standby : *outbox_->progress().standbys) {
    StandbySnapshot& shown = load_.standbys.emplace_back();
    shown.name = standby.name;
    shown.heard_s = absl::ToDoubleSeconds(standby.heard);
    if (!standby.sequence) continue;
    const uint64_t events = outbox_->progress().sequence;
    shown.behind = events - std::min(events, *standby.sequence);
  }
  struct statvfs disk {};
  if (outbox_->has_journal() && statvfs(config_.work_dir.c_str(), &disk) == 0) {
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
  if (absl::Status taken = outbox_->TakeProgress(); !taken.ok()) {
    return End(std::move(taken));
  }
  TransportFaults faults{messenger_.refused(), messenger_.dropped(),
                         reactor_->refused()};
  relays_->Note(faults);
  faults.relay_waiting_bytes = reactor_->UnsentBytesAt(peers_);
  dispatcher_->NoteTransport(faults);
  if (now - measured_at_ >= kMeasureInterval) MeasureShell(now);
  if (!incoming_.empty()) Perform(dispatcher_->Handle(now, incoming_));
  incoming_.clear();
  if (now >= dispatcher_->NextDeadline()) Perform(dispatcher_->OnTick(now));
  if (absl::Status settled = outbox_->Settle(now); !settled.ok()) {
    End(std::move(settled));
  }
}

absl::Time DispatchServer::Shell::NextDeadline() const {
  return std::min(dispatcher_->NextDeadline(), outbox_->NextDeadline());
}

// Logs the effects of a call, and passes its events and messages on.
void DispatchServer::Shell::Perform(DispatcherEffects effects) {
  if (LogEnabled(LogLevel::kDebug)) {
    for (const DispatcherEvent& event : effects.events) {
      LogDebug("{}", Describe(event));
    }
  }
  for (const DispatcherNote& note : effects.notes) {
    LogOften(note.warning ? LogLevel::kWarning : LogLevel::kInfo,
             NoteName(note.kind), note.text);  // limited by kind
  }
  if (effects.workers_wanted.has_value() && config_.on_workers_wanted) {
    config_.on_workers_wanted(*effects.workers_wanted);
  }
  outbox_->Add(effects);
  if (!dispatcher_->behind().ok() && !std::exchange(behind_logged_, true)) {
    LogError("{}", ErrorText(dispatcher_->behind()));
  }
}

// Stops the server without answers: a change that cannot be journaled must not
// be sent. Peers wait for another dispatcher.
void DispatchServer::Shell::End(absl::Status why) {
  LogError("{}", ErrorText(why));
  outbox_->Discard();
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
