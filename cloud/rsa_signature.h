#ifndef FEEDMILL_CLOUD_RSA_SIGNATURE_H_
#define FEEDMILL_CLOUD_RSA_SIGNATURE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// Returns the RSA signature of `text` with SHA-256 (RS256 of RFC 7518), as
// bytes. `key`: PEM. Loads OpenSSL's libcrypto when it is called first, because
// nothing else of feedmill needs it. FailedPrecondition: there is no libcrypto.
// InvalidArgument: `key` is no private key. Any thread.
absl::StatusOr<std::string> SignRs256(std::string_view key,
                                      std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_RSA_SIGNATURE_H_
