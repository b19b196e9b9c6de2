#ifndef FEEDMILL_BROKER_DATASET_REQUESTS_H_
#define FEEDMILL_BROKER_DATASET_REQUESTS_H_

#include "absl/status/status.h"
#include "broker/dispatcher_context.h"
#include "core/wire/message.h"
#include "feedmill/dispatcher.h"

namespace feedmill {

// Registers datasets under an id, and finds them. They outlive jobs and
// sessions. Pure.
class DatasetRequests {
 public:
  // The references must outlive this object.
  explicit DatasetRequests(DispatcherContext& context) : context_(context) {}

  void Take(const PeerId& from, const DatasetRequest& request);

 private:
  absl::Status CheckNew(const DatasetRequest& request) const;

  DispatcherContext& context_;
};

}  // namespace feedmill

#endif  // FEEDMILL_BROKER_DATASET_REQUESTS_H_
