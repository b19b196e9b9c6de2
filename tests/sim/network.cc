#include "tests/sim/network.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace feedmill::sim {
namespace {

// True if a message may arrive after newer ones. Only a ROUTER reads several
// connections, so only its messages may. A leave must not overtake the report
// before it.
bool MayStray(const Message& message) {
  return std::holds_alternative<ClientHello>(message) ||
         std::holds_alternative<ClientBeat>(message) ||
         std::holds_alternative<WorkerBeat>(message) ||
         std::holds_alternative<Grant>(message);
}

}  // namespace

void Timeline::At(absl::Time when, std::function<void()> action) {
  entries_.push({std::max(when, now_), ++order_, std::move(action)});
}

bool Timeline::Step() {
  if (entries_.empty()) return false;
  // top() is const, but pop() removes the entry.
  auto& top = const_cast<Entry&>(entries_.top());
  now_ = top.when;
  const std::function<void()> action = std::move(top.action);
  entries_.pop();
  action();
  return true;
}

void Network::Send(const std::string& from, const std::string& to,
                   Message message) {
  const Ends ends{from, to};
  Link& link = links_[ends];
  if (faults_.duplicates && random_.Percent(2)) {
    ++totals_.duplicated;
    if (random_.OneIn(2) && MayStray(message)) {
      Stray(ends, message);
    } else {
      link.queue.push_back({timeline_.now(), message});
    }
  }
  link.queue.push_back(
      {timeline_.now() + random_.UpTo(faults_.delay_max), std::move(message)});
  depth_max_ = std::max(depth_max_, link.queue.size());
  if (!link.busy) Schedule(ends, link, link.queue.front().arrives);
}

void Network::Schedule(const Ends& ends, Link& link, absl::Time when) {
  link.busy = true;
  timeline_.At(when, [this, ends] { DeliverFront(ends); });
}

void Network::DeliverFront(const Ends& ends) {
  Link& link = links_[ends];
  link.busy = false;
  if (link.queue.empty()) return;
  const absl::Time when = std::max(link.queue.front().arrives, link.until);
  if (when > timeline_.now()) return Schedule(ends, link, when);
  // Remove the message before delivery: the receiver may answer on this link.
  InFlight front = std::move(link.queue.front());
  link.queue.pop_front();
  const std::optional<absl::Time> later =
      deliver_(ends.first, ends.second, front.message);
  if (later.has_value()) {
    link.queue.push_front(std::move(front));
    return Schedule(ends, link, *later);
  }
  ++totals_.delivered;
  if (!link.queue.empty() && !link.busy) {
    Schedule(ends, link, link.queue.front().arrives);
  }
}

// Delivers a message separately, after messages that were sent later.
void Network::Stray(const Ends& ends, Message message) {
  auto shared = std::make_shared<Message>(std::move(message));
  timeline_.After(random_.UpTo(4 * faults_.delay_max), [this, ends, shared] {
    if (!deliver_(ends.first, ends.second, *shared)) ++totals_.delivered;
  });
}

void Network::Clear(Link& link) {
  totals_.lost += link.queue.size();
  link.queue.clear();
}

void Network::Break(const std::string& a, const std::string& b) {
  for (const Ends& ends : {Ends{a, b}, Ends{b, a}}) {
    Link& link = links_[ends];
    const bool late = random_.OneIn(3);
    for (InFlight& flying : link.queue) {
      if (late && MayStray(flying.message)) {
        ++totals_.reordered;
        Stray(ends, std::move(flying.message));
      } else {
        ++totals_.lost;
      }
    }
    link.queue.clear();
  }
}

std::pair<std::string, std::string> Network::AnyLink() {
  if (links_.empty()) return {};
  const auto skip =
      static_cast<ptrdiff_t>(random_.Between(0, links_.size() - 1));
  return std::next(links_.begin(), skip)->first;
}

void Network::Partition(const std::string& a, const std::string& b,
                        absl::Time until, bool lose) {
  for (const Ends& ends : {Ends{a, b}, Ends{b, a}}) {
    links_[ends].until = until;
    if (!lose) continue;
    timeline_.At(until - absl::Milliseconds(1),
                 [this, ends] { Clear(links_[ends]); });
  }
}

void Network::Cut(const std::string& name) {
  for (auto& [ends, link] : links_) {
    if ((ends.first == name || ends.second == name) && random_.OneIn(2)) {
      Clear(link);
    }
  }
}

void Network::Heal() {
  faults_.duplicates = false;
  for (auto& [ends, link] : links_) link.until = timeline_.now();
}

}  // namespace feedmill::sim
