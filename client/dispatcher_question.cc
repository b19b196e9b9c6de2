#include "client/dispatcher_question.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/status.h"
#include "core/io/read_stop.h"
#include "core/net/address.h"
#include "core/net/clock.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"

namespace feedmill {
namespace {

constexpr absl::Duration kRetryInterval = absl::Seconds(1);
constexpr absl::Duration kQuestionPollInterval = absl::Milliseconds(50);
constexpr Reactor::Limits kLimits{int64_t{256} << 20, 1'000};

// The reason of a refusal. A dispatcher of an earlier release refuses messages
// that were added after it.
absl::Status Explained(const absl::Status& refusal) {
  if (refusal.ok()) return Internal("refused without a reason");
  if (!absl::IsInvalidArgument(refusal) ||
      !absl::StartsWith(refusal.message(), "message kind ")) {
    return refusal;
  }
  return FailedPrecondition(
      "the dispatcher is of an earlier release, which does not know this "
      "request ({}): upgrade the dispatcher",
      ErrorText(refusal));
}

// Asks until it is answered.
class AskingReactor : public ReactorHandler {
 public:
  AskingReactor(const DispatcherQuestion& question,
                std::function<bool(Message&)> take)
      : question_(question.question),
        take_(std::move(take)),
        reactor_("fm-question"),
        messenger_(reactor_, question.cluster_id) {}
  ~AskingReactor() override {
    reactor_.Stop();
    reactor_.Join();
  }

  absl::Status Ask(const Address& address,
                   const std::optional<Security>& security) {
    FM_ASSIGN_OR_RETURN(
        socket_, reactor_.Connect(address, kLimits, ToDispatcher(security)));
    reactor_.Start(this);
    return absl::OkStatus();
  }

  // Nullopt after `timeout`. Cancelled if a ReadStop of this thread stops.
  std::optional<absl::Status> Answer(absl::Duration timeout) {
    const absl::Time end = SteadyNow() + timeout;
    std::unique_lock lock(mu_);
    while (!answer_.has_value()) {
      const absl::Duration left = end - SteadyNow();
      if (left <= absl::ZeroDuration()) break;
      if (ReadStop::Asked()) return Cancelled("the wait was given up");
      answered_.wait_for(lock, absl::ToChronoNanoseconds(
                                   std::min(left, kQuestionPollInterval)));
    }
    return answer_;
  }
  // Why the last attempt to connect failed, if it did.
  absl::Status last_failure() {
    const std::lock_guard lock(mu_);
    return failure_;
  }

 private:
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override {
    absl::StatusOr<Message> message =
        messenger_.Receive(now, socket, from, parts, /*answer=*/false);
    if (!message.ok()) {
      Take(message.status());
    } else if (auto* refusal = std::get_if<Refusal>(&*message)) {
      Take(Explained(refusal->status));
    } else {
      const std::lock_guard lock(mu_);
      if (!answer_.has_value() && take_(*message)) answer_ = absl::OkStatus();
      answered_.notify_all();
    }
  }
  void OnTurn(absl::Time now) override {
    look_at_ = now + kQuestionPollInterval;
    absl::Status failure = reactor_.HandshakeFailure(socket_);
    if (absl::IsFailedPrecondition(failure)) Take(failure);
    {
      const std::lock_guard lock(mu_);
      failure_ = std::move(failure);
    }
    if (now < ask_at_) return;
    messenger_.Send(socket_, "", question_);
    ask_at_ = now + kRetryInterval;
  }
  absl::Time NextDeadline() const override {
    return std::min(ask_at_, look_at_);
  }

  void Take(absl::Status answer) {
    {
      const std::lock_guard lock(mu_);
      if (!answer_.has_value()) answer_ = std::move(answer);
    }
    answered_.notify_all();
  }

  const Message question_;
  const std::function<bool(Message&)> take_;
  Reactor reactor_;
  Messenger messenger_;
  SocketId socket_;
  absl::Time ask_at_ = absl::InfinitePast();
  absl::Time look_at_ = absl::InfinitePast();

  std::mutex mu_;
  std::condition_variable answered_;
  std::optional<absl::Status> answer_;  // guarded by mu_
  absl::Status failure_;                // guarded by mu_
};

}  // namespace

absl::Status AskDispatcher(const DispatcherQuestion& question,
                           std::function<bool(Message&)> take) {
  FM_ASSIGN_OR_RETURN(const Address address, ParseAddress(question.service));
  FM_ASSIGN_OR_RETURN(const std::optional<Security> security,
                      LoadSecurity(question.security, question.role));
  AskingReactor asking(question, std::move(take));
  FM_RETURN_IF_ERROR(asking.Ask(address, security));
  std::optional<absl::Status> answer = asking.Answer(question.timeout);
  if (answer.has_value()) return *std::move(answer);
  const absl::Status why = asking.last_failure();
  return DeadlineExceeded("no dispatcher answered at {} for {}; {}",
                          address.ToString(),
                          absl::FormatDuration(question.timeout),
                          why.ok() ? NoAnswerAdvice(address) : ErrorText(why));
}

}  // namespace feedmill
