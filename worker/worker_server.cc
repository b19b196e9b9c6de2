#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/byte_budget.h"
#include "core/base/cache_faults.h"
#include "core/base/data_warnings.h"
#include "core/base/release.h"
#include "core/base/status.h"
#include "core/dataset/python_functions.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/in_process_channel.h"
#include "core/net/lifecycle.h"
#include "core/net/log.h"
#include "core/net/messenger.h"
#include "core/net/process_limits.h"
#include "core/net/reactor.h"
#include "core/net/reactor_question.h"
#include "core/net/release_thread.h"
#include "core/net/shared_memory_server.h"
#include "core/net/split_log.h"
#include "core/ops/plugin_functions.h"
#include "core/pipeline/block_cache.h"
#include "core/process/process_quota.h"
#include "core/process/thread_limit.h"
#include "core/python/python_pool.h"
#include "feedmill/worker.h"
#include "worker/client_links.h"
#include "worker/service_inputs.h"
#include "worker/stage_runner.h"
#include "worker/worker_agent.h"
#include "worker/worker_status.h"

namespace feedmill {
namespace {

// Delay after which an answer is late, and intervals of log lines about it.
constexpr absl::Duration kAnswerLate = absl::Milliseconds(300);
constexpr absl::Duration kAnswerLost = absl::Seconds(5);
constexpr absl::Duration kWaitLogInterval = absl::Seconds(10);
// Time to send the last messages.
constexpr absl::Duration kLinger = absl::Milliseconds(50);
// Elements that have left and wait to be freed have this part of the memory of
// elements beside it.
constexpr uint64_t kReleaseShare = 4;
// Same for elements of streamed inputs that are made ahead.
constexpr uint64_t kStreamShare = 4;
constexpr uint32_t kSlotsPerThread = 2;
// Threads of the reactor and of libzmq, the maker thread, and the program's
// own.
constexpr size_t kThreadsBeside = 7;
// Room for a grant with a state, in which a string or a list of numbers may
// take more bytes than it has.
constexpr Reactor::Limits kClientLimits{int64_t{2 * kRowStateMax}, 10'000};
constexpr Reactor::Limits kDispatcherLimits{int64_t{1} << 30, 1'000};

// The answer to a peer that takes this worker for a dispatcher.
Refusal WrongAddress() {
  return Refusal{InvalidArgument(
      "a worker listens at this address; give the dispatcher's")};
}

}  // namespace

// Passes what frames hold back to the reactor's thread when libzmq has sent or
// dropped them.
class SentFrames : public std::enable_shared_from_this<SentFrames> {
 public:
  explicit SentFrames(Reactor& reactor) : reactor_(reactor) {}

  // Returns an object that any thread may drop in place of `unsent`.
  std::shared_ptr<const void> Follow(std::shared_ptr<const void> unsent) {
    if (unsent == nullptr) return nullptr;
    const void* const key = unsent.get();
    return {key, [own = shared_from_this(), unsent = std::move(unsent)](
                     const void*) mutable { own->Return(std::move(unsent)); }};
  }
  // Drops what was returned; false if there was nothing. The reactor's thread,
  // or after its end.
  bool DropReturned() {
    std::vector<std::shared_ptr<const void>> returned;
    {
      const std::lock_guard lock(mu_);
      returned.swap(returned_);
    }
    return !returned.empty();
  }
  // If `awaited`, the reactor wakes up when something is returned.
  void Await(bool awaited) {
    const std::lock_guard lock(mu_);
    awaited_ = awaited;
    if (awaited_ && !returned_.empty()) reactor_.Wake();
  }

 private:
  void Return(std::shared_ptr<const void> unsent) {
    const std::lock_guard lock(mu_);
    returned_.push_back(std::move(unsent));
    if (awaited_) reactor_.Wake();
  }

  Reactor& reactor_;
  std::mutex mu_;
  bool awaited_ = false;                               // guarded by mu_
  std::vector<std::shared_ptr<const void>> returned_;  // guarded by mu_
};

class WorkerServer::Shell : public ReactorHandler {
 public:
  explicit Shell(WorkerConfig config)
      : config_(std::move(config)),
        lifecycle_("worker"),
        reactor_(std::make_unique<Reactor>("fm-worker")) {
    if (config_.endpoint.host.empty()) config_.endpoint.host = kLoopback;
  }

  absl::Status Start() {
    return lifecycle_.Start([this] {
      absl::Status begun = Begin();
      if (!begun.ok()) {  // Start may be called again
        reactor_->Close(clients_);
        reactor_->Close(dispatcher_);
      }
      return begun;
    });
  }
  absl::Status WaitRegistered(absl::Duration timeout);
  bool registered() const {
    const std::lock_guard lock(mu_);
    return registered_;
  }
  void Drain(absl::Duration timeout);
  void Stop();
  absl::Status Join() { return lifecycle_.Join(); }
  bool running() const { return lifecycle_.running(); }
  absl::StatusOr<WorkerStatus> ExportStatus(absl::Duration timeout);
  std::string target() const {
    const std::lock_guard lock(mu_);
    return target_;
  }

 private:
  absl::Status Begin();
  void Make();
  absl::StatusOr<std::optional<Address>> ConfiguredAddress(uint16_t port) const;
  void MakeAgent();
  void FollowLocalAddress(absl::Time now);
  void TakeAddress(absl::Time now, const Address& own);

  // ReactorHandler
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnPeerGone(absl::Time, SocketId, std::string_view peer) override {
    memory_->Leave(peer);
  }
  void OnTurn(absl::Time now) override;
  absl::Time NextDeadline() const override;

  void OnRelay(absl::Time now, const Relay& relay);
  void LeaveProcess();
  void WithdrawFromProcess();
  void OnAnswered(absl::Time now);
  void LogDataWarnings(absl::Time now);
  void OnDispatcherRefuses(const absl::Status& why);
  void WatchDispatcher(absl::Time now);
  absl::Time DispatcherLost() const;
  void BeginDrain(absl::Duration timeout);
  std::shared_ptr<BlockSource> Blocks() const;
  void Perform(WorkerEffects effects);
  bool SendToClient(const ClientLinks::Route& route, const Message& message,
                    std::shared_ptr<const void> unsent);
  void End(absl::Status why);

  WorkerConfig config_;
  Lifecycle lifecycle_;

  std::optional<PythonInterpreter> python_;  // of Python functions
  const std::unique_ptr<Reactor> reactor_;
  // Made by Begin; used on the reactor's thread from then on.
  std::optional<Security> security_;
  std::unique_ptr<Messenger> messenger_;
  std::unique_ptr<SharedMemoryServer> memory_;
  // Memory for pieces that no client reads in place.
  const std::shared_ptr<BlockCache> own_memory_ =
      std::make_shared<BlockCache>();
  std::unique_ptr<WorkerAgent> agent_;
  const std::shared_ptr<SentFrames> sent_ =
      std::make_shared<SentFrames>(*reactor_);
  // The address for clients: the configured one, or this machine's on the
  // connection to the dispatcher. nullopt: not known yet.
  std::optional<Address> own_;
  bool follows_local_address_ = false;
  WorkerId worker_;
  Incarnation incarnation_;
  std::unique_ptr<ClientLinks> links_;
  std::shared_ptr<InProcessChannel> channel_;
  std::shared_ptr<ServicePlace> inputs_place_;  // null: with keys
  std::unique_ptr<StageRunner> runner_;
  std::thread maker_;
  SocketId dispatcher_;
  SocketId clients_;
  Address dispatcher_at_;
  std::string dispatcher_address_;
  absl::Time last_answer_;  // or the start
  bool answered_ = false;
  bool wait_logged_ = false;
  absl::Time next_log_;
  std::optional<absl::Time> drain_end_;
  absl::Status refusal_;  // last one of the dispatcher
  std::map<PlanId, std::vector<std::string>> places_;  // for metrics
  uint64_t warnings_logged_ = 0;
  absl::Time warnings_log_at_ = absl::InfinitePast();
  SplitLog split_log_;

  mutable std::mutex mu_;
  std::condition_variable changed_;
  bool registered_ = false;  // guarded by mu_
  std::string target_;       // guarded by mu_
};

absl::Status WorkerServer::Shell::Begin() {
  if (config_.registry == nullptr) {
    FM_ASSIGN_OR_RETURN(config_.registry, DefaultFunctions());
  }
  FM_ASSIGN_OR_RETURN(config_.registry,
                      WithPython(config_.registry,
                                 {config_.allow_python, config_.python_path}));
  if (const auto& python = config_.registry->python()) {
    FM_ASSIGN_OR_RETURN(python_, python->Describe());
  }
  FM_ASSIGN_OR_RETURN(
      config_.element_bytes_max,
      ElementBytesMax(config_.element_bytes_max, kElementBytesMax));
  TuneMalloc();
  FM_RETURN_IF_ERROR(RaiseFileLimit());
  FM_RETURN_IF_ERROR(
      CheckThreads(static_cast<size_t>(config_.threads > 0 ? config_.threads
                                                           : AvailableCpus()) +
                       kThreadsBeside,
                   "give the worker fewer (--threads)"));
  FM_ASSIGN_OR_RETURN(const Address dispatcher,
                      ParseAddress(config_.dispatcher));
  FM_ASSIGN_OR_RETURN(security_,
                      LoadSecurity(config_.endpoint.security, Role::kWorker));
  FM_RETURN_IF_ERROR(CheckExposure(config_.endpoint.host, security_.has_value(),
                                   config_.endpoint.insecure_bind));
  FM_ASSIGN_OR_RETURN(
      clients_, reactor_->Listen(config_.endpoint.host, config_.endpoint.port,
                                 kClientLimits, ServerSide(security_)));
  FM_ASSIGN_OR_RETURN(const std::optional<Address> own,
                      ConfiguredAddress(reactor_->PortOf(clients_)));
  FM_ASSIGN_OR_RETURN(dispatcher_,
                      reactor_->Connect(dispatcher, kDispatcherLimits,
                                        ToDispatcher(security_)));
  dispatcher_at_ = dispatcher;
  dispatcher_address_ = dispatcher.ToString();
  messenger_ =
      std::make_unique<Messenger>(*reactor_, config_.endpoint.cluster_id);
  // With keys, the sender's identity is proved by its socket only.
  SharedMemoryServer::MessageHandler on_message;
  if (!security_.has_value()) {
    on_message = [this](std::string_view peer, std::vector<Buffer> parts) {
      OnMessage(reactor_->now(), clients_, peer, std::move(parts));
    };
  }
  config_.memory_bytes =
      ElementMemory(config_.memory_bytes,
                    config_.threads > 0 ? config_.threads : AvailableCpus());
  BoundReleases(config_.memory_bytes / kReleaseShare);
  memory_ = std::make_unique<SharedMemoryServer>(
      *reactor_, config_.shared_bytes.value_or(config_.memory_bytes),
      std::move(on_message));
  MakeAgent();
  last_answer_ = SteadyNow();
  next_log_ = last_answer_ + kAnswerLate;
  follows_local_address_ = !own.has_value();
  if (own.has_value()) {
    TakeAddress(last_answer_, *own);
  } else {
    LogInfo(
        "worker at port {} with {} thread(s), dispatcher {}; it advertises its "
        "address on the connection to the dispatcher",
        reactor_->PortOf(clients_), runner_->threads(), dispatcher_address_);
  }
  reactor_->Start(this);
  maker_ = std::thread([this] { Make(); });
  return absl::OkStatus();
}

// Runs the reactor's loop, so that cheap requests that arrive there are
// computed on the same thread. If that takes longer, the reactor's own thread
// takes over.
void WorkerServer::Shell::Make() {
  pthread_setname_np(pthread_self(), "fm-maker");
  while (reactor_->Turn(absl::InfiniteFuture())) runner_->MakeAtOnce();
}

// nullopt: only the connection to the dispatcher tells.
absl::StatusOr<std::optional<Address>> WorkerServer::Shell::ConfiguredAddress(
    uint16_t port) const {
  if (!config_.endpoint.advertise.empty())
    return ParseHost(config_.endpoint.advertise, port);
  if (IsWildcard(config_.endpoint.host)) return std::nullopt;
  return Address{config_.endpoint.host, port};
}

// The dispatcher's name may not resolve when the worker starts, and this
// machine may get another address while the connection is down: so each
// connection decides.
void WorkerServer::Shell::FollowLocalAddress(absl::Time now) {
  if (!follows_local_address_) return;
  const std::string host = reactor_->LocalHost(dispatcher_);
  if (host.empty() || (own_.has_value() && own_->host == host)) return;
  TakeAddress(now, Address{host, reactor_->PortOf(clients_)});
}

// The address is the worker's name, so with another address it is another
// worker, which registers again.
void WorkerServer::Shell::TakeAddress(absl::Time now, const Address& own) {
  if (IsLoopback(own.host) && !IsLoopback(dispatcher_at_.host)) {
    LogWarning(
        "this worker's address for clients is {}, which only this machine can "
        "reach; listen on another host, or advertise one",
        own.ToString());
  }
  WithdrawFromProcess();
  own_ = own;
  worker_ = WorkerId(security_.has_value()
                         ? WithKey(own.ToString(), security_->own.public_key)
                         : own.ToString());
  incarnation_ = Incarnation(NextIncarnation());
  {
    const std::lock_guard lock(mu_);
    target_ = own.ToString();
  }
  LogInfo("worker at {} with {} thread(s), dispatcher {}", own.ToString(),
          runner_->threads(), dispatcher_address_);
  // Before any client can hear of this worker.
  if (config_.in_process) AnnounceWorker(worker_, incarnation_, channel_);
  Perform(agent_->TakeName(now, worker_, incarnation_));
}

void WorkerServer::Shell::MakeAgent() {
  // With keys, a worker may not read what workers make.
  if (!security_.has_value()) {
    inputs_place_ = std::make_shared<ServicePlace>();
    inputs_place_->dispatcher = dispatcher_at_;
    inputs_place_->bytes_max = config_.memory_bytes / kStreamShare;
    inputs_place_->cluster_id = config_.endpoint.cluster_id;
  }
  StageRunner::Results results;
  results.computed = [this](Computed computed) {
    if (computed.packed != nullptr) {
      links_->NotePacked(computed.plan, *computed.packed, computed.codec,
                         computed.packing);
    }
    Perform(agent_->OnComputed(reactor_->now(), computed.task,
                               std::move(computed.piece), computed.cost,
                               std::move(computed.packed),
                               std::move(computed.costs), computed.times));
  };
  results.defined = [this](Defined defined) {
    if (!defined.status.ok()) {
      LogWarning("plan not compiled: {}", ErrorText(defined.status));
    }
    places_.insert_or_assign(defined.plan, std::move(defined.places));
    Perform(agent_->OnDefined(reactor_->now(), defined.plan,
                              std::move(defined.status), defined.traits));
  };
  results.resolved = [this](ManifestResult result) {
    Perform(agent_->OnResolved(reactor_->now(), std::move(result)));
  };
  runner_ = std::make_unique<StageRunner>(
      config_.threads, config_.registry,
      [this](std::function<void()> work) { reactor_->Post(std::move(work)); },
      std::move(results),
      [place =
           inputs_place_](const Graph& graph) -> std::shared_ptr<InputService> {
        return place == nullptr ? nullptr : MakeServiceInputs(graph, place);
      },
      StageRunner::Limits{.element_bytes_max = config_.element_bytes_max,
                          .stream_bytes = config_.memory_bytes / kStreamShare});
  WorkerAgentSettings settings;
  settings.threads = static_cast<uint32_t>(runner_->threads());
  settings.slots = kSlotsPerThread * settings.threads;
  settings.memory_bytes = config_.memory_bytes;
  settings.frame_bytes = config_.frame_bytes;
  settings.python = python_;
  settings.release = ReleaseName();
  // Not known on every machine.
  if (const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE); cache > 0) {
    settings.cache_bytes = static_cast<uint64_t>(cache);
  }
  agent_ = std::make_unique<WorkerAgent>(std::move(settings));
  links_ = std::make_unique<ClientLinks>(*reactor_, *memory_, clients_);
  channel_ = InProcessChannel::Make(
      *reactor_, [this](const std::shared_ptr<InProcessChannel>& from,
                        const Message& message) {
        Perform(
            agent_->Handle(reactor_->now(), links_->InProcess(from), message));
      });
}

absl::Status WorkerServer::Shell::WaitRegistered(absl::Duration timeout) {
  const absl::Time deadline = SteadyNow() + timeout;
  std::unique_lock lock(mu_);
  for (;;) {
    if (registered_) return absl::OkStatus();
    if (lifecycle_.ended()) {
      const absl::Status why = lifecycle_.reason();
      return why.ok() ? Cancelled("the worker was stopped before it registered")
                      : why;
    }
    if (!lifecycle_.running()) {
      return FailedPrecondition(
          "the worker has not been started: call Start first");
    }
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      return DeadlineExceeded("no dispatcher answered at {} for {}",
                              config_.dispatcher,
                              absl::FormatDuration(timeout));
    }
    // The lifecycle ends under another lock and does not notify changed_: poll.
    changed_.wait_for(lock, absl::ToChronoNanoseconds(
                                std::min(left, absl::Milliseconds(100))));
  }
}

absl::StatusOr<WorkerStatus> WorkerServer::Shell::ExportStatus(
    absl::Duration timeout) {
  if (!running()) return FailedPrecondition("the worker does not run");
  return AskReactor<absl::StatusOr<WorkerStatus>>(
      *reactor_, "the worker", timeout, [this](const auto& reply) {
        reply(WorkerStatus{target(), dispatcher_address_, registered(),
                           drain_end_.has_value(), agent_->lease_count(),
                           memory_->links(), agent_->Load(reactor_->now()),
                           places_});
      });
}

void WorkerServer::Shell::Drain(absl::Duration timeout) {
  reactor_->Post([this, timeout] { BeginDrain(timeout); });
}

void WorkerServer::Shell::BeginDrain(absl::Duration timeout) {
  if (drain_end_.has_value() || !answered_) {
    End(absl::OkStatus());
    return;
  }
  LogInfo("draining: taking nothing new, {} lease(s) left",
          agent_->lease_count());
  drain_end_ = reactor_->now() + timeout;
  Perform(agent_->Drain(reactor_->now()));
}

void WorkerServer::Shell::Stop() {
  lifecycle_.Stop([this] {
    LeaveProcess();
    reactor_->Stop(kLinger);
    reactor_->Join();
    if (maker_.joinable()) maker_.join();
    runner_.reset();
    sent_->DropReturned();
  });
  changed_.notify_all();
}

void WorkerServer::Shell::OnMessage(absl::Time now, SocketId socket,
                                    std::string_view from,
                                    std::vector<Buffer> parts) {
  const bool from_dispatcher = socket == dispatcher_;
  absl::StatusOr<Message> message = messenger_->Receive(
      now, socket, from, parts, /*answer=*/!from_dispatcher);
  if (!from_dispatcher) {
    if (!message.ok()) return;
    if (const auto* request = std::get_if<ShareRequest>(&*message)) {
      messenger_->Send(clients_, from, memory_->OnRequest(now, from, *request));
      return;
    }
    if (!std::holds_alternative<Grant>(*message)) {
      if (!std::holds_alternative<Refusal>(*message)) {
        messenger_->Send(clients_, from, WrongAddress());
      }
      return;
    }
    Perform(agent_->Handle(now, ClientLinks::Direct(from), *message));
    return;
  }
  if (!message.ok()) {
    OnDispatcherRefuses(message.status());
    return;
  }
  if (const auto* refusal = std::get_if<Refusal>(&*message)) {
    OnDispatcherRefuses(refusal->status);
  } else if (std::holds_alternative<WorkerAnswer>(*message)) {
    OnAnswered(now);
  } else if (const auto* relay = std::get_if<Relay>(&*message)) {
    return OnRelay(now, *relay);
  }
  split_log_.Received("", *message);
  Perform(agent_->Handle(now, kDispatcherPeer, *message));
}

// Handles a message of a client that reaches only the dispatcher.
void WorkerServer::Shell::OnRelay(absl::Time now, const Relay& relay) {
  const absl::StatusOr<Message> inner =
      messenger_->Receive(now, dispatcher_, "", relay.parts, /*answer=*/false);
  if (!inner.ok() || !std::holds_alternative<Grant>(*inner)) return;
  Perform(agent_->Handle(now, ClientLinks::Relayed(relay.client), *inner));
}

void WorkerServer::Shell::WithdrawFromProcess() {
  if (own_.has_value()) WithdrawWorker(worker_, incarnation_);
}

void WorkerServer::Shell::LeaveProcess() {
  if (channel_ == nullptr) return;
  WithdrawFromProcess();
  channel_->Close();
}

void WorkerServer::Shell::OnAnswered(absl::Time now) {
  if (!answered_) {
    LogInfo("registered with the dispatcher at {}", dispatcher_address_);
  } else if (wait_logged_) {
    LogInfo("the dispatcher at {} answers again", dispatcher_address_);
  }
  answered_ = true;
  wait_logged_ = false;
  last_answer_ = now;
  next_log_ = now + std::max(kAnswerLost, agent_->AnswerDue());
  refusal_ = absl::OkStatus();
  {
    const std::lock_guard lock(mu_);
    if (registered_) return;
    registered_ = true;
  }
  changed_.notify_all();
}

void WorkerServer::Shell::OnDispatcherRefuses(const absl::Status& why) {
  if (refusal_ != why) {
    LogError("the dispatcher at {} refuses this worker: {}",
             dispatcher_address_, ErrorText(why));
  }
  refusal_ = why;
}

absl::Time WorkerServer::Shell::DispatcherLost() const {
  const absl::Duration due =
      answered_ ? agent_->AnswerDue() : absl::ZeroDuration();
  return last_answer_ + std::max(config_.dispatcher_timeout, due);
}

void WorkerServer::Shell::WatchDispatcher(absl::Time now) {
  if (now >= DispatcherLost()) {
    End(DeadlineExceeded(
        "no dispatcher answered at {} for {}; is it running, and is the "
        "address right?",
        dispatcher_address_,
        absl::FormatDuration(
            absl::Trunc(now - last_answer_, absl::Milliseconds(10)))));
    return;
  }
  const absl::Status handshake = reactor_->HandshakeFailure(dispatcher_);
  if (absl::IsFailedPrecondition(handshake)) OnDispatcherRefuses(handshake);
  if (now < next_log_) return;
  LogWarning("waiting for the dispatcher at {}: no answer for {}{}",
             dispatcher_address_,
             absl::FormatDuration(
                 absl::Trunc(now - last_answer_, absl::Milliseconds(100))),
             refusal_.ok() ? handshake.ok() ? "" : "; " + ErrorText(handshake)
                           : "; it said: " + ErrorText(refusal_));
  wait_logged_ = true;
  next_log_ = now + kWaitLogInterval;
}

void WorkerServer::Shell::OnTurn(absl::Time now) {
  FollowLocalAddress(now);
  WatchDispatcher(now);
  if (drain_end_.has_value() && now >= *drain_end_) {
    LogWarning("stopping before the drain is complete: it took too long");
    End(absl::OkStatus());
    return;
  }
  if (now >= agent_->NextDeadline()) Perform(agent_->OnTick(now));
  if (sent_->DropReturned() && agent_->awaits_transport()) {
    Perform(agent_->OnSent(now));
  }
  sent_->Await(agent_->awaits_transport());
  memory_->OnTurn(now);
  runner_->SubmitQueued();
  if (inputs_place_ != nullptr) inputs_place_->workers = agent_->workers();
  if (const uint64_t faults = CacheFaultsNoted(); faults > 0) {
    agent_->NoteCacheFaults(faults, FirstCacheFault());
  }
  agent_->ReadInPlace(memory_->links() > 0);
  LogDataWarnings(now);
}

// Logs the process's data warnings if they have changed, at most once per
// kWaitLogInterval.
void WorkerServer::Shell::LogDataWarnings(absl::Time now) {
  const uint64_t noted = DataWarningsNoted();
  if (noted == warnings_logged_ || now < warnings_log_at_) return;
  warnings_logged_ = noted;
  warnings_log_at_ = now + kWaitLogInterval;
  for (const std::string& text : DataWarningTexts()) LogWarning("{}", text);
}

absl::Time WorkerServer::Shell::NextDeadline() const {
  absl::Time next = std::min(agent_->NextDeadline(), next_log_);
  next = std::min(next, DispatcherLost());
  return drain_end_.has_value() ? std::min(next, *drain_end_) : next;
}

std::shared_ptr<BlockSource> WorkerServer::Shell::Blocks() const {
  std::shared_ptr<BlockSource> shared = memory_->blocks();
  return shared != nullptr ? std::move(shared) : own_memory_;
}

void WorkerServer::Shell::Perform(WorkerEffects effects) {
  for (PlanDefinition& definition : effects.define) {
    runner_->Define(std::move(definition));
  }
  for (ManifestRequest& request : effects.resolve) {
    runner_->Resolve(std::move(request));
  }
  for (ComputeRequest& request : effects.compute) {
    const LinkCompression codec = links_->CodecFor(reactor_->now(), request);
    runner_->Compute(std::move(request), Blocks(), codec);
  }
  for (const TaskId task : effects.stop) runner_->StopTask(task);
  for (const std::string& fingerprint : effects.stop_resolving) {
    runner_->StopResolving(fingerprint);
  }
  for (const PlanId& plan : effects.rest) runner_->Rest(plan);
  for (const PlanId& plan : effects.forget) {
    runner_->Forget(plan);
    places_.erase(plan);
    links_->Forget(plan);
  }
  auto unsent = effects.unsent.begin();
  for (const Outgoing& outgoing : effects.sends) {
    split_log_.Sent("", outgoing.message);
    if (outgoing.to == kDispatcherPeer) {
      messenger_->Send(dispatcher_, "", outgoing.message);
    } else if (!SendToClient(links_->RouteTo(outgoing.to), outgoing.message,
                             sent_->Follow(std::move(*unsent++)))) {
      links_->NoteLost(outgoing.to);
    }
  }
  if (effects.drained) {
    LogInfo("drained");
    End(absl::OkStatus());
  }
}

// False: the message is lost, because the client is gone or does not read.
// `unsent` is dropped when the message has left the process.
bool WorkerServer::Shell::SendToClient(const ClientLinks::Route& route,
                                       const Message& message,
                                       std::shared_ptr<const void> unsent) {
  switch (route.kind) {
    case ClientLinks::Route::Kind::kProcess:
      return route.channel != nullptr && route.channel->Put(channel_, message);
    case ClientLinks::Route::Kind::kRelay:
      messenger_->SendWrapped(
          dispatcher_, "",
          messenger_->Wrap(Relay{worker_, std::string(route.routing_id),
                                 messenger_->Wrap(message)}),
          std::move(unsent));
      return true;
    case ClientLinks::Route::Kind::kSocket:
      break;
  }
  PartLender* const lender = std::holds_alternative<Frame>(message)
                                 ? memory_->LenderTo(route.routing_id)
                                 : nullptr;
  const Parts parts = messenger_->Wrap(message, lender);
  return (lender != nullptr && memory_->Send(route.routing_id, parts)) ||
         messenger_->SendWrapped(clients_, route.routing_id, parts,
                                 std::move(unsent)) != Reactor::Sent::kNo;
}

void WorkerServer::Shell::End(absl::Status why) {
  if (!why.ok()) LogError("{}", ErrorText(why));
  reactor_->Stop(kLinger);
  lifecycle_.End(std::move(why));
  changed_.notify_all();
}

WorkerServer::WorkerServer(WorkerConfig config)
    : shell_(std::make_shared<Shell>(std::move(config))) {}
WorkerServer::~WorkerServer() { Stop(); }
absl::Status WorkerServer::Start() { return shell_->Start(); }
absl::Status WorkerServer::WaitRegistered(absl::Duration timeout) {
  const std::shared_ptr<Shell> shell = shell_;
  return shell->WaitRegistered(timeout);
}
bool WorkerServer::registered() const { return shell_->registered(); }
bool WorkerServer::running() const { return shell_->running(); }
void WorkerServer::Drain(absl::Duration timeout) { shell_->Drain(timeout); }
void WorkerServer::Stop() { shell_->Stop(); }
absl::Status WorkerServer::Join() {
  const std::shared_ptr<Shell> shell = shell_;
  return shell->Join();
}
std::string WorkerServer::target() const { return shell_->target(); }
absl::StatusOr<WorkerStatus> WorkerServer::ExportStatus(
    absl::Duration timeout) const {
  return shell_->ExportStatus(timeout);
}

}  // namespace feedmill
