#include "bench/dispatcher/stubs.h"

#include <utility>

#include "core/net/clock.h"

namespace feedmill::bench {
namespace {

// A position that costs as much as a whole split makes splits of one position.
PlanCost CostOfOne(const PlanId& plan) {
  return {plan, 1, 8, absl::Seconds(1)};
}

}  // namespace

StubWorker::StubWorker(std::string name, uint32_t slots) {
  beat_.worker = WorkerId(std::move(name));
  beat_.incarnation = Incarnation(NextIncarnation());
  beat_.slots = slots;
}

bool StubWorker::Handle(const Message& message) {
  const auto* answer = std::get_if<WorkerAnswer>(&message);
  if (answer == nullptr) return false;
  beat_.leases.clear();
  for (const Lease& lease : answer->leases) {
    beat_.leases.push_back({lease.split, lease.attempt});
    const uint64_t number = lease.split.number;
    if (number >= had_.size()) had_.resize(number + 1);
    if (!had_[number]) ++leased_;
    had_[number] = true;
  }
  beat_.seen = answer->seen;
  for (const PlanDefinition& definition : answer->definitions) {
    beat_.plans = {definition.plan};
    beat_.costs = {CostOfOne(definition.plan)};
  }
  return !answer->definitions.empty();
}

WorkerBeat StubWorker::Beat() const { return beat_; }

StubClient::StubClient(std::string job, std::string consumer,
                       std::string graph) {
  hello_.job = JobName(std::move(job));
  hello_.graph = std::move(graph);
  hello_.order = Order::kAny;
  hello_.seed = 7;
  hello_.session = {ConsumerId(std::move(consumer)),
                    Incarnation(NextIncarnation())};
  beat_.job = hello_.job;
  beat_.session = hello_.session;
}

ClientHello StubClient::Hello() const { return hello_; }

ClientBeat StubClient::Beat(absl::Time now) const {
  ClientBeat beat = beat_;
  beat.sent = now;
  return beat;
}

bool StubClient::Handle(const Message& message) {
  if (const auto* answer = std::get_if<ClientAnswer>(&message)) {
    return Take(*answer);
  }
  if (const auto* reject = std::get_if<ClientReject>(&message)) {
    refused_ =
        reject->detail.ok() ? absl::UnknownError("rejected") : reject->detail;
  }
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    refused_ = refusal->status;
  }
  return false;
}

bool StubClient::Take(const ClientAnswer& answer) {
  beat_.seen = answer.seen;
  if (!answer.run.has_value()) return false;
  beat_.run = answer.run->run;
  finished_ = answer.finished;
  // Both lists are sorted by split.
  std::vector<SplitReport> reports;
  auto said = beat_.splits.begin();
  bool news = false;
  for (const BoundSplit& bound : answer.splits) {
    while (said != beat_.splits.end() && said->split < bound.split) ++said;
    if (said != beat_.splits.end() && said->split == bound.split) {
      reports.push_back(*said);
    } else if (!bound.leases.empty()) {
      reports.push_back({bound.split, bound.end, bound.end});
      ++splits_;
      if (!done_.emplace(bound.begin.p, bound.end.p).second) ++repeated_;
      news = true;
    }
  }
  beat_.splits = std::move(reports);
  return news;
}

}  // namespace feedmill::bench
