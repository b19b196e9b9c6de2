#include "broker/job_trace.h"

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

constexpr uint32_t kDispatcherProcess = 0;

bool IsKnown(SpanKind kind) {
  return kind >= SpanKind::kPlanned && kind <= SpanKind::kWaits;
}

}  // namespace

JobTrace::JobTrace(uint64_t id, absl::Time begin, absl::Duration duration,
                   absl::Duration grace)
    : id_(id),
      begin_(begin),
      end_(begin + duration),
      grace_(grace),
      asked_(begin) {}

std::string JobTrace::WorkerProcess(const WorkerId& worker) {
  return "worker " + worker.value().substr(0, worker.value().find('#'));
}

void JobTrace::Keep(const TraceSpan& span) {
  if (spans_.size() >= kSpansMax) {
    ++lost_;
    return;
  }
  spans_.push_back(span);
}

// Returns null if there are too many processes.
JobTrace::KnownProcess* JobTrace::Find(const Process& process) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) return &found->second;
  if (processes_.size() >= kProcessesMax) return nullptr;
  KnownProcess& known = processes_[process];
  known.index = static_cast<uint32_t>(processes_.size());
  return &known;
}

void JobTrace::NoteBound(absl::Time now, const SplitId& split, Cursor from,
                         Cursor to) {
  if (now < end_) open_.insert_or_assign(split, OpenSplit{from, to, now});
}

void JobTrace::KeepLeased(absl::Time until, const SplitId& split,
                          const OpenSplit& open, const LeaseRef& lease,
                          absl::Time since) {
  const KnownProcess* const worker =
      Find({WorkerProcess(lease.worker), lease.incarnation});
  Keep({.kind = SpanKind::kLeased,
        .split = split,
        .attempt = lease.attempt,
        .begin = since,
        .end = until,
        .from = open.from,
        .to = open.to,
        .lane = worker == nullptr ? kDispatcherProcess : worker->index,
        .process = kDispatcherProcess});
}

void JobTrace::NoteLeases(absl::Time now, const SplitId& split, Cursor from,
                          Cursor to, const std::vector<LeaseRef>& leases,
                          bool waits) {
  auto found = open_.find(split);
  if (found == open_.end()) {
    if (leases.empty() || now >= end_) return;
    found = open_.emplace(split, OpenSplit{from, to, now, false}).first;
  }
  OpenSplit& open = found->second;
  std::erase_if(open.leases, [&](const auto& entry) {
    const auto& [lease, since] = entry;
    const bool held =
        std::find(leases.begin(), leases.end(), lease) != leases.end();
    if (!held) KeepLeased(now, split, open, lease, since);
    return !held;
  });
  for (const LeaseRef& lease : leases) {
    if (now >= end_ || !open.leases.emplace(lease, now).second) continue;
    if (!std::exchange(open.planned, false) || open.bound == now) continue;
    Keep({.kind = SpanKind::kPlanned,
          .split = split,
          .begin = open.bound,
          .end = now,
          .from = open.from,
          .to = open.to});
  }
  if (!leases.empty()) return;
  if (!waits) {
    open_.erase(found);
  } else if (!std::exchange(open.planned, true)) {
    open.bound = now;
  }
}

bool JobTrace::TakeEnd(absl::Time now) {
  if (runs(now) || std::exchange(ended_, true)) return false;
  for (const auto& [split, open] : open_) {
    for (const auto& [lease, since] : open.leases) {
      KeepLeased(end_, split, open, lease, since);
    }
  }
  open_.clear();
  return true;
}

std::vector<SplitId> JobTrace::open() const {
  std::vector<SplitId> splits;
  splits.reserve(open_.size());
  for (const auto& [split, open] : open_) splits.push_back(split);
  return splits;
}

void JobTrace::Add(absl::Time now, const Process& process,
                   const SpanBatch& batch) {
  KnownProcess* const known = Find(process);
  if (known == nullptr) {
    lost_ += batch.spans.size();
    return;
  }
  known->up = std::min(known->up, std::max(now, batch.came) - batch.sent);
  known->down = std::min(known->down, batch.down);
  const uint64_t end = batch.first + batch.spans.size();
  if (end < batch.first || end < known->next) return;  // came before
  if (batch.first > known->next) known->lost += batch.first - known->next;
  const uint64_t had =
      known->next > batch.first ? known->next - batch.first : 0;
  known->next = end;
  for (size_t k = had; k < batch.spans.size(); ++k) {
    TraceSpan span = batch.spans[k];
    if (!IsKnown(span.kind)) continue;
    span.process = known->index;
    Keep(span);
  }
}

TraceReport JobTrace::Report(absl::Time now, uint64_t from) {
  asked_ = now;
  while (first_ < from && !spans_.empty()) {
    spans_.pop_front();
    ++first_;
  }
  TraceReport report;
  report.trace = id_;
  report.now = now;
  report.begin = begin_;
  report.end = end_;
  report.first = first_;
  const size_t count = std::min(kReportMax, spans_.size());
  report.spans.assign(spans_.begin(),
                      spans_.begin() + static_cast<ptrdiff_t>(count));
  report.complete = !runs(now) && count == spans_.size();
  report.lost = lost_;
  report.processes.resize(processes_.size() + 1);
  report.processes[kDispatcherProcess].name = "dispatcher";
  for (const auto& [process, known] : processes_) {
    TracedProcess& traced = report.processes[known.index];
    traced.name = process.first;
    traced.lost = known.lost;
    const bool measured = known.up < absl::InfiniteDuration() &&
                          known.down < absl::InfiniteDuration();
    traced.offset =
        measured ? (known.up - known.down) / 2 : absl::ZeroDuration();
    traced.uncertainty = measured ? absl::AbsDuration(known.up + known.down) / 2
                                  : absl::InfiniteDuration();
  }
  return report;
}

}  // namespace feedmill
