#ifndef FEEDMILL_SERVER_PLAIN_TASK_H_
#define FEEDMILL_SERVER_PLAIN_TASK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/net/messenger.h"
#include "core/net/reactor.h"
#include "core/net/security.h"

namespace feedmill {

// Serves a task whose job has no service, such as "ps". Answers status requests
// and refuses all other messages.
//
// Thread-safety: Start and Stop once each, in that order, from any thread.
class PlainTask : public ReactorHandler {
 public:
  // `status` returns the JSON for a StatusRequest, `refusal` the error for all
  // other messages. Both are called on the task's own thread.
  PlainTask(std::string cluster_id, std::function<std::string()> status,
            std::function<absl::Status()> refusal);
  ~PlainTask() override { Stop(); }

  // Binds and returns the port. Errors as Reactor::Listen.
  absl::StatusOr<uint16_t> Start(const std::string& host, uint16_t port,
                                 const std::optional<CurveServer>& curve);
  void Stop();

 private:
  void OnMessage(absl::Time now, SocketId socket, std::string_view from,
                 std::vector<Buffer> parts) override;
  void OnTurn(absl::Time) override {}
  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }

  const std::function<std::string()> status_;
  const std::function<absl::Status()> refusal_;
  Reactor reactor_;
  Messenger messenger_;
};

}  // namespace feedmill

#endif  // FEEDMILL_SERVER_PLAIN_TASK_H_
