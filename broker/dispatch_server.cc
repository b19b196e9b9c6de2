#include "broker/dispatch_server.h"

#include <mutex>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/job_planner.h"
#include "core/base/status.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/lifecycle.h"
#include "core/net/log.h"
#include "core/net/messenger.h"
#include "core/net/process_limits.h"
#include "core/net/reactor.h"
#include "core/ops/builtin_functions.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLinger = absl::Milliseconds(50);
// Manifests of millions of files come in one part.
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
        messenger_(*reactor_, config_.cluster_id) {
    if (config_.registry == nullptr) {
      config_.registry =
          std::make_shared<const FunctionRegistry>(BuiltinFunctions());
    }
  }

  absl::Status Start() {
    return lifecycle_.Start([this] { return Begin(); });
  }
  void Stop() {
    lifecycle_.Stop([this] {
      reactor_->Stop(kLinger);
      reactor_->Join();
    });
  }
  absl::Status Join() { return lifecycle_.Join(); }
  std::string target() const {
    const std::lock_guard lock(mu_);
    return target_;
  }

 private:
  absl::Status Begin();

  // ReactorHandler
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnTurn(absl::Time now) override;
  absl::Time NextDeadline() const override;

  void Perform(const DispatcherEffects& effects);

  DispatcherConfig config_;
  Lifecycle lifecycle_;
  const std::unique_ptr<Reactor> reactor_;

  // Made by Begin; the reactor's thread from then on.
  Messenger messenger_;
  std::optional<Dispatcher> dispatcher_;
  SocketId peers_;

  mutable std::mutex mu_;
  std::string target_;  // guarded by mu_
};

absl::Status DispatchServer::Shell::Begin() {
  TuneMalloc();
  RaiseFileLimit();
  FM_ASSIGN_OR_RETURN(peers_,
                      reactor_->Listen(config_.host, config_.port, kLimits));
  // A wildcard is no address to connect to; any way out names an interface.
  const Address anywhere{"192.0.2.1", 9};
  const std::string host =
      IsWildcard(config_.host) ? LocalAddressToward(anywhere) : config_.host;
  const Address own{host, reactor_->PortOf(peers_)};
  DispatcherState state;
  state.journal = DrawJournalId();
  dispatcher_.emplace(config_.settings, MakePlanner(config_.registry),
                      std::move(state), SteadyNow());
  {
    const std::lock_guard lock(mu_);
    target_ = own.ToString();
  }
  LogInfo("dispatcher at {}", own.ToString());
  reactor_->Start(this);
  return absl::OkStatus();
}

void DispatchServer::Shell::OnMessage(absl::Time now, SocketId socket,
                                      std::string_view from,
                                      std::vector<Buffer> parts) {
  const absl::StatusOr<Message> message =
      messenger_.Receive(now, socket, from, parts, /*answer=*/true);
  if (!message.ok()) return;
  Perform(dispatcher_->Handle(now, PeerId(std::string(from)), *message));
}

void DispatchServer::Shell::OnTurn(absl::Time now) {
  if (now >= dispatcher_->NextDeadline()) Perform(dispatcher_->OnTick(now));
}

absl::Time DispatchServer::Shell::NextDeadline() const {
  return dispatcher_->NextDeadline();
}

// The state is in memory, where the core has committed the events already: it
// lives and dies with the process, and there is nothing to write before
// sending.
void DispatchServer::Shell::Perform(const DispatcherEffects& effects) {
  for (const DispatcherEvent& event : effects.events) {
    if (LogEnabled(LogLevel::kDebug)) LogDebug("{}", Describe(event));
  }
  for (const Outgoing& outgoing : effects.sends) {
    messenger_.Send(peers_, outgoing.to.value(), outgoing.message);
  }
}

DispatchServer::DispatchServer(DispatcherConfig config)
    : shell_(std::make_unique<Shell>(std::move(config))) {}
DispatchServer::~DispatchServer() { Stop(); }
absl::Status DispatchServer::Start() { return shell_->Start(); }
void DispatchServer::Stop() { shell_->Stop(); }
absl::Status DispatchServer::Join() { return shell_->Join(); }
std::string DispatchServer::target() const { return shell_->target(); }

}  // namespace feedmill
