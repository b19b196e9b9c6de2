#include "tools/command/security_flags.h"

namespace feedmill {

void DeclareKeys(FlagSet& flags, SecurityConfig* security) {
  flags.Text("--keys", "DIR",
             "Folder with the keys of 'feedmill keygen': encrypts, and only "
             "lets in who is listed",
             &security->keys);
}

void DeclareServerKey(FlagSet& flags, SecurityConfig* security) {
  flags.Text("--server-key", "KEY",
             "The dispatcher's public key, or its file; default: "
             "dispatcher.pub in --keys",
             &security->server_key);
}

}  // namespace feedmill
