#include "worker/client_links.h"

namespace feedmill {
namespace {

// Prefixes of peer names. They keep routing ids, which clients choose, distinct
// from each other and from kDispatcherPeer.
constexpr std::string_view kDirect = "client:";
constexpr std::string_view kRelayed = "relay:";
constexpr std::string_view kInProcess = "process:";
constexpr absl::Duration kKernelRateInterval = absl::Milliseconds(100);
// Validity of a rate that a reader reported; afterwards the kernel is asked.
constexpr absl::Duration kReportedRateValidity = absl::Seconds(10);
constexpr size_t kRatesMax = 1'024;

std::optional<std::string_view> After(std::string_view prefix,
                                      const PeerId& peer) {
  std::string_view text = peer.value();
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  return text;
}

}  // namespace

PeerId ClientLinks::Direct(std::string_view routing_id) {
  return PeerId(std::string(kDirect).append(routing_id));
}

PeerId ClientLinks::Relayed(std::string_view routing_id) {
  return PeerId(std::string(kRelayed).append(routing_id));
}

PeerId ClientLinks::InProcess(
    const std::shared_ptr<InProcessChannel>& channel) {
  for (const auto& [peer, known] : channels_) {
    if (known == channel) return peer;
  }
  // Channels of ended readers have no other owner.
  std::erase_if(channels_, [](const auto& entry) {
    return entry.second.use_count() == 1;
  });
  PeerId peer(std::string(kInProcess) + std::to_string(++last_channel_));
  channels_.emplace(peer, channel);
  return peer;
}

ClientLinks::Route ClientLinks::RouteTo(const PeerId& client) const {
  if (const auto direct = After(kDirect, client)) {
    return {Route::Kind::kSocket, *direct};
  }
  if (const auto relayed = After(kRelayed, client)) {
    return {Route::Kind::kRelay, *relayed};
  }
  const auto found = channels_.find(client);
  return {Route::Kind::kProcess, "",
          found == channels_.end() ? nullptr : found->second};
}

void ClientLinks::NoteLost(const PeerId& client) {
  if (const auto direct = After(kDirect, client)) memory_.Leave(*direct);
  channels_.erase(client);
}

LinkCompression ClientLinks::CodecFor(absl::Time now,
                                      const ComputeRequest& request) {
  // A part that the reader sees in shared memory is not packed.
  const auto direct = After(kDirect, request.to);
  const bool sent = direct ? memory_.LenderTo(*direct) == nullptr
                           : After(kRelayed, request.to).has_value();
  if (!sent) return LinkCompression::kNone;
  if (request.compression != LinkCompression::kAuto) return request.compression;
  return chooser_.Choose(request.plan,
                         RateTo(now, request.to, request.link_rate));
}

// Prefers the rate that the reader reports. The kernel knows only the
// connection to a proxy in between, and has no rate while the proxy accepts all
// data.
std::optional<double> ClientLinks::RateTo(absl::Time now, const PeerId& peer,
                                          uint64_t reported) {
  auto found = rates_.find(peer);
  if (found == rates_.end()) {
    if (rates_.size() >= kRatesMax) rates_.clear();
    found = rates_.emplace(peer, Rate{std::nullopt, now}).first;
  }
  Rate& rate = found->second;
  const auto direct = After(kDirect, peer);
  if (reported > 0) {
    rate = {static_cast<double>(reported), now + kReportedRateValidity};
  } else if (direct && now >= rate.look_at) {
    rate.look_at = now + kKernelRateInterval;
    const auto busy = reactor_.DeliveryRate(clients_, *direct);
    if (busy.has_value()) rate.bytes_per_s = busy;
  }
  return rate.bytes_per_s;
}

void ClientLinks::NotePacked(const PlanId& plan, const PackedParts& packed,
                             LinkCompression codec, absl::Duration time) {
  chooser_.Note(plan, codec, packed.raw_bytes, packed.sent_bytes, time);
}

}  // namespace feedmill
