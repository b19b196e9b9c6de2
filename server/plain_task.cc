#include "server/plain_task.h"

#include <utility>
#include <variant>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLinger = absl::Milliseconds(50);
constexpr Reactor::Limits kLimits{int64_t{1} << 20, 1'000};

}  // namespace

PlainTask::PlainTask(std::string cluster_id,
                     std::function<std::string()> status,
                     std::function<absl::Status()> refusal)
    : status_(std::move(status)),
      refusal_(std::move(refusal)),
      reactor_("fm-task"),
      messenger_(reactor_, std::move(cluster_id)) {}

absl::StatusOr<uint16_t> PlainTask::Start(
    const std::string& host, uint16_t port,
    const std::optional<CurveServer>& curve) {
  FM_ASSIGN_OR_RETURN(const SocketId socket,
                      reactor_.Listen(host, port, kLimits, curve));
  const uint16_t bound = reactor_.PortOf(socket);
  reactor_.Start(this);
  return bound;
}

void PlainTask::Stop() {
  reactor_.Stop(kLinger);
  reactor_.Join();
}

void PlainTask::OnMessage(absl::Time now, SocketId socket,
                          std::string_view from, std::vector<Buffer> parts) {
  const absl::StatusOr<Message> message =
      messenger_.Receive(now, socket, from, parts, /*answer=*/true);
  if (!message.ok() || std::holds_alternative<Refusal>(*message)) return;
  if (std::holds_alternative<StatusRequest>(*message)) {
    messenger_.Send(socket, from, StatusReply{status_()});
  } else {
    messenger_.Send(socket, from, Refusal{refusal_()});
  }
}

}  // namespace feedmill
