#include "cloud/google_login.h"

#include <mutex>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cloud/google_tokens.h"
#include "cloud/http_client.h"
#include "core/io/file_systems.h"
#include "core/plugins/libcrypto.h"

namespace feedmill {
namespace {

constexpr size_t kLoginBytesMax = size_t{1} << 20;
constexpr absl::Duration kTokenLimit = absl::Seconds(30);

class GoogleLogin final : public GoogleTokenSource {
 public:
  explicit GoogleLogin(Environment environment)
      : tokens_(std::move(environment), {.read_file =
                                             [](const std::string& path) {
                                               return ReadFile(path,
                                                               kLoginBytesMax);
                                             },
                                         .sign = &SignRs256}) {}

  absl::StatusOr<std::string> Token() override {
    const std::lock_guard lock(mutex_);
    return tokens_.Get(OpenHttp(kTokenLimit), absl::Now());
  }
  bool Renew() override {
    const std::lock_guard lock(mutex_);
    tokens_.Forget();
    return tokens_.renewable();
  }

 private:
  std::mutex mutex_;
  GoogleTokens tokens_;  // guarded by mutex_
};

}  // namespace

std::shared_ptr<GoogleTokenSource> OpenGoogleLogin(Environment environment) {
  return std::make_shared<GoogleLogin>(std::move(environment));
}

}  // namespace feedmill
