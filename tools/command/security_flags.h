#ifndef FEEDMILL_TOOLS_COMMAND_SECURITY_FLAGS_H_
#define FEEDMILL_TOOLS_COMMAND_SECURITY_FLAGS_H_

#include "core/net/security.h"
#include "tools/command/flags.h"

namespace feedmill {

// Declares --keys, for every command with a socket.
void DeclareKeys(FlagSet& flags, SecurityConfig* security);
// Declares --server-key, for commands that connect to a dispatcher.
void DeclareServerKey(FlagSet& flags, SecurityConfig* security);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_SECURITY_FLAGS_H_
