#ifndef FEEDMILL_CORE_NET_REACTOR_QUESTION_H_
#define FEEDMILL_CORE_NET_REACTOR_QUESTION_H_

#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "core/net/reactor.h"

namespace feedmill {

// Runs `ask` on the reactor's thread, and waits until `ask` or a later event of
// that thread calls `reply`. Result: absl::Status or absl::StatusOr<T>. `who`
// is named in errors, e.g. "the dispatcher". Unavailable: the reactor does not
// run, or has too many posts; FailedPrecondition: it ended before the reply;
// DeadlineExceeded: no reply within `timeout`.
template <class Result>
Result AskReactor(Reactor& reactor, std::string_view who,
                  absl::Duration timeout,
                  std::function<void(std::function<void(Result)> reply)> ask) {
  const auto promise = std::make_shared<std::promise<Result>>();
  std::future<Result> answer = promise->get_future();
  const bool asked =
      reactor.Post([ask = std::move(ask), reply = [promise](Result result) {
        promise->set_value(std::move(result));
      }] { ask(reply); });
  if (!asked) {
    return Unavailable(
        "{} takes no question now: it does not run, or too many wait; ask "
        "again",
        who);
  }
  if (answer.wait_for(absl::ToChronoNanoseconds(timeout)) !=
      std::future_status::ready) {
    return DeadlineExceeded("{} did not answer within {}", who,
                            absl::FormatDuration(timeout));
  }
  try {
    return answer.get();
  } catch (const std::future_error&) {
    // Dropped, since the reactor has ended.
    return FailedPrecondition("{} does not run", who);
  }
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_REACTOR_QUESTION_H_
