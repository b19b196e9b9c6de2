#ifndef FEEDMILL_CORE_IO_GOOGLE_TOKEN_SOURCE_H_
#define FEEDMILL_CORE_IO_GOOGLE_TOKEN_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"

namespace feedmill {

// Tokens for Google Cloud Storage, of this process's login. The cloud library
// implements it. Any thread.
class GoogleTokenSource {
 public:
  virtual ~GoogleTokenSource() = default;

  // Returns a token that stays valid for some minutes. May wait for the
  // network. Unimplemented: the login is of a kind that only Google's own
  // libraries know. FailedPrecondition and Unavailable: there is no token.
  virtual absl::StatusOr<std::string> Token() = 0;
  // The server refused the last token. True if the next call returns another.
  virtual bool Renew() = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_IO_GOOGLE_TOKEN_SOURCE_H_
