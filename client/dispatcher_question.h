#ifndef FEEDMILL_CLIENT_DISPATCHER_QUESTION_H_
#define FEEDMILL_CLIENT_DISPATCHER_QUESTION_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/net/security.h"
#include "core/wire/message.h"
#include "feedmill/endpoint.h"

namespace feedmill {

struct DispatcherQuestion {
  std::string service;  // "tcp://host:port" or "host:port"
  std::string cluster_id;
  SecurityConfig security;
  Role role = Role::kClient;
  Message question;
  absl::Duration timeout;
};

// Says `question` to a dispatcher, again every second, until `take` returns
// true for a message that came back, a Refusal excepted. Returns the status of
// a Refusal. DeadlineExceeded if no answer came within the timeout; Cancelled
// if a ReadStop of this thread stops; InvalidArgument for an address or keys
// that are wrong.
absl::Status AskDispatcher(const DispatcherQuestion& question,
                           std::function<bool(Message&)> take);

}  // namespace feedmill

#endif  // FEEDMILL_CLIENT_DISPATCHER_QUESTION_H_
