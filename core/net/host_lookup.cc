#include "core/net/host_lookup.h"

#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/net/address.h"

namespace feedmill {
namespace {

constexpr absl::Duration kLookUpInterval = absl::Seconds(1);

}  // namespace

// Outlives this object while a look-up runs: it cannot be stopped.
struct HostLookup::Shared {
  struct Name {
    std::vector<std::string> found;
    absl::Time asked = absl::InfinitePast();
    bool running = false;
  };

  const LookUp look_up;
  std::mutex mu;
  std::map<std::string, Name> names;  // guarded by mu

  explicit Shared(LookUp f) : look_up(std::move(f)) {}

  void Run(const std::string& host) {
    std::vector<std::string> found = look_up(host);
    const std::lock_guard lock(mu);
    Name& name = names[host];
    if (!found.empty()) name.found = std::move(found);
    name.running = false;
  }
};

bool HostLookup::IsName(const std::string& host) {
  return !IsNumericHost(host) && !IsLoopback(host);
}

HostLookup::HostLookup(LookUp look_up)
    : shared_(std::make_shared<Shared>(std::move(look_up))) {}
HostLookup::~HostLookup() = default;

void HostLookup::Ask(absl::Time now, const std::string& host) {
  if (!IsName(host)) return;
  const std::lock_guard lock(shared_->mu);
  Shared::Name& name = shared_->names[host];
  if (name.running || now - name.asked < kLookUpInterval) return;
  name.asked = now;
  try {
    std::thread([shared = shared_, host] { shared->Run(host); }).detach();
    name.running = true;
  } catch (const std::system_error&) {
    // No thread can start now: libzmq looks the name up.
  }
}

std::vector<std::string> HostLookup::Found(const std::string& host) const {
  const std::lock_guard lock(shared_->mu);
  const auto name = shared_->names.find(host);
  return name == shared_->names.end() ? std::vector<std::string>()
                                      : name->second.found;
}

}  // namespace feedmill
