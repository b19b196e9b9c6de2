#ifndef FEEDMILL_STORES_S3_S3_KEYS_H_
#define FEEDMILL_STORES_S3_S3_KEYS_H_

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/aws_key_source.h"
#include "stores/s3/s3_url.h"

namespace feedmill {

// The S3 keys of this process: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN, else from AWS's credential chain in the plugin. Any
// thread.
class S3Keys {
 public:
  // Returns the keys of the chain.
  using Load = std::function<absl::StatusOr<AwsKeys>()>;

  S3Keys(const EnvironmentLookup& look, Load load);

  // Asks the chain if the keys are older than a minute; the chain renews keys
  // minutes before they expire. May wait for the network.
  absl::Status Prepare();
  // The keys of the last Prepare; null if it has not succeeded yet.
  std::shared_ptr<const AwsKeys> keys() const;

 private:
  bool IsFresh() const;

  const Load load_;
  bool from_environment_ = false;

  std::mutex asking_;  // held while the chain is asked
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const AwsKeys> keys_;
  absl::Time asked_ = absl::InfinitePast();
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_S3_S3_KEYS_H_
