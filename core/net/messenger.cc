#include "core/net/messenger.h"

#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/net/clock.h"
#include "core/net/log.h"

namespace feedmill {
namespace {

constexpr int kAnswersPerSecond = 16;

// The time of a call is when the loop's iteration began, which may be before
// the message came. Traces need a time that is not.
void StampSpans(Message& message) {
  if (auto* worker = std::get_if<WorkerBeat>(&message)) {
    for (SpanBatch& batch : worker->spans) batch.came = SteadyNow();
  } else if (auto* beat = std::get_if<ClientBeat>(&message)) {
    if (beat->spans.has_value()) beat->spans->came = SteadyNow();
  } else if (auto* order = std::get_if<WorkerAnswer>(&message)) {
    if (order->tracing.has_value()) order->tracing->came = SteadyNow();
  } else if (auto* answer = std::get_if<ClientAnswer>(&message)) {
    if (answer->tracing.has_value()) answer->tracing->came = SteadyNow();
  }
}

}  // namespace

Messenger::Messenger(Reactor& reactor, std::string cluster_id)
    : reactor_(reactor), cluster_id_(std::move(cluster_id)) {}

Reactor::Sent Messenger::SendWrapped(SocketId socket, std::string_view to,
                                     const Parts& parts,
                                     std::shared_ptr<const void> until_sent) {
  const Reactor::Sent sent =
      reactor_.Send(socket, to, parts, std::move(until_sent));
  if (sent == Reactor::Sent::kNo) ++dropped_;
  return sent;
}

absl::StatusOr<Message> Messenger::Receive(absl::Time now, SocketId socket,
                                           std::string_view from,
                                           const std::vector<Buffer>& parts,
                                           bool answer,
                                           PartBorrower* borrower) {
  absl::StatusOr<Message> message = Decode(parts, cluster_id_, borrower);
  if (const auto& sender = reactor_.sender(); message.ok() && sender) {
    const absl::Status may = CheckRole(sender->role, *message);
    if (!may.ok()) message = may;
  }
  if (message.ok()) {
    StampSpans(*message);
  } else {
    Refuse(now, socket, from, message.status(), answer);
  }
  return message;
}

void Messenger::Refuse(absl::Time now, SocketId socket, std::string_view from,
                       const absl::Status& why, bool answer) {
  ++refused_;
  if (now - second_ >= absl::Seconds(1)) {
    second_ = now;
    answers_in_second_ = 0;
    LogWarning("refused {} message(s); the last one: {}", refused_ - logged_,
               ErrorText(why));
    logged_ = refused_;
  }
  if (!answer || answers_in_second_ >= kAnswersPerSecond) return;
  ++answers_in_second_;
  Send(socket, from, Refusal{why});
}

}  // namespace feedmill
