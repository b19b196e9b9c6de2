#include "plugins/arrow/aws_key_chain.h"

#include <arrow/filesystem/s3fs.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/cloud_call.h"

namespace feedmill {
namespace {

// Reads keys again if they change in between, so that keys are not mixed.
constexpr int kMaxAttempts = 4;

class Chain final : public AwsKeySource {
 public:
  // Some of the chain's requests cannot be ended.
  absl::StatusOr<AwsKeys> Keys(const CloudSettings& settings) const override {
    return CallCloud<AwsKeys>(
        "AWS's credential chain", "keys", settings,
        [this] { return WithoutExceptions([this] { return Ask(); }); });
  }

  // Finalizes the AWS client, unless a call still uses it: such a process ends
  // without destructors (CloudCall).
  void Finalize() const {
    if (mutex_.try_lock()) static_cast<void>(arrow::fs::EnsureS3Finalized());
  }

 private:
  absl::StatusOr<AwsKeys> Ask() const {
    const std::lock_guard lock(mutex_);
    FM_RETURN_IF_ERROR(SetUp());
    AwsKeys keys = Look();
    for (int look = 1; look < kMaxAttempts; ++look) {
      AwsKeys again = Look();
      if (again == keys) break;
      keys = std::move(again);
    }
    if (!keys.access_key.empty()) return keys;
    return FailedPrecondition(
        "no keys: AWS's credential chain has none (environment, profile "
        "AWS_PROFILE of ~/.aws, SSO, web identity, container, machine); for a "
        "public bucket write ?anonymous=true");
  }

  // Under mutex_.
  absl::Status SetUp() const {
    if (options_) return absl::OkStatus();
    arrow::fs::S3GlobalOptions global = arrow::fs::S3GlobalOptions::Defaults();
    if (!arrow::fs::IsS3Initialized()) {
      FM_RETURN_IF_ARROW(arrow::fs::InitializeS3(global));
      std::atexit([] { static_cast<const Chain&>(AwsKeyChain()).Finalize(); });
    }
    options_ = arrow::fs::S3Options::Defaults();
    return absl::OkStatus();
  }

  AwsKeys Look() const {
    return {options_->GetAccessKey(), options_->GetSecretKey(),
            options_->GetSessionToken()};
  }

  mutable std::mutex mutex_;
  mutable std::optional<arrow::fs::S3Options> options_;  // guarded by mutex_
};

}  // namespace

const AwsKeySource& AwsKeyChain() {
  // Never destroyed: the AWS client is finalized earlier.
  static const Chain& chain = *new Chain;
  return chain;
}

}  // namespace feedmill
