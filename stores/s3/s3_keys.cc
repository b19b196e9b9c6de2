#include "stores/s3/s3_keys.h"

#include <utility>

#include "core/base/status.h"
#include "core/net/clock.h"

namespace feedmill {
namespace {

constexpr absl::Duration kFresh = absl::Minutes(1);

}  // namespace

S3Keys::S3Keys(const EnvironmentLookup& look, Load load)
    : load_(std::move(load)) {
  const auto access_key = look("AWS_ACCESS_KEY_ID");
  const auto secret_key = look("AWS_SECRET_ACCESS_KEY");
  if (!access_key || !secret_key) return;
  from_environment_ = true;
  keys_ = std::make_shared<const AwsKeys>(AwsKeys{
      *access_key, *secret_key, look("AWS_SESSION_TOKEN").value_or("")});
}

bool S3Keys::IsFresh() const {
  const std::lock_guard lock(mutex_);
  return from_environment_ ||
         (keys_ != nullptr && SteadyNow() - asked_ < kFresh);
}

absl::Status S3Keys::Prepare() {
  if (IsFresh()) return absl::OkStatus();
  const std::lock_guard asking(asking_);
  if (IsFresh()) return absl::OkStatus();
  FM_ASSIGN_OR_RETURN(AwsKeys keys, load_());
  const std::lock_guard lock(mutex_);
  keys_ = std::make_shared<const AwsKeys>(std::move(keys));
  asked_ = SteadyNow();
  return absl::OkStatus();
}

std::shared_ptr<const AwsKeys> S3Keys::keys() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

}  // namespace feedmill
