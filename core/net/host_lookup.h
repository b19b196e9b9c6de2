#ifndef FEEDMILL_CORE_NET_HOST_LOOKUP_H_
#define FEEDMILL_CORE_NET_HOST_LOOKUP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace feedmill {

// The numeric addresses of host names, looked up by other threads, because a
// look-up may block for long. A name may have several addresses, e.g. of a
// dispatcher and its standbys in Kubernetes. They change.
//
// Thread: one at a time.
class HostLookup {
 public:
  // Returns all addresses of a host; none if it is unknown. May block.
  using LookUp = std::function<std::vector<std::string>(const std::string&)>;

  // True unless the host is a numeric address or localhost.
  static bool IsName(const std::string& host);

  explicit HostLookup(LookUp look_up);
  ~HostLookup();

  // Begins a look-up, unless one runs or began less than a second ago. No
  // effect unless the host is a name.
  void Ask(absl::Time now, const std::string& host);
  // The addresses that the last look-up found; none if none has ended.
  std::vector<std::string> Found(const std::string& host) const;

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_NET_HOST_LOOKUP_H_
