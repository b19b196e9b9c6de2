#include "tools/command/security_flags.h"

namespace feedmill {

void DeclareKeys(FlagSet& flags, SecurityConfig* security) {
  flags.Text("--keys", "DIR",
             "Folder with keys of 'feedmill keygen': encrypts connections and "
             "admits listed peers only",
             &security->keys);
}

void DeclareServerKey(FlagSet& flags, SecurityConfig* security) {
  flags.Text("--server-key", "KEY",
             "The dispatcher's public key, or its file; default: "
             "dispatcher.pub in --keys",
             &security->server_key);
}

}  // namespace feedmill
