#ifndef FEEDMILL_CORE_PLUGINS_LIBCRYPTO_H_
#define FEEDMILL_CORE_PLUGINS_LIBCRYPTO_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace feedmill {

// Signatures of OpenSSL's libcrypto, which the first call loads, because
// nothing else of feedmill needs it. FailedPrecondition: there is no libcrypto.
// Any thread.

// Returns the RSA signature of `text` with SHA-256 (RS256 of RFC 7518), as
// bytes. `key`: PEM. InvalidArgument: `key` is no private key.
absl::StatusOr<std::string> SignRs256(std::string_view key,
                                      std::string_view text);

// Returns the HMAC of `text` with SHA-256 (RFC 2104), as 32 bytes.
absl::StatusOr<std::string> HmacSha256(std::string_view key,
                                       std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PLUGINS_LIBCRYPTO_H_
