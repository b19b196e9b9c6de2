#include "broker/held_sends.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

namespace feedmill {
namespace {

constexpr uint64_t kMessageBytes = 256;  // of a message without its lists
constexpr uint64_t kSplitBytes = 128;    // of a split or lease in an answer

// The sizes of messages that can be large; others have a few fields.
uint64_t MessageBytesOf(const ClientAnswer& m) {
  return kMessageBytes + kSplitBytes * m.splits.size();
}
uint64_t MessageBytesOf(const WorkerAnswer& m) {
  uint64_t bytes = kMessageBytes + kSplitBytes * m.leases.size();
  for (const PlanDefinition& each : m.definitions) {
    bytes += each.graph.size() + each.manifest.size();
  }
  for (const ManifestRequest& each : m.manifests) bytes += each.graph.size();
  return bytes;
}
uint64_t MessageBytesOf(const StatusReply& m) {
  return kMessageBytes + m.json.size();
}
uint64_t MessageBytesOf(const auto&) { return kMessageBytes; }

uint64_t MessageBytesOf(const std::vector<Outgoing>& sends) {
  uint64_t bytes = 0;
  for (const Outgoing& each : sends) {
    bytes += std::visit([](const auto& m) { return MessageBytesOf(m); },
                        each.message);
  }
  return bytes;
}

}  // namespace

bool HeldSends::Holds(const PeerId& peer) const {
  return std::any_of(
      batches_.begin(), batches_.end(), [&](const HeldBatch& batch) {
        return std::any_of(
            batch.sends.begin(), batch.sends.end(),
            [&](const Outgoing& each) { return each.to == peer; });
      });
}

// Moves the status replies out of `sends` whose peers get nothing else: a peer
// gets its messages in order.
void HeldSends::LetPass(std::vector<Outgoing>& sends) {
  const auto is_status = [](const Outgoing& each) {
    return std::holds_alternative<StatusReply>(each.message);
  };
  if (std::none_of(sends.begin(), sends.end(), is_status)) return;
  std::map<PeerId, size_t> counts;
  for (const Outgoing& each : sends) ++counts[each.to];
  std::vector<Outgoing> held;
  for (Outgoing& each : sends) {
    const bool passes =
        is_status(each) && counts[each.to] == 1 && !Holds(each.to);
    (passes ? passing_ : held).push_back(std::move(each));
  }
  sends = std::move(held);
}

void HeldSends::Hold(uint64_t after, std::vector<Outgoing> sends) {
  LetPass(sends);
  if (sends.empty()) return;
  const uint64_t bytes = MessageBytesOf(sends);
  count_ += sends.size();
  bytes_ += bytes;
  batches_.push_back(
      {.after = after, .sends = std::move(sends), .bytes = bytes});
}

void HeldSends::Hold(uint64_t after, std::function<void()> answer) {
  batches_.push_back({.after = after, .answer = std::move(answer)});
}

void HeldSends::Release(uint64_t durable,
                        const std::function<void(const Outgoing&)>& send) {
  for (const Outgoing& each : std::exchange(passing_, {})) send(each);
  while (!batches_.empty() && batches_.front().after <= durable) {
    const HeldBatch batch = std::move(batches_.front());
    batches_.pop_front();
    count_ -= batch.sends.size();
    bytes_ -= batch.bytes;
    for (const Outgoing& each : batch.sends) send(each);
    if (batch.answer) batch.answer();
  }
}

void HeldSends::Clear() {
  batches_.clear();
  passing_.clear();
  count_ = 0;
  bytes_ = 0;
}

}  // namespace feedmill
