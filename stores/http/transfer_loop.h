#ifndef FEEDMILL_STORES_HTTP_TRANSFER_LOOP_H_
#define FEEDMILL_STORES_HTTP_TRANSFER_LOOP_H_

#include <memory>
#include <vector>

#include "stores/http/http_options.h"
#include "stores/http/server_distance.h"
#include "stores/http/transfer.h"

namespace feedmill {

// A thread that drives all transfers of a process over persistent connections
// (HTTP/1.1, and HTTP/2 over TLS).
//
// Proxies: http_proxy, https_proxy, all_proxy, no_proxy. Certificates are
// checked against the system's authorities, or the authorities of
// SSL_CERT_FILE. Logins: "user:password@" of the URL, else ~/.netrc. Redirects
// are followed, 5 at most, from https to https only.
//
// Thread-safety: any thread.
class TransferLoop {
 public:
  explicit TransferLoop(const HttpOptions& options);
  ~TransferLoop();  // stops
  TransferLoop(const TransferLoop&) = delete;
  TransferLoop& operator=(const TransferLoop&) = delete;

  enum class Urgency { kAwaited, kAhead };

  // Starts transfers; pending reads precede prefetches. They end with an error
  // if no thread is available, or after Stop.
  void Start(std::vector<std::shared_ptr<Transfer>> transfers, Urgency urgency);

  // Makes the loop check for abandoned transfers soon.
  void Wake();

  // Ends all transfers, present and future, with Cancelled.
  void Stop();

  // Distances of the servers that answered.
  const ServerDistances& distances() const;

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_TRANSFER_LOOP_H_
