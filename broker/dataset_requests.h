#ifndef FEEDMILL_BROKER_DATASET_REQUESTS_H_
#define FEEDMILL_BROKER_DATASET_REQUESTS_H_

#include "absl/status/status.h"
#include "broker/committed_state.h"
#include "broker/outbox.h"
#include "broker/planner.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Registers datasets under an id, and finds them. They outlive jobs and
// sessions. Pure.
class DatasetRequests {
 public:
  // The references must outlive this object.
  DatasetRequests(const DispatcherSettings& settings, const Planner& planner,
                  CommittedState& state, Outbox& outbox)
      : settings_(settings),
        planner_(planner),
        state_(state),
        outbox_(outbox) {}

  void Take(const PeerId& from, const DatasetRequest& request);

 private:
  absl::Status CheckNew(const DatasetRequest& request) const;

  const DispatcherSettings& settings_;
  const Planner& planner_;
  CommittedState& state_;
  Outbox& outbox_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DATASET_REQUESTS_H_
