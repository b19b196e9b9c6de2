#ifndef FEEDMILL_CLOUD_GOOGLE_LOGIN_H_
#define FEEDMILL_CLOUD_GOOGLE_LOGIN_H_

#include <memory>

#include "core/io/google_token_source.h"
#include "feedmill/resolver.h"

namespace feedmill {

// Returns the tokens of this process, as GoogleTokens finds them. Nothing is
// read or requested before the first token.
std::shared_ptr<GoogleTokenSource> OpenGoogleLogin(Environment environment);

}  // namespace feedmill

#endif  // FEEDMILL_CLOUD_GOOGLE_LOGIN_H_
