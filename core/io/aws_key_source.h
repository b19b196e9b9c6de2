#ifndef FEEDMILL_CORE_IO_AWS_KEY_SOURCE_H_
#define FEEDMILL_CORE_IO_AWS_KEY_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/io/cloud_files.h"

namespace feedmill {

// Keys that sign requests to S3.
struct AwsKeys {
  std::string access_key{};
  std::string secret_key{};
  std::string session_token{};  // "" for keys that do not expire

  friend bool operator==(const AwsKeys&, const AwsKeys&) = default;
};

// The credential chain of AWS: environment, profiles, SSO, roles, the machine's
// metadata. libfeedmill_arrow.so implements it. Thread-safety: any thread.
class AwsKeySource {
 public:
  virtual ~AwsKeySource() = default;

  // Returns keys that stay valid for at least some minutes. May wait for the
  // network, within settings.patience and until the caller is stopped.
  // FailedPrecondition if the chain has no keys.
  virtual absl::StatusOr<AwsKeys> Keys(const CloudSettings& settings) const = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_AWS_KEY_SOURCE_H_
