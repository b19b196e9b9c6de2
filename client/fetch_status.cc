#include <utility>
#include <variant>

#include "client/dispatcher_question.h"
#include "core/base/status.h"
#include "feedmill/status.h"

namespace feedmill {

absl::StatusOr<std::string> FetchStatus(const std::string& service,
                                        absl::Duration timeout,
                                        const std::string& cluster_id,
                                        const SecurityConfig& config,
                                        bool all_events) {
  std::string json;
  StatusRequest request;
  request.events = all_events;
  FM_RETURN_IF_ERROR(AskDispatcher({.service = service,
                                    .cluster_id = cluster_id,
                                    .security = config,
                                    .role = Role::kOperator,
                                    .question = std::move(request),
                                    .timeout = timeout},
                                   [&json](Message& message) {
                                     auto* reply =
                                         std::get_if<StatusReply>(&message);
                                     if (reply == nullptr) return false;
                                     json = std::move(reply->json);
                                     return true;
                                   }));
  return json;
}

}  // namespace feedmill
